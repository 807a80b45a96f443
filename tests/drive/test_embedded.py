"""The embedded world: pictures and contacts against their twin, car, lights, lidar, threads."""

import math
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysone.drive.backend import ActorState, Control, SensorSpec, Setup
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.embedded.actors import idm
from sysone.drive.embedded.camera import Camera, pattern
from sysone.drive.embedded.lidar import RANGE_M, sweep
from sysone.drive.embedded.lights import LightPlan, find_lights, find_stops
from sysone.drive.embedded.vehicle import Bicycle
from sysone.drive.planning import densify
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import read_routes
from sysone.drive.shipped import find_routes, map_of
from sysone_core import frames
from twin import frames as twin


@pytest.fixture(scope="module")
def mini_grid() -> RoadMap:
    return map_of("MiniGrid", None)


def backend(road_map: RoadMap, spec: SensorSpec, seed: int = 0) -> EmbeddedBackend:
    plan = densify(read_routes(find_routes("routes_mini.xml"))[0].waypoints, road_map)
    made = EmbeddedBackend()
    made.load(Setup(road_map, 0.05, seed), plan.points)
    first = plan.points[0]
    made.spawn_ego(first.x, first.y, 0.5, first.yaw)
    made.attach(spec)
    made.warmup()
    return made


poses = st.tuples(st.floats(-30, 30), st.floats(-30, 30), st.floats(-7, 7))


@given(pose=poses, size=st.sampled_from([(8, 16), (32, 41), (64, 48)]), seed=st.integers(0, 9))
def test_the_ground_equals_its_twin(
    pose: tuple[float, float, float], size: tuple[int, int], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 5, (200, 300), dtype=np.uint8)
    palette = rng.integers(0, 256, (256, 3), dtype=np.uint8)
    ours, theirs = (np.zeros((*size, 3), np.uint8) for _ in range(2))
    rest = (*pose, 20.0, -1.5, 0.2, 2.0)
    frames.ground_camera(cells, -15.0, -10.0, 0.1, palette, ours, *rest)
    twin.ground_camera(cells, -15.0, -10.0, 0.1, palette, theirs, *rest)
    # a sample on the border of two cells may fall to either side
    assert (ours != theirs).any(axis=2).mean() <= 0.002


@given(
    corners=st.lists(st.tuples(st.floats(-5, 45), st.floats(-5, 35)), min_size=4, max_size=4),
)
def test_polygons_equal_their_twin(corners: list[tuple[float, float]]) -> None:
    polygon = np.array(corners)
    ours, theirs = (np.zeros((30, 40, 3), np.uint8) for _ in range(2))
    frames.fill_convex(polygon, (1, 2, 3), ours)
    twin.fill_convex(polygon, (1, 2, 3), theirs)
    assert (ours == theirs).all()


boxes = st.tuples(
    st.floats(-4, 4), st.floats(-4, 4), st.floats(-4, 4), st.floats(0.2, 3), st.floats(0.2, 3)
)


@given(a=boxes, b=boxes)
def test_contacts_equal_their_twin(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    ours = frames.boxes_overlap(*a, *b)
    theirs = twin.boxes_overlap(*a, *b)
    if ours is None or theirs is None:
        # only boxes that barely touch may differ
        assert ours == theirs or (ours or theirs or (1.0,))[0] < 1e-9
        return
    assert ours[0] == pytest.approx(theirs[0], abs=1e-9)
    moved = (a[0] + ours[1] * (ours[0] + 1e-6), a[1] + ours[2] * (ours[0] + 1e-6), *a[2:])
    assert frames.boxes_overlap(*moved, *b) is None


def test_wrong_pictures_are_refused() -> None:
    picture = np.zeros((8, 8, 3), np.uint8)
    cells, palette = np.zeros((4, 4), np.uint8), np.zeros((256, 3), np.uint8)
    with pytest.raises(ValueError, match="palette must be"):
        frames.ground_camera(cells, 0, 0, 0.1, palette[:4], picture, 0, 0, 0, 9, 0, 0, 2)
    with pytest.raises(ValueError, match="the picture of the ground is empty"):
        frames.ground_camera(cells[:0], 0, 0, 0.1, palette, picture, 0, 0, 0, 9, 0, 0, 2)
    with pytest.raises(ValueError, match="do not match"):
        frames.bgra_to_bgr(b"12345678", bytearray(5))
    with pytest.raises(ValueError, match="do not fit"):
        frames.b64_decode_into(b"AAAA", bytearray(2))
    with pytest.raises(ValueError, match="level is 'mmx', expected one of scalar"):
        frames.set_simd_level("mmx")


def test_the_camera_is_the_specified_one(mini_grid: RoadMap) -> None:
    camera = Camera(SensorSpec())
    assert camera.focal == pytest.approx(358.506, abs=1e-3)
    world = backend(mini_grid, SensorSpec())
    first = world.tick().sensors["rgb"][1]
    again = backend(mini_grid, SensorSpec()).tick().sensors["rgb"][1]
    assert first.shape == (512, 1024, 3)
    assert first.dtype == np.uint8
    assert (first == again).all()
    # asphalt under the nose, sky above, not one colour
    assert first[500, 512].max() < 90
    assert first[10, 512, 0] > first[10, 512, 2]
    assert len(np.unique(first.reshape(-1, 3), axis=0)) > 20


def test_a_pattern_tells_its_frame() -> None:
    spec = SensorSpec(camera="pattern", width=16, height=8)
    assert (pattern(spec, 7) - pattern(spec, 6) == 1).all()


def test_the_car_brakes_and_turns_right() -> None:
    car = Bicycle(0.0, 0.0, 0.0)
    for _ in range(100):
        car.step(Control(1.0, 0.0, 0.0), 0.05)
    assert 15.0 < car.speed < 22.5
    assert (car.y, car.yaw) == (0.0, 0.0)
    for _ in range(20):
        car.step(Control(0.0, 0.0, 0.3), 0.05)
    assert car.y > 0.0  # to the right in a left-handed frame
    assert car.yaw > 0.0
    for _ in range(100):
        car.step(Control(1.0, 1.0, 0.0), 0.05)
    assert car.speed == 0.0  # the brake wins


def test_lights_of_a_junction_take_turns(mini_grid: RoadMap) -> None:
    lights = find_lights(mini_grid)
    plan = LightPlan(lights, seed=1)
    seen = set()
    for tenth in range(600):
        states = plan.states(tenth / 10)
        assert states == LightPlan(lights, seed=1).states(tenth / 10)
        groups = {light.group for light in lights if states[light.id] in ("Green", "Yellow")}
        assert len(groups) <= 1
        seen |= set(states.values())
        assert states[1003] == states[1005]  # opposite approaches
    assert seen == {"Green", "Yellow", "Red"}
    script = [{"light": 1003, "at": 5.0, "state": "Red"}]
    scripted = LightPlan(lights, "script", script=script)
    assert scripted.states(5.0)[1003] == "Red"
    with pytest.raises(ValueError, match="state is 'Pink', expected one of Red"):
        LightPlan(lights, "script", script=[{"light": 1, "at": 0, "state": "Pink"}])


def test_trigger_boxes_are_the_golden_ones(mini_grid: RoadMap) -> None:
    lights = [light.box for light in find_lights(mini_grid)]
    boxes = {box.id: box for box in [*lights, *find_stops(mini_grid)]}
    for number, x, y, yaw, half in (
        (1003, -15.5, 1.75, 90.0, 1.7),
        (1004, 1.75, 15.5, 0.0, 1.7),
        (1006, -1.75, -15.5, 180.0, 1.7),
        (1001, -147.5, -1.75, 180.0, 1.5),
        (1008, 147.5, 1.75, 0.0, 1.5),
    ):
        box = boxes[number]
        assert (box.x, box.y) == (pytest.approx(x), pytest.approx(y))
        assert abs(math.remainder(math.degrees(box.yaw) - yaw, 360)) < 1e-6
        assert box.half_length == pytest.approx(half)


def test_the_lidar_sees_ground_and_boxes() -> None:
    car = ActorState(1, "vehicle.x", "background", 20.0, 0.0, 0.0, 0.0, 2.0, 1.0, 1.5)
    empty, full = sweep((0.0, 0.0, 0.0), []), sweep((0.0, 0.0, 0.0), [car])
    assert empty.dtype == np.float32
    assert empty[:, 2].min() == pytest.approx(-2.5)
    assert len(empty) <= 20_000
    assert np.linalg.norm(full[:, :3], axis=1).max() <= RANGE_M + 1e-3
    # the sensor is turned by -90 degrees: what is ahead of the car lies at +y
    above = full[full[:, 2] > -2.4]
    assert len(above) > 10
    assert above[:, 1].min() == pytest.approx(18.0, abs=0.2)


def test_idm() -> None:
    assert idm(8.0, math.inf, 0.0) == pytest.approx(0.0)
    assert idm(0.0, math.inf, 0.0) == pytest.approx(1.5)
    assert idm(8.0, 5.0, 0.0) < -4.0


def test_kernels_release_the_gil() -> None:
    """Threads that decode, encode and convert at once get what one alone gets."""
    raw = np.random.default_rng(1).integers(0, 256, 1 << 20, dtype=np.uint8).tobytes()
    text = bytearray(frames.b64_length(len(raw)))
    frames.b64_encode_into(raw, text)
    wrong: list[str] = []

    def work() -> None:
        target, three = bytearray(len(raw)), bytearray(len(raw) // 4 * 3)
        for _ in range(20):
            frames.b64_decode_into(text, target)
            frames.bgra_to_bgr(raw, three)
            if target != raw or three[:3] != raw[:3]:
                wrong.append("differs")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
