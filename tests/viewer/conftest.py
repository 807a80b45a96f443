"""One real output of each kind, made once for all tests of the viewer."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HOSTILE = '</script><script>window.hurt=1</script><img src=x onerror="window.hurt=1">'
"""What a file may call its strategy; it must be shown and not run."""


def run(folder: Path, *words: str) -> None:
    """Run one of our commands where nothing else is."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with outputs of all worlds."""
    folder = tmp_path_factory.mktemp("outputs")
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
    teams = ("--red", "std_2027_team", "--blue", "std_2027_rush", "--trusted-local")
    run(folder, "sysone.arena", "run", *teams, "--duration", "20", "--output", "replay.json")
    run(
        folder,
        *("sysone.arena", "run", *teams, "--duration", "5", "--swap-sides", "--workers", "1"),
        *("--replays", "all", "--output", "games"),
    )
    return folder


@pytest.fixture(scope="session")
def hostile(outputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replay whose strategies have markup for a name."""
    replay: dict[str, Any] = json.loads((outputs / "replay.json").read_bytes())
    for side in ("red", "blue"):
        replay["strategies"][side]["key"] = HOSTILE
    path = tmp_path_factory.mktemp("hostile") / "hostile.json"
    path.write_text(json.dumps(replay))
    return path
