"""Faults of every kind in random order over one run: it ends by itself, each route is recorded
once, and with the reason that it had. `make drive-faults` makes a hundred over twenty routes."""

import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

FAULTS = int(os.environ.get("SYSONE_DRIVE_FAULTS", "14"))
ROUTES = 20 if FAULTS >= 100 else 4
SEED = int(os.environ.get("SYSONE_DRIVE_FAULT_SEED", "5"))

FATAL: dict[str, str | tuple[str, ...]] = {
    "abort_tick": "the client died in ",
    "hang_tick": ("tick took longer than", "warmup took longer than"),
    "lost_frame": "sensor gap",
    "tick_timeout": "the server does not tick",
    "ego_gone": "the car is gone",
    "load_fails": "load: RuntimeError",
}
BORNE = ("late_frame", "stale_frame", "slow_tick", "nan_compass")
CLEANUP = ("abort_cleanup", "hang_cleanup")


def write_routes(path: Path) -> list[int]:
    """Thirty metres each, at different places of one street."""
    lines = []
    for number in range(1, ROUTES + 1):
        start = -140 + 3 * number
        points = "".join(f'<position x="{start + 2 * i}" y="1.8" z="0"/>' for i in range(16))
        lines.append(
            f'<route id="{number}" town="MiniGrid"><waypoints>{points}</waypoints></route>'
        )
    path.write_text(f"<routes>{''.join(lines)}</routes>")
    return list(range(1, ROUTES + 1))


def write_script(path: Path, pick: random.Random, count: int) -> None:
    """At most one fatal fault a load, so that each failed attempt has one reason."""
    entries: list[dict[str, Any]] = []
    load, cleanup = 2, 1
    while len(entries) < count:
        draw = pick.random()
        if draw < 0.4:
            kind = pick.choice(list(FATAL))
            entries.append({"do": kind, "nth": load, "tick": pick.randint(3, 60)})
            load += pick.choice((1, 1, 2))
        elif draw < 0.9:
            entries.append({"do": pick.choice(BORNE), "nth": load, "tick": pick.randint(61, 70)})
            load += pick.choice((0, 0, 1))
        else:
            entries.append({"do": pick.choice(CLEANUP), "nth": cleanup})
            cleanup += 2
    path.write_text(json.dumps(entries))


class Processes:
    """Executor and model, as a user or a watchdog starts them again after each end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.executor: subprocess.Popen[str] | None = None
        self.model: subprocess.Popen[bytes] | None = None

    def start_executor(self) -> None:
        folder = self.folder
        self.executor = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive", "run", "--backend", "stand-in"),
                *("--stand-in-script", str(folder / "faults.json"), "--camera", "blank"),
                *("--routes", str(folder / "routes.xml"), "--out", str(folder / "run")),
                *("--agent-bind", f"127.0.0.1:{self.port}", "--attempt-pause", "0"),
                *("--lights", "green", "--server-timeout", "8", "--agent-wait", "120"),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.executor.stdout is not None
        # printed once the port is listened on; empty where it could not be
        while not re.match(r"AGENT_PORT|$", self.executor.stdout.readline()):
            pass

    def start_model(self) -> None:
        here = str(Path(__file__).parent)
        self.model = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive.service", "--forever"),
                *("--adapter", "chaos_agent:ChaosAdapter"),
                *("--connect", f"127.0.0.1:{self.port}", "--allow-sensor-mismatch"),
            ],
            env={**os.environ, "PYTHONPATH": here, "CHAOS_LOG": str(self.folder / "chaos.log")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill_model(self) -> None:
        if self.model is not None:
            self.model.kill()
            self.model.wait()

    def kill_executor(self) -> int:
        assert self.executor is not None
        self.executor.kill()
        return self.wait_executor()

    def wait_executor(self) -> int:
        assert self.executor is not None
        self.executor.communicate()
        return self.executor.returncode

    def port_taken(self) -> int:
        """Start the executor while something else listens there."""
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", self.port))
            other.listen()
            self.start_executor()
            return self.wait_executor()


@pytest.mark.timeout(3000)
def test_faults_of_every_kind(tmp_path: Path) -> None:
    pick = random.Random(SEED)
    routes = write_routes(tmp_path / "routes.xml")
    outside = max(3, FAULTS // 6)
    write_script(tmp_path / "faults.json", pick, FAULTS - outside)
    happened: Counter[str] = Counter()
    both = Processes(tmp_path)
    both.start_executor()
    both.start_model()
    planned = [pick.choice(("model", "model", "executor", "port")) for _ in range(outside)]
    codes = []
    try:
        while True:
            assert both.executor is not None
            if planned:
                time.sleep(pick.uniform(0.3, 2.5))
            if both.executor.poll() is not None or not planned:
                codes.append(both.wait_executor())
                if codes[-1] == 0 or len(codes) > 30:
                    break
                both.start_executor()
                continue
            fault = planned.pop()
            happened[fault] += 1
            if fault == "model":
                both.kill_model()
                both.start_model()
                continue
            both.kill_executor()
            happened["executor"] += fault == "port"
            if fault == "port":
                # 4: a fault of the server came first
                assert both.port_taken() in (4, 11)
            both.start_executor()
    finally:
        both.kill_model()
        if both.executor is not None and both.executor.poll() is None:
            both.kill_executor()
    # it may be blocked while the server is lost again and again; the same command goes on
    assert set(codes) <= {0, 4}
    assert codes[-1] == 0

    state = json.loads((tmp_path / "faults.json.state").read_text())
    entries = json.loads((tmp_path / "faults.json").read_text())
    fired = Counter(str(entries[index]["do"]) for index in state["used"])
    chaos = (tmp_path / "chaos.log").read_text().split() if ROUTES > 4 else []
    happened.update(fired)
    happened["agent"] = len(chaos)
    out = tmp_path / "run"
    records = json.loads((out / "leaderboard/result.json").read_bytes())["_checkpoint"]["records"]
    assert [record["route_id"] for record in records] == [
        f"RouteScenario_{route}_rep0" for route in routes
    ]
    lines = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    saved = Counter(line["job"] for line in lines if line.get("state") == "saved")
    assert set(saved) == {f"seed_0/route_{route}_rep0" for route in routes}

    notes = [line["note"] for line in lines if line.get("state") == "failed"]
    for route in routes:
        result = json.loads((out / f"seed_0/route_{route}_rep0/result.json").read_bytes())
        assert result["final"] is True
        if result["failure"] is not None:
            assert result["record"]["status"] == f"Failed - {result['failure']}"
            notes.append(result["note"])
        else:
            assert result["record"]["status"] in ("Completed", "Perfect")
    # an attempt that a kill of the executor cut short has no note, a killed model has its own
    cut = happened["executor"] + codes.count(4)
    for fault, note in FATAL.items():
        told = sum(one.startswith(note) for one in notes)
        assert fired[fault] - cut <= told <= fired[fault], (fault, told, fired, notes)
    models = [one for one in notes if not any(map(one.startswith, FATAL.values()))]
    assert len(models) <= happened["model"] + happened["executor"]
    for one in models:
        assert re.match(r"the model has closed|the connection broke|no model is conn", one), one
    total = sum(happened.values())
    print(f"{total} faults: {dict(happened)}")
    if FAULTS >= 100:
        assert total >= 100, happened
