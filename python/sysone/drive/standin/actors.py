"""Actors of the stand-in server: vehicles, lights, signs and sensors, over the embedded world."""

import fnmatch
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sysone.drive.backend import Control
from sysone.drive.embedded.actors import Actor
from sysone.drive.embedded.lights import Light
from sysone.drive.embedded.vehicle import HALF_LENGTH_M, HALF_WIDTH_M
from sysone.drive.routeline import TriggerBox

if TYPE_CHECKING:
    from sysone.drive.standin.server import World

ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    "vehicle.lincoln.mkz_2020": ("role_name", "number_of_wheels"),
    "vehicle.tesla.model3": ("role_name", "number_of_wheels"),
    "sensor.camera.rgb": ("image_size_x", "image_size_y", "fov", "sensor_tick", "role_name"),
    "sensor.lidar.ray_cast": (
        "range",
        "rotation_frequency",
        "channels",
        "upper_fov",
        "lower_fov",
        "points_per_second",
        "atmosphere_attenuation_rate",
        "dropoff_general_rate",
        "dropoff_intensity_limit",
        "dropoff_zero_intensity",
    ),
    "sensor.other.gnss": tuple(f"noise_{axis}_stddev" for axis in ("alt", "lat", "lon")),
    "sensor.other.imu": tuple(
        f"noise_{kind}_stddev_{a}" for kind in ("accel", "gyro") for a in "xyz"
    ),
    "sensor.other.collision": (),
    "sensor.other.lane_invasion": (),
}
"""What can be spawned, and which attributes it has (names as in CARLA's blueprint library)."""
BOX_ENDS_M: Final = 3.0
"""A light's trigger box ends so far before the junction."""
BOX_BEGINS_M: Final = 15.0


class Blueprint:
    """A kind of actor and its attributes."""

    def __init__(self, kind: str) -> None:
        self.id = kind
        self.values = {"number_of_wheels": "4"} if kind.startswith("vehicle.") else {}

    def has_attribute(self, name: str) -> bool:
        """Whether it has one of this name."""
        return name in ATTRIBUTES[self.id]

    def get_attribute(self, name: str) -> str:
        """Its value."""
        return self.values[name]

    def set_attribute(self, name: str, value: str) -> None:
        """Text, as CARLA's wants it."""
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}, expected text")
        if not self.has_attribute(name):
            raise IndexError(f"{self.id} has no attribute {name}")
        self.values[name] = value


class Library:
    """All blueprints."""

    def filter(self, pattern: str) -> list[Blueprint]:
        """Those whose id fits."""
        return [Blueprint(kind) for kind in ATTRIBUTES if fnmatch.fnmatch(kind, pattern)]

    def find(self, kind: str) -> Blueprint:
        """The one of this id."""
        if kind not in ATTRIBUTES:
            raise IndexError(f"blueprint '{kind}' not found")
        return Blueprint(kind)


class ActorList(list[Any]):
    """What ``get_actors`` gives."""

    def filter(self, pattern: str) -> "ActorList":
        """Those whose type fits."""
        return ActorList(one for one in self if fnmatch.fnmatch(one.type_id, pattern))


class Being:
    """Anything with an id."""

    def __init__(self, world: "World", type_id: str, attributes: dict[str, str] | None = None):
        self.world = world
        self.id = world.next_id()
        self.type_id = type_id
        self.attributes = attributes or {}
        self.is_alive = True

    def destroy(self) -> bool:
        """Take it away."""
        self.world.remove(self)
        self.is_alive = False
        return True


class Hero(Being):
    """The car that the embedded world drives."""

    def __init__(self, world: "World", type_id: str, attributes: dict[str, str]) -> None:
        super().__init__(world, type_id, attributes)
        extent = world.carla.Vector3D(HALF_LENGTH_M, HALF_WIDTH_M, 0.75)
        self.bounding_box = world.carla.BoundingBox(world.carla.Location(), extent)

    def destroy(self) -> bool:
        """With whatever a cleanup is scripted to do."""
        due = self.world.faults.happened("cleanup")
        if "abort_cleanup" in due:
            os.abort()
        if "hang_cleanup" in due:
            hang()
        return super().destroy()

    def get_transform(self) -> Any:
        """Place and direction."""
        ego, carla = self.world.sim.ego(), self.world.carla
        x, y, z = ego.location
        return carla.Transform(
            carla.Location(x=x, y=y, z=z), carla.Rotation(yaw=math.degrees(ego.yaw))
        )

    def _vector(self, values: Iterable[float]) -> Any:
        return self.world.carla.Vector3D(*values)

    def get_velocity(self) -> Any:
        """m/s."""
        return self._vector(self.world.sim.ego().velocity)

    def get_acceleration(self) -> Any:
        """m/s²."""
        return self._vector(self.world.sim.ego().acceleration)

    def get_angular_velocity(self) -> Any:
        """Degrees a second."""
        return self._vector(self.world.sim.ego().angular_velocity)

    def apply_control(self, control: Any) -> None:
        """From the next tick."""
        self.world.sim.apply(Control(control.throttle, control.brake, control.steer))

    def _light(self) -> Light | None:
        here = self.world.sim.here
        light = self.world.sim.affecting.by_lane.get((here.road_id, here.lane_id))
        if light is None or not BOX_ENDS_M <= abs(light.stop_s - here.s) <= BOX_BEGINS_M:
            return None
        return light

    def is_at_traffic_light(self) -> bool:
        """Inside a light's trigger box."""
        return self._light() is not None

    def get_traffic_light(self) -> Any:
        """The light of the box that it is in."""
        light = self._light()
        return None if light is None else self.world.light_actors[light.id]


class Vehicle(Being):
    """Somebody else."""

    def __init__(self, world: "World", type_id: str, attributes: dict[str, str], pose: Any) -> None:
        super().__init__(world, type_id, attributes)
        where = pose.location
        self.actor = Actor(
            self.id,
            type_id,
            attributes.get("role_name", ""),
            where.x,
            where.y,
            math.radians(pose.rotation.yaw),
            0.0,
            2.3,
            1.0,
            1.5,
        )
        extent = world.carla.Vector3D(2.3, 1.0, 0.75)
        self.bounding_box = world.carla.BoundingBox(world.carla.Location(), extent)

    def get_transform(self) -> Any:
        """Place and direction."""
        carla, actor = self.world.carla, self.actor
        return carla.Transform(
            carla.Location(x=actor.x, y=actor.y, z=0.0),
            carla.Rotation(yaw=math.degrees(actor.yaw)),
        )

    def get_velocity(self) -> Any:
        """m/s."""
        speed, yaw = self.actor.speed, self.actor.yaw
        return self.world.carla.Vector3D(speed * math.cos(yaw), speed * math.sin(yaw), 0.0)

    def set_autopilot(self, enabled: bool, tm_port: int) -> None:
        """Follow the lanes."""
        self.world.follow(self.actor)


class TrafficLight(Being):
    """A light; its OpenDRIVE id is the signal's."""

    def __init__(self, world: "World", light: Light) -> None:
        super().__init__(world, "traffic.traffic_light")
        self.light = light
        self.trigger_volume, self._pose = volume(world.carla, light.box)

    def get_transform(self) -> Any:
        """Of its trigger box, which is what is asked for."""
        return self._pose

    def get_opendrive_id(self) -> str:
        """Text, as CARLA has it."""
        return str(self.light.id)

    def get_state(self) -> Any:
        """As of the last tick."""
        states = self.world.light_states()
        return getattr(self.world.carla.TrafficLightState, states[self.light.id])

    def set_state(self, state: Any) -> None:
        """From now on."""
        self.world.force_light(self.light.id, str(state))

    def freeze(self, frozen: bool) -> None:
        """A state that was set stays anyway."""


class StopSign(Being):
    """A stop sign."""

    def __init__(self, world: "World", box: TriggerBox) -> None:
        super().__init__(world, "traffic.stop")
        self.trigger_volume, self._pose = volume(world.carla, box)

    def get_transform(self) -> Any:
        """Of its trigger box."""
        return self._pose


def volume(carla: Any, box: TriggerBox) -> tuple[Any, Any]:
    """A box as a trigger volume a metre before its actor, and that actor's pose."""
    yaw = box.yaw
    place = carla.Location(x=box.x - math.cos(yaw), y=box.y - math.sin(yaw), z=box.z)
    pose = carla.Transform(place, carla.Rotation(yaw=math.degrees(yaw)))
    extent = carla.Vector3D(box.half_length, box.half_width, 1.0)
    return carla.BoundingBox(carla.Location(x=1.0, y=0.0, z=0.0), extent), pose


class Sensor(Being):
    """Sends to whoever listens."""

    def __init__(self, world: "World", type_id: str, attributes: dict[str, str]) -> None:
        super().__init__(world, type_id, attributes)
        self.callback: Callable[[Any], None] | None = None

    @property
    def is_listening(self) -> bool:
        """Whether somebody listens."""
        return self.callback is not None

    def listen(self, callback: Callable[[Any], None]) -> None:
        """Send to a function from now on."""
        self.callback = callback

    def stop(self) -> None:
        """Send no more."""
        self.callback = None

    def data(self, frame: int, sensors: dict[str, tuple[int, Any]]) -> Iterator[Any]:
        """What it sends in a frame."""
        kind, carla = self.type_id.rsplit(".", 1)[-1], self.world.carla
        if kind == "gnss":
            lat, lon, altitude = sensors["gps"][1]
            yield SimpleNamespace(frame=frame, latitude=lat, longitude=lon, altitude=altitude)
        elif kind == "imu":
            ax, ay, az, gx, gy, gz, compass = sensors["imu"][1]
            yield SimpleNamespace(
                frame=frame,
                accelerometer=carla.Vector3D(ax, ay, az),
                gyroscope=carla.Vector3D(gx, gy, gz),
                compass=compass,
            )
        elif kind == "rgb":
            yield picture(frame, sensors["rgb"][1])
        elif kind == "ray_cast":
            yield SimpleNamespace(frame=frame, raw_data=sensors["lidar"][1].tobytes())

    def hit(self, frame: int, contact: tuple[int, str, float]) -> None:
        """A collision sensor's event."""
        number, type_id, impulse = contact
        if self.callback is not None:
            self.callback(
                SimpleNamespace(
                    frame=frame,
                    other_actor=SimpleNamespace(id=number, type_id=type_id),
                    normal_impulse=self.world.carla.Vector3D(impulse, 0.0, 0.0),
                )
            )


def picture(frame: int, bgr: Any) -> Any:
    """An image as CARLA sends it: BGRA."""
    height, width, _ = bgr.shape
    bgra = np.full((height, width, 4), 255, dtype=np.uint8)
    bgra[:, :, :3] = bgr
    return SimpleNamespace(frame=frame, height=height, width=width, raw_data=bgra.tobytes())


def hang() -> None:
    """For as long as this process lives."""
    while True:
        time.sleep(1.0)
