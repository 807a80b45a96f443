"""The watchdog's decisions, on a machine and a clock that do not exist; its hands, on real ones."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sysone.drive.cli import app
from sysone.drive.machine import belongs, processes, start_arguments, system
from sysone.drive.ports import Ports, check_ports, is_bound
from sysone.drive.watchdog import EXECUTOR_SILENT_S, Watchdog, WatchOptions

runner = CliRunner()
SERVER = ("/opt/carla/CarlaUE4.sh",)


class Machine:
    """A machine whose probes and memory follow a script."""

    def __init__(self, probes: Callable[["Machine"], str | None]) -> None:
        self.probes = probes
        self.clock = 1000.0
        self.started: list[list[str]] = []
        self.stopped: list[int] = []
        self.groups: list[int] = []
        self.memory: Callable[[Machine], int | None] = lambda machine: 5000 * len(machine.started)
        self.free: Callable[[int, int], Ports] = lambda rpc, tm: check_ports(
            rpc, tm, excluded=[], bound=lambda port: False
        )
        self.dead: set[int] = set()

    def probe(self, port: int) -> str | None:
        return self.probes(self)

    def start(self, command: list[str]) -> int:
        self.started.append(command)
        return 100 + len(self.started)

    def stop_server(self, port: int) -> None:
        self.stopped.append(port)

    def stop_group(self, pid: int) -> None:
        self.groups.append(pid)

    def running(self, pid: int) -> bool:
        return pid not in self.dead

    def gpu_mb(self) -> int | None:
        return self.memory(self)

    def ports(self, rpc: int, tm: int) -> Ports:
        return self.free(rpc, tm)

    def now(self) -> float:
        return self.clock

    def sleep(self, seconds: float) -> None:
        self.clock += seconds


def watchdog(machine: Machine, **more: object) -> tuple[Watchdog, list[str]]:
    told: list[str] = []
    options = WatchOptions(**{"server": SERVER, "port": 2021, **more})  # type: ignore[arg-type]
    made = Watchdog(options, machine, told.append)
    made._port = options.port
    return made, told


def rounds(made: Watchdog, machine: Machine, count: int) -> int | None:
    for _ in range(count):
        code = made.look()
        if code is not None:
            return code
        machine.sleep(15.0)
    return None


def test_a_silent_server_is_restarted_after_thirty_seconds() -> None:
    machine = Machine(lambda m: None if m.started else "timeout")
    made, told = watchdog(machine)
    assert rounds(made, machine, 2) is None
    assert not machine.started
    assert rounds(made, machine, 2) is None
    assert machine.stopped == [2021]
    assert machine.started[0][:3] == [*SERVER, "-carla-rpc-port=2021", "-graphicsadapter=0"]
    assert "the server is up on adapter 0 (5000 MB)" in told


def test_one_missed_probe_is_no_loss() -> None:
    answers = iter(["timeout", None, "timeout", None, None])
    machine = Machine(lambda m: next(answers))
    made, _ = watchdog(machine)
    assert rounds(made, machine, 5) is None
    assert not machine.started


def test_the_card_is_told_by_memory() -> None:
    """Candidates in turn until memory grows; the index that worked is kept."""
    machine = Machine(lambda m: None if m.started else "refused")
    machine.memory = lambda m: 6000 if len(m.started) == 3 else 500
    made, told = watchdog(machine)
    assert rounds(made, machine, 1) is None
    cards = [command[2] for command in machine.started]
    assert cards == ["-graphicsadapter=0", "-graphicsadapter=2", "-graphicsadapter=1"]
    assert "adapter 0: memory grew by 0 MB, expected at least 4000: another card renders" in told


def test_a_card_that_cannot_be_read_is_not_checked() -> None:
    machine = Machine(lambda m: None if m.started else "refused")
    machine.memory = lambda m: None
    made, told = watchdog(machine)
    assert rounds(made, machine, 1) is None
    assert len(machine.started) == 1
    assert "graphics memory cannot be read: the card is not checked" in told


def test_three_failed_restarts_block() -> None:
    machine = Machine(lambda m: "refused")
    made, told = watchdog(machine)
    assert made.run() == 4
    assert len(machine.started) == 3
    assert told[-1] == "3 restarts failed"


def test_ports_are_looked_at_before_every_start() -> None:
    machine = Machine(lambda m: None if m.started else "refused")
    machine.free = lambda rpc, tm: check_ports(rpc, tm, excluded=[(2000, 2025)])
    made, _ = watchdog(machine)
    assert rounds(made, machine, 1) == 4
    assert not machine.started
    made, told = watchdog(machine, auto_port=True)
    assert rounds(made, machine, 1) is None
    assert "-carla-rpc-port=2031" in machine.started[0]
    assert any("taking --carla-port 2031" in line for line in told)


@pytest.mark.parametrize("reason", ["import", "version"])
def test_what_is_no_reason_to_stop_anything(reason: str) -> None:
    machine = Machine(lambda m: reason)
    made, _ = watchdog(machine)
    assert made.run() == 10
    assert not machine.stopped


def test_only_watching() -> None:
    machine = Machine(lambda m: "timeout")
    made, told = watchdog(machine, server=None)
    assert made.run() == 4
    assert "--server does not say how to start one" in told[-1]


def test_model_and_executor_heartbeats(tmp_path: Path) -> None:
    machine = Machine(lambda m: None)
    made, told = watchdog(machine, run=tmp_path, run_pid=77, model=("serve",))
    made.model_pid = machine.start(["serve"])
    beat = {"pid": 1, "route_id": 1, "tick": 5, "wall": machine.clock, "phase": "driving"}
    (tmp_path / "heartbeat.json").write_text(json.dumps(beat))
    assert rounds(made, machine, 4) is None
    assert len(machine.started) == 1  # 3 x 2 s + 60 s are not over
    assert rounds(made, machine, 2) is None
    assert told == ["the model is silent"]
    assert machine.groups == [101]
    machine.dead.add(102)
    (tmp_path / "heartbeat.json").write_text(json.dumps({**beat, "phase": "loading"}))
    made.look()
    assert told[-1] == "the model has ended"
    machine.clock += EXECUTOR_SILENT_S + 1
    made.look()
    assert machine.groups[-1] == 77
    (tmp_path / "state.json").write_text(json.dumps({"state": "done"}))
    assert made.run() == 0
    assert machine.stopped == []  # the server was there before: it is not ours to stop


def test_the_server_is_stopped_when_the_run_is_done(tmp_path: Path) -> None:
    machine = Machine(lambda m: None if m.started else "refused")
    made, _ = watchdog(machine, run=tmp_path)
    rounds(made, machine, 1)
    (tmp_path / "state.json").write_text(json.dumps({"state": "blocked"}))
    assert made.run() == 4
    assert machine.stopped == [2021, 2021]


def test_start_arguments_and_whose_process_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    assert "-RenderOffScreen" not in start_arguments(SERVER, 2021, 0, windows=True)
    found = start_arguments(SERVER, 2021, 1, windows=False)
    assert found[1:] == [
        *("-carla-rpc-port=2021", "-graphicsadapter=1", "-quality-level=Epic", "-windowed"),
        *("-ResX=1280", "-ResY=720", "-RenderOffScreen"),
    ]
    assert belongs(" ".join(found), 2021)
    assert not belongs(" ".join(found), 202)
    assert not belongs(" ".join(found), 20211)


def test_real_processes_are_stopped_by_their_port(tmp_path: Path) -> None:
    """Launcher and program of one port, and not the other instance."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    hands = system()
    mine = [hands.start([*sleeper, "-carla-rpc-port=64021"]) for _ in range(2)]
    other = hands.start([*sleeper, "-carla-rpc-port=64031"])
    try:
        while sum("-carla-rpc-port=640" in line for _, line in processes()) < 3:
            time.sleep(0.05)
        hands.stop_server(64021)
        while any(hands.running(pid) for pid in mine):
            time.sleep(0.05)
        assert hands.running(other)
    finally:
        hands.stop_group(other)
    while hands.running(other):
        time.sleep(0.05)


def test_probe_without_a_server(tmp_path: Path) -> None:
    script = tmp_path / "faults.json"
    script.write_text(json.dumps([{"do": "refuse", "nth": 1}, {"do": "wrong_version", "nth": 2}]))
    given = ["probe", "--backend", "stand-in", "--stand-in-script", str(script)]
    for reason in ("timeout", "version"):
        done = runner.invoke(app, given)
        assert done.exit_code == 4
        assert json.loads(done.stdout) == {
            "alive": False,
            "address": "127.0.0.1:2021",
            "reason": reason,
        }
    done = runner.invoke(app, given)
    assert (done.exit_code, json.loads(done.stdout)["town"]) == (0, "MiniGrid")
    assert runner.invoke(app, [*given, "--side", "x"]).exit_code == 10


def test_preflight() -> None:
    free = next(p for p in range(30000, 60000, 10) if not any(map(is_bound, range(p, p + 4))))
    given = ["preflight", "--carla-port", str(free), "--tm-port", str(free + 3)]
    done = runner.invoke(app, given)
    assert (done.exit_code, json.loads(done.stdout)["free"]) == (0, True)
    held = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import socket,sys,time; s=socket.socket(); "
            f"s.bind(('127.0.0.1', {free + 1})); s.listen(); print(1, flush=True); "
            "time.sleep(600)",
        ],
        stdout=subprocess.PIPE,
    )
    try:
        assert held.stdout is not None
        held.stdout.readline()
        done = runner.invoke(app, given)
        assert done.exit_code == 11
        assert f"port {free + 1} is taken by another process" in done.stderr
        done = runner.invoke(app, [*given, "--auto-port"])
        assert done.exit_code == 0
        assert json.loads(done.stdout)["carla_port"] > free
    finally:
        held.kill()
        held.communicate()
    assert runner.invoke(app, ["preflight", "--side", "x"]).exit_code == 10


def test_doctor_tells_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysone.drive.doctor.client_versions", list)
    done = runner.invoke(app, ["doctor"])
    assert done.exit_code == 0
    assert "--  carla client" in done.output
    assert "-> pip install 'sysone-core[ue5]'" in done.output
    assert len(done.output.splitlines()) < 24
    monkeypatch.setattr("sysone.drive.doctor.client_versions", lambda: ["carla 1", "carla-x 2"])
    done = runner.invoke(app, ["doctor"])
    assert done.exit_code == 10
    assert "!!  carla client      more than one (carla 1, carla-x 2)" in done.output
