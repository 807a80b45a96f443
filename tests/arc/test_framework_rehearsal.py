"""Dress rehearsal: the framework's own unmodified main.py and Swarm, in a process of their own.

Against the toolkit's REST server on loopback, in online and in competition mode. Runs where
ARC_FRAMEWORK_DIR names a checkout; only the registry of agents is ours, because the shipped one
imports many model libraries for its samples.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sysone.arc import toolkit
from sysone.arc.practice.build import SUITE

FRAMEWORK = os.environ.get("ARC_FRAMEWORK_DIR")
if not FRAMEWORK:
    pytest.skip(
        "ARC_FRAMEWORK_DIR names no checkout of the official framework", allow_module_level=True
    )
if not toolkit.available():
    pytest.skip("the ARC toolkit is not installed", allow_module_level=True)

toolkit.import_toolkit()

GOLDEN = Path(__file__).parents[1] / "data" / "arc" / "environment_files"
SHIM = """
from agents.agent import Agent
from sysone.arc.framework import adapter

QwenJevAgent = adapter(Agent, policy="heuristic", max_actions={max_actions})
"""
REGISTRY = """
from .agent import Agent, Playback
from .qwenjev_agent import QwenJevAgent
from .recorder import Recorder
from .swarm import Swarm
from .templates.random_agent import Random

AVAILABLE_AGENTS = {"qwenjevagent": QwenJevAgent, "random": Random}
AVAILABLE_AGENTS |= {name: Playback for name in Recorder.list()}
"""
CARD = "--- FINAL SCORECARD REPORT ---"


@contextmanager
def gateway(games: Path, mode: str, recordings: Path) -> Iterator[int]:
    """The toolkit's REST server on a free port; in competition mode it opens one scorecard."""
    from arc_agi.server import create_app
    from werkzeug.serving import make_server

    served = toolkit.offline_arcade(games, recordings)
    app, _ = create_app(served, competition_mode=mode == "competition")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass(frozen=True)
class Rehearsal:
    """A copy of the framework that plays against a server of ours."""

    folder: Path
    games: Path
    mode: str

    def run(self, *arguments: str, max_actions: int = 60) -> dict[str, dict[str, Any]]:
        """main.py; the final scorecard's games by id."""
        with gateway(self.games, self.mode, self.folder / "served") as port:
            return self._run(port, *arguments, max_actions=max_actions)

    def _run(self, port: int, *arguments: str, max_actions: int) -> dict[str, dict[str, Any]]:
        address = f"http://127.0.0.1:{port}"
        (self.folder / ".env").write_text(
            f"SCHEME=http\nHOST=127.0.0.1\nPORT={port}\nARC_BASE_URL={address}\n"
            f"OPERATION_MODE={self.mode}\nARC_API_KEY=local\nRECORDINGS_DIR=recordings\n"
        )
        (self.folder / "agents" / "qwenjev_agent.py").write_text(
            SHIM.format(max_actions=max_actions)
        )
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ARC_", "OPERATION_"))}
        done = subprocess.run(
            [sys.executable, "main.py", *arguments],
            cwd=self.folder,
            env=kept,
            capture_output=True,
            text=True,
            timeout=1200,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
        assert "Traceback" not in done.stderr, done.stderr[-4000:]
        log = (self.folder / "logs.log").read_text()
        assert CARD in log, log[-3000:]
        report = log[log.index("{", log.index(CARD)) :]
        card, _ = json.JSONDecoder().raw_decode(report)
        return {environment["id"]: environment for environment in card["environments"]}

    def recordings(self) -> list[Path]:
        """What the framework recorded."""
        return sorted((self.folder / "recordings").glob("*.recording.jsonl"))


@pytest.fixture(params=["online", "competition"])
def rehearsal(request: pytest.FixtureRequest, tmp_path: Path) -> Rehearsal:
    """The framework, with the golden game and the practice suite to play."""
    games = tmp_path / "games"
    shutil.copytree(GOLDEN, games)
    shutil.copytree(SUITE, games, dirs_exist_ok=True)
    assert FRAMEWORK is not None
    folder = tmp_path / "framework"
    shutil.copytree(FRAMEWORK, folder, ignore=shutil.ignore_patterns(".git", "recordings"))
    (folder / "agents" / "__init__.py").write_text(REGISTRY)
    return Rehearsal(folder, games, request.param)


def test_the_golden_game_and_its_playback(rehearsal: Rehearsal) -> None:
    card = rehearsal.run("--agent=qwenjevagent", "--game=zz01", max_actions=40)
    # In competition mode a scorecard lists every game of the server.
    assert len(card) == (1 if rehearsal.mode == "online" else 29)
    played = card["zz01-v1"]
    assert played["levels_completed"] >= 1
    assert played["actions"] <= 40
    (recording,) = rehearsal.recordings()
    lines = [json.loads(line)["data"] for line in recording.read_text().splitlines()]
    steps = [line for line in lines if "action_input" in line]
    assert len(steps) == played["actions"]
    assert all(step["action_input"]["reasoning"]["source"] for step in steps)
    again = rehearsal.run(f"--agent={recording.name}", "--game=zz01")["zz01-v1"]
    for key in ("levels_completed", "actions", "score"):
        assert again[key] == played[key]


def test_the_whole_practice_suite(rehearsal: Rehearsal) -> None:
    """Every game in a thread of its own, all of them at once."""
    card = rehearsal.run("--agent=qwenjevagent", max_actions=40)
    assert len(card) == 29
    assert all(0 < game["actions"] <= 40 for game in card.values())
    assert sum(game["levels_completed"] for game in card.values()) >= 8
    assert len(rehearsal.recordings()) == 29


def test_the_random_agent_runs_beside_ours(rehearsal: Rehearsal) -> None:
    card = rehearsal.run("--agent=random", "--game=zz01,pmaz")
    assert all(card[game]["actions"] > 0 for game in ("zz01-v1", "pmaz-v1"))
