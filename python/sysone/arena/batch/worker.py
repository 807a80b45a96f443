"""One game in a worker's process: played, its replay and logs put where they belong."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysone.arena import match as matches
from sysone.arena.batch.jobs import Job
from sysone.arena.batch.options import Replays
from sysone.arena.engine import TEAMS
from sysone.arena.isolation.base import Isolation

MOST_LOG_BYTES = 1 << 20


@dataclass(frozen=True)
class Assignment:
    """A game that a worker is to play."""

    job: Job
    attempt: int
    limits: matches.Limits
    replays: Replays
    replay_path: Path
    replay_name: str
    isolation: Isolation
    logs: Path
    """Folder for the output of strategies of games that are not ``ok``."""


def play(item: Assignment, stopping: Callable[[], bool]) -> dict[str, Any]:
    """Play; returns the line for ``results.jsonl``."""
    job = item.job
    spool = item.logs / f".{job.index:06d}-{item.attempt}"
    played = matches.play(
        job.setup,
        job.pairing.sides,
        item.limits,
        record=None if item.replays == "none" else item.replay_path,
        record_ok=item.replays == "all",
        swapped=job.swapped,
        log_folder=spool,
        isolation=item.isolation,
        stopping=stopping,
    )
    result = played.result
    ok = result["status"] == "ok"
    if result["replay"] is not None:
        result["replay"] = item.replay_name
    if not ok:
        for side in TEAMS:
            _keep(spool / f"{side}.log", item.logs / f"{job.index:06d}-{item.attempt}-{side}.log")
    shutil.rmtree(spool, ignore_errors=True)
    rest = {key: value for key, value in result.items() if key != "type"}
    return {
        "type": "result",
        "index": job.index,
        "job_id": job.job_id,
        "attempt": item.attempt,
        **rest,
    }


def _keep(log: Path, target: Path) -> None:
    """Keep the end of a log, where the fault is."""
    if not log.is_file() or log.stat().st_size == 0:
        return
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - MOST_LOG_BYTES))
        target.write_bytes(file.read())


def lost(item: Assignment, why: str, *, interrupted: bool = False) -> dict[str, Any]:
    """The line for a game whose worker did not live to write one."""
    job = item.job
    return {
        "type": "result",
        "index": job.index,
        "job_id": job.job_id,
        "attempt": item.attempt,
        "seed": job.seed,
        "swapped": job.swapped,
        "season": job.setup.season,
        "mode": job.setup.mode,
        "status": "interrupted" if interrupted else "failed",
        **dict.fromkeys(("outcome", "winner", "reason", "final", "digest", "ticks")),
        "strategies": {side: job.pairing.sides[side].identity() for side in TEAMS},
        **dict.fromkeys(("wall_s", "sim_s", "worker_pid", "sim_pid", "host", "replay")),
        "error": {"code": "worker", "message": why, "traceback_tail": ""},
    }
