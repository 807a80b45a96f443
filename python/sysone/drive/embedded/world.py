"""The embedded backend: car, lights, actors, contacts and sensors on a map."""

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from sysone.drive.backend import (
    ActorState,
    Control,
    EgoState,
    Frame,
    Info,
    SensorSpec,
    Setup,
    SimulationCrashed,
    Vector,
)
from sysone.drive.embedded.actors import (
    Actor,
    Follower,
    Scripted,
    make_scripts,
    make_traffic,
    move_follower,
    move_scripted,
    times_out,
)
from sysone.drive.embedded.camera import Camera, Ground, pattern
from sysone.drive.embedded.lidar import sweep
from sysone.drive.embedded.lights import Affecting, LightPlan, find_lights, find_stops
from sysone.drive.embedded.vehicle import HALF_LENGTH_M, HALF_WIDTH_M, MASS_KG, Bicycle
from sysone.drive.gps import carla_to_gps
from sysone.drive.roadmap import LanePoint, RoadMap
from sysone.drive.routeline import RouteLine, RoutePoint, TriggerBox
from sysone_core import frames

VERSION: Final = "1"
GRAVITY: Final = 9.81
SUN_DEG: Final = 70.0
"""Where a route says nothing."""
MASS: Final = {"walker": 80.0, "vehicle": 1600.0}
RESTITUTION: Final = 1.1
LEAST_IMPULSE: Final = 0.1
NEAR_M: Final = 9.0
"""Actors further away than this cannot touch the car."""

_grounds: WeakKeyDictionary[RoadMap, Ground] = WeakKeyDictionary()


class EmbeddedBackend:
    """Deterministic: the same setup and controls give the same frames, to the bit."""

    def __init__(self) -> None:
        self.setup: Setup
        self.spec = SensorSpec()
        self.bicycle: Bicycle | None = None
        self.control = Control()
        self.fail_sensors = False
        """Fault injection: the sensors stop sending."""
        self.fail_compass = False
        """Fault injection: the compass is NaN."""

    def open(self) -> Info:
        """Nothing to start."""
        return Info("embedded", VERSION)

    def load(self, setup: Setup, route: Sequence[RoutePoint]) -> None:
        """Lights, signs and actors of the map and the route."""
        self.setup = setup
        self.road_map = setup.road_map
        self.line = RouteLine(route)
        mode = setup.lights if setup.lights in ("cycle", "green", "red") else "script"
        self.lights = find_lights(setup.road_map)
        self.stops = find_stops(setup.road_map)
        self.light_plan = LightPlan(self.lights, mode, setup.seed, setup.light_script)
        self.scripted: list[Scripted] = make_scripts(setup.actors, self.line)
        start = (route[0].x, route[0].y)
        self.followers: list[Follower] = make_traffic(
            setup.road_map, setup.traffic, setup.seed, [start]
        )
        self.timed_out: list[Scripted] = []
        self.added: list[Actor] = []
        self.noise = random.Random(f"noise/{setup.seed}")

    def spawn_ego(self, x: float, y: float, z: float, yaw: float) -> None:
        """The car at rest, on the ground: z only says which of two roads above each other."""
        self.bicycle = Bicycle(x, y, yaw)
        self.affecting = Affecting(self.lights, HALF_LENGTH_M)
        self.frame = 0
        self.time = 0.0
        self.control = Control()
        self.velocity: Vector = (0.0, 0.0, 0.0)
        self.acceleration: Vector = (0.0, 0.0, 0.0)
        self.here = self.road_map.nearest(x, y, z=z)
        self.route_index = 0
        self.states = self.light_plan.states(0.0)
        self.turned = self.speed = 0.0
        self.touching: set[int] = set()

    def attach(self, spec: SensorSpec) -> None:
        """Camera, GNSS, IMU, speedometer and, where asked for, lidar."""
        self.spec = spec
        self.camera: Camera | None = None
        if spec.camera == "ground":
            self.camera = Camera(spec, self.setup.weather.get("sun_altitude_angle", SUN_DEG))
            if self.road_map not in _grounds:
                _grounds[self.road_map] = Ground(self.road_map)
            self.ground = _grounds[self.road_map]

    def warmup(self, ticks: int = 10) -> Vector:
        """The clock starts afterwards."""
        self.frame += ticks
        return self._gnss()

    def tick(self) -> Frame:
        """One step of ``dt``."""
        car = self._car
        dt = self.setup.dt
        self.frame += 1
        self.time += dt
        before = self.velocity
        yaw_before = car.yaw
        car.step(self.control, dt)
        self.turned = (car.yaw - yaw_before) / dt
        self._move_others(dt)
        # the tick of an impact still has the speed of it
        self.speed = car.speed
        heading = car.yaw + car.slip
        self.velocity = (car.speed * math.cos(heading), car.speed * math.sin(heading), 0.0)
        contacts = self._touch()
        touched = {contact[0] for contact in contacts}
        if touched and touched <= self.touching:
            # pressed against what it hit before: it stands
            self.speed = car.speed
            self.velocity = (car.speed * math.cos(heading), car.speed * math.sin(heading), 0.0)
        self.touching = touched
        self.acceleration = (
            (self.velocity[0] - before[0]) / dt,
            (self.velocity[1] - before[1]) / dt,
            0.0,
        )
        self.here = self.road_map.nearest(car.x, car.y, z=self.here.z)
        self.states = self.light_plan.states(self.time)
        self.affecting.update(self.here, self.states)
        return Frame(self.frame, self.time, self._sense(), contacts, self.states)

    @property
    def _car(self) -> Bicycle:
        if self.bicycle is None:
            raise SimulationCrashed("the ego is gone")
        return self.bicycle

    def _move_others(self, dt: float) -> None:
        self.timed_out = []
        if not self.scripted and not self.followers:
            return
        car, line = self._car, self.line
        while self.route_index < line.last and line.passed(self.route_index + 1, car.x, car.y):
            self.route_index += 1
        ego_s = line.along[self.route_index]
        for scripted in self.scripted:
            move_scripted(scripted, line, self.time, dt, ego_s)
        self.timed_out = [s for s in self.scripted if times_out(s, self.time, ego_s)]
        if self.timed_out:
            self.scripted = [s for s in self.scripted if s not in self.timed_out]
        if not self.followers:
            return
        everybody = [(a.x, a.y, a.speed, a.half_length) for a in self._others()]
        everybody.append((car.x, car.y, car.speed, HALF_LENGTH_M))
        by_lane = self.affecting.by_lane
        for follower in self.followers:
            light = by_lane.get((follower.lane.road_id, follower.lane.lane_id))
            stop_m = math.inf
            if light is not None and self.states.get(light.id) in ("Red", "Yellow"):
                stop_m = abs(light.stop_s - follower.lane.s) - follower.actor.half_length - 1.0
                if stop_m < 0.0:
                    stop_m = math.inf
            move_follower(follower, self.road_map, everybody, stop_m, dt)

    def _others(self) -> list[Actor]:
        return [
            *(scripted.actor for scripted in self.scripted),
            *(follower.actor for follower in self.followers),
            *self.added,
        ]

    def _touch(self) -> list[tuple[int, str, float]]:
        """Contacts of this tick; each takes the closing speed and pushes the car out."""
        others = self._others()
        if not others:
            return []
        car = self._car
        found = []
        for actor in others:
            if abs(actor.x - car.x) > NEAR_M or abs(actor.y - car.y) > NEAR_M:
                continue
            overlap = frames.boxes_overlap(
                car.x,
                car.y,
                car.yaw,
                HALF_LENGTH_M,
                HALF_WIDTH_M,
                actor.x,
                actor.y,
                actor.yaw,
                actor.half_length,
                actor.half_width,
            )
            if overlap is None:
                continue
            depth, nx, ny = overlap
            heading = car.yaw + car.slip
            vx = car.speed * math.cos(heading) - actor.speed * math.cos(actor.yaw)
            vy = car.speed * math.sin(heading) - actor.speed * math.sin(actor.yaw)
            closing = max(0.0, -(vx * nx + vy * ny))
            mass = next((m for name, m in MASS.items() if name in actor.type), None)
            impulse = MASS_KG * closing
            if mass is not None:
                impulse *= mass / (MASS_KG + mass) * RESTITUTION
            found.append((actor.id, actor.type, max(LEAST_IMPULSE, impulse)))
            along = math.cos(heading) * nx + math.sin(heading) * ny
            car.speed = max(0.0, car.speed - closing * max(0.0, -along))
            car.x += depth * nx
            car.y += depth * ny
        return sorted(found, key=lambda contact: (-contact[2], contact[0]))

    def _sense(self) -> dict[str, tuple[int, Any]]:
        spec, car, number = self.spec, self._car, self.frame
        if self.fail_sensors:
            raise SimulationCrashed(f"sensor gap: no data of frame {number}")
        found: dict[str, tuple[int, Any]] = {
            "gps": (number, self._gnss()),
            "imu": (number, self._imu()),
            "speed": (number, self.speed * math.cos(car.slip)),
        }
        pose = (car.x, car.y, car.yaw)
        if self.camera is not None:
            picture = self.camera.draw(
                self.ground,
                pose,
                [actor.state() for actor in self._others()],
                self.lights,
                self.states,
                self.stops,
            )
            found["rgb"] = (number, picture)
        elif spec.camera == "pattern":
            found["rgb"] = (number, pattern(spec, number))
        elif spec.camera == "blank":
            found["rgb"] = (number, np.zeros((spec.height, spec.width, 3), dtype=np.uint8))
        if spec.lidar:
            found["lidar"] = (number, sweep(pose, [actor.state() for actor in self._others()]))
        return found

    def _gnss(self) -> Vector:
        car, noise = self._car, self.spec.gnss_noise_deg
        lat, lon, altitude = self.geolocate(car.x, car.y, self.here.z)
        if noise > 0.0:
            lat += self.noise.gauss(0.0, noise)
            lon += self.noise.gauss(0.0, noise)
        return lat, lon, altitude

    def _imu(self) -> tuple[float, ...]:
        """Acceleration in the body frame with gravity, turning, compass."""
        car = self._car
        cos, sin = math.cos(car.yaw), math.sin(car.yaw)
        ax, ay, _ = self.acceleration
        values = [ax * cos + ay * sin, ay * cos - ax * sin, GRAVITY, 0.0, 0.0, self.turned]
        if self.spec.imu_noise > 0.0:
            values = [value + self.noise.gauss(0.0, self.spec.imu_noise) for value in values]
        compass = (car.yaw + math.pi / 2) % (2 * math.pi)
        return (*values, math.nan if self.fail_compass else compass)

    def ego(self) -> EgoState:
        """The car."""
        car = self._car
        return EgoState(
            (car.x, car.y, self.here.z),
            car.yaw,
            self.velocity,
            self.acceleration,
            (0.0, 0.0, math.degrees(self.turned)),
            self.speed,
            self.speed * math.cos(car.slip),
            HALF_LENGTH_M,
            HALF_WIDTH_M,
        )

    def lane(self, x: float, y: float) -> LanePoint:
        """The nearest driving lane, at the car's height."""
        return self.road_map.nearest(x, y, z=self.here.z)

    def affecting_light(self) -> tuple[str | None, int | None, str | None]:
        """The latched light."""
        light = self.affecting.light
        if light is None:
            return None, None, None
        return self.states.get(light.id), light.id, self.affecting.at_entry

    def forecast(self, seconds: float) -> dict[int, str]:
        """State of each light so many seconds from now."""
        return self.light_plan.states(self.time + seconds)

    def boxes(self) -> Sequence[TriggerBox]:
        """Of lights and stop signs."""
        return [*(light.box for light in self.lights), *self.stops]

    def actors(self) -> Sequence[ActorState]:
        """Everybody else."""
        return [actor.state() for actor in self._others()]

    def weather(self, values: Mapping[str, float]) -> None:
        """The sun's altitude, which the ground camera shows; nothing else changes."""
        if self.camera is not None:
            self.camera.light(values.get("sun_altitude_angle", SUN_DEG))

    def scenario_events(self, ended: bool) -> list[tuple[str, str]]:
        """Scenarios whose time was up; emergency vehicles that are still behind at the end."""
        found = [("scenario_timeout", "Agent timed out a scenario") for _ in self.timed_out]
        if ended:
            car = self._car
            cos, sin = math.cos(car.yaw), math.sin(car.yaw)
            found += [
                ("yield_emergency", "Agent failed to yield to an emergency vehicle")
                for actor in self._others()
                if actor.role == "emergency"
                and (actor.x - car.x) * cos + (actor.y - car.y) * sin < 0.0
            ]
        return found

    def add_obstacle(self, ahead_m: float, kind: str = "vehicle.audi.tt") -> int:
        """Fault injection: something stands that far before the car's front. Its id."""
        car = self._car
        reach = HALF_LENGTH_M + ahead_m + 2.1
        number = 901 + len(self.added)
        self.added.append(
            Actor(
                number,
                kind,
                "injected",
                car.x + reach * math.cos(car.yaw),
                car.y + reach * math.sin(car.yaw),
                car.yaw,
                0.0,
                2.1,
                0.95,
                1.4,
            )
        )
        return number

    def remove_obstacle(self, number: int) -> None:
        """Take it away again."""
        self.added = [actor for actor in self.added if actor.id != number]

    def apply(self, control: Control) -> None:
        """From the next tick."""
        self.control = control

    def geolocate(self, x: float, y: float, z: float) -> Vector:
        """As the map does it, or by another model that was asked for."""
        if self.setup.gps_model == self.road_map.gps_model:
            return self.road_map.geolocate(x, y, z)
        lat, lon = carla_to_gps(x, y, *self.road_map.reference, model=self.setup.gps_model)
        return lat, lon, z

    def destroy(self) -> str:
        """Everything on the route goes."""
        self.bicycle = None
        self.scripted, self.followers, self.added = [], [], []
        return ""

    def close(self) -> None:
        """Nothing to stop."""


def read_light_script(path: Path) -> list[dict[str, Any]]:
    """A script of lights from a JSON file: [{"light": id, "at": s, "state": …}, …].

    Raises:
        ValueError: it is not that; the text says where.
        OSError: it cannot be read.
    """
    import json

    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, list):
        raise ValueError(f"{path}: expected a list")
    for number, entry in enumerate(found):
        if not isinstance(entry, dict) or not {"light", "at", "state"} <= set(entry):
            raise ValueError(f"{path}, entry {number}: expected light, at and state")
    return found
