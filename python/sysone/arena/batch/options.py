"""What a run is asked for: defaults, what a resumed run inherits, and what it may not change."""

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

import msgspec

from sysone.arena.engine import MOST_SEED
from sysone.arena.errors import ArenaError
from sysone.arena.lineup import Mode
from sysone.arena.match import Control
from sysone.arena.rules.settings import Season
from sysone.executors import Engine, processors

Replays = Literal["none", "errors", "all"]
IsolationName = Literal["auto", "bubblewrap", "docker", "none"]


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every option of ``rmuc-arena run``, resolved; also the ``config`` of ``run.json``."""

    # what is played: enters the identity of the jobs
    red: str | None = None
    blue: str | None = None
    games: int = 1
    seed: int = 0
    seeds: list[int] | None = None
    swap_sides: bool = False
    duration: float | None = None
    season: Season | None = None
    settings: dict[str, Any] = {}
    lineup: list[Any] | None = None
    mode: Mode = "standard"
    red_deck: list[str] | None = None
    blue_deck: list[str] | None = None
    red_control: Control = "individual"
    blue_control: Control = "individual"
    red_team_strategy: str | None = None
    blue_team_strategy: str | None = None
    jobs: list[dict[str, Any]] | None = None
    """Games in detail, each with some of the fields above."""
    # budgets of the strategies: change what they can do
    timeout: float = 0.2
    startup_timeout: float = 10.0
    memory_mb: int = 512
    # how it is played
    workers: int = 0
    match_timeout: float = 1800.0
    fail_fast: bool = False
    replays: Replays = "none"
    isolation: IsolationName = "auto"
    docker_image: str | None = None
    engine: Engine = "local"
    ray_address: str | None = None
    pin_cpus: bool = False
    progress: bool = False


FREE: Final = frozenset(
    {
        *("workers", "match_timeout", "fail_fast", "replays"),
        *("isolation", "docker_image", "engine", "ray_address"),
        *("pin_cpus", "progress"),
    }
)
"""Options that a resumed run may change."""
CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "season": get_args(Season),
    "mode": get_args(Mode),
    "red_control": get_args(Control),
    "blue_control": get_args(Control),
    "replays": get_args(Replays),
    "isolation": get_args(IsolationName),
    "engine": get_args(Engine),
}
_NOT_INHERITED: Final = ("isolation", "docker_image", "ray_address", "pin_cpus", "progress")
"""They belong to the machine and the terminal that go on with it."""


def resolve(given: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> Options:
    """The options of a run; what is not given is what the run that is resumed had, or the default.

    Raises:
        ArenaError: an option has another type or is out of range; the text names it.
    """
    inherited = {k: v for k, v in (stored or {}).items() if k not in _NOT_INHERITED}
    if "games" in given or "seed" in given:
        inherited.pop("seeds", None)
    values = {**inherited, **given}
    for name, choices in CHOICES.items():
        if name in values and values[name] is not None and values[name] not in choices:
            option = name.replace("_", "-")
            raise ArenaError(
                "usage", f"--{option} must be {' or '.join(choices)}, not {values[name]!r}"
            )
    try:
        options = msgspec.convert(values, Options)
    except msgspec.ValidationError as error:
        raise ArenaError("usage", _named(str(error))) from error
    _check(options)
    if options.workers == 0:
        options = msgspec.structs.replace(options, workers=min(2, processors()))
    return options


def _check(options: Options) -> None:
    if options.jobs is not None and (options.seeds is not None or options.games != 1):
        raise ArenaError("usage", "--jobs lists the games; it excludes --games and --seeds")
    if options.seeds is not None and (options.games != 1 or options.seed != 0):
        raise ArenaError("usage", "--seeds excludes --games and --seed")
    if options.engine == "ray" and options.pin_cpus:
        raise ArenaError("usage", "--pin-cpus is for --engine local, not ray")
    if options.engine != "ray" and options.ray_address is not None:
        raise ArenaError("usage", f"--ray-address is for --engine ray, not {options.engine}")
    for name, value, least in (
        ("games", options.games, 1),
        ("workers", options.workers, 0),
        ("memory-mb", options.memory_mb, 64),
    ):
        if value < least:
            raise ArenaError("usage", f"--{name} must be at least {max(least, 1)}, not {value}")
    for name, seconds in (
        ("timeout", options.timeout),
        ("startup-timeout", options.startup_timeout),
        ("match-timeout", options.match_timeout),
    ):
        if not 0 < seconds < float("inf"):
            raise ArenaError("usage", f"--{name} must be more than 0 seconds, not {seconds:g}")
    for seed in options.seeds or [options.seed, options.seed + options.games - 1]:
        if not 0 <= seed <= MOST_SEED:
            raise ArenaError("usage", f"seeds must be from 0 to 2^64 - 1, not {seed}")
    if options.seeds is not None and len(set(options.seeds)) < len(options.seeds):
        raise ArenaError("usage", "--seeds names a seed twice")


def _named(text: str) -> str:
    """msgspec's ``... - at `$.mode` `` with the option in front."""
    words, _, place = text.rpartition(" - at `$.")
    return f"--{place.rstrip('`').replace('_', '-')}: {words}" if words else text
