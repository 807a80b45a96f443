"""Who plays whom: season, line-ups and sides from references, for both modes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sysone.arena import lineup as lineups
from sysone.arena import sources
from sysone.arena.engine import TEAMS, Team
from sysone.arena.errors import ArenaError
from sysone.arena.lineup import Lineup, Mode
from sysone.arena.match import Control, Side
from sysone.arena.rules.settings import Season, season_named
from sysone.arena.sources import Strategy

DEFAULT_SEASON: Season = "2027"


@dataclass(frozen=True)
class Pairing:
    """Both sides of a match."""

    season: Season
    mode: Mode
    lineups: Mapping[Team, Lineup]
    sides: Mapping[Team, Side]
    told: Mapping[Team, dict[str, Any]]
    """How run files name the sides: references, versions and hashes, no absolute paths."""

    def swapped(self) -> "Pairing":
        """The same with red's side on blue."""
        return Pairing(
            self.season, self.mode, _swap(self.lineups), _swap(self.sides), _swap(self.told)
        )


def _swap(pair: Mapping[Team, Any]) -> dict[Team, Any]:
    return {"red": pair["blue"], "blue": pair["red"]}


@lru_cache(maxsize=256)
def _find(ref: str) -> Strategy:
    return sources.find(ref)


def _told(ref: str, strategy: Strategy) -> dict[str, Any]:
    head = strategy.manifest.strategy
    if strategy.source not in ("path", "systemone"):
        ref = f"{strategy.source}:{head.key}"
    return {
        "ref": ref,
        "source": strategy.source,
        "key": head.key,
        "version": head.version,
        "version_hash": strategy.version_hash,
        "mode": head.mode,
        "season": head.season,
    }


def standard(
    wanted: Season | None,
    red: str | None,
    blue: str | None,
    given: Sequence[Mapping[str, int]] | None,
) -> Pairing:
    """One strategy for each side; None is the season's default opponent.

    Raises:
        ArenaError: a strategy is not there or not of the season, or a line-up is not allowed.
    """
    named = {
        side: None if ref is None or ref.startswith(sources.ASKING) else _find(ref)
        for side, ref in _refs(red, blue)
    }
    seasons = {one.manifest.strategy.season for one in named.values() if one is not None}
    season: Season = wanted or (
        season_named(seasons.pop()) if len(seasons) == 1 else DEFAULT_SEASON
    )
    line = None if given is None else lineups.read(given)
    lines: dict[Team, Lineup] = {}
    sides: dict[Team, Side] = {}
    told: dict[Team, dict[str, Any]] = {}
    for side, ref in _refs(red, blue):
        hold = f"bundled:std_{season}_hold"
        strategy = named[side] or _find(hold)
        if ref is not None and ref.startswith(sources.ASKING):
            strategy = sources.asking(ref, season)
        head = strategy.manifest.strategy
        if head.season != season:
            raise ArenaError(
                "usage", f"{head.key} is for season {head.season}, the match is of {season}"
            )
        if head.mode != "team":
            raise ArenaError("usage", f"{head.key} drives one robot; use --mode deck")
        roster = strategy.manifest.roster
        if roster is not None and (roster.lock or line is None):
            lines[side] = lineups.read(roster.robots)
        else:
            lines[side] = line or lineups.default(season)
        lineups.validate(lines[side], season)
        sides[side] = Side("team", {0: strategy})
        told[side] = _told(ref or hold, strategy)
    return Pairing(season, "standard", lines, sides, told)


def _refs(red: str | None, blue: str | None) -> tuple[tuple[Team, str | None], ...]:
    return (("red", red), ("blue", blue))


def deck(
    wanted: Season | None,
    decks: Sequence[Sequence[str] | None],
    controls: Sequence[Control],
    teams: Sequence[str | None],
) -> Pairing:
    """A deck of robot strategies for each side, driven one by one or by a team strategy.

    Raises:
        ArenaError: a strategy is not there or of another kind or season, or a deck is not allowed.
    """
    season = wanted
    lines: dict[Team, Lineup] = {}
    sides: dict[Team, Side] = {}
    told: dict[Team, dict[str, Any]] = {}
    for side, refs, control, team in zip(TEAMS, decks, controls, teams, strict=True):
        if refs is None:
            raise ArenaError("usage", "--mode deck needs --red-deck and --blue-deck")
        found = {slot: _find(ref) for slot, ref in enumerate(refs, 1)}
        lines[side] = {}
        for slot, strategy in found.items():
            robot, head = strategy.manifest.robot, strategy.manifest.strategy
            if robot is None:
                raise ArenaError("usage", f"--{side}-deck: {head.key} drives a whole team")
            season = season or season_named(head.season)
            if head.season != season:
                raise ArenaError("usage", f"{head.key} is for season {head.season}, not {season}")
            lines[side][slot] = robot.model
        leader = None
        if control == "team":
            if team is None:
                raise ArenaError("usage", f"--{side}-control team needs --{side}-team-strategy")
            leader = _find(team)
        sides[side] = Side("individual", found) if leader is None else Side("team", {0: leader})
        told[side] = {
            "control": control,
            "team_strategy": None if leader is None else _told(team or "", leader),
            "deck": [
                {"slot": slot, **_told(refs[slot - 1], strategy)}
                for slot, strategy in found.items()
            ],
        }
    assert season is not None
    for side in TEAMS:
        lineups.validate(lines[side], season, "deck")
    return Pairing(season, "deck", lines, sides, told)
