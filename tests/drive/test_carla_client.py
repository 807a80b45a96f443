"""With a carla client package installed: the own map reader and GPS against the real thing.

`make drive-proof` installs ``carla==0.9.16``; without a client these are skipped, and every other
test of this folder runs either way.
"""

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from drive import map_shapes
from sysone.drive.cli import app
from sysone.drive.clientmap import open_map
from sysone.drive.gps import GpsModelMismatch, carla_to_gps, check_model
from sysone.drive.roadmap import RoadMap
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
