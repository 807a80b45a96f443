"""What criteria, world and planner share: a route as a line, trigger boxes, one tick of a drive."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sysone.drive.roadmap import LanePoint


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
