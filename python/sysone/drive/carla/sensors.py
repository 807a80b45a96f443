"""Sensors on a CARLA vehicle: exact attributes, and data that are of the current frame."""

import queue
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sysone.drive.backend import SensorSpec, SimulationCrashed, Vector
from sysone_core import frames

WAIT_S: Final = 2.0
"""For a datum of the current frame."""
VERTICAL_NOISE: Final = 15.0
"""The leaderboard's IMU is 0.001 along and across and 0.015 upwards."""
LIDAR_POSITION: Final = (0.0, 0.0, 2.5)
LIDAR_YAW_DEG: Final = -90.0


@dataclass(frozen=True, slots=True)
class Mount:
    """One sensor: its name in frames, CARLA's blueprint, attributes (text, as CARLA wants them)."""

    name: str
    blueprint: str
    attributes: dict[str, str]
    position: Vector = (0.0, 0.0, 0.0)
    yaw_deg: float = 0.0
    every_frame: bool = True
    """Sends one datum in each frame; the others send events."""


def mounts(spec: SensorSpec) -> list[Mount]:
    """What to mount for a specification."""
    gnss, imu = str(spec.gnss_noise_deg), str(spec.imu_noise)
    found = [
        Mount(
            "gps",
            "sensor.other.gnss",
            {f"noise_{axis}_stddev": gnss for axis in ("alt", "lat", "lon")},
        ),
        Mount(
            "imu",
            "sensor.other.imu",
            {
                "noise_accel_stddev_x": imu,
                "noise_accel_stddev_y": imu,
                "noise_accel_stddev_z": str(VERTICAL_NOISE * spec.imu_noise),
                **{f"noise_gyro_stddev_{axis}": imu for axis in "xyz"},
            },
        ),
        Mount("collision", "sensor.other.collision", {}, every_frame=False),
        Mount("lane_invasion", "sensor.other.lane_invasion", {}, every_frame=False),
    ]
    if spec.camera != "none":
        attributes = {
            "image_size_x": str(spec.width),
            "image_size_y": str(spec.height),
            "fov": f"{spec.fov:g}",
        }
        found.append(Mount("rgb", "sensor.camera.rgb", attributes, spec.position))
    if spec.lidar:
        attributes = {
            "range": "85",
            "rotation_frequency": "10",
            "channels": str(spec.lidar_channels),
            "upper_fov": "10",
            "lower_fov": "-30",
            "points_per_second": "600000",
            "atmosphere_attenuation_rate": "0.004",
            "dropoff_general_rate": "0.45",
            "dropoff_intensity_limit": "0.8",
            "dropoff_zero_intensity": "0.4",
        }
        found.append(
            Mount("lidar", "sensor.lidar.ray_cast", attributes, LIDAR_POSITION, LIDAR_YAW_DEG)
        )
    return found


def _picture(image: Any) -> Any:
    shape = (image.height, image.width, 4)
    bgra = np.frombuffer(image.raw_data, dtype=np.uint8).reshape(shape)
    bgr = np.empty((image.height, image.width, 3), dtype=np.uint8)
    frames.bgra_to_bgr(bgra.data, bgr.data)
    return bgr


def _imu(datum: Any) -> tuple[float, ...]:
    a, g = datum.accelerometer, datum.gyroscope
    return (a.x, a.y, a.z, g.x, g.y, g.z, datum.compass % (2 * np.pi))


READ: Final[dict[str, Callable[[Any], Any]]] = {
    "gps": lambda datum: (datum.latitude, datum.longitude, datum.altitude),
    "imu": _imu,
    "rgb": _picture,
    "lidar": lambda datum: np.frombuffer(datum.raw_data, dtype=np.float32).reshape(-1, 4).copy(),
}
"""Plain data of a datum, by the sensor's name."""


class SensorDesk:
    """The mounted sensors and what they have sent."""

    def __init__(self, wait_s: float = WAIT_S) -> None:
        self.wait_s = wait_s
        self.actors: list[Any] = []
        self.stale = 0
        """Data of earlier frames that came too late and were dropped."""
        self._inboxes: dict[str, queue.SimpleQueue[Any]] = {}
        self._hits: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def mount(self, carla: Any, world: Any, vehicle: Any, wanted: Iterable[Mount]) -> None:
        """Put them on the vehicle and listen.

        Raises:
            SimulationCrashed: a blueprint lacks an attribute, or a sensor cannot be spawned.
        """
        library = world.get_blueprint_library()
        for mount in wanted:
            blueprint = library.find(mount.blueprint)
            for key, value in mount.attributes.items():
                if not blueprint.has_attribute(key):
                    raise SimulationCrashed(f"{mount.blueprint} has no attribute {key}")
                blueprint.set_attribute(key, value)
            x, y, z = mount.position
            pose = carla.Transform(carla.Location(x=x, y=y, z=z), carla.Rotation(yaw=mount.yaw_deg))
            sensor = world.try_spawn_actor(blueprint, pose, vehicle)
            if sensor is None:
                raise SimulationCrashed(f"{mount.blueprint} could not be spawned")
            self.actors.append(sensor)
            if mount.every_frame:
                inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
                self._inboxes[mount.name] = inbox
                sensor.listen(inbox.put)
            elif mount.name == "collision":
                sensor.listen(self._hits.put)
            else:
                sensor.listen(lambda event: None)

    def collect(self, frame: int) -> dict[str, tuple[int, Any]]:
        """The datum of this frame from each sensor; never an older one.

        Raises:
            SimulationCrashed: one did not come in time.
        """
        deadline = time.monotonic() + self.wait_s
        found = {}
        for name, inbox in self._inboxes.items():
            while True:
                try:
                    datum = inbox.get(timeout=max(0.0, deadline - time.monotonic()))
                except queue.Empty:
                    raise SimulationCrashed(
                        f"sensor gap: no {name} of frame {frame} within {self.wait_s:g} s"
                    ) from None
                if datum.frame >= frame:
                    break
                self.stale += 1
            if datum.frame > frame:
                raise SimulationCrashed(
                    f"sensor gap: {name} sent frame {datum.frame} and never frame {frame}"
                )
            found[name] = (frame, READ[name](datum))
        return found

    def hits(self) -> list[tuple[int, str, float]]:
        """Contacts since the last call: (actor id, type, impulse), the strongest first.

        Events come over a stream of their own: one that misses its tick counts in the next. Of one
        actor the strongest contact counts.
        """
        strongest: dict[int, tuple[int, str, float]] = {}
        while True:
            try:
                event = self._hits.get_nowait()
            except queue.Empty:
                break
            other, push = event.other_actor, event.normal_impulse
            impulse = float(np.sqrt(push.x**2 + push.y**2 + push.z**2))
            if other.id not in strongest or impulse > strongest[other.id][2]:
                strongest[other.id] = (other.id, other.type_id, impulse)
        return sorted(strongest.values(), key=lambda hit: (-hit[2], hit[0]))

    def forget(self) -> None:
        """Drop contacts of before the route."""
        self.hits()

    def destroy(self) -> None:
        """Stop listening, then take them away: a sensor that still sends may abort the client."""
        for sensor in self.actors:
            sensor.stop()
        for sensor in self.actors:
            sensor.destroy()
        self.actors, self._inboxes = [], {}
