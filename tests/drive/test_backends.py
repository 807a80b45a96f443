"""What every backend must do, whoever simulates: one suite, run on the embedded world, on a replay
of it, on the CARLA backend over the stand-in server, and over a real server where one answers at
``DRIVE_CARLA_HOST`` (127.0.0.1) and ``DRIVE_CARLA_PORT`` (2021)."""

import dataclasses
import math
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysone.drive.backend import Backend, Control, Frame, SensorSpec, Setup, SimulationCrashed
from sysone.drive.carla import CarlaBackend, ServerAddress
from sysone.drive.drivers import AutopilotDriver
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.embedded.lights import STATES
from sysone.drive.executor import DriveConfig, drive_route
from sysone.drive.planning import DensePlan, densify
from sysone.drive.replay import ReplayBackend
from sysone.drive.results import Job, save_outcome
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import Route, read_routes
from sysone.drive.shipped import find_routes, map_of

DT = 0.05
PATTERN = SensorSpec(camera="pattern", width=64, height=32)
WARMUP_TICKS = 10


@pytest.fixture(scope="module")
def mini_grid() -> RoadMap:
    return map_of("MiniGrid", None)


@pytest.fixture(scope="module")
def route() -> Route:
    return read_routes(find_routes("routes_mini.xml"))[0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, mini_grid: RoadMap, route: Route) -> Path:
    """The folder of a drive of the embedded world."""
    out = tmp_path_factory.mktemp("recorded")
    job = Job(route.id, 0, 0)
    setup = Setup(mini_grid, DT, 0, lights="green", gps_model=mini_grid.gps_model)
    config = DriveConfig(sensors=SensorSpec(camera="none"), gps_model=mini_grid.gps_model)
    outcome = drive_route(route, setup, EmbeddedBackend(), AutopilotDriver(), config)
    save_outcome(out, job, outcome, attempt=0, profile="bench2drive")
    return job.folder(out)


SERVER = ServerAddress(
    os.environ.get("DRIVE_CARLA_HOST", "127.0.0.1"),
    int(os.environ.get("DRIVE_CARLA_PORT", "2021")),
)
BACKENDS: dict[str, Callable[[Path], Backend]] = {
    "embedded": lambda recorded: EmbeddedBackend(),
    "replay": ReplayBackend,
    "stand-in": lambda recorded: CarlaBackend(ServerAddress(source="stand-in")),
    "carla": lambda recorded: CarlaBackend(SERVER),
}


@dataclasses.dataclass(frozen=True)
class Close:
    """How near is equal: exact where this project computes, single precision over the client's
    types, and what a physics engine leaves on a real server."""

    metres: float = 0.0
    radians: float = 1e-12
    degrees: float = 1e-9
    gravity: float = 1e-6
    speed: float = 0.0
    steady: bool = True


CLOSE = {
    "embedded": Close(),
    "replay": Close(),
    "stand-in": Close(metres=0.05, radians=1e-6, gravity=1e-5),
    "carla": Close(metres=1.0, radians=0.02, degrees=1e-6, gravity=6.0, speed=0.3, steady=False),
}


@pytest.fixture(params=BACKENDS)
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "carla":
        try:
            socket.create_connection((SERVER.host, SERVER.port), timeout=1.0).close()
        except OSError:
            pytest.skip("no server")
    found: str = request.param
    return found


@pytest.fixture
def close(name: str) -> Close:
    return CLOSE[name]


@pytest.fixture
def backend(name: str, recorded: Path) -> Iterator[Backend]:
    made = BACKENDS[name](recorded)
    yield made
    made.close()


@pytest.fixture
def plan(mini_grid: RoadMap, route: Route) -> DensePlan:
    return densify(route.waypoints, mini_grid)


@pytest.fixture
def started(backend: Backend, mini_grid: RoadMap, plan: DensePlan) -> Backend:
    """Loaded, spawned, with sensors, warmed up."""
    start(backend, mini_grid, plan)
    return backend


def start(backend: Backend, road_map: RoadMap, plan: DensePlan) -> tuple[float, float, float]:
    backend.open()
    setup = Setup(road_map, DT, 0, lights="green", gps_model=road_map.gps_model)
    backend.load(setup, plan.points)
    first = plan.points[0]
    backend.spawn_ego(first.x, first.y, first.z + 0.5, first.yaw)
    backend.attach(PATTERN)
    return backend.warmup(WARMUP_TICKS)


def drive(backend: Backend, ticks: int) -> list[Frame]:
    frames = []
    for _ in range(ticks):
        backend.apply(Control(0.5, 0.0, 0.0))
        frames.append(backend.tick())
    return frames


def plain(value: Any) -> bool:
    """Whether nothing but numbers, words, containers of them and arrays is in it."""
    if value is None or isinstance(value, bool | int | float | str | np.ndarray):
        return True
    if dataclasses.is_dataclass(value):
        return all(plain(getattr(value, field.name)) for field in dataclasses.fields(value))
    if isinstance(value, dict):
        return all(plain(key) and plain(one) for key, one in value.items())
    return isinstance(value, list | tuple) and all(map(plain, value))


def test_it_says_who_it_is(backend: Backend) -> None:
    info = backend.open()
    assert info.name in BACKENDS
    assert info.version
    assert plain(info)


def test_warmup_gives_the_reading_at_the_start(
    backend: Backend, close: Close, mini_grid: RoadMap, plan: DensePlan
) -> None:
    reading = start(backend, mini_grid, plan)
    first = plan.points[0]
    wanted = backend.geolocate(first.x, first.y, first.z)
    assert reading[:2] == pytest.approx(wanted[:2], abs=close.degrees)
    assert reading[2] == pytest.approx(wanted[2], abs=1e-9 + close.metres)


def test_frames_and_the_clock_run_in_step(started: Backend) -> None:
    frames = drive(started, 40)
    numbers = [frame.number for frame in frames]
    assert numbers == list(range(numbers[0], numbers[0] + 40))
    assert [frame.sim_time for frame in frames] == pytest.approx(
        [DT * i for i in range(1, 41)], abs=1e-5
    )


def test_every_datum_is_of_its_frame(started: Backend) -> None:
    for frame in drive(started, 5):
        assert {"gps", "imu", "speed", "rgb"} <= set(frame.sensors)
        assert {number for number, _ in frame.sensors.values()} == {frame.number}
        picture = frame.sensors["rgb"][1]
        assert (picture.dtype, picture.shape) == (np.uint8, (32, 64, 3))
        assert picture.flags.c_contiguous


def test_sensors_agree_with_the_car(started: Backend, close: Close) -> None:
    for _ in range(60):
        (frame,) = drive(started, 1)
        ego = started.ego()
        here = started.geolocate(*ego.location)
        assert frame.sensors["gps"][1][:2] == pytest.approx(here[:2], abs=close.degrees)
        compass = frame.sensors["imu"][1][6]
        assert 0.0 <= compass < 2 * math.pi
        turned = math.remainder(compass - math.pi / 2 - ego.yaw, 2 * math.pi)
        assert abs(turned) <= close.radians
        assert frame.sensors["imu"][1][2] == pytest.approx(9.81, abs=close.gravity)
        assert frame.sensors["speed"][1] == pytest.approx(ego.forward_speed, abs=1e-9)
        assert ego.speed == pytest.approx(math.hypot(*ego.velocity))


def test_the_car_moves_as_its_velocity_says(started: Backend, close: Close) -> None:
    before = started.ego().location if drive(started, 1) else None
    for _ in range(60):
        drive(started, 1)
        ego = started.ego()
        assert before is not None
        moved = math.dist(before[:2], ego.location[:2])
        assert moved == pytest.approx(ego.speed * DT, abs=0.02 + close.speed)
        before = ego.location


def test_the_lane_is_the_map_s(started: Backend, mini_grid: RoadMap) -> None:
    drive(started, 20)
    x, y, z = started.ego().location
    found, wanted = started.lane(x, y), mini_grid.nearest(x, y, z=z)
    assert (found.road_id, found.lane_id) == (wanted.road_id, wanted.lane_id)
    assert (found.junction_id, found.lane_type) == (wanted.junction_id, wanted.lane_type)
    near = [found.s, found.x, found.y, found.yaw, found.width, found.distance, found.speed_limit]
    want = [
        *(wanted.s, wanted.x, wanted.y, wanted.yaw, wanted.width),
        *(wanted.distance, wanted.speed_limit),
    ]
    assert near == pytest.approx(want, abs=2e-3)


def test_lights_have_boxes_and_known_states(started: Backend) -> None:
    boxes = {box.id for box in started.boxes() if box.kind == "light"}
    assert {box.kind for box in started.boxes()} == {"light", "stop"}
    for frame in drive(started, 200):
        assert set(frame.lights) == boxes
        assert set(frame.lights.values()) <= set(STATES)
        state, number, _ = started.affecting_light()
        assert (state is None) == (number is None)
        assert number is None or frame.lights[number] == state


def test_only_plain_data_comes_out(started: Backend) -> None:
    (frame,) = drive(started, 1)
    for value in (frame, started.ego(), list(started.actors()), list(started.boxes())):
        assert plain(value)
    assert plain(list(started.scenario_events(True)))
    assert plain(dict(started.forecast(3.0)))


def test_the_same_twice(
    backend: Backend, close: Close, mini_grid: RoadMap, plan: DensePlan
) -> None:
    runs = []
    for _ in range(2):
        start(backend, mini_grid, plan)
        frames = drive(backend, 80)
        runs.append(([frame.sim_time for frame in frames], backend.ego()))
        backend.destroy()
    assert runs[0][0] == pytest.approx(runs[1][0], abs=1e-5)
    if close.steady:
        assert runs[0][1] == runs[1][1]
    assert math.dist(runs[0][1].location, runs[1][1].location) <= close.metres


def test_weather_may_be_set_at_any_time(started: Backend) -> None:
    started.weather({"sun_altitude_angle": 5.0, "precipitation": 80.0})
    drive(started, 1)


def test_what_was_destroyed_does_not_tick(started: Backend) -> None:
    drive(started, 2)
    started.destroy()
    with pytest.raises(SimulationCrashed):
        started.tick()
    started.close()


def test_a_route_is_driven_and_scored(
    backend: Backend, close: Close, mini_grid: RoadMap, route: Route, recorded: Path
) -> None:
    """The executor's whole loop; in a replay with whatever the autopilot answers."""
    setup = Setup(mini_grid, DT, 0, lights="green", gps_model=mini_grid.gps_model)
    config = DriveConfig(sensors=SensorSpec(camera="none"), gps_model=mini_grid.gps_model)
    outcome = drive_route(route, setup, backend, AutopilotDriver(), config)
    assert outcome.scores["per_tick"].status == "Perfect"
    assert outcome.end == "completed"
    if close.steady:
        ours = outcome.store.column("ego_location")
        theirs = ReplayBackend(recorded).store.column("ego_location")
        assert len(ours) == len(theirs)
        apart = max(math.dist(a, b) for a, b in zip(ours, theirs, strict=True))
        assert apart <= close.metres


def test_the_suite_knows_every_method() -> None:
    """A method that a backend must have and that no test above calls would go untested."""
    text = Path(__file__).read_text()
    methods = [name for name in vars(Backend) if not name.startswith("_")]
    assert len(methods) > 15
    assert [name for name in methods if f".{name}(" not in text] == []
