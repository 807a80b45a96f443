"""The whole loop: the shipped routes with the autopilot, and with the stub over the socket."""

import json
import math
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sysone.drive.agents import AgentGone, AgentSocketServer
from sysone.drive.aggregate import aggregate
from sysone.drive.backend import SensorSpec, Setup
from sysone.drive.drivers import AutopilotDriver, SocketDriver, StubDriver
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.executor import DriveConfig, Outcome, drive_route
from sysone.drive.gps import GpsModelMismatch, carla_to_gps, gps_to_carla
from sysone.drive.inject import parse_fault
from sysone.drive.records import success_bench2drive
from sysone.drive.results import all_results, read_score
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import Route, read_routes
from sysone.drive.run import Run, RunOptions
from sysone.drive.service.adapters import (
    AdapterError,
    LeaderboardAdapter,
    audit_reset,
    load_adapter,
    snapshot,
)
from sysone.drive.service.loop import Service
from sysone.drive.service.stub import StubAdapter
from sysone.drive.service.wire import check_fields, parse_message
from sysone.drive.shipped import find_routes, map_of
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

NO_CAMERA = SensorSpec(camera="none")
SMALL = SensorSpec(camera="blank", width=32, height=16)
WALL_CLOCK = ("timestamp", "infer_ms")


@pytest.fixture(scope="module")
def mini_grid() -> RoadMap:
    return map_of("MiniGrid", None)


@pytest.fixture(scope="module")
def routes() -> dict[int, Route]:
    return {route.id: route for route in read_routes(find_routes("routes_mini.xml"))}


def drive(
    route: Route, road_map: RoadMap, driver: Any, *, lights: str = "cycle", **more: Any
) -> Outcome:
    faults = tuple(parse_fault(text) for text in more.pop("inject", ()))
    setup = Setup(road_map, 0.05, more.pop("seed", 0), lights=lights, **more.pop("setup", {}))
    config = DriveConfig(sensors=more.pop("sensors", NO_CAMERA), faults=faults, **more)
    return drive_route(route, setup, EmbeddedBackend(), driver, config)


def lists(outcome: Outcome, profile: str = "per_tick") -> dict[str, int]:
    return {name: len(items) for name, items in outcome.scores[profile].infractions.items()}


def test_autopilot_is_perfect_on_every_route(routes: dict[int, Route], mini_grid: RoadMap) -> None:
    assert list(routes) == [10000, 10001, 10002, 10003, 10004, 10005]
    for route in routes.values():
        outcome = drive(route, mini_grid, AutopilotDriver())
        assert outcome.scores["per_tick"].status == "Perfect", route.id
        assert set(lists(outcome, "bench2drive")) == {"min_speed_infractions"}


@pytest.mark.parametrize("lights", ["green", "red"])
def test_the_stub_sees_neither_lights_nor_signs(
    routes: dict[int, Route], mini_grid: RoadMap, lights: str
) -> None:
    for route in routes.values():
        outcome = drive(route, mini_grid, StubDriver(), lights=lights)
        want = {}
        if lights == "red" and route.id != 10003:
            want["red_light"] = 1
        if route.id in (10003, 10005):
            want["stop_infraction"] = 1
        assert lists(outcome) == want, route.id
        official = lists(outcome, "bench2drive")
        official.pop("min_speed_infractions")
        assert official == want, route.id
        score = outcome.scores["per_tick"]
        assert score.status == ("Completed" if want else "Perfect")
        assert score.score_composed == pytest.approx(
            100 * 0.7 ** want.get("red_light", 0) * 0.8 ** want.get("stop_infraction", 0)
        )


def without_wall_clock(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in tick.items() if name not in WALL_CLOCK}
        for tick in outcome.store
    ]


def test_the_same_seed_gives_the_same_ticks(routes: dict[int, Route], mini_grid: RoadMap) -> None:
    more = {"setup": {"traffic": 12}, "sensors": SensorSpec(camera="none", gnss_noise_deg=5e-6)}
    first, second, other = (
        drive(routes[10002], mini_grid, StubDriver(), seed=seed, **more) for seed in (3, 3, 4)
    )
    assert without_wall_clock(first) == without_wall_clock(second)
    assert without_wall_clock(first) != without_wall_clock(other)


@pytest.fixture
def served() -> Iterator[Callable[..., AgentSocketServer]]:
    """A server with a service connected to it, in a thread."""
    open_servers: list[AgentSocketServer] = []
    threads: list[threading.Thread] = []

    def make(service: Service | None = None, **options: Any) -> AgentSocketServer:
        server = AgentSocketServer(port=0, **options)
        open_servers.append(server)
        chosen = service or Service(StubAdapter(), "stub", allow_sensor_mismatch=True)
        client = socket.create_connection(("127.0.0.1", server.port))
        thread = threading.Thread(target=chosen.serve, args=(client,), daemon=True)
        thread.start()
        threads.append(thread)
        assert server.accept(30.0)
        return server

    yield make
    for server in open_servers:
        server.close()
    for thread in threads:
        thread.join(30.0)


def test_the_second_route_equals_the_same_route_in_a_fresh_process(
    routes: dict[int, Route], mini_grid: RoadMap, served: Callable[..., AgentSocketServer]
) -> None:
    sensors = SensorSpec(camera="blank", width=32, height=16)
    driver = SocketDriver(served())
    drive(routes[10001], mini_grid, driver, sensors=sensors, lights="green")
    second = drive(routes[10000], mini_grid, driver, sensors=sensors, lights="green")
    fresh = drive(routes[10000], mini_grid, SocketDriver(served()), sensors=sensors, lights="green")
    assert second.store.column("control") == fresh.store.column("control")
    assert second.scores["per_tick"].status == "Perfect"


def test_the_audit_finds_what_a_reset_forgets() -> None:
    service = Service(StubAdapter(), "stub")
    agent = service.adapter.load({})
    agent.plan = [(0.0, 0.0), (10.0, 0.0)]
    before = snapshot(agent)
    agent.drive(8.0, 0.5, 0.0, 3.0)
    assert audit_reset(before, snapshot(agent)) == ["index", "steer", "steps"]
    service.adapter.soft_reset(agent)
    assert audit_reset(before, snapshot(agent)) == []


class Answers:
    """The model's end of a connection, answering as a script says."""

    def __init__(self, port: int, script: Callable[[dict[str, Any]], list[dict[str, Any]]]) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.script = script
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self) -> None:
        with self.connection, self.connection.makefile("rb") as lines:
            for line in lines:
                message = check_fields(parse_message(line.strip()))
                for answer in self.script(message):
                    try:
                        self.connection.sendall(json.dumps(answer).encode() + b"\n")
                    except OSError:
                        return


@pytest.mark.parametrize("echo", [True, False])
def test_a_late_answer_never_steers_a_later_tick(
    routes: dict[int, Route], mini_grid: RoadMap, echo: bool
) -> None:
    """Tick 20's answer comes with tick 21's: it is dropped, and 21 gets its own."""
    server = AgentSocketServer(port=0, step_timeout_s=0.5)
    held: list[dict[str, Any]] = []

    def script(message: dict[str, Any]) -> list[dict[str, Any]]:
        if message["type"] == "route_start":
            return [{"type": "ready", "proto": "0.2", "agent": "late"}]
        if message["type"] == "route_end":
            return [{"type": "bye"}]
        tick = message["tick"]
        answer: dict[str, Any] = {"throttle": 0.3, "steer": tick / 10_000}
        if echo:
            answer["tick"] = tick
        if tick == 20:
            held.append(answer)
            return []
        late, held[:] = held[:], []
        return [*late, answer]

    Answers(server.port, script)
    assert server.accept(30.0)
    outcome = drive(
        routes[10000],
        mini_grid,
        SocketDriver(server),
        inject=["leave_route@tick=100000"],
        tick_cap=40,
    )
    server.close()
    for record in outcome.store:
        tick = record["tick"] - 1  # which asked for the control that acts here
        if tick == 20:
            assert record["control_source"] == "hold"
            assert record["control"]["steer"] == pytest.approx(19 / 10_000)
        elif tick >= 1:
            assert record["control_source"] == "agent"
            assert record["control"]["steer"] == pytest.approx(tick / 10_000)
    assert server.late == 1
    assert outcome.failure == "TickRuntime"
    assert outcome.scores["bench2drive"].status == "Failed - TickRuntime"


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("collide@tick=100", lambda o: lists(o, "bench2drive")["collisions_vehicle"] == 1),
        ("run_red@m=100", lambda o: lists(o, "bench2drive")["red_light"] == 1),
        ("stall@tick=100", lambda o: o.end == "blocked"),
        ("leave_route@tick=200", lambda o: o.end == "route_deviation"),
        ("server_abort@tick=30", lambda o: o.failure == "Simulation crashed"),
        ("sensor_gap@tick=30", lambda o: "sensor gap" in o.note),
        ("agent_disconnect@tick=30", lambda o: o.failure == "Agent crashed"),
    ],
)
def test_faults_on_purpose(
    routes: dict[int, Route], mini_grid: RoadMap, fault: str, check: Callable[[Outcome], bool]
) -> None:
    outcome = drive(routes[10000], mini_grid, AutopilotDriver(), inject=[fault], lights="green")
    assert check(outcome), (outcome.end, outcome.failure, lists(outcome, "bench2drive"))


def test_run_stop(routes: dict[int, Route], mini_grid: RoadMap) -> None:
    outcome = drive(routes[10003], mini_grid, AutopilotDriver(), inject=["run_stop@m=80"])
    assert lists(outcome)["stop_infraction"] == 1


def test_a_silent_agent_has_crashed(
    routes: dict[int, Route], mini_grid: RoadMap, served: Callable[..., AgentSocketServer]
) -> None:
    outcome = drive(
        routes[10000],
        mini_grid,
        SocketDriver(served()),
        inject=["agent_silent@tick=50"],
        sensors=SMALL,
    )
    assert outcome.scores["bench2drive"].status == "Failed - Agent crashed"
    assert "3 steps in a row" in outcome.note
    assert len(outcome.store) == 52


def test_a_nan_compass_is_the_last_finite_one(
    routes: dict[int, Route], mini_grid: RoadMap, served: Callable[..., AgentSocketServer]
) -> None:
    outcome = drive(
        routes[10000],
        mini_grid,
        SocketDriver(served()),
        inject=["nan_compass@tick=50"],
        lights="green",
        sensors=SMALL,
    )
    assert outcome.scores["per_tick"].status == "Perfect"


def test_actors_meet_the_autopilot(routes: dict[int, Route], mini_grid: RoadMap) -> None:
    scripts = [
        {"kind": "lead", "s": 25, "profile": [[0, 5.0], [8, 0.0], [14, 6.0]]},
        {"kind": "oncoming", "s": 120, "offset": -3.5, "speed": 7.0},
        {"kind": "static", "s": 60, "offset": 4.0},
    ]
    outcome = drive(
        routes[10000], mini_grid, AutopilotDriver(), lights="green", setup={"actors": scripts}
    )
    assert outcome.scores["per_tick"].status == "Perfect"
    with pytest.raises(ValueError, match="actor 0: kind is 'ufo', expected one of static"):
        drive(routes[10000], mini_grid, AutopilotDriver(), setup={"actors": [{"kind": "ufo"}]})


@pytest.mark.parametrize(("speed", "count"), [(5.0, 1), (30.0, 0)])
def test_an_emergency_vehicle_must_get_through(
    routes: dict[int, Route], mini_grid: RoadMap, speed: float, count: int
) -> None:
    """One that comes from behind in the lane, and one that has a lane of its own."""
    script = {"kind": "emergency", "s": -20, "speed": speed, "offset": 0.0 if count else -4.0}
    if not count:
        script["s"] = 30
    outcome = drive(
        routes[10000], mini_grid, AutopilotDriver(), lights="green", setup={"actors": [script]}
    )
    for profile in ("bench2drive", "per_tick"):
        name = "yield_emergency_vehicle_infractions"
        assert lists(outcome, profile).get(name, 0) == count
    assert outcome.scores["per_tick"].score_penalty == (0.7 if count else 1.0)


@pytest.mark.parametrize(
    ("timeout", "count"), [(15.0, 1), (math.inf, 0)], ids=["timeout", "no timeout"]
)
def test_a_scenario_has_its_time(
    routes: dict[int, Route], mini_grid: RoadMap, timeout: float, count: int
) -> None:
    """Something stands in the lane: it costs 0.7 once and is cleared away, or blocks for good."""
    script = {"kind": "static", "s": 60, "timeout": timeout}
    outcome = drive(
        routes[10000], mini_grid, AutopilotDriver(), lights="green", setup={"actors": [script]}
    )
    for profile in ("bench2drive", "per_tick"):
        assert lists(outcome, profile).get("scenario_timeouts", 0) == count
    assert outcome.end == ("completed" if count else "blocked")
    score = outcome.scores["bench2drive"]
    if count:
        assert score.score_composed == pytest.approx(70.0)
        # told in the tick in which the time was up: 15 s after the car came within 20 m
        told = [tick for tick in outcome.store if tick["events"] and "timed out" in str(tick)]
        (item,) = score.infractions["scenario_timeouts"]
        assert [tick["tick"] for tick in told] == [item.tick]
        near = next(t for t in outcome.store if t["odometer_m"] > 60 - 20 - 1.5)
        assert item.sim_time == pytest.approx(near["sim_time"] + timeout, abs=0.5)
    bad = {"actors": [{**script, "timeout": 0}]}
    with pytest.raises(ValueError, match="actor 0: timeout is 0, expected more than 0 s"):
        drive(routes[10000], mini_grid, AutopilotDriver(), setup=bad)


def test_weather_changes_along_the_route(routes: dict[int, Route], mini_grid: RoadMap) -> None:
    """The sun sinks from 45 to 15 degrees, and the pictures darken."""
    kept: list[float] = []
    route = replace(routes[10003], waypoints=routes[10003].waypoints[:30])
    drive_route(
        route,
        Setup(mini_grid, 0.05, 0, weather=route.weather_at(0.0), lights="green"),
        EmbeddedBackend(),
        AutopilotDriver(),
        DriveConfig(sensors=SensorSpec(camera="ground", width=64, height=32)),
        keep=lambda tick, picture: kept.append(float(picture[0].mean())),
    )
    assert kept[-1] < 0.75 * kept[0]
    assert all(a >= b for a, b in pairwise(kept))
    one = replace(route, weathers=route.weathers[:1])
    assert one.weather_at(80.0) == one.weather_at(0.0)


def test_the_gps_check_reads_the_sensor(routes: dict[int, Route], mini_grid: RoadMap) -> None:
    """A sensor that follows another conversion than the plan ends the run, and is named."""

    class Other(EmbeddedBackend):
        def warmup(self, ticks: int = 10) -> tuple[float, float, float]:
            lat, lon, altitude = super().warmup(ticks)
            x, y = gps_to_carla(lat, lon, *mini_grid.reference)
            other = carla_to_gps(x, y, *mini_grid.reference, model="carla_tmerc_0916")
            return *other, altitude

    setup = Setup(mini_grid, 0.05, 0, gps_model="carla_mercator")
    with pytest.raises(
        GpsModelMismatch, match=r"GPS_MODEL_MISMATCH: GNSS reading is.*carla_tmerc_0916"
    ):
        drive_route(
            routes[10000], setup, Other(), AutopilotDriver(), DriveConfig(sensors=NO_CAMERA)
        )


def test_a_stub_hits_what_stands_in_its_way(routes: dict[int, Route], mini_grid: RoadMap) -> None:
    outcome = drive(
        routes[10000],
        mini_grid,
        StubDriver(),
        lights="green",
        setup={"actors": [{"kind": "lead", "s": 40, "speed": 0.0}]},
    )
    assert lists(outcome, "bench2drive")["collisions_vehicle"] == 1
    assert lists(outcome)["collisions_vehicle"] > 100  # every tick of the contact
    assert outcome.scores["per_tick"].score_composed == 0.0
    assert outcome.end == "blocked"


def test_versions(
    served: Callable[..., AgentSocketServer], mini_grid: RoadMap, routes: dict[int, Route]
) -> None:
    low = Service(StubAdapter(), "old", highest="0.2", allow_sensor_mismatch=True)
    server = served(low)
    sensors = SensorSpec(camera="none", lidar=True)
    driver = SocketDriver(server)
    try:
        drive(routes[10000], mini_grid, driver, sensors=sensors, proto="0.3", tick_cap=5)
    finally:
        assert server.proto == "0.2"
    answer = Service(StubAdapter(), "x").answer(
        b'{"type":"route_start","proto":"1.0","route_id":1,"town":"T","keypoints":[]}'
    )
    assert answer["code"] == "version"


def test_a_camera_that_differs_is_refused(
    routes: dict[int, Route], mini_grid: RoadMap, served: Callable[..., AgentSocketServer]
) -> None:
    server = served(Service(StubAdapter(), "stub"))
    outcome = drive(
        routes[10000],
        mini_grid,
        SocketDriver(server),
        sensors=SensorSpec(camera="blank", width=640, height=480),
    )
    assert outcome.scores["bench2drive"].status == "Failed - Agent's sensors were invalid"
    assert "width is 640, the agent asks for 1024" in outcome.note


def test_the_server_says_who_holds_the_port() -> None:
    first = AgentSocketServer(port=0)
    try:
        with pytest.raises(Exception, match="The executor binds"):
            AgentSocketServer(port=first.port)
        with pytest.raises(Exception, match="--allow-remote"):
            AgentSocketServer("0.0.0.0", 0)
        assert first.accept(0.05) is False
        with pytest.raises(AgentGone, match="no model is connected"):
            first.ask(b"{}\n", 1)
    finally:
        first.close()


def test_the_leaderboard_adapter_resets_everything() -> None:
    """Two identical routes in one process give equal controls tick by tick."""
    path = Path(__file__).parent / "stand_in_agent.py"
    adapter = LeaderboardAdapter("simlingo")
    agent = adapter.load({"agent_path": str(path), "agent_config": "c"})
    plan: tuple[list[Any], list[Any]] = ([({"lat": 0.0, "lon": 0.0, "z": 0.0}, 4)], [])
    adapter.set_plan(agent, *plan)
    before = snapshot(agent)

    def route() -> list[tuple[float, float, float]]:
        found = []
        for tick in range(30):
            data = {
                "gps": (tick, [tick * 1e-5, tick * 2e-5, 0.0]),
                "imu": (tick, [0.0] * 7),
                "speed": (tick, {"speed": tick * 0.2}),
            }
            control = adapter.step(agent, data, tick * 0.05)
            found.append((control.throttle, float(control.brake), control.steer))
        return found

    first = route()
    adapter.soft_reset(agent)
    adapter.set_plan(agent, *plan)
    # the filter's mean is set anew by the first frame
    assert audit_reset(before, snapshot(agent)) == ["filtered"]
    assert route() == first
    with pytest.raises(AdapterError, match="agent_path is None"):
        LeaderboardAdapter("automot").load({})
    with pytest.raises(AdapterError, match="expected stub, simlingo, automot or module:Class"):
        load_adapter("x")
    with pytest.raises(AdapterError, match="lacks load, soft_reset"):
        load_adapter("collections:OrderedDict")


def test_an_adapter_is_found_in_the_current_folder(tmp_path, monkeypatch):
    (tmp_path / "an_agent_of_mine.py").write_text(
        "from sysone.drive.service.stub import StubAdapter\nclass Mine(StubAdapter): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert type(load_adapter("an_agent_of_mine:Mine")).__name__ == "Mine"


class TwoProcesses:
    """``drive run`` and ``drive serve`` as a user starts them."""

    def __init__(self, out: Path, *more: str) -> None:
        self.out = out
        self.executor = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive", "run", "--agent", "socket"),
                *("--agent-bind", "127.0.0.1:0", "--out", str(out), *more),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.executor.stdout is not None
        line = self.executor.stdout.readline()
        match = re.fullmatch(r"AGENT_PORT=(\d+)\n", line)
        assert match, line + self.executor.stderr.read()  # type: ignore[union-attr]
        self.model = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive", "serve"),
                *("--adapter", "stub", "--connect", f"127.0.0.1:{match[1]}"),
            ],
            stdout=subprocess.DEVNULL,
        )

    def finish(self) -> tuple[int, str]:
        out, err = self.executor.communicate(timeout=280)
        self.model.wait(timeout=60)
        return self.executor.returncode, out + err


def test_two_processes_drive_the_shipped_routes(tmp_path: Path) -> None:
    code, text = TwoProcesses(tmp_path / "run", "--lights", "green").finish()
    assert code == 0, text
    results = all_results(tmp_path / "run")
    statuses = {r["route_id"]: r["scores"]["per_tick"]["status"] for r in results}
    assert statuses == {
        10000: "Perfect",
        10001: "Perfect",
        10002: "Perfect",
        10003: "Completed",
        10004: "Perfect",
        10005: "Completed",
    }
    assert "bench2drive" in text
    assert "6/6 completed" in text
    summary = json.loads((tmp_path / "run" / "summary.json").read_bytes())
    merge_as_others_do(tmp_path / "run", summary)


def merge_as_others_do(out: Path, summary: dict[str, Any]) -> None:
    """The published merge tool's rules, written anew: read records, divide by what is expected."""
    files = [p for p in (out / "leaderboard").glob("*.json") if "merged.json" not in p.name]
    assert len(files) == 1
    records = []
    for record in json.loads(files[0].read_bytes())["_checkpoint"]["records"]:
        record.pop("index")
        records.append(record)
    records.sort(key=lambda record: record["route_id"])
    expected = len(records) + summary["missing"]
    score = sum(record["scores"]["score_composed"] for record in records) / expected
    rate = sum(map(success_bench2drive, records)) / expected
    assert score == pytest.approx(summary["score_composed"], abs=1e-6)
    assert 100 * rate == pytest.approx(summary["sr_bench2drive"], abs=0.005)
    for record in records:
        assert 10000 <= int(record["route_id"].split("_")[1]) <= 10005
        metrics = out / "metrics" / record["save_name"] / "metric_info.json"
        steps = json.loads(metrics.read_bytes())
        assert set(steps["0"]) == {
            *("acceleration", "angular_velocity", "forward_vector", "right_vector"),
            *("location", "rotation"),
        }
    again = aggregate([read_score(r["scores"]["bench2drive"]) for r in all_results(out)])
    assert again["score_composed"] == summary["score_composed"]


def serve_in_thread(port: int, name: str) -> threading.Thread:
    service = Service(StubAdapter(), name, allow_sensor_mismatch=True)
    client = socket.create_connection(("127.0.0.1", port))
    thread = threading.Thread(target=service.serve, args=(client,), daemon=True)
    thread.start()
    return thread


def run_of(
    out: Path, server: AgentSocketServer, routes: list[Route], road_map: RoadMap, **more: Any
) -> Run:
    options = RunOptions(
        out=out,
        routes_file=find_routes("routes_mini.xml"),
        routes=routes,
        road_map=road_map,
        config=DriveConfig(sensors=SMALL),
        agent="socket",
        seeds=[0],
        lights="green",
        agent_wait_s=0.2,
        **more,
    )
    return Run(options, server, Progress(), sleep=lambda seconds: None)


def agents_of(out: Path) -> list[str]:
    return [result["agent"] for result in all_results(out)]


def test_a_kill_before_the_log_s_line_is_made_good(
    routes: dict[int, Route], mini_grid: RoadMap, tmp_path: Path
) -> None:
    server = AgentSocketServer(port=0)
    thread = serve_in_thread(server.port, "one")
    for _ in range(2):
        assert run_of(tmp_path, server, [routes[10003]], mini_grid).execute() == 0
        path = tmp_path / "events.jsonl"
        lines = path.read_text().splitlines(keepends=True)
        assert sum('"saved"' in line for line in lines) == 1
        path.write_text("".join(line for line in lines if '"saved"' not in line))
    server.close()
    thread.join()


def test_the_autopilot_stands_in_and_is_never_mixed_with_a_model(
    routes: dict[int, Route], mini_grid: RoadMap, tmp_path: Path
) -> None:
    chosen = [routes[10003], routes[10001]]
    server = AgentSocketServer(port=0)
    out = tmp_path / "run"
    assert run_of(out, server, chosen, mini_grid).execute() == 13
    assert run_of(out, server, chosen, mini_grid, fallback="autopilot").execute() == 0
    assert agents_of(out) == ["autopilot", "autopilot"]
    # a model that comes later drives them all
    thread = serve_in_thread(server.port, "one")
    assert run_of(out, server, chosen, mini_grid).execute() == 0
    assert agents_of(out) == ["one", "one"]
    server.drop()
    thread.join()
    # half of a model's run is not filled up by the autopilot, nor by another model
    (out / "seed_0/route_10001_rep0/result.json").unlink()
    with pytest.raises(RunError, match="has drives of one: the autopilot's would be mixed"):
        run_of(out, server, chosen, mini_grid, fallback="autopilot").execute()
    thread = serve_in_thread(server.port, "two")
    with pytest.raises(RunError, match="drives are of one, and the model says that it is two"):
        run_of(out, server, chosen, mini_grid).execute()
    assert agents_of(out) == ["one"]
    server.close()
    thread.join()


def test_the_example_agent(
    routes: dict[int, Route], mini_grid: RoadMap, served: Callable[..., AgentSocketServer]
) -> None:
    folder = Path(__file__).parent.parent.parent / "examples" / "drive"
    sys.path.insert(0, str(folder))
    try:
        adapter = load_adapter("cautious:CautiousAdapter")
    finally:
        sys.path.remove(str(folder))
    service = Service(adapter, "cautious", {"top_speed": 5.0}, allow_sensor_mismatch=True)
    outcome = drive(
        routes[10000], mini_grid, SocketDriver(served(service)), lights="green", sensors=SMALL
    )
    assert outcome.scores["per_tick"].status == "Perfect"
    assert 5.0 < max(outcome.store.column("ego_speed")) < 6.0
    assert outcome.store[10]["info"] == {"brightness": 0.0}
