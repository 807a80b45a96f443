"""Runs leave no descriptor open: what a process holds after three is what it held after one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import gc, json, os, sys
from sysone.cli import main

def play(turn):
    sys.argv = ["sysone", *(word.replace("TURN", str(turn)) for word in sys.argv_words)]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code

def held():
    gc.collect()
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            found[name] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # that of the listing itself
            pass
    return found

sys.argv_words = json.loads(sys.argv[1])
play(1)
before = held()
play(2)
play(3)
print(json.dumps({name: what for name, what in held().items() if name not in before}),
      file=sys.stderr)
"""

HOLD = (
    "--red std_2026_hold --blue std_2026_rush --duration 4 --season 2026 --trusted-local "
    "--timeout 60 --startup-timeout 300"
)
RUNS = {
    "trex": "trex --clock virtual --latency fixed:100 --seeds 2 --duration 6 --out TURN.json",
    "arc": "arc eval --games mock --policy heuristic --max-actions 20 --out TURN.json",
    "arc collect": "arc collect --games mock --max-actions 20 --out TURN",
    "drive": "drive run --agent autopilot --subset 10001 --out TURN",
    "arena": f"arena run {HOLD} --output TURN",
    "arena, two at a time": f"arena run {HOLD} --games 2 --workers 2 --output TURN",
}


@pytest.mark.parametrize("run", RUNS)
def test_a_run_leaves_no_descriptor_open(run: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(RUNS[run].split())],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stderr.splitlines()[-1]) == {}
