"""The games of a run, in their order, each with an identity that depends on nothing else."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.arena import lineup as lineups
from sysone.arena import pairing
from sysone.arena.batch.options import Options, resolve
from sysone.arena.engine import TEAMS, Setup
from sysone.arena.errors import ArenaError
from sysone.arena.pairing import Pairing
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import season_named
from sysone_core.arena import TICKS_PER_SECOND

JOB_FIELDS: Final = frozenset(
    {
        *("red", "blue", "seed", "duration", "season", "map", "lineup", "settings", "mode"),
        *("red_deck", "blue_deck", "red_control", "blue_control"),
        *("red_team_strategy", "blue_team_strategy", "swap_sides"),
    }
)
_REFERENCES: Final = ("red", "blue", "red_team_strategy", "blue_team_strategy")


@dataclass(frozen=True)
class Job:
    """One game."""

    index: int
    """Position in the run, from 0."""
    job_id: str
    seed: int
    swapped: bool
    setup: Setup
    pairing: Pairing
    fingerprints: Mapping[str, str]

    def told(self) -> dict[str, Any]:
        """Its entry in ``run.json``."""
        setup = self.setup
        return {
            "index": self.index,
            "job_id": self.job_id,
            "seed": self.seed,
            "swapped": self.swapped,
            "season": setup.season,
            "map": f"rmuc{setup.season}",
            "mode": setup.mode,
            "duration": setup.duration_s,
            "red": self.pairing.told["red"],
            "blue": self.pairing.told["blue"],
            "settings_hash": _digest(dict(setup.changes)),
        }


def jobs_of(options: Options) -> list[Job]:
    """Every game of a run: seed by seed, the swapped one directly after.

    Raises:
        ArenaError: something in the options is not allowed; in a list of jobs the text has the
            element's index.
    """
    if options.jobs is None:
        seeds = options.seeds
        if seeds is None:
            seeds = [options.seed + game for game in range(options.games)]
        games = [(seed, options) for seed in seeds]
    else:
        games = []
        for index, fields in enumerate(options.jobs):
            try:
                games.append(_game(fields, options))
            except ArenaError as error:
                raise ArenaError(error.code, f"--jobs, element {index}: {error}") from error
    found: list[Job] = []
    for index, (seed, game) in enumerate(games):
        try:
            pair = _pairing(game)
            setup = _setup(game, pair, seed)
        except ArenaError as error:
            where = "" if options.jobs is None else f"--jobs, element {index}: "
            raise ArenaError(error.code, f"{where}{error}") from error
        found.append(_job(len(found), setup, pair, False))
        if game.swap_sides:
            turned = pair.swapped()
            found.append(_job(len(found), _setup(game, turned, seed), turned, True))
    return found


def _game(fields: Mapping[str, Any], options: Options) -> tuple[int, Options]:
    base = msgspec.to_builtins(options)
    del base["jobs"]
    given = {key: value for key, value in fields.items() if key != "map"}
    if "map" in fields:
        given["season"] = season_of_map(fields["map"], given.get("season"))
    game = resolve({**base, "seeds": None, "games": 1, **given})
    return game.seed, game


def season_of_map(map_: Any, season: str | None) -> str:
    """The season that a map belongs to; each has one.

    Raises:
        ArenaError: there is no such map, or it is another season's.
    """
    if map_ not in ("rmuc2026", "rmuc2027") or (season and map_ != f"rmuc{season}"):
        raise ArenaError("usage", f"--map must be rmuc2026 or rmuc2027, not {map_!r}")
    return str(map_).removeprefix("rmuc")


def read_jobs(path: Path) -> list[dict[str, Any]]:
    """The elements of a jobs file; relative paths in them are made relative to here.

    Raises:
        ArenaError: it cannot be read, is no list of objects, or an element has unknown fields.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArenaError("usage", f"--jobs: {path}: {error.strerror}") from error
    except ValueError as error:
        raise ArenaError("usage", f"--jobs: {path} is not JSON: {error}") from error
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise ArenaError("usage", f"--jobs: {path} must hold a list of objects")
    if not found:
        raise ArenaError("usage", f"--jobs: {path} lists no game")
    for index, item in enumerate(found):
        unknown = sorted(set(item) - JOB_FIELDS)
        if unknown:
            raise ArenaError(
                "usage",
                f"--jobs, element {index}: unknown field {unknown[0]!r}; "
                f"expected some of {', '.join(sorted(JOB_FIELDS))}",
            )
    return [_from_here(item, path.parent) for item in found]


def _from_here(item: dict[str, Any], folder: Path) -> dict[str, Any]:
    def moved(ref: Any) -> Any:
        if not isinstance(ref, str) or ":" in ref or Path(ref).is_absolute():
            return ref
        if "/" in ref or (folder / ref).is_dir():
            # With a slash, so that it stays a path where the result has one part.
            return f"./{os.path.relpath(folder / ref)}"
        return ref

    moved_item = dict(item)
    for key in _REFERENCES:
        if key in item:
            moved_item[key] = moved(item[key])
    for key in ("red_deck", "blue_deck"):
        if isinstance(item.get(key), list):
            moved_item[key] = [moved(ref) for ref in item[key]]
    return moved_item


def _pairing(options: Options) -> Pairing:
    season = None if options.season is None else season_named(options.season)
    if options.mode == "standard":
        decks = (options.red_deck, options.blue_deck)
        leaders = (options.red_team_strategy, options.blue_team_strategy)
        if any(value is not None for value in (*decks, *leaders)):
            raise ArenaError("usage", "decks need --mode deck")
        return pairing.standard(season, options.red, options.blue, options.lineup)
    if options.red or options.blue or options.lineup:
        raise ArenaError("usage", "--mode deck takes --red-deck and --blue-deck")
    return pairing.deck(
        season,
        (options.red_deck, options.blue_deck),
        (options.red_control, options.blue_control),
        (options.red_team_strategy, options.blue_team_strategy),
    )


def _setup(options: Options, pair: Pairing, seed: int) -> Setup:
    book = Book.of(pair.season, options.settings)
    setup = Setup(
        season=pair.season,
        seed=seed,
        lineups=pair.lineups,
        mode=pair.mode,
        changes=book.changes,
        duration_s=options.duration,
    )
    # In seconds, so that a job is the same whether its default duration was written out or not.
    return replace(setup, duration_s=setup.ticks(book) / TICKS_PER_SECOND)


def _job(index: int, setup: Setup, pair: Pairing, swapped: bool) -> Job:
    fingerprints = dict(Book.of(setup.season, setup.changes).fingerprints)
    identity = {
        "season": setup.season,
        "map": f"rmuc{setup.season}",
        "mode": setup.mode,
        "sides": {side: _hashes(pair.told[side]) for side in TEAMS},
        "lineups": {side: lineups.write(setup.lineups[side]) for side in TEAMS},
        "settings": dict(setup.changes),
        "seed": setup.seed,
        "swapped": swapped,
        "duration": setup.duration_s,
        "fingerprints": fingerprints,
    }
    job_id = _digest(identity)[:16]
    return Job(index, job_id, setup.seed, swapped, setup, pair, fingerprints)


def _hashes(told: Mapping[str, Any]) -> Any:
    if "version_hash" in told:
        return told["version_hash"]
    leader = told["team_strategy"]
    return {
        "control": told["control"],
        "team_strategy": None if leader is None else leader["version_hash"],
        "deck": [[one["slot"], one["version_hash"]] for one in told["deck"]],
    }


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
