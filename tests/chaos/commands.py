"""The long-running commands, each small, with what of its results must not depend on chance."""

import gzip
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysone.arc.play import TIMES
from sysone.drive.results import WALL_CLOCK_KEYS
from sysone.runs import jsonl


@dataclass(frozen=True)
class Command:
    """How it is begun, gone on with, and read."""

    name: str
    arguments: tuple[str, ...]
    """``OUT`` stands for its output."""
    output: str
    """Of the run, in the test's folder: a folder, or a file."""
    read: Callable[[Path], Any]
    """Its results without times, from the test's folder. Raises for what cannot be read."""
    finished: Callable[[Path], Mapping[str, Any]]
    """What is final by now, by name: a disturbed run may have less of it, and nothing else."""
    resume: tuple[str, ...] = ()
    refused: tuple[int, ...] = (1,)
    """Documented exit codes for a folder or disk that cannot be used."""

    def line(self, folder: Path, *more: str) -> list[str]:
        """The command line."""
        out = str(folder / self.output)
        return [sys.executable, "-m", *(part.replace("OUT", out) for part in self.arguments), *more]

    def again(self, folder: Path) -> list[str]:
        """The command line that goes on, or begins where there is nothing to go on with."""
        begun = self.resume and (folder / self.output).exists()
        if self.name == "arena run":
            begun = (folder / self.output / "run.json").exists()
        return self.line(folder, *(self.resume if begun else ()))


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def _without(value: Any, *names: str) -> Any:
    """Leaves the named keys out, at every depth."""
    if isinstance(value, dict):
        return {k: _without(v, *names) for k, v in value.items() if k not in names}
    if isinstance(value, list):
        return [_without(item, *names) for item in value]
    return value


def _trex(folder: Path) -> Any:
    return _without(_json(folder / "out" / "result.json"), "wall_s", "started", "created")


def _trex_seeds(folder: Path) -> dict[str, Any]:
    path = folder / "out" / "result.json"
    if not path.exists():
        return {}
    return {str(row["seed"]): row for row in _trex(folder)["results"]}


ARC_TIMES = (*TIMES, "ms")


def _arc(folder: Path) -> Any:
    report = _json(folder / "out" / "report.json")
    return {name: _without(row, *ARC_TIMES) for name, row in report["games"].items()}


def _arc_games(folder: Path) -> dict[str, Any]:
    return _arc(folder) if (folder / "out" / "report.json").exists() else {}


def _traces(folder: Path) -> dict[str, Any]:
    """Whole episodes: those with an end."""
    found = {}
    for path in sorted((folder / "out").glob("*/*.jsonl")):
        lines = [_without(line, *ARC_TIMES) for line in jsonl.iterate(path)]
        if lines and "end" in lines[-1]:
            found[f"{path.parent.name}/{path.stem}"] = lines
    return found


DRIVE_TIMES = (
    *("wall_s", "driving_s", "duration_system", "save_name", "ticks_sha256"),
    *("sim_fps", "real_time_factor"),
)


def _drive(folder: Path) -> Any:
    found = _json(folder / "out" / "summary.json")
    return {key: value for key, value in found.items() if key not in WALL_CLOCK_KEYS}


def _drives(folder: Path) -> dict[str, Any]:
    found = {}
    for path in sorted((folder / "out").glob("seed_*/*/result.json")):
        gzip.decompress((path.parent / "ticks.jsonl.gz").read_bytes())
        found[path.parent.name] = _without(_json(path), *WALL_CLOCK_KEYS, *DRIVE_TIMES)
    return found


def _arena(folder: Path) -> Any:
    return {"games": _games(folder), "state": _json(folder / "out" / "summary.json")["state"]}


def _games(folder: Path) -> dict[str, Any]:
    path = folder / "out" / "results.jsonl"
    if not path.exists():
        return {}
    rows = [row for row in jsonl.iterate(path) if row["status"] == "ok"]
    assert len({row["index"] for row in rows}) == len(rows), "a game was counted twice"
    for row in rows:
        assert _json(folder / "out" / "replays" / f"{row['index']:06}.json")["digest"]
    return {str(row["index"]): [row["digest"], row["outcome"]] for row in rows}


TREX = Command(
    "trex",
    (
        *("sysone", "trex", "--clock", "virtual", "--latency", "fixed:40", "--seeds", "3"),
        *("--duration", "4", "--out", "OUT/result.json", "--record", "OUT/recording.jsonl"),
    ),
    "out",
    _trex,
    _trex_seeds,
    refused=(1, 2),
)
ARC_EVAL = Command(
    "arc eval",
    (
        *("sysone", "arc", "eval", "--games", "mock0 mock1 mock2", "--policy", "heuristic"),
        *("--max-actions", "30", "--out", "OUT/report.json", "--record", "OUT/traces"),
    ),
    "out",
    _arc,
    _arc_games,
    resume=("--resume",),
)
ARC_COLLECT = Command(
    "arc collect",
    (
        *("sysone", "arc", "collect", "--games", "mock0 mock1", "--policy", "heuristic"),
        *("--episodes", "2", "--max-actions", "30", "--out", "OUT"),
    ),
    "out",
    _traces,
    _traces,
)
DRIVE = Command(
    "drive run",
    (
        *("sysone", "drive", "run", "--agent", "autopilot", "--lights", "green", "--camera"),
        *("none", "--subset", "10001,10003", "--attempt-pause", "0", "--out", "OUT"),
    ),
    "out",
    _drive,
    _drives,
    refused=(1, 10),
)
ARENA = Command(
    "arena run",
    (
        *("sysone", "arena", "run", "--trusted-local", "--duration", "2", "--games", "3"),
        *("--red", "std_2027_random", "--blue", "std_2027_rush", "--timeout", "30"),
        *("--startup-timeout", "120", "--workers", "1", "--replays", "all", "--output", "OUT"),
    ),
    "out",
    _arena,
    _games,
    resume=("--resume",),
    refused=(1, 2, 3),
)
COMMANDS = {each.name: each for each in (TREX, ARC_EVAL, ARC_COLLECT, DRIVE, ARENA)}


def differing(found: Any, wanted: Any, place: str = "") -> list[str]:
    """Where two results differ; short, as they are large."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return [
            text
            for key in sorted({*found, *wanted}, key=str)
            for text in differing(found.get(key), wanted.get(key), f"{place}.{key}")
        ]
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        return [
            text
            for index, (one, other) in enumerate(zip(found, wanted, strict=True))
            for text in differing(one, other, f"{place}[{index}]")
        ]
    if found == wanted:
        return []
    return [f"{place}: {str(found)[:80]} and not {str(wanted)[:80]}"]
