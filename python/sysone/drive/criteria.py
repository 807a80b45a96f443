"""What the executor watches in every tick: Bench2Drive's criteria on plain data.

Each criterion is an object with one `update`; `Criteria` runs them all in the official order and
says when the drive ends. Nothing here knows a simulator: a tick comes as a `Moment`, the map as a
`RoadMap`. Collisions and the penalty of standing still come from the recorded ticks (see `score`).
"""

import math
from collections.abc import Sequence
from typing import Final

from sysone.drive.profiles import Profile
from sysone.drive.roadmap import RoadMap
from sysone.drive.routeline import Moment, RouteLine, TriggerBox
from sysone.drive.score import Event, place_text
from sysone.drive.trafficrules import OutsideLanes, RedLight, StopSign

# Bench2Drive's values (leaderboard's in the profile where they differ).
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
