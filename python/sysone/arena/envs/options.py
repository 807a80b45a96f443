"""What fixes an environment: its options, and the matches that they mean."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from sysone.arena import lineup as lineups
from sysone.arena import sources
from sysone.arena.batch.jobs import season_of_map
from sysone.arena.engine import TEAMS, Setup, Team
from sysone.arena.errors import ArenaError
from sysone.arena.lineup import Lineup, Mode
from sysone.arena.pairing import DEFAULT_SEASON
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import Season, season_named
from sysone.arena.sources import Strategy

Reward = Literal["outcome", "score"]
FREE: Mode = "deck"
"""Free line-ups follow the rules of decks."""


@dataclass(frozen=True, kw_only=True)
class EnvOptions:
    """The arguments of `ArenaEnv` and `VectorArena`."""

    season: str | None = None
    map: str | None = None
    duration: float | None = None
    """Simulated seconds, a multiple of 0.1; None is the season's."""
    settings: Mapping[str, Any] | None = None
    lineup: Sequence[Mapping[str, int]] | None = None
    """Both sides' line-up, under the standard rules."""
    lineups: Mapping[str, Sequence[Mapping[str, int]]] | None = None
    """A free line-up for each side."""
    mode: str = "standard"
    red_deck: Sequence[str] | None = None
    blue_deck: Sequence[str] | None = None
    opponent: str | None = None
    """The strategy that drives the other side."""
    learner: str = "red"
    action_repeat: int = 2
    """Ticks of a step."""
    compact: bool = False
    full_state: bool = False
    reward: str = "outcome"
    score_scale: float = 0.001
    max_steps: int | None = None
    record: bool = False
    timeout: float = 0.2
    """The opponent's budget for a decision, in seconds."""
    isolation: str = "auto"
    trusted_local: bool = False
    docker_image: str | None = None
    memory_mb: int = 512
    startup_timeout: float = 10.0

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "EnvOptions":
        """The options that keyword arguments mean.

        Raises:
            ArenaError: one of them is none of an environment's.
        """
        known = [item.name for item in fields(cls)]
        for name in given:
            if name not in known:
                raise ArenaError(
                    "usage", f"{name!r} is no option of an environment; there are {known}"
                )
        return cls(**given)

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True)
class EnvPlan:
    """The matches that options mean."""

    options: EnvOptions
    season: Season
    mode: Mode
    lineups: Mapping[Team, Lineup]
    opponent: Strategy | None
    learner: Team

    @property
    def other(self) -> Team:
        """The side that the opponent drives, when there is one."""
        return "blue" if self.learner == "red" else "red"

    def setup(self, seed: int, scenario: Mapping[str, Any] | None = None) -> Setup:
        """One of the matches."""
        given = self.options
        return Setup(
            self.season,
            seed,
            self.lineups,
            self.mode,
            given.settings or {},
            given.duration,
            scenario,
        )

    def told_lineups(self) -> dict[str, list[dict[str, int]]]:
        """The line-ups as they are given."""
        return {side: lineups.write(self.lineups[side]) for side in TEAMS}


def resolve(options: EnvOptions) -> EnvPlan:
    """Check the options and find what they name.

    Raises:
        ArenaError: one of them is wrong; the text names it.
    """
    _check(options)
    season = _season(options)
    opponent: Strategy | None = None
    if options.opponent is not None:
        if options.opponent.startswith(sources.ASKING):
            season = season or DEFAULT_SEASON
            opponent = sources.asking(options.opponent, season)
        else:
            opponent = sources.find(options.opponent)
        head = opponent.manifest.strategy
        if season is not None and head.season != season:
            raise ArenaError(
                "usage", f"opponent: {head.key} is for season {head.season}, not {season}"
            )
        if head.mode != "team":
            raise ArenaError("usage", f"opponent: {head.key} drives one robot, not a team")
    learner: Team = "red" if options.learner == "red" else "blue"
    chosen = season or _season_of(options, opponent)
    mode: Mode = "deck" if options.mode == "deck" else "standard"
    try:
        if mode == "deck":
            lines = _decks(options, chosen)
        elif options.lineups is not None:
            mode, lines = FREE, _free(options.lineups)
        else:
            lines = _standard(options, chosen, learner, opponent, named=season is not None)
        for side in TEAMS:
            lineups.validate(lines[side], chosen, mode)
    except ArenaError as error:
        raise ArenaError("usage", str(error)) from error
    plan = EnvPlan(options, chosen, mode, lines, opponent, learner)
    plan.setup(0).ticks(Book.of(chosen, options.settings))
    return plan


def _check(options: EnvOptions) -> None:
    def wrong(name: str, expected: str) -> ArenaError:
        return ArenaError("usage", f"{name} must be {expected}, not {getattr(options, name)!r}")

    for name, choices in (
        ("learner", TEAMS),
        ("mode", ("standard", "deck")),
        ("reward", ("outcome", "score")),
        ("isolation", ("auto", "bubblewrap", "docker", "none")),
    ):
        if getattr(options, name) not in choices:
            raise wrong(name, " or ".join(choices))
    for name in ("compact", "full_state", "record", "trusted_local"):
        if not isinstance(getattr(options, name), bool):
            raise wrong(name, "true or false")
    if not _whole(options.action_repeat) or options.action_repeat < 2 or options.action_repeat % 2:
        raise wrong("action_repeat", "an even number of ticks of at least 2")
    if options.max_steps is not None and not (_whole(options.max_steps) and options.max_steps > 0):
        raise wrong("max_steps", "a number of at least 1")
    if not _whole(options.memory_mb) or options.memory_mb < 1:
        raise wrong("memory_mb", "a number of at least 1")
    for name in ("timeout", "startup_timeout"):
        if not _number(getattr(options, name)) or getattr(options, name) <= 0:
            raise wrong(name, "a number of seconds above 0")
    if not _number(options.score_scale):
        raise wrong("score_scale", "a number")
    if options.duration is not None and not _number(options.duration):
        raise wrong("duration", "a number of seconds")
    if options.settings is not None and not isinstance(options.settings, Mapping):
        raise wrong("settings", "an object")
    if options.opponent is not None and not isinstance(options.opponent, str):
        raise wrong("opponent", "a strategy's reference")
    decks = (options.red_deck, options.blue_deck)
    if options.mode == "deck" and None in decks:
        raise ArenaError("usage", "mode deck needs red_deck and blue_deck")
    if options.mode == "standard" and decks != (None, None):
        raise ArenaError("usage", "red_deck and blue_deck are for mode deck")
    ways = [name for name in ("lineup", "lineups") if getattr(options, name) is not None]
    if len(ways) + (options.mode == "deck") > 1:
        raise ArenaError("usage", "lineup, lineups and decks exclude each other")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _season(options: EnvOptions) -> Season | None:
    if options.map is not None:
        return season_named(season_of_map(options.map, options.season))
    return None if options.season is None else season_named(options.season)


def _season_of(options: EnvOptions, opponent: Strategy | None) -> Season:
    if opponent is not None:
        return season_named(opponent.manifest.strategy.season)
    if options.red_deck:
        return season_named(sources.find(options.red_deck[0]).manifest.strategy.season)
    return DEFAULT_SEASON


def _decks(options: EnvOptions, season: Season) -> dict[Team, Lineup]:
    lines: dict[Team, Lineup] = {}
    for side, refs in zip(TEAMS, (options.red_deck, options.blue_deck), strict=True):
        lines[side] = {}
        for slot, ref in enumerate(refs or (), 1):
            robot = sources.find(ref).manifest.robot
            if robot is None:
                raise ArenaError("usage", f"{side}_deck: {ref} drives a whole team")
            lines[side][slot] = robot.model
    return lines


def _free(given: Mapping[str, Any]) -> dict[Team, Lineup]:
    if not isinstance(given, Mapping) or set(given) != set(TEAMS):
        raise ArenaError(
            "lineup", f'lineups must be {{"red": […], "blue": […]}}, not {str(given)[:100]}'
        )
    return {side: lineups.read(given[side]) for side in TEAMS}


def _standard(
    options: EnvOptions, season: Season, learner: Team, opponent: Strategy | None, *, named: bool
) -> dict[Team, Lineup]:
    """One line-up for both sides; a locked roster stays the opponent's own."""
    given = None if options.lineup is None else lineups.read(options.lineup)
    lines = dict.fromkeys(TEAMS, given or lineups.default(season))
    roster = None if opponent is None else opponent.manifest.roster
    if roster is not None and (roster.lock or given is None):
        own = lineups.read(roster.robots)
        lines["blue" if learner == "red" else "red"] = own
        if given is None and not named and roster.lock:
            lines[learner] = own
    return lines
