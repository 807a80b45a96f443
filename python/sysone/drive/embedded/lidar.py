"""A lidar that is computed: the ground plane and the boxes of the actors."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.drive.backend import ActorState

CHANNELS: Final = 16
AZIMUTHS: Final = 625
"""Directions of one sweep at 20 Hz: 10,000 points at most."""
UPPER_DEG: Final = 10.0
LOWER_DEG: Final = -30.0
RANGE_M: Final = 85.0
HEIGHT_M: Final = 2.5
ATTENUATION: Final = 0.004
YAW: Final = math.radians(-90.0)


def sweep(pose: tuple[float, float, float], actors: Sequence[ActorState]) -> NDArray[np.float32]:
    """float32 (n, 4): x, y, z in the sensor's frame, and intensity."""
    elevation = np.radians(np.linspace(LOWER_DEG, UPPER_DEG, CHANNELS))[:, None]
    azimuth = np.linspace(-math.pi, math.pi, AZIMUTHS, endpoint=False)[None, :]
    dx = np.cos(elevation) * np.cos(azimuth)
    dy = np.cos(elevation) * np.sin(azimuth)
    dz = np.sin(elevation) + 0 * azimuth
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(dz < 0, -HEIGHT_M / dz, np.inf)
        for actor in actors:
            if math.hypot(actor.x - pose[0], actor.y - pose[1]) < RANGE_M:
                distance = np.minimum(distance, _box(dx, dy, dz, pose, actor))
    hit = distance <= RANGE_M
    d = distance[hit]
    points = np.stack(
        [dx[hit] * d, dy[hit] * d, dz[hit] * d, np.exp(-ATTENUATION * d)], axis=1
    ).astype(np.float32)
    return np.ascontiguousarray(points)


def _box(
    dx: NDArray[np.float64],
    dy: NDArray[np.float64],
    dz: NDArray[np.float64],
    pose: tuple[float, float, float],
    actor: ActorState,
) -> NDArray[np.float64]:
    """Distance to one box along each ray (slab method, T. Kay and J. Kajiya, 1986)."""
    # rays start at the sensor and look in its frame; turn both into the box's frame
    turn = pose[2] + YAW - actor.yaw
    cos, sin = math.cos(turn), math.sin(turn)
    rays = (dx * cos - dy * sin, dx * sin + dy * cos, dz)
    ox, oy = pose[0] - actor.x, pose[1] - actor.y
    box_cos, box_sin = math.cos(actor.yaw), math.sin(actor.yaw)
    origin = (ox * box_cos + oy * box_sin, oy * box_cos - ox * box_sin, HEIGHT_M)
    low = (-actor.half_length, -actor.half_width, 0.0)
    high = (actor.half_length, actor.half_width, actor.height)
    enter = np.zeros_like(dx)
    leave = np.full_like(dx, np.inf)
    for ray, start, a, b in zip(rays, origin, low, high, strict=True):
        first, second = (a - start) / ray, (b - start) / ray
        enter = np.maximum(enter, np.minimum(first, second))
        leave = np.minimum(leave, np.maximum(first, second))
    found: NDArray[np.float64] = np.where((leave >= enter) & (enter > 0.0), enter, np.inf)
    return found
