"""Kill -9 of either process at random moments, and an abort in cleanup: resume loses nothing."""

import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sysone.drive.results import WALL_CLOCK_KEYS

KILLS = int(os.environ.get("SYSONE_DRIVE_KILLS", "4"))
"""`make drive-proof` takes 50."""
BATCH = 5
ROUTES = ("10001", "10003")
OPTIONS = ("--lights", "green", "--subset", ",".join(ROUTES), "--attempt-pause", "0")


class Pair:
    """An executor and a model, started as a user starts them."""

    def __init__(self, out: Path) -> None:
        self.executor = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive", "run", "--agent-bind", "127.0.0.1:0"),
                *("--camera", "blank", "--out", str(out), *OPTIONS),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.executor.stdout is not None
        match = re.fullmatch(r"AGENT_PORT=(\d+)\n", self.executor.stdout.readline())
        assert match
        self.port = match[1]
        self.serve()

    def serve(self) -> None:
        self.model = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive.service"),
                *("--connect", f"127.0.0.1:{self.port}"),
            ],
            stdout=subprocess.DEVNULL,
        )

    def kill_executor(self) -> None:
        self.executor.kill()
        self.executor.communicate()
        self.model.kill()
        self.model.wait()

    def kill_model(self) -> None:
        self.model.kill()
        self.model.wait()
        if self.executor.poll() is None:
            self.serve()

    def finish(self) -> int:
        code = self.executor.wait(timeout=240)
        self.executor.communicate()
        self.model.kill()
        self.model.wait()
        return code


def summary_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_bytes())
    return {key: value for key, value in found.items() if key not in WALL_CLOCK_KEYS}


def check(out: Path, want: dict[str, Any]) -> None:
    assert summary_of(out) == want
    records = json.loads((out / "leaderboard" / "result.json").read_bytes())["_checkpoint"]
    assert [r["route_id"] for r in records["records"]] == [
        f"RouteScenario_{route}_rep0" for route in ROUTES
    ]
    assert records["progress"] == [len(ROUTES), len(ROUTES)]
    saved = [
        line
        for line in map(json.loads, (out / "events.jsonl").read_text().splitlines())
        if line.get("state") == "saved"
    ]
    assert {line["job"] for line in saved} == {f"seed_0/route_{route}_rep0" for route in ROUTES}


@pytest.mark.timeout(1500)
def test_kill_of_either_process(tmp_path: Path) -> None:
    calm = Pair(tmp_path / "calm")
    assert calm.finish() == 0
    want = summary_of(tmp_path / "calm")
    pick = random.Random(11)
    left = KILLS
    batch = 0
    while left > 0:
        batch += 1
        out = tmp_path / f"run{batch}"
        pair = Pair(out)
        models = 0
        for _ in range(min(BATCH, left)):
            left -= 1
            time.sleep(pick.uniform(0.2, 3.0))
            # a drive is given up after three attempts that the model's death has spoilt
            if models < 2 and pick.random() < 0.5:
                models += 1
                pair.kill_model()
            else:
                pair.kill_executor()
                pair = Pair(out)
        assert pair.finish() == 0
        check(out, want)


ABORTING = """
import os
from sysone.drive.embedded import EmbeddedBackend
EmbeddedBackend.destroy = lambda self: os.abort()
from sysone.drive.cli import main
main()
"""


def test_abort_in_cleanup(tmp_path: Path) -> None:
    """Each time the simulator takes the process with it, one more drive is final."""
    command = ["run", "--agent", "autopilot", *OPTIONS, "--out"]
    plain = [sys.executable, "-m", "sysone.drive", *command, str(tmp_path / "calm")]
    assert subprocess.run(plain, capture_output=True).returncode == 0
    out = tmp_path / "run"
    for count in range(1, len(ROUTES) + 1):
        done = subprocess.run(
            [sys.executable, "-c", ABORTING, *command, str(out)], capture_output=True
        )
        assert done.returncode == -6
        assert len(list(out.glob("seed_0/*/result.json"))) == count
    assert not (out / "summary.json").exists()
    resumed = [sys.executable, "-m", "sysone.drive", *command, str(out)]
    assert subprocess.run(resumed, capture_output=True).returncode == 0
    check(out, summary_of(tmp_path / "calm"))


def test_resume_refuses_other_settings(tmp_path: Path) -> None:
    command = [
        *(sys.executable, "-m", "sysone.drive", "run", "--agent", "autopilot"),
        *("--subset", "10003", "--out", str(tmp_path)),
    ]
    assert subprocess.run(command, capture_output=True).returncode == 0
    before = (tmp_path / "seed_0" / "route_10003_rep0" / "result.json").stat().st_mtime_ns
    assert subprocess.run(command, capture_output=True).returncode == 0  # nothing left to do
    assert (tmp_path / "seed_0" / "route_10003_rep0" / "result.json").stat().st_mtime_ns == before
    other = subprocess.run([*command, "--dt", "0.1"], capture_output=True, text=True)
    assert other.returncode == 10
    assert "dt was 0.05, now 0.1" in other.stderr
    fresh = subprocess.run([*command, "--fresh"], capture_output=True, text=True)
    assert fresh.returncode == 10
    assert "--fresh starts over in a new folder" in fresh.stderr
    (tmp_path / "seed_0" / "route_10003_rep0" / "ticks.jsonl.gz").write_bytes(b"damaged")
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert (tmp_path / "seed_0" / "route_10003_rep0" / "result.json").stat().st_mtime_ns != before
