"""From a route's waypoints to the dense plan: a point a metre, each with a command."""

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from sysone.drive.opendrive import lane_change_allowed
from sysone.drive.roadmap import LanePoint, RoadMap
from sysone.drive.routeline import RouteLine, RoutePoint
from sysone.drive.routes import RouteError
from sysone.runs.sums import in_order

LEFT, RIGHT, STRAIGHT, LANE_FOLLOW, CHANGE_LEFT, CHANGE_RIGHT = 1, 2, 3, 4, 5, 6
DENSE_GAP_M: Final = 5.0
STRAIGHT_DEG: Final = 35.0
WARN_RATIO: Final = 1.3
REFUSE_RATIO: Final = 2.0
"""Sparse keypoints once turned a 150 m route into one of 676 m."""

Place = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class DensePlan:
    """A dense plan on a map."""

    points: list[RoutePoint]
    options: list[int]
    road_ids: frozenset[int]
    """Roads of the plan, and all roads of every junction that it crosses: their lanes overlap."""
    warnings: tuple[str, ...] = ()

    @property
    def line(self) -> RouteLine:
        """For criteria and autopilot."""
        return RouteLine(self.points)


def densify(waypoints: Sequence[Place], road_map: RoadMap) -> DensePlan:
    """The dense plan of a route.

    Points at most 5 m apart are taken as they are, on their lanes; others are planned through.

    Raises:
        RouteError: fewer than two points, no way between two of them, or a plan more than twice
            as long as the straight lines.
    """
    if len(waypoints) < 2:
        raise RouteError(f"{len(waypoints)} waypoints, expected at least 2")
    chords = [math.dist(a, b) for a, b in pairwise(waypoints)]
    if max(chords) <= DENSE_GAP_M:
        lanes = [road_map.nearest(x, y, z=z) for x, y, z in waypoints]
        places = [(lane.x, lane.y, z) for lane, (_, _, z) in zip(lanes, waypoints, strict=True)]
        changes: list[int] = [LANE_FOLLOW] * len(places)
    else:
        places, changes = _through(waypoints, road_map)
    resampled, marks = _resample(places, changes)
    length = in_order(math.dist(a, b) for a, b in pairwise(resampled))
    apart = in_order(chords)
    ratio = length / max(apart, 1e-6)
    warnings = []
    if ratio > REFUSE_RATIO:
        raise RouteError(
            f"the plan is {length:.0f} m for keypoints {apart:.0f} m apart "
            f"({ratio:.2f} times), expected at most {REFUSE_RATIO:g} times"
        )
    if ratio > WARN_RATIO:
        warnings.append(f"the plan is {ratio:.2f} times as long as its keypoints are apart")
    points = _with_yaw(resampled)
    lanes = [road_map.nearest(p.x, p.y, z=p.z) for p in points]
    junctions = {lane.junction_id for lane in lanes if lane.is_junction}
    roads = {lane.road_id for lane in lanes}
    roads |= {road.id for road in road_map.roads.values() if road.junction in junctions}
    return DensePlan(points, _options(points, lanes, marks), frozenset(roads), tuple(warnings))


def _resample(places: Sequence[Place], marks: Sequence[int]) -> tuple[list[Place], list[int]]:
    """A point each metre along the line; the end is kept."""
    found, kept = [places[0]], [marks[0]]
    due = 1.0
    along = 0.0
    for i, (a, b) in enumerate(pairwise(places)):
        step = math.dist(a, b)
        while step > 0 and due <= along + step + 1e-9:
            share = (due - along) / step
            found.append(
                (
                    a[0] + share * (b[0] - a[0]),
                    a[1] + share * (b[1] - a[1]),
                    a[2] + share * (b[2] - a[2]),
                )
            )
            kept.append(marks[i + 1])
            due += 1.0
        along += step
    if math.dist(found[-1], places[-1]) > 0.25:
        found.append(places[-1])
        kept.append(marks[-1])
    return found, kept


def _with_yaw(places: Sequence[Place]) -> list[RoutePoint]:
    points = []
    for i, (x, y, z) in enumerate(places):
        a, b = (i - 1, i) if i == len(places) - 1 else (i, i + 1)
        yaw = math.atan2(places[b][1] - places[a][1], places[b][0] - places[a][0])
        points.append(RoutePoint(x, y, z, yaw))
    return points


def _options(
    points: Sequence[RoutePoint], lanes: Sequence[LanePoint], marks: Sequence[int]
) -> list[int]:
    """Commands: in junctions by the turn between entry and exit, else lane follow or change."""
    options = list(marks)
    i = 0
    while i < len(points):
        if not lanes[i].is_junction:
            i += 1
            continue
        first = i
        while i < len(points) and lanes[i].is_junction:
            i += 1
        entry, leave = points[max(first - 1, 0)].yaw, points[min(i, len(points) - 1)].yaw
        turn = math.degrees(math.remainder(leave - entry, 2 * math.pi))
        option = STRAIGHT if abs(turn) < STRAIGHT_DEG else RIGHT if turn > 0 else LEFT
        options[first:i] = [option] * (i - first)
    return options


_Node = tuple[int, int, int]
"""Road, section, lane."""


def _through(waypoints: Sequence[Place], road_map: RoadMap) -> tuple[list[Place], list[int]]:
    places: list[Place] = []
    marks: list[int] = []
    for a, b in pairwise(waypoints):
        start, goal = (road_map.nearest(x, y, z=z) for x, y, z in (a, b))
        leg, options = _leg(start, goal, road_map)
        skip = 1 if places else 0
        places += leg[skip:]
        marks += options[skip:]
    return places, marks


def _leg(start: LanePoint, goal: LanePoint, road_map: RoadMap) -> tuple[list[Place], list[int]]:
    path = _shortest(start, goal, road_map)
    places: list[Place] = []
    options: list[int] = []
    at = start.s
    for i, (node, option) in enumerate(path):
        road = road_map.roads[node[0]]
        section = road.sections[node[1]]
        forward = node[2] < 0
        if i > 0 and option == LANE_FOLLOW:
            at = section.s if forward else section.end
        end = section.end if forward else section.s
        if i == len(path) - 1:
            end = goal.s
        elif path[i + 1][1] != LANE_FOLLOW:
            # change half way of what is left of this section
            end = (at + end) / 2
        count = max(1, round(abs(end - at)))
        for k in range(count + 1):
            point = road_map.point_at(road.id, node[2], at + (end - at) * k / count)
            if point is not None:
                places.append((point.x, point.y, point.z))
                options.append(option if k < 10 else LANE_FOLLOW)
        at = end
    return places, options


def _shortest(start: LanePoint, goal: LanePoint, road_map: RoadMap) -> list[tuple[_Node, int]]:
    """Nodes from start to goal, each with the option by which it is entered."""

    def node_of(point: LanePoint) -> _Node:
        road = road_map.roads[point.road_id]
        return point.road_id, road.sections.index(road.section_at(point.s)), point.lane_id

    source, target = node_of(start), node_of(goal)
    forward = source[2] < 0
    if source == target and (goal.s >= start.s if forward else goal.s <= start.s):
        return [(source, LANE_FOLLOW)]
    queue: list[tuple[float, int, _Node, tuple[tuple[_Node, int], ...]]] = []
    order = 0
    heapq.heappush(queue, (0.0, order, source, ((source, LANE_FOLLOW),)))
    done: set[_Node] = set()
    first = True
    while queue:
        cost, _, node, path = heapq.heappop(queue)
        if node == target and not first:
            return list(path)
        if node in done:
            continue
        if not first or source != target:
            done.add(node)
        first = False
        road = road_map.roads[node[0]]
        section = road.sections[node[1]]
        inside = (section.s + section.end) / 2
        length = section.end - section.s
        for other, lane, s in road_map.successors(node[0], node[2], inside):
            following = road_map.roads[other]
            index = following.sections.index(following.section_at(s))
            order += 1
            step = (other, index, lane)
            heapq.heappush(queue, (cost + length, order, step, (*path, (step, LANE_FOLLOW))))
        for beside in (node[2] - 1, node[2] + 1):
            lane_to = section.lanes.get(beside)
            if lane_to is None or lane_to.type != "driving" or beside * node[2] <= 0:
                continue
            if not lane_change_allowed(section.lanes[node[2]], lane_to):
                continue
            # in traffic's direction larger absolute ids lie to the right
            option = CHANGE_RIGHT if abs(beside) > abs(node[2]) else CHANGE_LEFT
            order += 1
            step = (node[0], node[1], beside)
            heapq.heappush(queue, (cost + 1.0, order, step, (*path, (step, option))))
    raise RouteError(
        f"there is no way from ({start.x:.1f}, {start.y:.1f}) to ({goal.x:.1f}, {goal.y:.1f})"
    )
