"""Recorded answers of the real map object: ids exactly, positions to 1e-3 m.

The own reader gives them, and so does a carla client where one is installed.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sysone.drive.clientmap import open_map
from sysone.drive.roadmap import RoadMap, read_map
from sysone.runs.errors import RunError

DATA = Path(__file__).parent.parent / "data" / "drive"


@pytest.fixture(scope="module")
def mini_grid(map_reader: str) -> RoadMap:
    return open_map(DATA / "mini_grid.xodr", map_reader)


def test_nearest_waypoints(golden: Callable[[str, str], Any], mini_grid: RoadMap) -> None:
    queries = golden("drive", "map_queries.json")["waypoint_queries"]
    assert len(queries) == 300
    for want in queries:
        found = mini_grid.nearest(*want["query"])
        assert (found.road_id, found.lane_id) == (want["road_id"], want["lane_id"])
        assert found.s == pytest.approx(want["s"], abs=1e-3)
        assert math.dist((found.x, found.y), (want["x"], want["y"])) < 1e-3
        turned = math.remainder(math.degrees(found.yaw) - want["yaw"], 360)
        assert abs(turned) < 1e-2
        assert found.is_junction == want["is_junction"]
        assert (found.junction_id if found.is_junction else None) == want["junction_id"]
        assert found.width == want["lane_width"]
        assert (found.distance <= found.width / 2) == want["on_road"]


def test_topology_and_waypoints(golden: Callable[[str, str], Any], mini_grid: RoadMap) -> None:
    data = golden("drive", "map_queries.json")
    assert [list(edge) for edge in mini_grid.topology()] == data["topology"]
    assert len(mini_grid.waypoints(2.0)) == data["n_waypoints_2m"]


def test_landmarks(golden: Callable[[str, str], Any], mini_grid: RoadMap) -> None:
    signals = {signal.id: signal for signal in mini_grid.signals}
    landmarks = golden("drive", "map_queries.json")["landmarks"]
    assert len(signals) == len(landmarks) == 8
    for want in landmarks:
        found = signals[want["id"]]
        for name in ("type", "name", "road_id", "s", "t"):
            assert getattr(found, name) == want[name]
        assert math.dist((found.x, found.y), (want["x"], want["y"])) < 1e-3
        assert [list(pair) for pair in found.validities] == want["validities"]


def test_straight_road() -> None:
    straight = read_map(DATA / "straight.xodr")
    point = straight.nearest(50.0, 2.0)
    assert (point.road_id, point.lane_id, point.y) == (1, -1, 1.75)
    assert straight.next(point, 10.0)[0].x == pytest.approx(60.0)
    assert straight.next(point, 500.0) == []
    back = straight.nearest(50.0, -2.0)
    assert straight.next(back, 10.0)[0].x == pytest.approx(40.0)
    assert straight.point_at(1, -1, 201.0) is None
    assert straight.point_at(9, -1, 1.0) is None
    assert straight.point_at(1, 7, 1.0) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<a", "is not XML"),
        ("<a/>", "is not OpenDRIVE: its root is <a>"),
        ("<OpenDRIVE/>", "has no road"),
        (
            '<OpenDRIVE><road id="1" length="1"><planView><geometry s="0" x="0" y="0" hdg="0" '
            'length="1"><bezier/></geometry></planView></road></OpenDRIVE>',
            "road 1 has a <bezier>, expected line, arc, spiral, poly3 or paramPoly3",
        ),
        (
            '<OpenDRIVE><road id="1" length="1"><planView><geometry s="0" x="0" y="0" hdg="0" '
            'length="1"><spiral/></geometry></planView></road></OpenDRIVE>',
            "'curvStart'",
        ),
        (
            '<OpenDRIVE><road id="1" length="1"/></OpenDRIVE>',
            "road 1 has no geometry",
        ),
        ('<OpenDRIVE><road id="x" length="1"/></OpenDRIVE>', "invalid literal"),
    ],
)
def test_other_files_are_refused(text: str, message: str) -> None:
    with pytest.raises(RunError, match=message):
        RoadMap(text, "town")
