"""Scripted misbehaviour of the stand-in server, each once, over all processes of a run.

The script is a JSON list of ``{"do": NAME, "nth": N, "tick": T}``. ``nth`` counts the calls of the
fault's kind from 1 over the whole run (connections, loads, spawns, cleanups; for faults of a tick
the loads), ``tick`` the ticks since that load. What was used and counted is kept beside the script:
a fault may take its process with it.
"""

import json
import os
from pathlib import Path
from typing import Any, Final

from sysone.runs.errors import RunError

KINDS: Final = {
    "refuse": "open",
    "wrong_version": "open",
    "load_fails": "load",
    "spawn_fails": "spawn",
    "abort_cleanup": "cleanup",
    "hang_cleanup": "cleanup",
    "lost_frame": "tick",
    "late_frame": "tick",
    "stale_frame": "tick",
    "slow_tick": "tick",
    "hang_tick": "tick",
    "abort_tick": "tick",
    "tick_timeout": "tick",
    "ego_gone": "tick",
    "nan_compass": "tick",
}


class Faults:
    """What is still to go wrong.

    Raises:
        RunError: the script is none.
    """

    def __init__(self, script: str | None) -> None:
        self.path = None if script is None else Path(script)
        self.entries: list[dict[str, Any]] = []
        if self.path is not None:
            try:
                self.entries = json.loads(self.path.read_text(encoding="utf-8"))
                kinds = [KINDS[entry["do"]] for entry in self.entries]
            except (OSError, ValueError, KeyError, TypeError) as error:
                raise RunError(f"{self.path} is no script of faults: {error!r}") from error
            assert len(kinds) == len(self.entries)

    def _state(self) -> dict[str, Any]:
        assert self.path is not None
        try:
            found: dict[str, Any] = json.loads(self._beside().read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {"counts": {}, "used": []}
        return found

    def _beside(self) -> Path:
        assert self.path is not None
        return self.path.with_name(self.path.name + ".state")

    def _keep(self, state: dict[str, Any]) -> None:
        beside = self._beside()
        new = beside.with_name(f"{beside.name}.{os.getpid()}")
        new.write_text(json.dumps(state), encoding="utf-8")
        new.replace(beside)

    def happened(self, kind: str) -> set[str]:
        """One more call of a kind: what goes wrong with it."""
        if not self.entries:
            return set()
        state = self._state()
        count = state["counts"][kind] = state["counts"].get(kind, 0) + 1
        due = [
            index
            for index, entry in enumerate(self.entries)
            if KINDS[entry["do"]] == kind
            and index not in state["used"]
            and int(entry.get("nth", 1)) == count
        ]
        state["used"] += due
        self._keep(state)
        return {str(self.entries[index]["do"]) for index in due}

    def ticked(self, tick: int) -> set[str]:
        """What goes wrong in a tick since the last load."""
        if not any(KINDS[entry["do"]] == "tick" for entry in self.entries):
            return set()
        waiting = [
            index
            for index, entry in enumerate(self.entries)
            if KINDS[entry["do"]] == "tick" and int(entry.get("tick", 1)) == tick
        ]
        if not waiting:
            return set()
        state = self._state()
        load = state["counts"].get("load", 0)
        due = [
            index
            for index in waiting
            if index not in state["used"] and int(self.entries[index].get("nth", 1)) == load
        ]
        if due:
            state["used"] += due
            self._keep(state)
        return {str(self.entries[index]["do"]) for index in due}
