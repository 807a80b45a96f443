"""Keeps a CARLA server, a model and a run alive: probes, restarts, and gives up in time.

What it does to the machine goes through `System`, so that its decisions can be tested with a clock
and processes that do not exist.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sysone.drive.exits import BAD_CONFIG, BLOCKED
from sysone.drive.machine import STOP_PAUSE_S, System, start_arguments

PROBE_EVERY_S: Final = 15.0
SILENT_S: Final = 30.0
"""After a failed probe, until the server counts as lost."""
START_S: Final = 180.0
START_PROBE_EVERY_S: Final = 5.0
GPU_GROWTH_MB: Final = 4000
"""What a loaded town takes at least: less means another card renders."""
RESTARTS: Final = 3
EXECUTOR_SILENT_S: Final = 25 * 60.0
"""Legal pauses are below 5 minutes."""
MODEL_GRACE_S: Final = 60.0
FINISHED: Final = ("done", "blocked", "aborted")


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What is to be kept up."""

    server: tuple[str, ...] | None
    """Program and arguments; None: the server is only watched."""
    side: str = "ue5"
    host: str | None = None
    port: int = 2021
    tm_port: int = 8000
    auto_port: bool = False
    adapters: tuple[int, ...] = (0, 2, 1, 3)
    run: Path | None = None
    run_pid: int | None = None
    model: tuple[str, ...] | None = None
    step_timeout_s: float = 2.0
    keep_server: bool = False


@dataclass
class Watchdog:
    """One loop over what is to be kept up."""

    options: WatchOptions
    system: System
    tell: Callable[[str], None]
    failed: int = 0
    """Restarts in a row after which no probe passed."""
    restarts: int = 0
    model_pid: int | None = None
    _silent_since: float | None = field(default=None, init=False)
    _adapter: int = field(default=0, init=False)
    _beat: tuple[str, float] | None = field(default=None, init=False)
    _port: int = field(default=0, init=False)

    def run(self) -> int:
        """Until the run is done; an exit code."""
        options = self.options
        self._port = options.port
        if options.model is not None:
            self.model_pid = self.system.start(list(options.model))
        while True:
            code = self.look()
            if code is not None:
                self.end()
                return code
            self.system.sleep(PROBE_EVERY_S)

    def look(self) -> int | None:
        """One round; an exit code where it was the last."""
        state = self._run_state()
        if state in FINISHED:
            self.tell(f"the run is {state}")
            return BLOCKED if state == "blocked" else 0
        code = self._look_at_server()
        if code is not None:
            return code
        self._look_at_model()
        self._look_at_executor()
        return None

    def _look_at_server(self) -> int | None:
        reason = self.system.probe(self._port)
        now = self.system.now()
        if reason is None:
            self._silent_since, self.failed = None, 0
            return None
        if reason == "import":
            # this machine's fault, and never a reason to stop anything
            self.tell("the carla client cannot be imported here: nothing can be probed")
            return BAD_CONFIG
        if reason == "version":
            self.tell("a server of another version answers: it is left alone")
            return BAD_CONFIG
        if self._silent_since is None:
            self._silent_since = now
            if reason == "timeout" or self.options.server is None:
                self.tell(f"the server does not answer ({reason})")
                return None
        if reason == "timeout" and now - self._silent_since < SILENT_S:
            return None
        if self.options.server is None:
            if now - self._silent_since >= SILENT_S:
                self.tell("the server is lost, and --server does not say how to start one")
                return BLOCKED
            return None
        self.tell(f"the server is lost ({reason})")
        return self._restart()

    def _restart(self) -> int | None:
        while self.failed < RESTARTS:
            self.restarts += 1
            if self._start_once():
                self._silent_since, self.failed = None, 0
                return None
            self.failed += 1
        self.tell(f"{RESTARTS} restarts failed")
        return BLOCKED

    def _start_once(self) -> bool:
        options, system = self.options, self.system
        assert options.server is not None
        system.stop_server(self._port)
        system.sleep(STOP_PAUSE_S)
        ports = system.ports(self._port, options.tm_port)
        if not ports.free:
            self.tell(ports.text())
            if not options.auto_port or ports.proposed_rpc is None:
                return False
            self._port = ports.proposed_rpc
            self.tell(f"taking --carla-port {self._port}: the run needs the same")
        adapter = options.adapters[self._adapter % len(options.adapters)]
        before = system.gpu_mb()
        command = start_arguments(options.server, self._port, adapter)
        self.tell(f"starting {' '.join(command)}")
        system.start(command)
        deadline = system.now() + START_S
        while system.now() < deadline:
            system.sleep(START_PROBE_EVERY_S)
            if system.probe(self._port) is None:
                break
        else:
            self.tell(f"no answer within {START_S:g} s on adapter {adapter}")
            self._adapter += 1
            return False
        after = system.gpu_mb()
        if before is None or after is None:
            self.tell("graphics memory cannot be read: the card is not checked")
            return True
        if after - before < GPU_GROWTH_MB:
            self.tell(
                f"adapter {adapter}: memory grew by {after - before} MB, expected at least "
                f"{GPU_GROWTH_MB}: another card renders"
            )
            self._adapter += 1
            system.stop_server(self._port)
            return False
        self.tell(f"the server is up on adapter {adapter} ({after - before} MB)")
        return True

    def _heartbeat(self) -> dict[str, Any] | None:
        return _read(self.options.run, "heartbeat.json")

    def _run_state(self) -> str | None:
        found = _read(self.options.run, "state.json")
        return None if found is None else str(found.get("state"))

    def _look_at_model(self) -> None:
        options, system = self.options, self.system
        if options.model is None or self.model_pid is None:
            return
        beat = self._heartbeat()
        limit = 3 * options.step_timeout_s + MODEL_GRACE_S
        stale = (
            beat is not None
            and beat.get("phase") == "driving"
            and system.now() - float(beat.get("wall", 0.0)) > limit
        )
        if system.running(self.model_pid) and not stale:
            return
        self.tell("the model is silent" if stale else "the model has ended")
        system.stop_group(self.model_pid)
        self.model_pid = system.start(list(options.model))

    def _look_at_executor(self) -> None:
        beat = self._heartbeat()
        if beat is None:
            return
        text, now = json.dumps(beat, sort_keys=True), self.system.now()
        if self._beat is None or self._beat[0] != text:
            self._beat = (text, now)
        elif now - self._beat[1] > EXECUTOR_SILENT_S and self.options.run_pid is not None:
            self.tell(f"no heartbeat for {EXECUTOR_SILENT_S / 60:g} min: stopping the executor")
            self.system.stop_group(self.options.run_pid)
            self._beat = (text, now)

    def end(self) -> None:
        """Stop what was started: a server without clients renders at full speed."""
        if self.model_pid is not None:
            self.system.stop_group(self.model_pid)
            self.model_pid = None
        if self.options.server is not None and not self.options.keep_server and self.restarts:
            self.system.stop_server(self._port)


def _read(folder: Path | None, name: str) -> dict[str, Any] | None:
    if folder is None:
        return None
    try:
        found = json.loads((folder / name).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
