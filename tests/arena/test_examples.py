"""The examples run as their texts say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def rollout(*options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "rl_rollout.py"), *options],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 1
    totals: dict[str, Any] = json.loads(lines[0])
    return totals


@pytest.mark.parametrize("opponent", [[], ["--opponent", "std_2027_hold", "--trusted-local"]])
def test_the_rollout_resets_what_ends_and_prints_its_totals(opponent: list[str]) -> None:
    totals = rollout("--envs", "2", "--steps", "45", "--duration", "2", *opponent)
    assert (totals["steps"], totals["episodes"]) == (90, 4)
    assert totals["red"] + totals["blue"] + totals["draw"] == 4


def test_the_rollout_is_the_same_again() -> None:
    options = ("--envs", "1", "--steps", "120", "--duration", "12", "--season", "2026")
    first, second = ({**rollout(*options), "steps_per_s": 0} for _ in range(2))
    assert first == second
