"""Games that are played on other machines: strategies go there, results and replays come back.

Strategies are shipped as zips named by content and unpacked once on each machine. What a game
writes goes to a folder of its own there and comes back as bytes.
"""

import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from sysone.arena.agents import archive
from sysone.arena.batch import worker
from sysone.arena.batch.jobs import Job
from sysone.arena.batch.worker import Assignment
from sysone.arena.engine import TEAMS
from sysone.arena.isolation import Isolation, UnavailableError, choose
from sysone.arena.match import Side
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import SEASONS
from sysone.executors import installation, shipped
from sysone.runs.atomic import write_bytes

MOST_REPLAY_BYTES: Final = 64 << 20
"""Of a compressed replay."""


@dataclass(frozen=True)
class Parcel:
    """A game, and what a machine needs to play it."""

    assignment: Assignment
    isolation: str
    """By name: each machine finds out itself what works there."""
    image: str | None
    packages: Mapping[str, str]
    """Names of shipped zips by the strategies' folders."""


@dataclass(frozen=True)
class Returned:
    """A result's line and the game's files by name, compressed."""

    line: dict[str, Any]
    replay: bytes | None
    logs: Mapping[str, bytes]


def pack(jobs: Iterable[Job]) -> tuple[dict[str, str], dict[str, bytes]]:
    """Every strategy's folder: the name of its zip, and each zip by its name."""
    folders = {
        str(strategy.folder)
        for job in jobs
        for side in TEAMS
        for strategy in job.pairing.sides[side].strategies.values()
    }
    packages: dict[str, str] = {}
    zips: dict[str, bytes] = {}
    for folder in sorted(folders):
        data = archive.pack(Path(folder), {})
        packages[folder] = shipped.name_of(data)
        zips[packages[folder]] = data
    return packages, zips


def facts(isolation: str, image: str | None) -> dict[str, str]:
    """What must be the same on every machine: the installation, the rules, and a sandbox."""
    found = dict(installation())
    for season in SEASONS:
        for name, value in Book.of(season, {}).fingerprints.items():
            found[f"{name} of {season}"] = value
    try:
        choose(isolation, image)
        found["isolation"] = "works"
    except UnavailableError as error:
        found["isolation"] = str(error)
    return found


def play(parcel: Parcel, stopping: Callable[[], bool]) -> Returned:
    """Play a parcel's game here."""
    with tempfile.TemporaryDirectory(prefix="rmuc-arena-") as name:
        folder = Path(name)
        assignment = replace(
            parcel.assignment,
            job=_unpacked(parcel.assignment.job, parcel.packages),
            isolation=_isolation(parcel.isolation, parcel.image),
            replay_path=folder / "replay.json",
            logs=folder / "logs",
        )
        line = worker.play(assignment, stopping)
        logs = folder / "logs"
        return Returned(
            line,
            zlib.compress((folder / "replay.json").read_bytes()) if line["replay"] else None,
            {log.name: zlib.compress(log.read_bytes()) for log in sorted(logs.glob("*.log"))}
            if logs.is_dir()
            else {},
        )


def unpack(
    returned: Returned, assignment: Assignment, note: Callable[[str], None]
) -> dict[str, Any]:
    """Put what came back where the run has it; the result's line."""
    line = returned.line
    if returned.replay is not None:
        if len(returned.replay) > MOST_REPLAY_BYTES:
            note(
                f"game {line['index']}: its replay has {len(returned.replay):,} bytes and is left "
                f"out, at most {MOST_REPLAY_BYTES:,} come back from a cluster"
            )
            line = {**line, "replay": None}
        else:
            write_bytes(assignment.replay_path, zlib.decompress(returned.replay))
    for name, data in returned.logs.items():
        write_bytes(assignment.logs / name, zlib.decompress(data))
    return line


@cache
def _isolation(name: str, image: str | None) -> Isolation:
    return choose(name, image)


def _unpacked(job: Job, packages: Mapping[str, str]) -> Job:
    sides = {
        team: Side(
            side.control,
            {
                slot: replace(strategy, folder=_folder(packages[str(strategy.folder)]))
                for slot, strategy in side.strategies.items()
            },
        )
        for team, side in job.pairing.sides.items()
    }
    return replace(job, pairing=replace(job.pairing, sides=sides))


def _folder(name: str) -> Path:
    """Where a shipped strategy is unpacked."""
    target = shipped.folder() / "strategies" / name
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=target.parent))
    try:
        archive.unpack(shipped.path_of(name).read_bytes(), beside / "strategy", name)
        (beside / "strategy").rename(target)
    except OSError:
        if not target.is_dir():  # else another game of this machine was first
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target
