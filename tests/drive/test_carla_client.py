"""With a carla client package installed: the own map reader and GPS against the real thing.

`make drive-carla` installs each of three in an environment of its own; without a client these are
skipped, and every other test of this folder runs either way.
"""

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from drive import map_shapes
from sysone.drive.cli import app
from sysone.drive.clientmap import open_map
from sysone.drive.gps import GpsModelMismatch, carla_to_gps, check_model
from sysone.drive.roadmap import RoadMap
from sysone.drive.standin import values
from sysone.drive.ticks import read_ticks

carla: Any = pytest.importorskip("carla", reason="no carla client is installed")
DATA = Path(__file__).parent.parent / "data" / "drive"


@pytest.fixture(scope="module", params=["mini_grid", "straight"])
def maps(request: pytest.FixtureRequest) -> tuple[RoadMap, Any]:
    text = (DATA / f"{request.param}.xodr").read_text()
    return RoadMap(text, request.param), carla.Map(request.param, text)


def test_nearest_lanes(maps: tuple[RoadMap, Any]) -> None:
    ours, theirs = maps
    west, north, east, south = ours.bounds()
    pick = random.Random(3)
    for _ in range(2000):
        x, y = pick.uniform(west - 10, east + 10), pick.uniform(north - 10, south + 10)
        want = theirs.get_waypoint(carla.Location(x=x, y=y, z=0.0))
        found = ours.nearest(x, y)
        place = want.transform.location
        apart = math.dist((found.x, found.y), (place.x, place.y))
        same = (found.road_id, found.lane_id) == (want.road_id, want.lane_id)
        if not same:
            # equally near: where lanes of a junction overlap, or in the middle of a road
            theirs_off = math.dist((x, y), (place.x, place.y))
            assert found.distance == pytest.approx(theirs_off, abs=0.02), (x, y)
            continue
        assert apart < 2e-3, (x, y, found, place)
        assert found.is_junction == want.is_junction


def test_topology(maps: tuple[RoadMap, Any]) -> None:
    ours, theirs = maps
    edges = {(a.road_id, a.lane_id, b.road_id, b.lane_id) for a, b in theirs.get_topology()}
    assert set(ours.topology()) == {edge for edge in edges if edge[0] != edge[2]}


@pytest.mark.parametrize("name", map_shapes.MAPS)
def test_every_shape(name: str) -> None:
    """Places at given s, and nearest places, within three millimetres.

    Where two chords meet CARLA takes either, by rounding; polynomials it has in a coarse table.
    """
    text = map_shapes.MAPS[name]
    ours, theirs = RoadMap(text), carla.Map("shape", text)
    length = ours.roads[1].length
    for lane in (1, -1, -2):
        for tenth in range(int(10 * length)):
            want = theirs.get_waypoint_xodr(1, lane, tenth / 10)
            found = ours.point_at(1, lane, tenth / 10)
            assert found is not None
            place = want.transform.location
            assert math.dist((found.x, found.y, found.z), (place.x, place.y, place.z)) < 3e-3
            turned = math.remainder(math.degrees(found.yaw) - want.transform.rotation.yaw, 360)
            assert abs(turned) < 5e-2
            assert found.width == pytest.approx(want.lane_width, abs=1e-6)
    pick = random.Random(7)
    ties = 0
    for _ in range(1000):
        near = ours.point_at(1, -1, pick.uniform(0.0, length))
        assert near is not None
        x, y = near.x + pick.uniform(-8, 8), near.y + pick.uniform(-8, 8)
        want = theirs.get_waypoint(carla.Location(x=x, y=y, z=near.z))
        found = ours.nearest(x, y, z=near.z)
        place = want.transform.location
        if math.dist((found.x, found.y), (place.x, place.y)) > 3e-3:
            ties += 1
            off = math.dist((x, y), (place.x, place.y))
            assert off == pytest.approx(math.dist((x, y), (found.x, found.y)), abs=0.25), (x, y)
    assert ties < 60


@pytest.mark.parametrize("geometry", [map_shapes.LINE, map_shapes.TURNING])
def test_sections_and_what_follows(geometry: str) -> None:
    text = map_shapes.sections(geometry)
    ours, theirs = RoadMap(text), carla.Map("sections", text)
    for lane in (1, -1, -2):
        for tenth in range(1, 599):
            want = theirs.get_waypoint_xodr(1, lane, tenth / 10)
            found = ours.point_at(1, lane, tenth / 10)
            assert (want is None) == (found is None)
            if want is None or found is None:
                continue
            place = want.transform.location
            assert math.dist((found.x, found.y), (place.x, place.y)) < 1e-3
            # never just to the end of the road, where rounding decides in CARLA
            for distance in (0.53, 3.03, 15.03, 25.03):
                ahead = [(p.lane_id, p.s) for p in want.next(distance)]
                assert [(p.lane_id, p.s) for p in ours.next(found, distance)] == [
                    (number, pytest.approx(s, abs=0.01)) for number, s in ahead
                ]


def test_the_map_of_a_run_is_the_client_s(maps: tuple[RoadMap, Any]) -> None:
    ours, theirs = maps
    road_map = open_map(DATA / f"{ours.name}.xodr")
    assert road_map.source.startswith("carla")
    pick = random.Random(5)
    for _ in range(300):
        x, y = pick.uniform(-160, 160), pick.uniform(-160, 160)
        found = road_map.nearest(x, y)
        real = theirs.get_waypoint(carla.Location(x=x, y=y))
        assert (found.road_id, found.lane_id, found.s) == (real.road_id, real.lane_id, real.s)
        ahead = sorted((p.road_id, p.lane_id, p.s) for p in road_map.next(found, 3.0))
        wanted = sorted((p.road_id, p.lane_id, p.s) for p in real.next(3.0))
        for got, want in zip(ahead, wanted, strict=True):
            assert got == pytest.approx(want, abs=1e-3)
        there = theirs.transform_to_geolocation(carla.Location(x=x, y=y, z=1.5))
        lat, lon, altitude = road_map.geolocate(x, y, 1.5)
        assert (lat, lon, altitude) == (there.latitude, there.longitude, there.altitude)
        own = carla_to_gps(x, y, *road_map.reference, model=road_map.gps_model)
        assert (lat, lon) == pytest.approx(own, abs=1e-9)
    assert len(road_map.waypoints(2.0)) == len(theirs.generate_waypoints(2.0))


@pytest.mark.parametrize("agent", ["stub", "autopilot"])
def test_a_drive_goes_the_same_way_with_and_without(agent: str, tmp_path: Path) -> None:
    """Plan and readings in the client's conversion, positions as with the own reader."""
    stores = {}
    for reader, model in (("own", "carla_mercator"), ("auto", None)):
        out = tmp_path / reader
        given = ["run", "--agent", agent, "--subset", "10001,10003", "--lights", "green"]
        given += ["--map-reader", reader, "--out", str(out)]
        done = CliRunner().invoke(app, given)
        assert done.exit_code == 0, done.output
        settings = json.loads((out / "run.json").read_bytes())
        if model is None:
            assert settings["map_reader"].startswith("carla")
            assert settings["gps_model"] == open_map(DATA / "mini_grid.xodr").gps_model
        else:
            assert (settings["map_reader"], settings["gps_model"]) == ("own reader", model)
        for route in (10001, 10003):
            ticks, _ = read_ticks(out / f"seed_0/route_{route}_rep0/ticks.jsonl.gz")
            stores[reader, route] = ticks.column("ego_location")
    for route in (10001, 10003):
        own, real = stores["own", route], stores["auto", route]
        assert abs(len(own) - len(real)) <= 2
        assert max(math.dist(a, b) for a, b in zip(own, real, strict=False)) < 0.2


def test_gps_self_check_finds_the_client_s_model(maps: tuple[RoadMap, Any]) -> None:
    ours, theirs = maps
    places = [(0.0, 50.0), (100.0, -80.0)]
    fitting = []
    for model in ("carla_mercator", "carla_tmerc_0916"):
        plan = [carla_to_gps(*place, *ours.reference, model=model) for place in places]
        reading = theirs.transform_to_geolocation(carla.Location(x=0.0, y=50.0, z=0.0))
        try:
            check_model(places, plan, (reading.latitude, reading.longitude), ours.reference, model)
            fitting.append(model)
        except GpsModelMismatch:
            continue
    assert len(fitting) == 1


def test_golden_queries_on_this_client(golden: Callable[[str, str], Any]) -> None:
    text = (DATA / "mini_grid.xodr").read_text()
    real = carla.Map("mini_grid", text)
    for want in golden("drive", "map_queries.json")["waypoint_queries"]:
        x, y = want["query"]
        found = real.get_waypoint(carla.Location(x=x, y=y, z=0.0))
        assert (found.road_id, found.lane_id) == (want["road_id"], want["lane_id"])


def test_golden_gps_on_this_client(golden: Callable[[str, str], Any]) -> None:
    """The recorded values of this version, to the bit."""
    version = carla.Client("127.0.0.1", 1).get_client_version()
    text = (DATA / "straight.xodr").read_text()
    maps = golden("drive", "gps.json")["versions"][version]
    assert len(maps) == 4
    for name, found in maps.items():
        reference = found["geo_reference"]
        block = "" if reference is None else f"<geoReference><![CDATA[{reference}]]></geoReference>"
        there, count = re.subn(r"<geoReference>.*?</geoReference>", block, text, flags=re.S)
        assert count == 1
        real = carla.Map(name, there)
        for x, y, z, lat, lon, altitude in found["points"]:
            place = real.transform_to_geolocation(carla.Location(x=x, y=y, z=z))
            assert (place.latitude, place.longitude, place.altitude) == (lat, lon, altitude)


def test_value_classes_are_as_the_stand_in_has_them() -> None:
    """What the backend relies on, of the client's own types and of those made here alike."""
    for source in (carla, values):
        place = source.Location(x=1.0, y=2.0, z=0.1)
        assert place.z == float(np.float32(0.1))
        pose = source.Transform(source.Location(x=10.0, y=0.0, z=0.0), source.Rotation(yaw=90.0))
        moved = pose.transform(place)
        assert (moved.x, moved.y) == pytest.approx((8.0, 1.0), abs=1e-5)
        assert (place.x, place.y) == pytest.approx((8.0, 1.0), abs=1e-5)  # changed in place
        forward = pose.get_forward_vector()
        assert (forward.x, forward.y, forward.z) == pytest.approx((0.0, 1.0, 0.0), abs=1e-6)
        box = source.BoundingBox(source.Location(), source.Vector3D(1.0, 2.0, 3.0))
        assert (box.extent.x, box.location.z) == (1.0, 0.0)
        control = source.VehicleControl(throttle=0.25, steer=-0.5, brake=0.0)
        assert (control.throttle, control.steer, control.hand_brake) == (0.25, -0.5, False)
        weather = source.WeatherParameters()
        weather.sun_altitude_angle = 5.0
        assert weather.sun_altitude_angle == 5.0
        for state in ("Red", "Yellow", "Green", "Off", "Unknown"):
            assert str(getattr(source.TrafficLightState, state)) == state
        assert str(source.LaneType.Driving) == "Driving"
        assert source.LaneType.Driving | source.LaneType.Parking


def test_the_client_has_every_name_that_the_backend_calls() -> None:
    """No server is here to call them; a name that a version lacks would fail in a user's run."""
    wanted = {
        "Client": "set_timeout get_server_version get_client_version get_available_maps get_world "
        "load_world generate_opendrive_world get_trafficmanager",
        "World": "get_map get_settings apply_settings reset_all_traffic_lights get_actors tick "
        "freeze_all_traffic_lights get_blueprint_library try_spawn_actor get_snapshot get_weather "
        "set_weather",
        "WorldSettings": "synchronous_mode fixed_delta_seconds",
        "WorldSnapshot": "timestamp frame has_actor",
        "Timestamp": "elapsed_seconds frame",
        "Vehicle": "get_transform get_velocity get_acceleration get_angular_velocity apply_control "
        "get_traffic_light is_at_traffic_light set_autopilot bounding_box destroy id type_id "
        "attributes",
        "TrafficLight": "get_state set_state freeze get_opendrive_id trigger_volume get_transform",
        "TrafficSign": "trigger_volume get_transform",
        "Sensor": "listen stop destroy",
        "ActorBlueprint": "id has_attribute get_attribute set_attribute",
        "BlueprintLibrary": "find filter",
        "ActorList": "filter",
        "TrafficManager": "set_synchronous_mode set_random_device_seed get_port",
        "Image": "raw_data height width frame",
        "LidarMeasurement": "raw_data frame",
        "GnssMeasurement": "latitude longitude altitude frame",
        "IMUMeasurement": "accelerometer gyroscope compass frame",
        "CollisionEvent": "other_actor normal_impulse frame",
        "Map": "name to_opendrive get_spawn_points get_waypoint get_waypoint_xodr "
        "generate_waypoints get_topology transform_to_geolocation",
    }
    lacking = [
        f"{kind}.{name}"
        for kind, names in wanted.items()
        for name in names.split()
        if not hasattr(getattr(carla, kind), name)
    ]
    assert lacking == []
