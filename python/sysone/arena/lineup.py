"""Which robots may stand in a line-up: the one place where this is checked."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from sysone.arena.errors import ArenaError
from sysone.arena.rules.models import catalogue
from sysone.arena.rules.settings import Season

Mode = Literal["standard", "deck"]
Lineup = dict[int, int]
"""Model number by slot."""


def default(season: Season) -> Lineup:
    """The season's default line-up."""
    return {int(slot): model for slot, model in catalogue().default_lineup[season].items()}


def read(items: Any) -> Lineup:
    """A line-up from ``[{"slot": 1, "model": 2711}, …]``.

    Raises:
        ArenaError: it has another form.
    """
    if not isinstance(items, Sequence) or isinstance(items, str | bytes):
        raise ArenaError("lineup", f"lineup must be a list of slots and models, not {items!r}")
    found: Lineup = {}
    for item in items:
        if (
            not isinstance(item, Mapping)
            or set(item) != {"slot", "model"}
            or not all(isinstance(v, int) and not isinstance(v, bool) for v in item.values())
        ):
            raise ArenaError(
                "lineup", f'lineup entries are {{"slot": 1, "model": 2711}}, not {item!r}'
            )
        if item["slot"] in found:
            raise ArenaError("lineup", f"lineup uses slot {item['slot']} twice")
        found[item["slot"]] = item["model"]
    return found


def write(lineup: Mapping[int, int]) -> list[dict[str, int]]:
    """The JSON form of a line-up."""
    return [{"slot": slot, "model": model} for slot, model in sorted(lineup.items())]


def validate(lineup: Mapping[int, int], season: Season, mode: Mode = "standard") -> None:
    """Check a line-up's legality.

    Raises:
        ArenaError: a model of another season or class, a slot that the season lacks, too few or
            too many robots, or more heroes, sentries or aerial systems than a side may have.
    """
    file = catalogue()
    roles = _roles(lineup.values(), season)
    if mode == "standard":
        slots = file.slots[season]
        for (slot, model), role in zip(lineup.items(), roles, strict=True):
            wanted = slots.get(str(slot))
            if wanted is None:
                raise ArenaError("lineup", f"lineup: season {season} has no slot {slot}")
            if role != wanted:
                raise ArenaError(
                    "lineup", f"lineup: slot {slot} takes a {wanted}, not model {model} ({role})"
                )
        if len(lineup) < file.robots_min:
            raise ArenaError(
                "lineup", f"lineup: at least {file.robots_min} robots, not {len(lineup)}"
            )
        return
    most = file.deck_max[season]
    if not 1 <= len(lineup) <= most:
        raise ArenaError("lineup", f"lineup: a deck has 1 to {most} robots, not {len(lineup)}")
    for slot in lineup:
        if not 1 <= slot <= most:
            raise ArenaError("lineup", f"lineup: deck slots are 1 to {most}, not {slot}")
    for names, what in (
        (("aerial",), "aerial system"),
        (("hero", "heavy"), "hero or heavy"),
        (("sentry",), "sentry"),
    ):
        if sum(role in names for role in roles) > 1:
            raise ArenaError("lineup", f"lineup: at most one {what} a side")


def _roles(models: Iterable[int], season: Season) -> list[str]:
    roles = []
    for model in models:
        kind = catalogue().models.get(str(model))
        if kind is None or not str(model).startswith(season[2:]):
            raise ArenaError("lineup", f"lineup: {model} is no model of season {season}")
        roles.append(kind.role)
    return roles
