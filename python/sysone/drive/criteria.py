"""What the executor watches in every tick: Bench2Drive's criteria on plain data.

Each criterion is an object with one `update`; `Criteria` runs them all in the official order and
says when the drive ends. Nothing here knows a simulator: a tick comes as a `Moment`, the map as a
`RoadMap`. Collisions and the penalty of standing still come from the recorded ticks (see `score`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sysone.drive.profiles import Profile
from sysone.drive.roadmap import DRIVING_OR_PARKING, LanePoint, RoadMap
from sysone.drive.score import Event, place_text

# Bench2Drive's values (leaderboard's in the profile where they differ).
LIGHT_REACH_M: Final = 15.0
STOP_REACH_M: Final = 4.0
STOP_SPEED: Final = 0.1
OUTSIDE_M: Final = 0.5
DEVIATION_M: Final = 30.0
UNSAFE_M: Final = 15.0
UNSAFE_PERCENT: Final = 30.0
BLOCKED_SPEED: Final = 0.1
TIMEOUT_S: Final = 300.0
TIMEOUT_SHARE: Final = 0.1
TICK_CAP: Final = 4000
REACHED_PERCENT: Final = 99.0
REACHED_M: Final = 10.0
MIN_SPEED_LAST_PERCENT: Final = 95.0

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class RoutePoint:
    """A point of the dense plan. Metres, radians."""

    x: float
    y: float
    z: float
    yaw: float


@dataclass(frozen=True, slots=True)
class TriggerBox:
    """Where a traffic light or stop sign takes effect."""

    id: int
    kind: str
    """``light`` or ``stop``."""
    x: float
    y: float
    z: float
    yaw: float
    """Radians."""
    half_length: float
    half_width: float


@dataclass(frozen=True, slots=True)
class Moment:
    """One tick as the criteria see it."""

    tick: int
    t: float
    """Seconds since the start of the route."""
    x: float
    y: float
    z: float
    yaw: float
    """Radians."""
    speed: float
    forward_speed: float
    lane: LanePoint
    """Nearest driving lane."""
    lights: Mapping[int, str]
    """State of each light."""
    background_speed: float | None = None
    """Mean of the background vehicles, m/s."""
    speed_limit: float | None = None
    """m/s; the lane's where absent."""


class RouteLine:
    """A dense plan with directions and lengths ready."""

    def __init__(self, points: Sequence[RoutePoint]) -> None:
        if len(points) < 2:
            raise ValueError(f"the route has {len(points)} points, expected at least 2")
        self.points = tuple(points)
        # in single precision, as CARLA keeps locations and measures distances
        places = np.array([(p.x, p.y, p.z) for p in points], dtype=np.float32)
        self.x: list[float] = places[:, 0].tolist()
        self.y: list[float] = places[:, 1].tolist()
        self.cos = [math.cos(p.yaw) for p in points]
        self.sin = [math.sin(p.yaw) for p in points]
        self.along = [0.0]
        steps = np.diff(places, axis=0)
        for step in np.sqrt((steps * steps).sum(axis=1)).tolist():
            self.along.append(self.along[-1] + step)
        self.length = self.along[-1]
        self.last = len(points) - 1

    def passed(self, index: int, x: float, y: float) -> bool:
        """Whether a place lies ahead of a point, in the point's direction."""
        return (x - self.x[index]) * self.cos[index] + (y - self.y[index]) * self.sin[index] > 0.0


class Completion:
    """How much of the route is done, in percent with two digits; never decreases."""

    WINDOW: Final = 2

    def __init__(self, route: RouteLine) -> None:
        self.route = route
        self.index = 0
        self.percent = 0.0
        self.reached = False

    def update(self, x: float, y: float) -> float:
        """The completion after this tick."""
        route, index = self.route, self.index
        for j in range(index, min(index + self.WINDOW, route.last) + 1):
            if route.passed(j, x, y):
                self.index = j
        percent = round(100.0 * route.along[self.index] / route.length, 2)
        if percent > REACHED_PERCENT:
            end = math.hypot(x - route.x[-1], y - route.y[-1])
            if end < REACHED_M:
                self.reached, percent = True, 100.0
        self.percent = max(self.percent, percent)
        return self.percent


class Odometer:
    """Driven distance over route length; can be fooled by circling. For comparison only."""

    def __init__(self, route: RouteLine) -> None:
        self.route = route
        self.metres = 0.0
        self.percent = 0.0
        self.reached = False
        self._before: Place | None = None

    def update(self, x: float, y: float) -> float:
        """The completion after this tick."""
        if self._before is not None:
            self.metres += math.dist(self._before, (x, y))
        self._before = (x, y)
        self.percent = min(100.0, 100.0 * self.metres / self.route.length)
        if self.percent >= REACHED_PERCENT:
            self.percent, self.reached = 100.0, True
        return self.percent


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


class MinSpeed:
    """Mean speed over that of the background vehicles, for each part of the route."""

    WINDOW: Final = 2

    def __init__(self, route: RouteLine, parts: int) -> None:
        self.route = route
        self.share = 100.0 / parts
        self.parts = parts
        self.index = 0
        self.closed_percent = 0.0
        self.closed = 0
        self._start()

    def _start(self) -> None:
        self.ego_sum = 0.0
        self.traffic_sum = 0.0
        self.points = 0

    def update(self, now: Moment) -> Event | None:
        """The event of this tick."""
        route = self.route
        for j in range(self.index, min(self.index + self.WINDOW, route.last) + 1):
            if route.passed(j, now.x, now.y):
                self.index = j
        if now.background_speed is not None:
            self.ego_sum += now.speed
            self.traffic_sum += now.background_speed
            self.points += 1
        if self._percent() - self.closed_percent >= self.share:
            return self._close(now)
        return None

    def end(self, now: Moment) -> Event | None:
        """The event of the last part."""
        if self._percent() > MIN_SPEED_LAST_PERCENT and self.closed < self.parts:
            return self._close(now)
        return None

    def _percent(self) -> float:
        return 100.0 * self.route.along[self.index] / self.route.length

    def _close(self, now: Moment) -> Event:
        percentage: float = 100
        if self.points and self.traffic_sum > 0.0:
            percentage = round(self.ego_sum / self.traffic_sum * 100, 2)
        self.closed_percent = self._percent()
        self.closed += 1
        self._start()
        text = f"Average speed is {percentage}% of the surrounding traffic's one"
        return Event("min_speed", now.tick, now.t, text, percentage)


class InRoute:
    """The route is left."""

    WINDOW: Final = 5

    def __init__(self, route: RouteLine) -> None:
        self.route = route
        self.index = 0
        self.safe = True
        self.unsafe_m = 0.0

    def update(self, now: Moment) -> Event | None:
        """The event of this tick, which ends the drive."""
        route, nearest, shortest = self.route, self.index, math.inf
        for j in range(self.index, min(self.index + self.WINDOW, route.last) + 1):
            distance = math.hypot(now.x - route.x[j], now.y - route.y[j])
            if distance <= shortest:
                nearest, shortest = j, distance
        off = shortest >= DEVIATION_M
        if not off:
            self.safe = shortest < UNSAFE_M
        if nearest != self.index:
            if not self.safe:
                self.unsafe_m += route.along[nearest] - route.along[self.index]
                off = off or 100.0 * self.unsafe_m / route.length > UNSAFE_PERCENT
            self.index = nearest
        if not off:
            return None
        text = f"Agent deviated from the route at {place_text((now.x, now.y, now.z))}"
        return Event("route_dev", now.tick, now.t, text)


class Blocked:
    """It stands for too long."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.moved_s = 0.0

    def update(self, now: Moment) -> Event | None:
        """The event of this tick, which ends the drive."""
        if not now.speed < BLOCKED_SPEED:
            self.moved_s = now.t
        elif now.t - self.moved_s > self.seconds:
            text = f"Agent got blocked at {place_text((now.x, now.y, now.z))}"
            return Event("vehicle_blocked", now.tick, now.t, text)
        return None


class RouteTimeout:
    """Time runs out; every stretch that is newly passed adds some."""

    WINDOW: Final = 3

    def __init__(self, route: RouteLine) -> None:
        self.route = route
        self.index = 0
        self.limit_s = TIMEOUT_S

    def update(self, now: Moment) -> bool:
        """Whether time is up."""
        route = self.route
        for j in range(self.index, min(self.index + self.WINDOW, route.last) + 1):
            if route.passed(j, now.x, now.y):
                limit = now.lane.speed_limit if now.speed_limit is None else now.speed_limit
                metres = route.along[j] - route.along[self.index]
                self.limit_s += metres / (TIMEOUT_SHARE * max(limit, 0.1))
                self.index = j
        return now.t > self.limit_s


class Criteria:
    """All criteria of one drive. A route that was reached ends with the next tick, as officially.

    ``end`` is None while the drive goes on, then one of ``completed``, ``route_deviation``,
    ``blocked``, ``route_timeout``, ``tick_cap`` and ``max_game_time``.
    """

    def __init__(
        self,
        route: RouteLine,
        road_map: RoadMap,
        boxes: Sequence[TriggerBox],
        profile: Profile,
        *,
        half_length: float,
        completion: str = "projected",
        tick_cap: int = TICK_CAP,
        max_game_time_s: float | None = None,
    ) -> None:
        self.route = route
        self.projected = Completion(route)
        self.odometer = Odometer(route)
        self.completion: Completion | Odometer = (
            self.odometer if completion == "odometer" else self.projected
        )
        self.red_light = RedLight(boxes, road_map, half_length)
        self.stop_sign = StopSign(boxes, road_map)
        self.outside = OutsideLanes(route, road_map)
        self.min_speed = MinSpeed(route, profile.min_speed_parts)
        self.in_route = InRoute(route)
        self.blocked = Blocked(profile.live_blocked_s)
        self.timeout = RouteTimeout(route)
        self.tick_cap = tick_cap
        self.max_game_time_s = max_game_time_s
        self.end: str | None = None
        self.timed_out = False
        self._events: list[Event] = []

    @property
    def events(self) -> list[Event]:
        """Everything so far, with the outside-lanes event as it stands now."""
        outside = self.outside.event
        return [*self._events, *([outside] if outside is not None else [])]

    def update(self, now: Moment) -> list[Event]:
        """Events of this tick, but for the outside-lanes event, which only grows."""
        reached = self.completion.reached
        self.projected.update(now.x, now.y)
        self.odometer.update(now.x, now.y)
        new: list[Event] = []
        for criterion in (self.red_light, self.stop_sign, self.min_speed):
            event = criterion.update(now)
            if event is not None:
                new.append(event)
        self.outside.update(now)
        deviated = self.in_route.update(now)
        blocked = self.blocked.update(now)
        timed_out = self.timeout.update(now)
        if reached:
            self.end = "completed"
        elif deviated is not None:
            self.end = "route_deviation"
            new.append(deviated)
        elif blocked is not None:
            self.end = "blocked"
            new.append(blocked)
        elif timed_out:
            self.end, self.timed_out = "route_timeout", True
        elif self.max_game_time_s is not None and now.t >= self.max_game_time_s:
            self.end, self.timed_out = "max_game_time", True
        elif now.tick > self.tick_cap:
            self.end = "tick_cap"
        if self.end is not None:
            new += self.close(now)
        self._events += new
        return new

    def add(self, events: Sequence[Event]) -> None:
        """Take events that others saw, such as those of scenario scripts."""
        self._events += events

    def close(self, now: Moment) -> list[Event]:
        """Events that the end of the drive brings, whatever ended it."""
        event = self.min_speed.end(now)
        return [] if event is None else [event]


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
