"""A run's files: the directory, its lock, its results, and what a resumed run finds.

```
run.json         what is to be played; written before the first game
run.lock         held by the process that plays
results.jsonl    a line per finished attempt, in order of completion
summary.json     what they add up to; replaced after every game
replays/000000.json, logs/000000-1-red.log
```

For an output of one game, ``X.json`` is its replay and the rest is in ``X.run/``.
"""

import contextlib
import json
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from sysone.arena.batch.jobs import Job
from sysone.arena.batch.options import FREE, Options
from sysone.arena.batch.summary import latest
from sysone.executors import processors
from sysone.runs import jsonl
from sysone.runs.atomic import write_json
from sysone.runs.directory import differences
from sysone.runs.lock import Lock, LockedError

FORMAT = "arena-run-v1"
RUN = "run.json"
RESULTS = "results.jsonl"
SUMMARY = "summary.json"
LOCK = "run.lock"


class RefusedError(Exception):
    """The output cannot be used as it is: ``output_exists``, ``locked`` or ``resume_mismatch``."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def folder_of(output: Path) -> Path:
    """Where the run's files are."""
    return output.with_suffix(".run") if output.suffix == ".json" else output


def stored(output: Path) -> dict[str, Any] | None:
    """The ``run.json`` of an earlier run, or None where nothing is.

    Raises:
        RefusedError: something else is there.
    """
    folder = folder_of(output)
    path = folder / RUN
    if path.is_file():
        try:
            run = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise RefusedError("output_exists", f"{path} cannot be read: {error}") from error
        if not isinstance(run, dict) or run.get("format") != FORMAT:
            raise RefusedError("output_exists", f"{path} is not of a run ({FORMAT})")
        return run
    if is_used(output):
        raise RefusedError("output_exists", f"{output} is there and holds no run")
    return None


def is_used(output: Path) -> bool:
    """Whether an output holds anything; a lock that nobody has does not count."""
    folder = folder_of(output)
    if output.exists() and not output.is_dir():
        return True
    return folder.is_dir() and any(item.name != LOCK for item in folder.iterdir())


class Store:
    """The files of a run that this process plays.

    Raises:
        RefusedError: another process holds it, or it is not the same run.
        RunError: it cannot be written.
    """

    def __init__(
        self,
        output: Path,
        options: Options,
        jobs: Sequence[Job],
        *,
        argv: Sequence[str],
        isolation: Mapping[str, Any],
        before: Mapping[str, Any] | None = None,
    ) -> None:
        self.output = output
        self.folder = folder_of(output)
        self.single = output.suffix == ".json"
        try:
            self._lock = Lock(self.folder / LOCK, argv)
        except LockedError as error:
            raise RefusedError("locked", str(error)) from error
        try:
            run = self._run(options, jobs, argv, isolation)
            if before is not None:
                check_same(before, run)
                run["created"] = before["created"]
            write_json(self.folder / RUN, run, indent=1)
            self.results = (
                latest(jsonl.iterate(self.folder / RESULTS))
                if (self.folder / RESULTS).exists()
                else {}
            )
            self._writer = jsonl.JsonlWriter(self.folder / RESULTS, durable=True)
        except BaseException:
            self._lock.close()
            raise

    def replay_path(self, index: int) -> Path:
        """Where a game's replay goes."""
        return self.output if self.single else self.folder / "replays" / f"{index:06d}.json"

    def replay_name(self, index: int) -> str:
        """How results name it: relative to the run's directory."""
        return self.output.name if self.single else f"replays/{index:06d}.json"

    def add(self, line: dict[str, Any]) -> None:
        """Keep a result."""
        self._writer.append(line)
        self.results[line["index"]] = line

    def summary(self, value: Mapping[str, Any]) -> None:
        """Replace the summary."""
        write_json(self.folder / SUMMARY, value, indent=1)

    def close(self) -> None:
        """Let another process have the run."""
        with contextlib.suppress(OSError):
            (self.folder / "logs").rmdir()  # where no log was kept
        self._writer.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _run(
        self,
        options: Options,
        jobs: Sequence[Job],
        argv: Sequence[str],
        isolation: Mapping[str, Any],
    ) -> dict[str, Any]:
        first = next((job for job in jobs if not job.swapped), jobs[0])
        return {
            "format": FORMAT,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "argv": list(argv),
            "cwd": None,
            "config": msgspec.to_builtins(options),
            "fingerprints": dict(first.fingerprints),
            "strategies": (
                {"A": first.pairing.told["red"], "B": first.pairing.told["blue"]}
                if options.jobs is None
                else None
            ),
            "jobs": [job.told() for job in jobs],
            "isolation": dict(isolation),
            "host": {
                "python": platform.python_version(),
                "platform": platform.platform(),
                "cpus": processors(),
            },
        }


def check_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Whether a run is the one that is stored.

    Raises:
        RefusedError: it is not; the text lists what differs.
    """
    texts = differences(before["fingerprints"], now["fingerprints"], "fingerprints.")
    then, current = (
        {key: value for key, value in side["config"].items() if key not in FREE}
        for side in (before, now)
    )
    texts += differences(then, current)
    if not texts:
        for then, current in zip(before["jobs"], now["jobs"], strict=False):
            texts += differences(then, current, f"jobs.{then['index']}.")
            if texts:
                break
        if len(before["jobs"]) != len(now["jobs"]):
            texts.append(f"jobs were {len(before['jobs'])}, now {len(now['jobs'])}")
    if texts:
        raise RefusedError("resume_mismatch", f"the run was another one: {'; '.join(texts)}")
