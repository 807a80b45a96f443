"""How a drive scores: a pure function of its ticks and of the events that the criteria saw."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone.drive.profiles import (
    FAILURES,
    INFRACTION_NAMES,
    LIST_OF,
    PENALTY_VALUE_DICT,
    Profile,
    profile_named,
)
from sysone.drive.ticks import BadTick, Contact, ScoringColumns, TickRecord, TickStore
from sysone_core import driving_score

Ticks = TickStore | Sequence[Mapping[str, Any]] | Sequence[TickRecord]

_SUCCESS: Final = ("Completed", "Perfect")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that a criterion saw."""

    type: str
    """A key of `LIST_OF`."""
    tick: int = 0
    sim_time: float = 0.0
    """Seconds."""
    message: str = ""
    percentage: float | None = None
    distance: float | None = None
    """Metres."""


@dataclass(frozen=True, slots=True)
class Infraction:
    """An entry of one of the twelve lists."""

    type: str
    tick: int
    sim_time: float
    detail: str
    percentage: float | None = None


@dataclass(frozen=True, slots=True)
class RouteScore:
    """What one drive of one route scored under one profile."""

    route_id: int | str
    status: str
    success: bool
    """Completed or Perfect."""
    score_route: float
    """Route completion, 0 to 100."""
    score_penalty: float
    score_composed: float
    """The driving score: completion times penalty."""
    num_infractions: int
    infractions: dict[str, list[Infraction]] = field(default_factory=dict)
    """By list name; empty lists are left out."""
    duration_game: float = 0.0
    """Seconds of simulation."""
    route_length: float = 0.0
    """Metres."""
    profile: str = "bench2drive"

    def texts(self) -> dict[str, list[str]]:
        """The twelve lists of texts of a record."""
        return {
            name: [item.detail for item in self.infractions.get(name, [])]
            for name in INFRACTION_NAMES
        }


def score_route(
    route_id: int | str,
    ticks: Ticks,
    route_length: float,
    route_road_ids: Collection[int] | None = None,
    timeout: bool = False,
    events: Iterable[Event] | None = None,
    profile: str = "bench2drive",
    strict: bool = True,
) -> RouteScore:
    """Score one drive.

    Args:
        route_id: Any name.
        ticks: A `TickStore`, or dictionaries or records in order.
        route_length: Metres.
        route_road_ids: Roads of the route; the deviation rule of `per_tick` needs them.
        timeout: The drive ran out of time.
        events: What the criteria saw besides; folded after the events of the ticks.
        profile: `per_tick`, `bench2drive` or `leaderboard2`.
        strict: Refuse NaN, infinity and time that runs backwards.

    Raises:
        BadTick: strict, and a tick has such a value.
        ValueError: the profile or the type of an event is unknown.
    """
    rules = profile_named(profile)
    store = ticks if isinstance(ticks, TickStore) else TickStore(ticks)
    columns = store.scoring_columns()
    if strict:
        _check(columns)
    classify = driving_score.official_class if rules.debounced else driving_score.per_tick_class
    penalty, counted, folded = driving_score.fold_columns(
        columns.sim_time,
        columns.speed,
        columns.completion,
        columns.location,
        columns.red,
        columns.junction,
        columns.road,
        columns.road_known,
        [(index, contact[0], classify(contact[1])) for index, contact in columns.contacts],
        route_road_ids,
        debounced=rules.debounced,
        red_from_ticks=rules.red_from_ticks,
        deviation_from_ticks=rules.deviation_from_ticks,
        blocked_speed=rules.blocked_speed,
        blocked_s=rules.blocked_s,
        blocked_strict=rules.blocked_strict,
        blocked_ends=rules.blocked_ends,
        reached_percent=rules.reached_percent,
    )
    found: dict[str, list[Infraction]] = {}
    contacts = _by_tick(columns)
    for kind, index, length in folded:
        name = driving_score.KINDS[kind]
        found.setdefault(LIST_OF[name], []).append(
            Infraction(
                name,
                int(columns.tick[index]),
                float(columns.sim_time[index]),
                _detail(name, columns, contacts, index, length, rules),
            )
        )
    for event in events or ():
        penalty *= _factor(event, rules)
        found.setdefault(LIST_OF[event.type], []).append(
            Infraction(event.type, event.tick, event.sim_time, event.message, event.percentage)
        )
    last_tick = int(columns.tick[counted - 1]) if counted else 0
    last_s = float(columns.sim_time[counted - 1]) if counted else 0.0
    completion = float(columns.completion[counted - 1]) if counted else 0.0
    if timeout:
        penalty *= rules.timeout_factor
        if "route_timeout" not in found:
            found["route_timeout"] = [
                Infraction("route_timeout", last_tick, last_s, "Route timeout.")
            ]
    ordered = {name: found[name] for name in INFRACTION_NAMES if name in found}
    status = _status(completion, ordered, rules)
    return RouteScore(
        route_id=route_id,
        status=status,
        success=status in _SUCCESS,
        score_route=_rounded(completion),
        score_penalty=_rounded(penalty),
        score_composed=_rounded(_composed(completion * penalty)),
        num_infractions=sum(map(len, ordered.values())),
        infractions=ordered,
        duration_game=last_s,
        route_length=route_length,
        profile=rules.name,
    )


def with_failure(score: RouteScore, reason: str) -> RouteScore:
    """The score of a drive that ended for a reason outside the rules, such as a crash.

    A route that was reached, or failed for a listed reason, keeps that status, as the official
    code has it.
    """
    if score.status != "Failed":
        return score
    return replace(score, status=f"Failed - {reason}", success=False)


def _composed(value: float) -> float:
    # max() in this order keeps a NaN, which must not look like a score of 0
    return max(value, 0.0)


def _rounded(value: float) -> float:
    return round(value, 6) if math.isfinite(value) else value


def _factor(event: Event, rules: Profile) -> float:
    if event.type not in LIST_OF:
        raise ValueError(f"event type is {event.type!r}, expected one of {', '.join(LIST_OF)}")
    if event.type == "outside_route_lanes":
        return 1 - (event.percentage or 0.0) / 100
    if event.type == "min_speed":
        percentage = 100.0 if event.percentage is None else event.percentage
        return 1 - rules.min_speed_weight * (1 - min(percentage, 100.0) / 100)
    if event.type == "route_timeout":
        return rules.timeout_factor
    return PENALTY_VALUE_DICT.get(event.type, 1.0)


def _status(completion: float, found: Mapping[str, Any], rules: Profile) -> str:
    if completion >= rules.reached_percent:
        return "Completed" if found else "Perfect"
    for reason in rules.failure_order:
        if reason in found:
            return f"Failed - {FAILURES[reason]}"
    return "Failed"


def _by_tick(columns: ScoringColumns) -> dict[int, list[Contact]]:
    found: dict[int, list[Contact]] = {}
    for index, contact in columns.contacts:
        found.setdefault(index, []).append(contact)
    return found


def _detail(
    name: str,
    columns: ScoringColumns,
    contacts: Mapping[int, list[Contact]],
    index: int,
    length: int,
    rules: Profile,
) -> str:
    place = place_text(columns.location[index])
    if name.startswith("collision"):
        contact = _strongest(contacts[index], name, rules)
        if not rules.debounced:
            return f"Impulse {contact[2]:.2f} with {contact[1]}"
        return (
            f"Agent collided against object with type={contact[1]} and id={contact[0]} at {place}"
        )
    if name == "red_light":
        return f"Agent ran a red light at {place}"
    if name == "vehicle_blocked":
        if rules.blocked_ends:
            return f"Agent got blocked at {place}"
        stood = columns.sim_time[index + length - 1] - columns.sim_time[index]
        return f"Agent stood for {stood:.2f} s at {place}"
    return f"Agent left the route's roads for {length} ticks at {place}"


def _strongest(here: list[Contact], name: str, rules: Profile) -> Contact:
    """The contact of a tick that an event of this type is about."""
    if rules.debounced:
        kind = driving_score.KINDS.index(name)
        here = [c for c in here if driving_score.official_class(c[1]) == kind] or here
    return here[0]


def place_text(location: Sequence[float] | NDArray[np.float64]) -> str:
    """A place as the official texts have it: ``(x=1.0, y=2.5, z=0.0)``."""
    # single precision first, as CARLA keeps locations
    x, y, z = (round(float(np.float32(value)), 3) for value in location)
    return f"(x={x}, y={y}, z={z})"


def _check(columns: ScoringColumns) -> None:
    impulses = np.array([contact[2] for _, contact in columns.contacts], dtype=np.float64)
    for name, values in (
        ("sim_time", columns.sim_time),
        ("ego_speed", columns.speed),
        ("route_completion", columns.completion),
    ):
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            index = int(bad[0])
            value = float(values[index])
            raise BadTick(int(columns.tick[index]), name, value, "a finite number")
    bad = np.flatnonzero(~np.isfinite(impulses))
    if bad.size:
        index = columns.contacts[int(bad[0])][0]
        value = float(impulses[int(bad[0])])
        raise BadTick(int(columns.tick[index]), "collision_impulse", value, "a finite number")
    backwards = np.flatnonzero(np.diff(columns.sim_time) < 0)
    if backwards.size:
        index = int(backwards[0]) + 1
        raise BadTick(
            int(columns.tick[index]),
            "sim_time",
            float(columns.sim_time[index]),
            f"at least {float(columns.sim_time[index - 1])}",
        )
