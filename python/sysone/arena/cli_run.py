"""``rmuc-arena run``: games of a pairing or of a list, one line of JSON for each."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from sysone.arena.batch import worker
from sysone.arena.batch.jobs import Job, jobs_of, read_jobs, season_of_map
from sysone.arena.batch.options import CHOICES, Options, resolve
from sysone.arena.batch.scheduler import Scheduler
from sysone.arena.batch.store import RefusedError, Store, is_used, stored
from sysone.arena.batch.worker import Assignment
from sysone.arena.errors import ArenaError
from sysone.arena.isolation import Isolation, UnavailableError, choose
from sysone.arena.json_options import object_of
from sysone.executors import EngineError, Executor, LocalExecutor, executor_of
from sysone.runs.interrupts import Interrupts
from sysone.runs.progress import Progress

NOT_OK = 1
EXISTS = 3
NOT_AVAILABLE = 4


class Refusal(Exception):  # noqa: N818 - an answer to the user, not a fault
    """A run that cannot begin, with its exit code."""

    def __init__(self, code: str, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code


def run(
    red: Annotated[str | None, typer.Option(help="Strategy A; the season's hold.")] = None,
    blue: Annotated[str | None, typer.Option(help="Strategy B; the season's hold.")] = None,
    games: Annotated[int | None, typer.Option(help="Games of consecutive seeds [1].")] = None,
    seed: Annotated[str | None, typer.Option(help="First seed, 0 to 2^64 - 1 [0].")] = None,
    seeds: Annotated[
        list[str] | None, typer.Option(help="These seeds instead: 1 2 3 or 1,2,3.")
    ] = None,
    swap_sides: Annotated[
        bool | None,
        typer.Option("--swap-sides", help="Play each seed with A on blue, too."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-j", help="Games at a time [2 or the cores].")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Directory of the run, or X.json for one game's replay.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run.")] = False,
    replays: Annotated[str | None, typer.Option(help="none, errors or all [none].")] = None,
    duration: Annotated[float | None, typer.Option(help="Seconds, 1 to 420.")] = None,
    season: Annotated[str | None, typer.Option(help="2026 or 2027.")] = None,
    map_: Annotated[str | None, typer.Option("--map", help="rmuc2026 or rmuc2027.")] = None,
    settings: Annotated[str | None, typer.Option(help="Changed settings: JSON or a file.")] = None,
    lineup: Annotated[
        str | None, typer.Option(help="Line-up of sides without a locked one: JSON or a file.")
    ] = None,
    mode: Annotated[str | None, typer.Option(help="standard or deck [standard].")] = None,
    red_deck: Annotated[str | None, typer.Option(help="Robot strategies: JSON or a file.")] = None,
    blue_deck: Annotated[str | None, typer.Option(help="Robot strategies: JSON or a file.")] = None,
    red_control: Annotated[
        str | None, typer.Option(help="individual or team, in deck mode [individual].")
    ] = None,
    blue_control: Annotated[
        str | None, typer.Option(help="individual or team, in deck mode [individual].")
    ] = None,
    red_team_strategy: Annotated[
        str | None, typer.Option(help="Drives red's deck under team control.")
    ] = None,
    blue_team_strategy: Annotated[
        str | None, typer.Option(help="Drives blue's deck under team control.")
    ] = None,
    jobs: Annotated[
        Path | None, typer.Option(help="A JSON list of games, each with fields of its own.")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Budget of a decision, s [0.2].")] = None,
    startup_timeout: Annotated[
        float | None, typer.Option(help="Start of a strategy, s [10].")
    ] = None,
    match_timeout: Annotated[
        float | None, typer.Option(help="Wall time of a match, s [1800].")
    ] = None,
    fail_fast: Annotated[
        bool | None, typer.Option("--fail-fast", help="Begin no game after one that is not ok.")
    ] = None,
    isolation: Annotated[
        str | None, typer.Option(help="auto, bubblewrap, docker or none [auto].")
    ] = None,
    trusted_local: Annotated[
        bool, typer.Option("--trusted-local", help="The same as --isolation none.")
    ] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Where remote: strategies are read from.")
    ] = None,
    docker_image: Annotated[str | None, typer.Option(help="Image for --isolation docker.")] = None,
    memory_mb: Annotated[
        int | None, typer.Option(help="Memory of a strategy's process [512].")
    ] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress", help="Lines on stderr while it goes on.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="Where games are played: local or ray [local].")
    ] = None,
    ray_address: Annotated[
        str | None, typer.Option(help="The Ray cluster's head: auto or HOST:PORT [auto].")
    ] = None,
    pin_cpus: Annotated[
        bool | None, typer.Option("--pin-cpus", help="Keep each match to one core.")
    ] = None,
    pretty: Annotated[bool, typer.Option(help="Indent the JSON of a single game.")] = False,
) -> None:
    """Play games and print a line of JSON for each, then a summary.

    Exit codes: 0 every game is ok, 1 some are not, 2 bad input, 3 the output is there, in use or
    another run, 4 isolation or engine not available, 130 and 143 interrupted.
    """
    given = _given(
        red=_reference(red),
        blue=_reference(blue),
        games=games,
        seed=None if seed is None else _seed(seed),
        seeds=_seeds(seeds),
        swap_sides=swap_sides,
        workers=workers,
        replays=replays,
        duration=duration,
        season=season if map_ is None else season_of_map(map_, season),
        settings=_json(settings, "--settings", dict),
        lineup=None if lineup is None else object_of(lineup, "--lineup"),
        mode=mode,
        red_deck=_deck(red_deck, "--red-deck"),
        blue_deck=_deck(blue_deck, "--blue-deck"),
        red_control=red_control,
        blue_control=blue_control,
        red_team_strategy=_reference(red_team_strategy),
        blue_team_strategy=_reference(blue_team_strategy),
        jobs=None if jobs is None else read_jobs(jobs),
        timeout=timeout,
        startup_timeout=startup_timeout,
        match_timeout=match_timeout,
        fail_fast=fail_fast,
        isolation="none" if trusted_local else isolation,
        docker_image=docker_image,
        memory_mb=memory_mb,
        progress=progress,
        engine=engine,
        ray_address=ray_address,
        pin_cpus=pin_cpus,
    )
    if cache is not None:
        os.environ["ARENA_CACHE"] = str(cache)
    if workers is not None and workers < 1:
        raise ArenaError("usage", f"--workers must be at least 1, not {workers}")
    with _output(output) as place:
        try:
            code = _run(given, place, output is None, resume, pretty)
        except RefusedError as error:
            raise Refusal(error.code, str(error), EXISTS) from error
    if code:
        raise typer.Exit(code)


@contextmanager
def _output(output: Path | None) -> Iterator[Path]:
    """Where the run's files go: the user's place, or one that does not outlive the run."""
    if output is not None:
        yield output
        return
    folder = tempfile.mkdtemp(prefix="rmuc-arena-")
    try:
        yield Path(folder) / "run"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    given: Mapping[str, Any], output: Path, temporary: bool, resume: bool, pretty: bool
) -> int:
    if not resume and is_used(output):
        raise RefusedError("output_exists", f"{output} is already there; --resume goes on with it")
    before = stored(output) if resume else None
    options = resolve(given, None if before is None else before["config"])
    isolation = isolation_of(options.isolation, options.docker_image)
    games = jobs_of(options)
    if output.suffix == ".json" and len(games) != 1:
        raise ArenaError(
            "usage", f"--output {output.name} is for one game, not {len(games)}; name a directory"
        )
    if temporary and options.replays != "none":
        raise ArenaError("usage", f"--replays {options.replays} needs --output")
    if isolation.name == "none":
        print("warning: strategies run without isolation", file=sys.stderr)
    single = output.suffix == ".json"
    with (
        Progress(plain=True) as progress,
        Interrupts().caught() as interrupts,
        _engine(options, games, progress.note) as engine,
        Store(
            output,
            options,
            games,
            argv=["rmuc-arena", *_argv()],
            isolation={"backend": isolation.name, "details": None},
            before=before,
        ) as store,
    ):
        scheduler = Scheduler(
            store,
            games,
            options,
            engine.executor,
            isolation,
            on_result=lambda line: print(_text(line, pretty and len(games) == 1), flush=True),
            note=progress.note,
            wrap=engine.wrap,
            unwrap=engine.unwrap,
        )
        try:
            summary = scheduler.run(interrupts)
        except EngineError as error:
            raise Refusal("engine", str(error), NOT_AVAILABLE) from error
    if not single:
        print(_text({"type": "summary", **summary}, False), flush=True)
    if interrupts.count:
        return 128 + interrupts.number
    return 0 if summary["valid"] == summary["total"] else NOT_OK


@dataclass(frozen=True)
class _Engine:
    """Where games are played, and in what form they go there and come back."""

    executor: Executor
    wrap: Callable[[Assignment], Any] = lambda item: item
    unwrap: Callable[[Any, Assignment], dict[str, Any]] = lambda result, item: result


@contextmanager
def _engine(
    options: Options, games: Sequence[Job], note: Callable[[str], None]
) -> Iterator[_Engine]:
    slots = min(options.workers, len(games))
    if options.engine == "local":
        with closing(LocalExecutor(worker.play, slots, pin=options.pin_cpus)) as executor:
            yield _Engine(executor)
        return
    from sysone.arena.batch import parcels

    packages, zips = parcels.pack(games)
    isolation, image = options.isolation, options.docker_image
    try:
        remote = executor_of(
            options.engine,
            parcels.play,
            slots,
            address=options.ray_address,
            facts=partial(parcels.facts, isolation, image),
            files=zips,
            note=note,
        )
    except EngineError as error:
        raise Refusal("engine", str(error), NOT_AVAILABLE) from error
    with closing(remote):
        yield _Engine(
            remote,
            lambda item: parcels.Parcel(item, isolation, image, packages),
            lambda result, item: parcels.unpack(result, item, note),
        )


def isolation_of(wanted: str, image: str | None = None) -> Isolation:
    """The isolation of an option.

    Raises:
        ArenaError: it names none.
        Refusal: it does not work here.
    """
    if wanted not in CHOICES["isolation"]:
        raise ArenaError(
            "usage", f"--isolation must be {' or '.join(CHOICES['isolation'])}, not {wanted!r}"
        )
    try:
        return choose(wanted, image)
    except UnavailableError as error:
        raise Refusal("isolation", str(error), NOT_AVAILABLE) from error


def _argv() -> list[str]:
    """The command as it was typed, paths outside this directory by their last part."""
    return [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]


def _text(value: Mapping[str, Any], pretty: bool) -> str:
    return json.dumps(value, indent=1 if pretty else None, allow_nan=False)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise ArenaError("usage", f"seeds must be from 0 to 2^64 - 1, not {text!r}")
    return int(text)


def _seeds(texts: list[str] | None) -> list[int] | None:
    if not texts:
        return None
    return [_seed(part.strip()) for text in texts for part in text.split(",")]


def _json(text: str | None, name: str, kind: type, what: str = "object") -> Any:
    if text is None:
        return None
    found = object_of(text, name)
    if not isinstance(found, kind):
        raise ArenaError("usage", f"{name} must be a JSON {what}")
    return found


def _deck(text: str | None, name: str) -> list[str] | None:
    found = _json(text, name, list, "list of strategy references")
    if found is not None and not all(isinstance(ref, str) for ref in found):
        raise ArenaError("usage", f"{name} must be a list of strategy references")
    return None if found is None else [_reference(ref) or "" for ref in found]


def _reference(ref: str | None) -> str | None:
    """A strategy's reference; an absolute path is made relative, as run files keep none."""
    if ref is None or not Path(ref).is_absolute():
        return ref
    return f"./{os.path.relpath(ref)}"


def add_to(app: typer.Typer) -> None:
    """Add the command under its four names."""
    helps = {
        "run": "Play games and print a line of JSON for each, then a summary.",
        "batch": "Many games of a pairing: the same as run.",
        "headless": "Games without anything to look at: the same as run.",
        "match": "One match, unless told otherwise: the same as run.",
    }
    for name, text in helps.items():
        app.command(name, help=text)(run)
