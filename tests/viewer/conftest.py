"""One real output of each kind, made once for all tests of the viewer."""

import fcntl
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sysone.arc.collect import TraceWriter, record_game
from sysone.arc.decide import Agent
from sysone.arc.env import MockEnv
from sysone.arc.play import Limits

HOSTILE = '</script><script>window.hurt=1</script><img src=x onerror="window.hurt=1">'
"""What a file may call its strategy; it must be shown and not run."""


PATIENCE_S = 1800
"""For a test that waits for the outputs of all worlds, on a machine that does other things too."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(PATIENCE_S))


def run(folder: Path, *words: str) -> None:
    """Run one of our commands where nothing else is."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder with outputs of all worlds, which the workers of a test run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "viewer-outputs"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            begun = folder.with_suffix(".begun")
            begun.mkdir()
            make_outputs(begun)
            begun.rename(folder)
    return folder


def make_outputs(folder: Path) -> None:
    """Play, drive and evaluate a little of everything."""
    play = ("sysone", "trex", "--clock", "virtual", "--seeds", "2", "--duration", "20")
    play += ("--no-baselines",)
    # Late answers without a shield crash, those of 0.1 s do not.
    for name, more in (
        ("shielded", ("--latency", "normal:100,20")),
        ("late", ("--latency", "normal:500,300", "--no-shield")),
    ):
        run(
            folder,
            *(*play, *more, "--record", f"{name}.jsonl", "--out", f"{name}.json"),
        )
    run(
        folder,
        *("sysone", "trex", "sweep", "--model", "none", "--latency", "0,300", "--inflight", "1"),
        *("--seeds", "2", "--duration", "10", "--jobs", "1", "--out", "sweep.json"),
    )
    run(
        folder,
        *("sysone", "trex", "compare", "shielded.json", "late.json", "--out", "comparison.json"),
        *("--across", "shield", "--across", "latency"),
    )
    # Seconds are no matter here: a strategy that is late on a busy machine is none of our tests.
    teams = ("--red", "std_2027_team", "--blue", "std_2027_rush", "--trusted-local")
    teams += ("--timeout", "30", "--startup-timeout", "120")
    run(folder, "sysone.arena", "run", *teams, "--duration", "20", "--output", "replay.json")
    run(
        folder,
        *("sysone.arena", "run", *teams, "--duration", "5", "--swap-sides", "--workers", "1"),
        *("--replays", "all", "--output", "games"),
    )
    run(
        folder,
        *("sysone", "arc", "eval", "--games", "hcyc,pkey", "--max-actions", "60"),
        *("--out", "report.json", "--record", "traces"),
    )
    drive = ("sysone", "drive", "run", "--subset", "10003")
    run(folder, *drive, "--agent", "stub", "--traffic", "4", "--out", "stub")
    run(
        folder,
        *(*drive, "--agent", "autopilot", "--camera", "ground", "--save-frames"),
        *("--out", "filmed"),
    )


class Rising:
    """A System-1 that likes the last candidate most."""

    def probabilities(self, observation: Any, candidates: Any, instruction: str, chunk: int) -> Any:
        return [1 + index for index in range(len(candidates))]


class Advice:
    """A System-2 that says the same whenever it is asked."""

    left_s = math.inf

    def propose(self, observation: Any, memory: Any) -> list[str]:
        return ["ACTION4"]

    def report(self) -> dict[str, Any]:
        return ADVICE

    def lines(self) -> list[str]:
        return []

    def reflect(self, reason: str, observation: Any, memory: Any) -> None: ...

    def gained(self, observation: Any, memory: Any) -> None: ...


ADVICE: dict[str, Any] = {
    "summary": "a <b>maze</b> with a door",
    "hypotheses": ["reach the door"],
    "actions": [{"action": "ACTION4", "why": "the door is on the right"}],
    "entities": [{"name": "door", "colour": "red", "x": 3, "y": 4, "role": "goal"}],
}


@pytest.fixture(scope="session")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of a game that two models played."""
    path = tmp_path_factory.mktemp("advised") / "mock0" / "seed0.jsonl"
    env = MockEnv(0, "competition")
    writer = TraceWriter(path, env.game_id, 0)
    record_game(env, Agent(system1=Rising(), system2=Advice()), Limits(20), writer)
    writer.close()
    return path


@pytest.fixture(scope="session")
def hostile(outputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replay whose strategies have markup for a name."""
    replay: dict[str, Any] = json.loads((outputs / "replay.json").read_bytes())
    for side in ("red", "blue"):
        replay["strategies"][side]["key"] = HOSTILE
    path = tmp_path_factory.mktemp("hostile") / "hostile.json"
    path.write_text(json.dumps(replay))
    return path
