"""Everybody else on the road: scripted actors along the route, and traffic along the lanes."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sysone.drive.backend import ActorState
from sysone.drive.roadmap import LanePoint, RoadMap
from sysone.drive.routeline import RouteLine

# Intelligent driver model (M. Treiber, A. Hennecke, D. Helbing, 2000).
DESIRED: Final = 8.0
GAP_M: Final = 2.0
HEADWAY_S: Final = 1.5
ACCELERATION: Final = 1.5
DECELERATION: Final = 2.0
PASSED_M: Final = 10.0
"""A scenario is over when the ego is this far beyond its actor."""
FOLLOW_M: Final = 10.0
"""An emergency vehicle stays this far behind whoever blocks it."""
KINDS: Final = ("static", "lead", "walker", "oncoming", "emergency")

SHAPES: Final[dict[str, tuple[str, float, float, float]]] = {
    "static": ("static.prop.streetbarrier", 0.6, 0.6, 1.2),
    "lead": ("vehicle.audi.tt", 2.1, 0.95, 1.4),
    "walker": ("walker.pedestrian.0001", 0.25, 0.25, 1.8),
    "oncoming": ("vehicle.tesla.model3", 2.3, 1.0, 1.5),
    "emergency": ("vehicle.ford.ambulance", 3.1, 1.15, 2.4),
}


def idm(speed: float, gap: float, lead_speed: float, desired: float = DESIRED) -> float:
    """Acceleration in m/s² behind a leader that is ``gap`` metres ahead (infinite: none)."""
    free = 1.0 - (speed / desired) ** 4
    if math.isinf(gap):
        return ACCELERATION * free
    closing = speed * (speed - lead_speed) / (2 * math.sqrt(ACCELERATION * DECELERATION))
    wanted = GAP_M + max(0.0, speed * HEADWAY_S + closing)
    return ACCELERATION * (free - (wanted / max(gap, 0.1)) ** 2)


@dataclass(slots=True)
class Actor:
    """One of them, as it is now."""

    id: int
    type: str
    role: str
    x: float
    y: float
    yaw: float
    speed: float
    half_length: float
    half_width: float
    height: float

    def state(self) -> ActorState:
        """Plain data."""
        return ActorState(
            self.id,
            self.type,
            self.role,
            self.x,
            self.y,
            self.yaw,
            self.speed,
            self.half_length,
            self.half_width,
            self.height,
        )


@dataclass(slots=True)
class Scripted:
    """An actor that follows a script along the route.

    ``s`` and ``offset`` (to the right) are metres; ``profile`` is [[t, speed], …] in s and m/s;
    a walker starts when the ego is ``trigger`` metres before it. The scenario begins there too, and
    is over when the ego has left it behind; that it takes longer than ``timeout`` seconds is an
    infraction, and clears the actor away as the leaderboard does.
    """

    actor: Actor
    kind: str
    s: float
    offset: float
    speed: float
    profile: list[list[float]] = field(default_factory=list)
    trigger: float = 20.0
    timeout: float = math.inf
    started: bool = False
    began: float | None = None
    over: bool = False


def make_scripts(scripts: Sequence[Mapping[str, Any]], route: RouteLine) -> list[Scripted]:
    """The scripted actors of a route.

    Raises:
        ValueError: a script has no known kind or its place is no number; the text names it.
    """
    found = []
    for number, script in enumerate(scripts):
        kind = script.get("kind")
        if kind not in KINDS:
            raise ValueError(
                f"actor {number}: kind is {kind!r}, expected one of {', '.join(KINDS)}"
            )
        name, half_length, half_width, height = SHAPES[kind]
        try:
            s = float(script.get("s", 40.0))
            offset = float(script.get("offset", 0.0))
            speed = float(script.get("speed", 0.0 if kind in ("static", "walker") else 6.0))
            trigger = float(script.get("trigger", 20.0))
            timeout = float(script.get("timeout", math.inf))
        except (TypeError, ValueError):
            raise ValueError(
                f"actor {number}: s, offset, speed, trigger and timeout are numbers"
            ) from None
        if not timeout > 0.0:
            raise ValueError(f"actor {number}: timeout is {timeout:g}, expected more than 0 s")
        actor = Actor(
            101 + number,
            str(script.get("type", name)),
            "emergency" if kind == "emergency" else "scenario",
            0.0,
            0.0,
            0.0,
            0.0,
            half_length,
            half_width,
            height,
        )
        profile = list(script.get("profile", []))
        scripted = Scripted(actor, kind, s, offset, speed, profile, trigger, timeout)
        _place(scripted, route)
        found.append(scripted)
    return found


def move_scripted(scripted: Scripted, route: RouteLine, t: float, dt: float, ego_s: float) -> None:
    """One tick of a script."""
    actor = scripted.actor
    if scripted.kind == "static":
        return
    if scripted.kind == "walker":
        scripted.started = scripted.started or scripted.s - ego_s <= scripted.trigger
        if not scripted.started:
            return
        actor.speed = scripted.speed or 1.4
        # crosses from the right to the left
        scripted.offset -= actor.speed * dt
        _place(scripted, route)
        actor.yaw -= math.pi / 2
        return
    speed = scripted.speed
    for at, value in scripted.profile:
        if t >= at:
            speed = value
    if scripted.kind == "emergency" and 0.0 < ego_s - scripted.s < FOLLOW_M:
        speed = 0.0  # it waits to be let through
    actor.speed = speed
    scripted.s += (-speed if scripted.kind == "oncoming" else speed) * dt
    _place(scripted, route)
    if scripted.kind == "oncoming":
        actor.yaw += math.pi


def times_out(scripted: Scripted, t: float, ego_s: float) -> bool:
    """Whether a scenario's time is up in this tick; it is over then, as when the ego passed it."""
    if scripted.over:
        return False
    if scripted.began is None:
        if scripted.s - ego_s > scripted.trigger:
            return False
        scripted.began = t
    if ego_s > scripted.s + PASSED_M:
        scripted.over = True
        return False
    scripted.over = t - scripted.began > scripted.timeout
    return scripted.over


def _place(scripted: Scripted, route: RouteLine) -> None:
    x, y, yaw = route_place(route, scripted.s)
    actor = scripted.actor
    actor.x = x - scripted.offset * math.sin(yaw)
    actor.y = y + scripted.offset * math.cos(yaw)
    actor.yaw = yaw


def route_place(route: RouteLine, s: float) -> tuple[float, float, float]:
    """x, y and yaw at s metres of a route, straight on beyond its ends."""
    i = min(max(int(s), 0), route.last)
    while i > 0 and route.along[i] > s:
        i -= 1
    while i < route.last and route.along[i + 1] <= s:
        i += 1
    d = s - route.along[i]
    yaw = route.points[i].yaw
    return route.x[i] + d * route.cos[i], route.y[i] + d * route.sin[i], yaw


@dataclass(slots=True)
class Follower:
    """A background vehicle on a lane."""

    actor: Actor
    lane: LanePoint
    random: random.Random


def make_traffic(
    road_map: RoadMap, count: int, seed: int, away: Sequence[tuple[float, float]]
) -> list[Follower]:
    """So many vehicles on lanes, none near the given places."""
    if count <= 0:
        return []
    pick = random.Random(f"traffic/{seed}")
    places = [
        point
        for point in road_map.waypoints(12.0)
        if not point.is_junction and all(math.dist((point.x, point.y), a) > 25.0 for a in away)
    ]
    pick.shuffle(places)
    found = []
    for number, point in enumerate(places[:count]):
        actor = Actor(
            501 + number,
            "vehicle.lincoln.mkz_2017",
            "background",
            point.x,
            point.y,
            point.yaw,
            0.0,
            2.44,
            0.92,
            1.5,
        )
        found.append(Follower(actor, point, random.Random(f"{seed}/{number}")))
    return found


def move_follower(
    follower: Follower,
    road_map: RoadMap,
    others: Sequence[tuple[float, float, float, float]],
    stop_m: float,
    dt: float,
) -> None:
    """One tick: ``others`` are (x, y, speed, half length), ``stop_m`` is how far a line is."""
    actor = follower.actor
    cos, sin = math.cos(actor.yaw), math.sin(actor.yaw)
    gap, lead = math.inf, 0.0
    for x, y, speed, half in others:
        dx, dy = x - actor.x, y - actor.y
        along, across = dx * cos + dy * sin, dy * cos - dx * sin
        room = along - half - actor.half_length
        if 0.0 < along < 40.0 and abs(across) < 1.8 and room < gap:
            gap, lead = room, speed
    if stop_m < gap:
        gap, lead = stop_m, 0.0
    limit = min(DESIRED, follower.lane.speed_limit)
    acceleration = max(-8.0, idm(actor.speed, gap, lead, limit))
    actor.speed = max(0.0, actor.speed + acceleration * dt)
    if actor.speed > 0.0:
        ahead = road_map.next(follower.lane, actor.speed * dt)
        if not ahead:
            actor.speed = 0.0
            return
        follower.lane = ahead[0] if len(ahead) == 1 else follower.random.choice(ahead)
        actor.x, actor.y, actor.yaw = follower.lane.x, follower.lane.y, follower.lane.yaw
