"""Red lights, stop signs and lanes: Bench2Drive's criteria that ask the map where the car is."""

import math
from collections.abc import Sequence
from typing import Final

from sysone.drive.roadmap import DRIVING_OR_PARKING, LanePoint, RoadMap
from sysone.drive.routeline import Moment, RouteLine, TriggerBox
from sysone.drive.score import Event, place_text

LIGHT_REACH_M: Final = 15.0
STOP_REACH_M: Final = 4.0
STOP_SPEED: Final = 0.1
OUTSIDE_M: Final = 0.5

Place = tuple[float, float]


class RedLight:
    """The rear passes the stop line of a light that is red."""

    def __init__(self, boxes: Sequence[TriggerBox], road_map: RoadMap, half_length: float) -> None:
        self.road_map = road_map
        self.half_length = half_length
        self.lights = [(box, _stop_points(box, road_map)) for box in boxes if box.kind == "light"]
        self.flagged: int | None = None

    def update(self, now: Moment) -> Event | None:
        """The event of this tick."""
        for box, stops in self.lights:
            if (now.x - box.x) ** 2 + (now.y - box.y) ** 2 > LIGHT_REACH_M**2:
                continue
            if box.id == self.flagged or now.lights.get(box.id) != "Red":
                continue
            cos, sin = math.cos(now.yaw), math.sin(now.yaw)
            near, far = 0.8 * self.half_length, self.half_length + 1.0
            close = (now.x - near * cos, now.y - near * sin)
            tail = (now.x - far * cos, now.y - far * sin)
            lane = self.road_map.nearest(*tail, z=now.z)
            for stop in stops:
                if (lane.road_id, lane.lane_id) != (stop.road_id, stop.lane_id):
                    continue
                if cos * math.cos(stop.yaw) + sin * math.sin(stop.yaw) <= 0.0:
                    continue
                if _cross(close, tail, *_line_across(stop)):
                    self.flagged = box.id
                    text = f"Agent ran a red light {box.id} at {place_text((box.x, box.y, box.z))}"
                    return Event("red_light", now.tick, now.t, text)
        return None


class StopSign:
    """The area of a stop sign is left without having stood in it."""

    def __init__(self, boxes: Sequence[TriggerBox], road_map: RoadMap) -> None:
        self.road_map = road_map
        self.signs = [box for box in boxes if box.kind == "stop"]
        self.target: TriggerBox | None = None
        self.satisfied = False

    def update(self, now: Moment) -> Event | None:
        """The event of this tick."""
        ahead: list[LanePoint] | None = None
        if self.target is None:
            for box in self.signs:
                # the lane point is at most as far off as the ego is from it
                if math.hypot(now.lane.x - box.x, now.lane.y - box.y) > STOP_REACH_M:
                    continue
                if _facing(now) or now.forward_speed < -0.01:
                    continue
                ahead = self._ahead(now.lane)
                if _affected(ahead, box):
                    self.target, self.satisfied = box, False
                    break
            return None
        if not self.satisfied and now.speed < STOP_SPEED:
            self.satisfied = True
        box = self.target
        if _affected(self._ahead(now.lane), box):
            return None
        self.target = None
        if self.satisfied:
            return None
        self.signs.remove(box)
        text = f"Agent ran a stop with id={box.id} at {place_text((box.x, box.y, box.z))}"
        return Event("stop_infraction", now.tick, now.t, text)

    def _ahead(self, lane: LanePoint) -> list[LanePoint]:
        found = [lane]
        for _ in range(8):
            following = self.road_map.next(found[-1], 0.5)
            if not following:
                break
            found.append(following[0])
        return found


class OutsideLanes:
    """Metres of the route driven outside its lanes or in a wrong one."""

    WINDOW: Final = 3

    def __init__(self, route: RouteLine, road_map: RoadMap) -> None:
        self.route = route
        self.road_map = road_map
        self.index = 0
        self.outside = False
        self.wrong = False
        self.total_m = 0.0
        self.wrong_m = 0.0
        self.before: LanePoint | None = None
        self.event: Event | None = None

    def update(self, now: Moment) -> None:
        """Add this tick."""
        near = now.lane
        if self.road_map.has_parking:
            near = self.road_map.nearest(now.x, now.y, DRIVING_OR_PARKING, now.z)
        self.outside = near.distance > near.width / 2 + OUTSIDE_M
        self._check_lane(now)
        route, window = (
            self.route,
            range(self.index + 1, min(self.index + self.WINDOW, self.route.last) + 1),
        )
        for j in window:
            if not route.passed(j, now.x, now.y):
                continue
            advanced = route.along[j] - route.along[self.index]
            self.total_m += advanced
            if self.outside or self.wrong:
                self.wrong_m += advanced
            self.index = j
            if self.wrong_m > 0.0:
                self._tell(now)

    def _check_lane(self, now: Moment) -> None:
        lane, before = now.lane, self.before
        self.before = lane
        if lane.is_junction:
            self.wrong = False
        elif before is not None and (lane.road_id, lane.lane_id) != (
            before.road_id,
            before.lane_id,
        ):
            if before.is_junction:
                turned = math.degrees(lane.yaw - now.yaw) % 360
                self.wrong = not (turned < 120.0 or turned > 240.0)
            else:
                turned = math.degrees(before.yaw - lane.yaw) % 360
                self.wrong = not self.wrong if 150.0 <= turned <= 210.0 else False

    def _tell(self, now: Moment) -> None:
        percentage = self.wrong_m / self.total_m * 100
        self.event = Event(
            "outside_route_lanes",
            now.tick,
            now.t,
            f"Agent went outside its route lanes for about {round(self.wrong_m, 3)} meters "
            f"({round(percentage, 2)}% of the completed route)",
            percentage,
            self.wrong_m,
        )


def _facing(now: Moment) -> bool:
    """Whether ego faces more than 100 degrees off its lane."""
    return abs(math.remainder(now.yaw - now.lane.yaw, 2 * math.pi)) > math.radians(100.0)


def _affected(ahead: Sequence[LanePoint], box: TriggerBox) -> bool:
    if math.hypot(ahead[0].x - box.x, ahead[0].y - box.y) > STOP_REACH_M:
        return False
    cos, sin = math.cos(box.yaw), math.sin(box.yaw)
    for point in ahead:
        dx, dy = point.x - box.x, point.y - box.y
        if (
            abs(dx * cos + dy * sin) < 1.2 * box.half_length
            and abs(dy * cos - dx * sin) < 1.2 * box.half_width
        ):
            return True
    return False


def _stop_points(box: TriggerBox, road_map: RoadMap) -> list[LanePoint]:
    """The lane points under a light's box, moved forward to the edge of the junction."""
    found: dict[tuple[int, int], LanePoint] = {}
    cos, sin = math.cos(box.yaw), math.sin(box.yaw)
    offset = -0.9 * box.half_length
    while offset < 0.9 * box.half_length:
        point = road_map.nearest(box.x + offset * cos, box.y + offset * sin, z=box.z)
        found.setdefault((point.road_id, point.lane_id), point)
        offset += 1.0
    stops = []
    for point in found.values():
        stop = point
        while not stop.is_junction:
            ahead = road_map.next(stop, 0.5)
            if not ahead or ahead[0].is_junction:
                break
            stop = ahead[0]
        stops.append(stop)
    return stops


def _line_across(point: LanePoint) -> tuple[Place, Place]:
    half = 0.6 * point.width
    dx, dy = -math.sin(point.yaw) * half, math.cos(point.yaw) * half
    return (point.x - dx, point.y - dy), (point.x + dx, point.y + dy)


def _cross(a: Place, b: Place, c: Place, d: Place) -> bool:
    """Whether the segments a b and c d meet."""

    def side(p: Place, q: Place, r: Place) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    return side(a, b, c) * side(a, b, d) <= 0 and side(c, d, a) * side(c, d, b) <= 0
