"""Client and world of the stand-in server."""

import math
import os
import random
import threading
import time
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final

from sysone.drive.backend import SensorSpec, Setup
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.embedded.actors import Actor, Follower
from sysone.drive.roadmap import RoadMap
from sysone.drive.routeline import RoutePoint
from sysone.drive.shipped import DATA, TOWNS
from sysone.drive.standin.actors import (
    ActorList,
    Being,
    Blueprint,
    Hero,
    Library,
    Sensor,
    StopSign,
    TrafficLight,
    Vehicle,
    hang,
)
from sysone.drive.standin.faults import Faults

VERSION: Final = "0.9.16"
OTHER_VERSION: Final = "0.9.13"
LATE_S: Final = 0.3
SLOW_S: Final = 0.5
CARLA_PATH: Final = "/Game/Carla/Maps/"


@dataclass
class Settings:
    """A world's settings; fields as in CARLA."""

    synchronous_mode: bool = False
    fixed_delta_seconds: float | None = None


class Manager:
    """The traffic manager's part that is used."""

    def __init__(self, port: int) -> None:
        self.port = port

    def get_port(self) -> int:
        """Its port."""
        return self.port

    def set_synchronous_mode(self, wanted: bool) -> None:
        """It is always in step here."""

    def set_random_device_seed(self, seed: int) -> None:
        """The embedded world has seeds of its own."""


class Client:
    """A connection to the stand-in."""

    def __init__(self, carla: Any, faults: Faults) -> None:
        self.carla = carla
        self.faults = faults
        self.version = VERSION
        self.world: World | None = None

    def set_timeout(self, seconds: float) -> None:
        """Nothing here waits."""

    def get_client_version(self) -> str:
        """The version that the stand-in speaks."""
        return VERSION

    def get_server_version(self) -> str:
        """The first question, which fails where no server answers."""
        due = self.faults.happened("open")
        if "refuse" in due:
            raise RuntimeError("time-out of 10000ms while waiting for the simulator")
        return OTHER_VERSION if "wrong_version" in due else VERSION

    def get_available_maps(self) -> list[str]:
        """The shipped maps, as CARLA lists its own."""
        return [CARLA_PATH + town for town in TOWNS]

    def get_world(self) -> "World":
        """The world as it is; a server begins with one."""
        return self.world if self.world is not None else self.load_world("MiniGrid")

    def load_world(self, town: str) -> "World":
        """One of the shipped maps."""
        text = (DATA / TOWNS[town]).read_text(encoding="utf-8")
        return self._begin(CARLA_PATH + town, text)

    def generate_opendrive_world(self, text: str) -> "World":
        """A world from a map's text."""
        return self._begin(CARLA_PATH + "OpenDriveMap", text)

    def _begin(self, name: str, text: str) -> "World":
        due = self.faults.happened("load")
        if "load_fails" in due:
            raise RuntimeError("time-out of 120000ms while waiting for the simulator")
        # as CARLA does it: a new world has forgotten the mode
        self.world = World(self.carla, name, text, self.faults)
        return self.world

    def get_trafficmanager(self, port: int) -> Manager:
        """The traffic manager."""
        return Manager(port)


class World:
    """One loaded map and all that is in it."""

    def __init__(self, carla: Any, name: str, text: str, faults: Faults) -> None:
        self.carla = carla
        self.faults = faults
        self.map = carla.Map(name, text)
        self.road_map = RoadMap(text, name)
        self.settings = Settings()
        self.weather = carla.WeatherParameters()
        self.frame = 1000
        self.elapsed = 3.0
        self.ticks = 0
        self.numbers = 20
        self.beings: list[Any] = []
        self.sim = EmbeddedBackend()
        ends = (RoutePoint(0.0, 0.0, 0.0, 0.0), RoutePoint(1.0, 0.0, 0.0, 0.0))
        # GNSS must follow the map object that the backend asks
        self.sim.load(Setup(_MapAsAsked(self.road_map, self.map, carla), 0.05, 0), ends)
        self.light_actors = {light.id: TrafficLight(self, light) for light in self.sim.lights}
        self.beings += [*self.light_actors.values()]
        self.beings += [StopSign(self, box) for box in self.sim.stops]

    def next_id(self) -> int:
        """Each actor has its own."""
        self.numbers += 1
        return self.numbers

    def get_map(self) -> Any:
        """The map."""
        return self.map

    def get_settings(self) -> Settings:
        """A copy."""
        return replace(self.settings)

    def apply_settings(self, settings: Settings) -> int:
        """The mode and the step."""
        self.settings = replace(settings)
        if settings.fixed_delta_seconds:
            self.sim.setup = replace(self.sim.setup, dt=settings.fixed_delta_seconds)
        return self.frame

    def get_weather(self) -> Any:
        """The weather."""
        return self.weather

    def set_weather(self, weather: Any) -> None:
        """Kept; the sun is seen."""
        self.weather = weather
        if self._hero() is not None:
            self.sim.weather({"sun_altitude_angle": weather.sun_altitude_angle})

    def reset_all_traffic_lights(self) -> None:
        """Forget what was set."""
        self.sim.light_plan.script.clear()

    def freeze_all_traffic_lights(self, frozen: bool) -> None:
        """A state that was set stays anyway."""

    def light_states(self) -> dict[int, str]:
        """Of now."""
        return self.sim.light_plan.states(getattr(self.sim, "time", 0.0))

    def force_light(self, light: int, state: str) -> None:
        """From now on."""
        self.sim.light_plan.script.append({"light": light, "at": 0.0, "state": state})
        if self._hero() is not None:
            self.sim.states = self.light_states()

    def get_blueprint_library(self) -> Library:
        """What can be spawned."""
        return Library()

    def get_actors(self) -> ActorList:
        """Everything that has an id."""
        return ActorList(self.beings)

    def get_snapshot(self) -> Any:
        """Frame, time and who is there."""
        ids = {being.id for being in self.beings}
        return SimpleNamespace(
            frame=self.frame,
            timestamp=SimpleNamespace(elapsed_seconds=self.elapsed),
            has_actor=ids.__contains__,
        )

    def try_spawn_actor(self, blueprint: Blueprint, pose: Any, attach_to: Any = None) -> Any:
        """An actor, or None where something is in the way."""
        kind, values = blueprint.id, dict(blueprint.values)
        if kind.startswith("sensor."):
            if attach_to is None:
                return None
            made: Any = Sensor(self, kind, values)
        elif values.get("role_name") == "hero":
            if "spawn_fails" in self.faults.happened("spawn"):
                return None
            place = pose.location
            self.sim.spawn_ego(place.x, place.y, place.z, math.radians(pose.rotation.yaw))
            made = Hero(self, kind, values)
        else:
            made = Vehicle(self, kind, values, pose)
            self.sim.added.append(made.actor)
        self.beings.append(made)
        self._mount()
        return made

    def _mount(self) -> None:
        """The embedded world's sensors follow those that are there."""
        if self._hero() is None:
            return
        spec = SensorSpec(camera="none")
        for being in self.beings:
            if being.type_id == "sensor.camera.rgb":
                values = being.attributes
                spec = replace(
                    spec,
                    camera="ground",
                    width=int(values["image_size_x"]),
                    height=int(values["image_size_y"]),
                    fov=float(values["fov"]),
                )
            elif being.type_id == "sensor.lidar.ray_cast":
                spec = replace(spec, lidar=True)
            elif being.type_id == "sensor.other.gnss":
                spec = replace(spec, gnss_noise_deg=float(being.attributes["noise_lat_stddev"]))
            elif being.type_id == "sensor.other.imu":
                spec = replace(spec, imu_noise=float(being.attributes["noise_accel_stddev_x"]))
        self.sim.attach(spec)

    def follow(self, actor: Actor) -> None:
        """Put a vehicle on the lanes."""
        if actor in self.sim.added:
            self.sim.added.remove(actor)
        lane = self.road_map.nearest(actor.x, actor.y)
        self.sim.followers.append(Follower(actor, lane, random.Random(f"traffic/{actor.id}")))

    def _hero(self) -> Any:
        return next((being for being in self.beings if isinstance(being, Hero)), None)

    def remove(self, being: Being) -> None:
        """Take an actor away."""
        if being in self.beings:
            self.beings.remove(being)
        actor = getattr(being, "actor", None)
        self.sim.added = [one for one in self.sim.added if one is not actor]
        self.sim.followers = [one for one in self.sim.followers if one.actor is not actor]

    def tick(self, seconds: float = 10.0) -> int:
        """One step; sensors send before it returns, unless a fault says otherwise."""
        self.frame += 1
        self.ticks += 1
        due = self.faults.ticked(self.ticks)
        if "abort_tick" in due:
            os.abort()
        if "hang_tick" in due:
            hang()
        if "tick_timeout" in due:
            raise RuntimeError("time-out of 10000ms while waiting for the simulator")
        if "slow_tick" in due:
            time.sleep(SLOW_S)
        self.elapsed += self.settings.fixed_delta_seconds or 0.05
        hero = self._hero()
        if hero is None:
            return self.frame
        if "ego_gone" in due:
            self.beings.remove(hero)
        self.sim.fail_compass = "nan_compass" in due
        found = self.sim.tick()
        for sensor in [being for being in self.beings if isinstance(being, Sensor)]:
            if sensor.type_id == "sensor.other.collision":
                for contact in found.contacts:
                    sensor.hit(self.frame, contact)
            for datum in sensor.data(self.frame, dict(found.sensors)):
                self._send(sensor, datum, due)
        return self.frame

    def _send(self, sensor: Sensor, datum: Any, due: set[str]) -> None:
        callback = sensor.callback
        if callback is None:
            return
        affected = sensor.type_id == "sensor.other.gnss"
        if affected and "lost_frame" in due:
            return
        if affected and "late_frame" in due:
            threading.Timer(LATE_S, callback, (datum,)).start()
            return
        if affected and "stale_frame" in due:
            callback(SimpleNamespace(**{**vars(datum), "frame": datum.frame - 1, "latitude": 0.0}))
        callback(datum)


class _MapAsAsked(RoadMap):
    """The own reader's map, with the GPS conversion of the map object that clients ask."""

    def __init__(self, road_map: RoadMap, asked: Any, carla: Any) -> None:
        super().__init__(road_map.text, road_map.name)
        self._asked, self._location = asked, carla.Location
        self.gps_model = "carla_mercator"

    def geolocate(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """See `RoadMap.geolocate`."""
        found = self._asked.transform_to_geolocation(self._location(x=x, y=y, z=z))
        return found.latitude, found.longitude, found.altitude
