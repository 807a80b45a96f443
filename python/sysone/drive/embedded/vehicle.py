"""The car: a kinematic bicycle about its centre, in CARLA's left-handed frame."""

import math
from typing import Final

from sysone.drive.backend import Control

WHEELBASE_M: Final = 2.87
REAR_M: Final = 1.43
"""From the centre back to the rear axle."""
HALF_LENGTH_M: Final = 2.44
HALF_WIDTH_M: Final = 0.92
MASS_KG: Final = 1700.0
MAX_WHEEL: Final = math.radians(40.0)
WHEEL_RATE: Final = math.radians(300.0)
"""Radians a second."""
SUBSTEPS: Final = 5
ENGINE: Final = 4.5
BRAKES: Final = 8.0
TOP_SPEED: Final = 50.0
ROLLING: Final = 0.02
DRAG: Final = 0.0006
_SHARE: Final = REAR_M / WHEELBASE_M


class Bicycle:
    """Where the car is and how it moves. Metres, radians, m/s."""

    __slots__ = ("speed", "wheel", "x", "y", "yaw")

    def __init__(self, x: float, y: float, yaw: float) -> None:
        self.x, self.y, self.yaw = x, y, yaw
        self.speed = self.wheel = 0.0

    def step(self, control: Control, dt: float) -> None:
        """Move by one tick: semi-implicit Euler in five substeps."""
        h = dt / SUBSTEPS
        wanted = MAX_WHEEL * control.steer
        limit = WHEEL_RATE * h
        # the brake wins
        throttle = 0.0 if control.brake > 0.5 else control.throttle
        brake = BRAKES * control.brake
        x, y, yaw, v, wheel = self.x, self.y, self.yaw, self.speed, self.wheel
        for _ in range(SUBSTEPS):
            wheel += min(limit, max(-limit, wanted - wheel))
            v += h * (
                ENGINE * throttle * (1.0 - v / TOP_SPEED) - brake - ROLLING * v - DRAG * v * v
            )
            if v < 0.0:
                v = 0.0
            slip = math.atan(_SHARE * math.tan(wheel))
            yaw += h * (v / REAR_M * math.sin(slip))
            x += h * v * math.cos(yaw + slip)
            y += h * v * math.sin(yaw + slip)
        self.x, self.y, self.yaw, self.speed, self.wheel = x, y, yaw, v, wheel

    @property
    def slip(self) -> float:
        """Angle between where it looks and where it goes."""
        return math.atan(_SHARE * math.tan(self.wheel))
