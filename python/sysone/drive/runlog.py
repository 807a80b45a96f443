"""What a run tells while it goes: its state, a line for every change, and that it lives."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sysone.drive.results import Job, read_result
from sysone.runs.atomic import write_json
from sysone.runs.errors import unwritable
from sysone.runs.jsonl import JsonlWriter, iterate


class RunLog:
    """``state.json``, ``events.jsonl``, ``heartbeat.json`` and each drive's ``log.txt``."""

    def __init__(self, out: Path, events: JsonlWriter) -> None:
        self.out = out
        self.events = events
        self.attempts = self._attempts()
        """Used up by each drive."""

    def _attempts(self) -> dict[str, int]:
        try:
            found = json.loads((self.out / "state.json").read_bytes())
            return {str(k): int(v) for k, v in found.get("attempts", {}).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def state(self, state: str, agent: str) -> None:
        """The run's own state has changed."""
        write_json(
            self.out / "state.json",
            {"state": state, "pid": os.getpid(), "attempts": self.attempts, "agent": agent},
            indent=1,
        )
        self.events.append({"wall": time.time(), "run": state})

    def event(self, state: str, job: Job, attempt: int, **more: Any) -> None:
        """A drive's state has changed."""
        self.events.append(
            {"wall": time.time(), "job": job.key, "attempt": attempt, "state": state, **more}
        )
        path = job.folder(self.out) / "log.txt"
        words = " ".join(f"{key}={value}" for key, value in more.items())
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{stamp} attempt {attempt} {state} {words}".rstrip() + "\n")
        except OSError as error:
            raise unwritable(path, error) from error

    def catch_up(self, done: Sequence[Job]) -> None:
        """Tell of drives that a kill kept from the log: between their last file and their line."""
        told = self._saved()
        for job in done:
            result = read_result(job.folder(self.out))
            if job.key not in told and result is not None:
                status = result["record"]["status"]
                self.event("saved", job, result["attempt"], status=status, note="found on resume")

    def _saved(self) -> set[str]:
        """Keys of the drives that were told to be saved."""
        return {
            str(line.get("job"))
            for line in iterate(self.out / "events.jsonl")
            if line.get("state") == "saved"
        }

    def heartbeat(self, route_id: int, tick: int, phase: str) -> None:
        """Replaced in one step, and not brought to the disk: it is about now."""
        path = self.out / "heartbeat.json"
        text = (
            f'{{"pid": {os.getpid()}, "route_id": {route_id}, "tick": {tick}, '
            f'"wall": {time.time():.3f}, "phase": "{phase}"}}\n'
        )
        beside = path.with_name(".heartbeat.tmp")
        try:
            beside.write_text(text, encoding="utf-8")
            beside.replace(path)
        except OSError as error:
            raise unwritable(path, error) from error
