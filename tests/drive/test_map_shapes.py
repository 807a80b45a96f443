"""Spirals, polynomials, tapers, offsets and heights in the own reader.

`test_carla_client` holds the same maps against the real map object; here they are held against
definitions: quadrature by scipy, lengths, tangents and neighbours.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import fresnel

from drive import map_shapes
from sysone.drive.embedded.camera import GRASS, Ground
from sysone.drive.roadmap import LanePoint, RoadMap


@pytest.mark.parametrize(("start", "end"), [(0.0, 0.03), (0.0, -0.02)])
def test_a_spiral_is_a_clothoid(start: float, end: float) -> None:
    text = map_shapes.road(
        f'<geometry s="0" x="0" y="0" hdg="0" length="60"><spiral curvStart="{start}" '
        f'curvEnd="{end}"/></geometry>'
    )
    road = RoadMap(text).roads[1]
    rate = abs(end) / 60
    scale = math.sqrt(math.pi / rate)
    for s in (0.0, 0.05, 12.34, 30.0, 59.99, 60.0):
        sine, cosine = fresnel(s / scale)
        x, y, heading = road.at(s)
        # to the left, which is -y here, where curvature is positive
        assert x == pytest.approx(scale * cosine, abs=1e-9)
        assert y == pytest.approx(-math.copysign(scale * sine, end), abs=1e-9)
        assert heading == pytest.approx(-math.copysign(rate * s * s / 2, end), abs=1e-12)


@pytest.mark.parametrize("name", map_shapes.MAPS)
def test_reference_lines_are_followed_by_length(name: str) -> None:
    road = RoadMap(map_shapes.MAPS[name]).roads[1]
    s = np.linspace(0.0, road.length, 4001)
    places = np.array([road.at(float(one)) for one in s])
    steps = np.hypot(*np.diff(places[:, :2], axis=0).T)
    assert steps == pytest.approx(np.diff(s), rel=4e-4)
    turned = np.arctan2(np.diff(places[:, 1]), np.diff(places[:, 0]))
    middles = (places[1:, 2] + places[:-1, 2]) / 2
    assert np.abs(turned - middles).max() < 2e-4
    arrays = [piece.along(s[s >= piece.s]) for piece in road.geometry]
    assert np.allclose(np.array(arrays[-1]).T, places[s >= road.geometry[-1].s])


def test_a_taper_moves_its_neighbours_and_turns_them() -> None:
    road_map = RoadMap(map_shapes.MAPS["widths"])

    def at(lane: int, s: float) -> LanePoint:
        point = road_map.point_at(1, lane, s)
        assert point is not None
        return point

    assert at(-1, 10.0).width == pytest.approx(3.0 + 0.1 + 0.04)
    assert at(-1, 40.0).width == pytest.approx(3.66 - 0.2)
    for lane in (-2, -1, 1):
        for s in (5.0, 20.0, 45.0):
            here, ahead = at(lane, s), at(lane, s + 1e-4)
            moved = math.atan2(ahead.y - here.y, ahead.x - here.x)
            along = here.yaw if lane < 0 else here.yaw + math.pi
            # the slope is added as it is, which CARLA does: equal to third order
            assert math.remainder(moved - along, 2 * math.pi) == pytest.approx(0, abs=1e-4)
    inner, outer = at(-1, 25.0), at(-2, 25.0)
    apart = math.dist((inner.x, inner.y), (outer.x, outer.y))
    assert apart == pytest.approx((inner.width + outer.width) / 2)


def test_sections_join() -> None:
    road_map = RoadMap(map_shapes.sections(map_shapes.TURNING))
    assert road_map.point_at(1, -2, 10.0) is None
    opening = road_map.point_at(1, -2, 30.0)
    assert opening is not None
    assert opening.width == pytest.approx(1.75 * 2)
    for lane, start in ((-1, 5.0), (1, 55.0)):
        point = road_map.point_at(1, lane, start)
        assert point is not None
        (far,) = road_map.next(point, 50.0)
        assert (far.lane_id, far.s) == (lane, pytest.approx(55.0 if lane < 0 else 5.0))
        (end,) = road_map.next(point, 55.0)
        assert end.s == pytest.approx(60.0 if lane < 0 else 0.0)
        assert road_map.next(point, 56.0) == []


def test_offsets_and_heights() -> None:
    shifted = RoadMap(map_shapes.MAPS["offsets"]).point_at(1, -1, 20.0)
    plain = RoadMap(map_shapes.MAPS["line"]).point_at(1, -1, 20.0)
    assert shifted is not None
    assert plain is not None
    apart = math.dist((shifted.x, shifted.y), (plain.x, plain.y))
    assert apart == pytest.approx(0.5 + 0.4 + 0.2)
    hill = RoadMap(map_shapes.MAPS["heights"])
    assert not hill.flat
    point = hill.nearest(20.0, -5.0, z=2.0)
    assert point.z == pytest.approx(1 + 0.05 * point.s + 0.001 * point.s**2)


def test_a_bridge_is_told_from_the_road_below() -> None:
    below = map_shapes.road(map_shapes.LINE)
    above = map_shapes.road(
        map_shapes.LINE, elevation='<elevation s="0" a="6" b="0" c="0" d="0"/>'
    ).replace('id="1" junction', 'id="2" junction')
    road = above[above.index("<road") : above.index("</OpenDRIVE>")]
    road_map = RoadMap(below.replace("</OpenDRIVE>", road + "</OpenDRIVE>"))
    assert road_map.nearest(20.0, -5.0, z=0.5).road_id == 1
    assert road_map.nearest(20.0, -5.0, z=5.0).road_id == 2


@pytest.mark.parametrize("name", sorted(map_shapes.MAPS.keys() - {"widths"}))
def test_nearest_finds_what_a_search_finds(name: str) -> None:
    road_map = RoadMap(map_shapes.MAPS[name])
    places = np.array([(p.x, p.y) for p in road_map.waypoints(0.1)])
    pick = np.random.default_rng(4)
    for _ in range(60):
        x, y = places[pick.integers(len(places))] + pick.uniform(-6, 6, 2)
        found = road_map.nearest(x, y)
        best = np.hypot(places[:, 0] - x, places[:, 1] - y).min()
        # from a chord, as in CARLA: centimetres beside the curve; a straight road's lane is one
        # piece whatever its taper, which is why "widths" is not here
        assert found.distance == pytest.approx(best, abs=0.35)


def test_chords_join() -> None:
    for text in map_shapes.MAPS.values():
        road_map = RoadMap(text)
        for pieces in road_map._pieces.values():
            for a, b in pairwise(pieces):
                if a.lane is b.lane:
                    end = a.x + a.cos * a.length, a.y + a.sin * a.length
                    assert math.dist(end, (b.x, b.y)) < 1e-5


def colour(ground: Ground, point: LanePoint, right_m: float) -> int:
    right = point.yaw + math.pi / 2
    x, y = point.x + right_m * math.cos(right), point.y + right_m * math.sin(right)
    return int(ground.cells[int((y - ground.north) / 0.1), int((x - ground.west) / 0.1)])


@pytest.mark.parametrize("name", ["widths in a turn", "everything"])
def test_the_ground_follows_a_taper(name: str) -> None:
    road_map = RoadMap(map_shapes.MAPS[name])
    ground = Ground(road_map)
    for s in (3.0, 20.0, 50.0):
        point = road_map.point_at(1, -2, s)
        assert point is not None
        assert colour(ground, point, point.width / 2 - 0.4) != GRASS
        assert colour(ground, point, point.width / 2 + 0.4) == GRASS
