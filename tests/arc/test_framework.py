"""Our adapter in the framework's loop, against the toolkit's own REST server on loopback."""

import importlib
import importlib.util
import logging
import os
import shutil
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysone.arc import toolkit
from sysone.arc.actions import click
from sysone.arc.decide import StepRecord
from sysone.arc.practice.build import SUITE

if not toolkit.available():
    pytest.skip("the ARC toolkit is not installed", allow_module_level=True)

arc_agi = toolkit.import_toolkit()
from arcengine import FrameDataRaw, GameAction, GameState  # noqa: E402

from sysone.arc.framework import KEPT_FRAMES, adapter, reasoning_of  # noqa: E402

DATA = Path(__file__).parents[1] / "data" / "arc" / "environment_files"


def load_standin() -> Any:
    path = Path(__file__).with_name("framework_standin.py")
    spec = importlib.util.spec_from_file_location("framework_standin", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


standin = load_standin()


def real_agent() -> type[Any] | None:
    """The framework's own base class, from the checkout that ARC_FRAMEWORK_DIR names.

    Its package's ``__init__`` imports many model libraries for its sample agents, so the package
    is made here and only ``agents.agent`` and what that needs is taken from it.
    """
    folder = os.environ.get("ARC_FRAMEWORK_DIR")
    if not folder:
        return None
    package = types.ModuleType("agents")
    package.__path__ = [str(Path(folder) / "agents")]
    sys.modules["agents"] = package
    found: type[Any] = importlib.import_module("agents.agent").Agent
    return found


REAL = real_agent()


@pytest.fixture(params=["contract", "framework"])
def base(request: pytest.FixtureRequest) -> type[Any]:
    """The base class that the adapter extends."""
    if request.param == "contract":
        found: type[Any] = standin.Agent
        return found
    if REAL is None:
        pytest.skip("ARC_FRAMEWORK_DIR names no checkout of the official framework")
    return REAL


@pytest.fixture(params=["online", "competition"])
def gateway(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The toolkit's REST server over the golden game and two of ours; its mode and address."""
    from arc_agi.server import create_app
    from werkzeug.serving import make_server

    games = tmp_path / "games"
    shutil.copytree(DATA, games)
    for game in ("pmaz", "pcyc"):
        shutil.copytree(SUITE / game, games / game)
    served = toolkit.offline_arcade(games, tmp_path / "recordings")
    app, _ = create_app(served, competition_mode=request.param == "competition")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield request.param, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def client(mode: str, url: str, tmp_path: Path) -> Any:
    return arc_agi.Arcade(
        arc_api_key="local",
        arc_base_url=url,
        operation_mode=arc_agi.OperationMode(mode),
        environments_dir=str(tmp_path / "none"),
        recordings_dir=str(tmp_path / "client"),
        logger=toolkit.LOGGER,
    )


def test_dress_rehearsal(gateway: tuple[str, str], tmp_path: Path, base: type[Any]) -> None:
    """Three games in three threads over HTTP, in the gateway's mode."""
    mode, url = gateway
    arcade = client(mode, url, tmp_path)
    agent_class = adapter(base, policy="heuristic", max_actions=120)
    assert agent_class.__name__.lower() == "qwenjevagent"
    agents, card = standin.swarm(agent_class, arcade, ["zz01-v1", "pmaz-v1", "pcyc-v1"])
    assert [agent.action_counter for agent in agents] == [agent._taken for agent in agents]
    assert all(agent.action_counter <= 120 for agent in agents)
    levels = {agent.game_id: agent.player.observation.levels_completed for agent in agents}
    assert levels["zz01-v1"] >= 1
    assert levels["pmaz-v1"] >= 1
    assert all(len(agent.frames) <= KEPT_FRAMES for agent in agents)
    assert all(not agent.player.errors for agent in agents)
    scored = {environment.id: environment for environment in card.environments}
    for agent in agents:
        environment = scored[agent.game_id]
        assert environment.levels_completed == levels[agent.game_id]
        assert environment.actions == agent.action_counter


def test_max_actions_is_met_exactly(base: type[Any]) -> None:
    env = FakeEnv()
    agent = make(adapter(base, policy="heuristic", max_actions=90), env)
    agent.main()
    assert len(env.sent) == 90


def test_the_empty_first_frame_is_no_reason_for_a_reset(base: type[Any]) -> None:
    env = FakeEnv()
    agent = make(adapter(base, policy="heuristic", max_actions=5), env)
    agent.main()
    assert env.resets == 0


def test_no_answer_does_not_end_the_game(base: type[Any]) -> None:
    env = FakeEnv(silent_at={3, 4})
    agent = make(adapter(base, policy="heuristic", max_actions=20), env)
    agent.main()
    assert len(env.sent) == 20
    assert agent.no_answers == 2


def test_an_environment_that_raises_does_not_end_the_game(base: type[Any]) -> None:
    env = FakeEnv(raising_at={2})
    agent = make(adapter(base, policy="heuristic", max_actions=10), env)
    agent.main()
    assert len(env.sent) == 10
    assert agent.player.errors["request"] == 1


def test_reasoning_is_small_json() -> None:
    record = StepRecord("model", 255, 0.5, [("ACTION1", 0.5)] * 100, "x" * 100_000)
    found = reasoning_of(record)
    assert len(str(found)) < 16_000
    assert len(found["top"]) == 3


def test_every_click_arrives_as_chosen(base: type[Any]) -> None:
    """Eight threads that share the enum's members, switched every microsecond."""
    n_agents, n_clicks = 8, 150
    agent_class = adapter(base, policy="heuristic", max_actions=n_clicks)
    envs = [FakeEnv(available=(6,)) for _ in range(n_agents)]
    agents = [make(agent_class, env) for env in envs]
    chosen: list[list[tuple[int, int]]] = [[] for _ in agents]
    for index, agent in enumerate(agents):
        agent.player.explorer = Clicker(index, chosen[index])
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=agent.main) for agent in agents]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    for env, wanted in zip(envs, chosen, strict=True):
        assert len(wanted) == n_clicks
        assert [(data["x"], data["y"]) for _, data in env.sent] == wanted


class Clicker:
    """Clicks cells that no other agent clicks at the same turn."""

    name = "clicker"

    def __init__(self, index: int, chosen: list[tuple[int, int]]) -> None:
        self.index, self.chosen = index, chosen

    def choose(self, observation: Any, candidates: Any, memory: Any, may_reset: bool) -> Any:
        cell = ((8 * len(self.chosen) + self.index) % 64, (len(self.chosen) + self.index) % 64)
        self.chosen.append(cell)
        return click(*cell)

    def learn(self, before: Any, action: Any, after: Any, noted: Any) -> None:
        pass


class FakeEnv:
    """What the framework calls ``arc_env``; remembers what was sent."""

    def __init__(
        self,
        available: tuple[int, ...] = (1, 2, 3, 4, 6),
        silent_at: set[int] | None = None,
        raising_at: set[int] | None = None,
    ) -> None:
        self.available = available
        self.silent_at, self.raising_at = silent_at or set(), raising_at or set()
        self.sent: list[tuple[int, dict[str, Any]]] = []
        self.resets = 0
        self.observation_space = self._frame()

    def _frame(self) -> FrameDataRaw:
        raw = FrameDataRaw()
        raw.game_id = "fake"
        raw.state = GameState.NOT_FINISHED
        raw.win_levels = 3
        raw.available_actions = list(self.available)
        picture = np.full((64, 64), 5, np.int8)
        picture[len(self.sent) % 64, 30] = 8
        raw.frame = [picture]
        return raw

    def reset(self) -> FrameDataRaw:
        self.resets += 1
        return self._frame()

    def step(self, action: GameAction, data: Any = None, reasoning: Any = None) -> Any:
        self.sent.append((action.value, dict(data)))
        turn = len(self.sent)
        if turn in self.raising_at:
            raise RuntimeError("the game broke")
        if turn in self.silent_at:
            return None
        self.observation_space = self._frame()
        return self.observation_space


def make(agent_class: type[Any], env: FakeEnv) -> Any:
    return agent_class(
        card_id="card",
        game_id="fake",
        agent_name="qwenjevagent",
        ROOT_URL="",
        record=False,
        arc_env=env,
        tags=[],
    )
