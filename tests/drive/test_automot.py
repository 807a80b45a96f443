"""A leaderboard agent with a lidar behind the AutoMoT adapter, over protocol 0.3."""

import threading
from pathlib import Path
from typing import Any

import pytest

from sysone.drive.agents import AgentRefused, AgentSocketServer
from sysone.drive.backend import SensorSpec, Setup
from sysone.drive.drivers import SocketDriver
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.executor import DriveConfig, Outcome, drive_route
from sysone.drive.routes import read_routes
from sysone.drive.service.adapters import LeaderboardAdapter, audit_reset, snapshot
from sysone.drive.service.loop import Service, connect
from sysone.drive.shipped import find_routes, map_of

CONFIG = {"agent_path": str(Path(__file__).parent / "lidar_agent.py")}
ROUTE = read_routes(find_routes("routes_mini.xml"))[0]
TICKS = 60


def drive(server: AgentSocketServer, proto: str, lidar: bool) -> Outcome:
    road_map = map_of("MiniGrid", None, "own")
    setup = Setup(road_map, 0.05, 0, lights="green")
    config = DriveConfig(
        proto=proto, sensors=SensorSpec(camera="none", lidar=lidar), tick_cap=TICKS
    )
    return drive_route(ROUTE, setup, EmbeddedBackend(), SocketDriver(server), config)


@pytest.fixture
def served() -> Any:
    server = AgentSocketServer("127.0.0.1", 0, step_timeout_s=60.0)
    service = Service(LeaderboardAdapter("automot"), "automot", dict(CONFIG))
    thread = threading.Thread(
        target=lambda: service.serve(connect("127.0.0.1", server.port, 60.0)), daemon=True
    )
    thread.start()
    assert server.accept(60.0)
    yield server, service
    server.close()
    thread.join()


def test_the_second_route_equals_the_first(served: Any) -> None:
    server, _ = served
    first, second = drive(server, "0.3", True), drive(server, "0.3", True)
    assert (len(first.store), first.failure, first.agent) == (TICKS + 1, "TickRuntime", "automot")
    assert set(first.store.column("control_source")[1:]) == {"agent"}
    assert first.store.column("control") == second.store.column("control")
    assert first.store.column("control")[5]["steer"] > 0.0


def test_a_reset_agent_is_a_fresh_one() -> None:
    adapter = LeaderboardAdapter("automot")
    agent = adapter.load(CONFIG)
    before = snapshot(agent)
    lock, model = agent.lock, agent.model
    agent.step, agent.extra = 9, [1]
    agent.clouds.append(1)
    agent.controller.step(3.0)
    agent.nearest[0] = 1.0
    assert len(audit_reset(before, snapshot(agent))) == 5
    adapter.soft_reset(agent)
    assert audit_reset(before, snapshot(agent)) == []
    assert (agent.lock, agent.model) == (lock, model)


def test_without_a_lidar_the_route_is_refused_at_its_start(served: Any) -> None:
    server, _ = served
    with pytest.raises(AgentRefused, match="version: sensor 'LIDAR' is not sent"):
        drive(server, "0.2", False)


def test_another_lidar_is_refused(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    server, service = served
    moved = {"type": "sensor.lidar.ray_cast", "id": "LIDAR", "z": 2.2, "channels": 64}
    monkeypatch.setattr(service.adapter, "sensors", lambda agent: [moved])
    found = drive(server, "0.3", True)
    assert found.failure == "Agent's sensors were invalid"
    assert "lidar LIDAR: z is 2.5, the agent asks for 2.2; channels is 16" in found.note
