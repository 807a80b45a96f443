"""What an agent's ``run_step`` receives: a dictionary of sensor id to (frame, data)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sysone.drive.service.wire import WireError, decode_lidar, decode_pixels

KINDS: Final = {
    "sensor.camera.rgb": "rgb",
    "sensor.other.gnss": "gps",
    "sensor.other.imu": "imu",
    "sensor.speedometer": "speed",
    "sensor.lidar.ray_cast": "lidar",
}
"""Wire field of a sensor by its type in the agent's own list."""
CAMERA_KEYS: Final = ("width", "height", "fov", "x", "y", "z", "roll", "pitch", "yaw")


class SensorMissing(ValueError):  # noqa: N818 - the name that its text has
    """The agent asks for a sensor that is not sent."""

    def __init__(self, sensor: str) -> None:
        super().__init__(f"sensor {sensor!r} is not sent")
        self.sensor = sensor


@dataclass
class Forge:
    """Builds ``input_data`` from ticks for the sensors that an agent lists."""

    sensors: Sequence[dict[str, Any]]
    lidar: bool = False
    """The protocol carries a lidar."""
    last_compass: float = 0.0
    _build: list[tuple[str, Callable[[dict[str, Any], int], Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        builders: dict[str, Callable[[dict[str, Any], int], Any]] = {
            "rgb": lambda message, frame: decode_pixels(message),
            "gps": lambda message, frame: list(_needed(message, "gps")),
            "imu": self._imu,
            "speed": lambda message, frame: {"speed": float(message["speed"])},
            "lidar": lambda message, frame: decode_lidar(message),
        }
        cameras = 0
        for sensor in self.sensors:
            kind = KINDS.get(sensor.get("type", ""))
            cameras += kind == "rgb"
            if kind is None or (kind == "lidar" and not self.lidar) or cameras > 1:
                raise SensorMissing(str(sensor.get("id")))
            self._build.append((str(sensor["id"]), builders[kind]))

    def _imu(self, message: dict[str, Any], frame: int) -> list[float]:
        compass = message.get("compass")
        # CARLA's IMU has sent NaN, which the executor leaves out
        if compass is not None and math.isfinite(compass):
            self.last_compass = float(compass)
        return [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, self.last_compass]

    def build(self, message: dict[str, Any]) -> dict[str, tuple[int, Any]]:
        """``input_data`` of one tick.

        Raises:
            WireError: a value is missing or damaged.
        """
        frame = message.get("rgb_frame")
        number = frame if type(frame) is int else message["tick"]
        return {sensor: (number, build(message, number)) for sensor, build in self._build}


def _needed(message: dict[str, Any], name: str) -> Any:
    if message.get(name) is None:
        raise WireError("missing_field", f"tick has no {name}", message.get("tick"))
    return message[name]


def differences(wanted: dict[str, Any], sent: dict[str, Any]) -> list[str]:
    """How a mounted camera or lidar differs from the one that the agent asks for."""
    return [
        f"{key} is {sent.get(key, 0.0)}, the agent asks for {wanted[key]}"
        for key in (*CAMERA_KEYS, "channels")
        if key in wanted and float(wanted[key]) != float(sent.get(key, 0.0))
    ]
