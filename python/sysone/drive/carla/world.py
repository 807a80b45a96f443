"""A CARLA client at work: what the backend asks for, through the package's own API.

Runs in the child process alone; the module that it works with is handed in, and never imported
here. A ``WorldSettings`` is only ever changed, never made, printed or read where it may be unset:
the 0.9.15 client aborts the process on a setting without a value.
"""

import math
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from sysone.drive.backend import (
    ActorState,
    Control,
    EgoState,
    Frame,
    Info,
    SensorSpec,
    ServerLost,
    SimulationCrashed,
    Vector,
)
from sysone.drive.carla.lights import Latch, find_lights, find_stops
from sysone.drive.carla.sensors import SensorDesk, mounts
from sysone.drive.carla.states import actor_states, ego_state
from sysone.drive.carla.traffic import spawn_traffic
from sysone.drive.clientmap import ClientMap
from sysone.drive.roadmap import LanePoint
from sysone.drive.routeline import TriggerBox

EGO: Final = ("vehicle.lincoln.mkz_2020", "vehicle.lincoln.mkz")
"""Of 0.9.x and of 0.10."""
HERO: Final = "hero"
LIFTS_M: Final = (0.0, 0.3, 0.6, 1.0)
"""Added to the spawn point's height where something is in the way."""
ANSWER_S: Final = 10.0
LOAD_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Scene:
    """What a route needs of the world; plain data."""

    town: str
    opendrive: str | None
    """A map to build the world from, in place of a town of the server's."""
    dt: float
    seed: int
    weather: dict[str, float] = field(default_factory=dict)
    lights: str = "cycle"
    light_script: list[dict[str, Any]] = field(default_factory=list)
    traffic: int = 0


@dataclass(frozen=True, slots=True)
class Ticked:
    """All that the executor asks after a tick, in one piece."""

    frame: Frame
    ego: EgoState
    lane: LanePoint
    affecting: tuple[str | None, int | None, str | None]
    actors: list[ActorState]


def release(version: str) -> str:
    """The three leading numbers of a version, or the whole text where it has none."""
    found = re.match(r"\d+\.\d+\.\d+", version)
    return version if found is None else found[0]


class CarlaWorld:
    """One client of one server."""

    def __init__(
        self, carla: Any, host: str, port: int, tm_port: int, restore_async: str = "auto"
    ) -> None:
        self.carla = carla
        self.address = (host, port)
        self.tm_port = tm_port
        self.restore_async = restore_async
        self.client: Any = None
        self.world: Any = None
        self.manager: Any = None
        self.vehicle: Any = None
        self.desk = SensorDesk()
        self.others: list[Any] = []
        self.road_map: ClientMap | None = None
        self.version = ""
        self.zero = 0.0

    def open(self) -> Info:
        """Connect; compare the versions.

        Raises:
            ServerLost: no server answers, or one of another version.
        """
        host, port = self.address
        if self.client is None:
            client = self.carla.Client(host, port)
            client.set_timeout(ANSWER_S)
            try:
                self.version = client.get_server_version()
            except RuntimeError as error:
                # 0.10 says that it was refused; older ones wait until their time is up
                kind = "refused" if "refused" in str(error).lower() else "timeout"
                raise ServerLost(
                    kind, f"no CARLA server answers at {host}:{port}: {_first_line(error)}"
                ) from error
            ours = client.get_client_version()
            if self.version[:1].isdigit() and release(ours) != release(self.version):
                raise ServerLost(
                    "version",
                    f"the server at {host}:{port} is {self.version}, the client {ours}: "
                    f"install the client of {release(self.version)}",
                )
            self.client = client
        name = "stand-in" if getattr(self.carla, "STAND_IN", False) else "carla"
        return Info(name, self.version)

    def towns(self) -> list[str]:
        """Names of the server's towns, without paths."""
        return sorted(str(name).rsplit("/", 1)[-1] for name in self.client.get_available_maps())

    def town(self, name: str) -> str:
        """Load a town; its OpenDRIVE text.

        Raises:
            ServerLost: kind ``town``, the server has none of this name.
        """
        towns = self.towns()
        if name not in towns:
            raise ServerLost("town", f"the server has no town {name}: {', '.join(towns)}")
        self.client.set_timeout(LOAD_S)
        try:
            world = self.client.get_world()
            if str(world.get_map().name).rsplit("/", 1)[-1] != name:
                world = self.client.load_world(name)
        finally:
            self.client.set_timeout(ANSWER_S)
        text = str(world.get_map().to_opendrive())
        self.take_map(name, text)
        return text

    def take_map(self, name: str, text: str) -> None:
        """The map to answer questions about."""
        if self.road_map is None or self.road_map.text != text:
            self.road_map = ClientMap(text, name, self.carla)

    def load(self, scene: Scene) -> None:
        """The world of a route, in synchronous mode: loading a world may have switched it off."""
        self.vehicle = None
        self.desk, self.others = SensorDesk(), []
        self.scene = scene
        self.client.set_timeout(LOAD_S)
        try:
            if scene.opendrive is not None:
                self.world = self.client.generate_opendrive_world(scene.opendrive)
            else:
                self.world = self.client.load_world(scene.town)
        finally:
            self.client.set_timeout(ANSWER_S)
        self.take_map(scene.town, str(self.world.get_map().to_opendrive()))
        settings = self.world.get_settings()
        settings.synchronous_mode = True
        settings.fixed_delta_seconds = scene.dt
        self.world.apply_settings(settings)
        self.world.reset_all_traffic_lights()
        self.weather(scene.weather)
        actors = self.world.get_actors()
        for actor in actors.filter("vehicle.*"):
            if actor.attributes.get("role_name") == HERO:
                actor.destroy()  # left by a run that died
        self.world.tick(ANSWER_S)
        self.lights = find_lights(self.carla, actors)
        self.stops = find_stops(self.carla, actors)
        self.latch = Latch()
        self.due = sorted(scene.light_script, key=lambda entry: float(entry["at"]))
        if scene.lights in ("green", "red"):
            for light in self.lights:
                self._set_light(light.actor, scene.lights.capitalize())
            self.world.freeze_all_traffic_lights(True)

    def _set_light(self, actor: Any, state: str) -> None:
        actor.set_state(getattr(self.carla.TrafficLightState, state))
        actor.freeze(True)

    def spawn_ego(self, x: float, y: float, z: float, yaw: float) -> None:
        """The car, as the hero; then the traffic, which keeps away from it."""
        library = self.world.get_blueprint_library()
        known = {blueprint.id for blueprint in library.filter("vehicle.lincoln.*")}
        kind = next((name for name in EGO if name in known), None)
        if kind is None:
            raise SimulationCrashed(f"the server has none of {', '.join(EGO)}")
        blueprint = library.find(kind)
        blueprint.set_attribute("role_name", HERO)
        rotation = self.carla.Rotation(yaw=math.degrees(yaw))
        for lift in LIFTS_M:
            place = self.carla.Location(x=x, y=y, z=z + lift)
            self.vehicle = self.world.try_spawn_actor(
                blueprint, self.carla.Transform(place, rotation)
            )
            if self.vehicle is not None:
                break
        else:
            raise SimulationCrashed(f"the car cannot be spawned at ({x:.1f}, {y:.1f}, {z:.1f})")
        extent = self.vehicle.bounding_box.extent
        self.half_length, self.half_width = extent.x, extent.y
        self._spawn_traffic(library, x, y)

    def _spawn_traffic(self, library: Any, x: float, y: float) -> None:
        if self.scene.traffic <= 0:
            return
        if self.manager is None:
            self.manager = self.client.get_trafficmanager(self.tm_port)
        for actor in spawn_traffic(
            self.world, library, self.manager, (x, y), self.scene.traffic, self.scene.seed
        ):
            self.others.append(actor)  # one by one: `destroy` must find them after a failure

    def attach(self, spec: SensorSpec) -> None:
        """Mount the sensors."""
        self.spec = spec
        self.desk.mount(self.carla, self.world, self.vehicle, mounts(spec))

    def warmup(self, ticks: int) -> Vector:
        """Tick and drop the data; the last GNSS reading."""
        reading: Vector = (0.0, 0.0, 0.0)
        for _ in range(ticks):
            sensors = self.desk.collect(self._step())
            reading = sensors["gps"][1]
        self.desk.forget()
        self.zero = self.world.get_snapshot().timestamp.elapsed_seconds
        return reading

    def _step(self) -> int:
        try:
            number = int(self.world.tick(ANSWER_S))
        except RuntimeError as error:
            raise SimulationCrashed(f"the server does not tick: {_first_line(error)}") from error
        if not self.world.get_snapshot().has_actor(self.vehicle.id):
            raise SimulationCrashed(f"the car is gone in frame {number}")
        return number

    def tick(self) -> Ticked:
        """One step of the server, and all that belongs to its frame."""
        if self.vehicle is None:
            raise SimulationCrashed("the car is gone")
        now = self.world.get_snapshot().timestamp.elapsed_seconds - self.zero
        while self.due and float(self.due[0]["at"]) <= now + self.scene.dt:
            entry = self.due.pop(0)
            for light in self.lights:
                if light.id == int(entry["light"]):
                    self._set_light(light.actor, str(entry["state"]))
        number = self._step()
        sensors: dict[str, tuple[int, Any]] = self.desk.collect(number)
        ego = self.ego()
        sensors["speed"] = (number, ego.forward_speed)
        elapsed = self.world.get_snapshot().timestamp.elapsed_seconds - self.zero
        states = {light.id: light.state for light in self.lights}
        frame = Frame(number, elapsed, sensors, self.desk.hits(), states)
        x, y, z = ego.location
        lane = self.lane(x, y, z)
        self._latch(ego, lane, states)
        return Ticked(frame, ego, lane, self._affecting(states), self.actors())

    def _latch(self, ego: EgoState, lane: LanePoint, states: Mapping[int, str]) -> None:
        light = self.vehicle.get_traffic_light() if self.vehicle.is_at_traffic_light() else None
        number = None
        if light is not None:
            number = next((one.id for one in self.lights if one.actor.id == light.id), None)
        x, y, z = ego.location
        back_x = x - ego.half_length * math.cos(ego.yaw)
        back_y = y - ego.half_length * math.sin(ego.yaw)
        self.latch.update(
            number,
            ego.location,
            lane.is_junction,
            lambda: self.lane(back_x, back_y, z).is_junction,
            states,
        )

    def _affecting(self, states: Mapping[int, str]) -> tuple[str | None, int | None, str | None]:
        light = self.latch.light
        if light is None:
            return None, None, None
        return states.get(light), light, self.latch.at_entry

    def ego(self) -> EgoState:
        """The car after the last tick."""
        return ego_state(self.vehicle, self.half_length, self.half_width)

    def lane(self, x: float, y: float, z: float) -> LanePoint:
        """The nearest driving lane."""
        assert self.road_map is not None
        return self.road_map.nearest(x, y, z=z)

    def boxes(self) -> list[TriggerBox]:
        """Of lights and stop signs."""
        return [*(light.box for light in self.lights), *self.stops]

    def actors(self) -> list[ActorState]:
        """Vehicles and walkers but the car."""
        return actor_states(self.world, self.vehicle)

    def weather(self, values: Mapping[str, float]) -> None:
        """By CARLA's own names; what this version does not know stays."""
        wanted = self.world.get_weather()
        for name, value in values.items():
            if hasattr(wanted, name):
                setattr(wanted, name, value)
        self.world.set_weather(wanted)

    def apply(self, control: Control) -> None:
        """Acts from the next tick."""
        if self.vehicle is not None:
            self.vehicle.apply_control(
                self.carla.VehicleControl(
                    throttle=control.throttle, steer=control.steer, brake=control.brake
                )
            )

    def geolocate(self, places: Sequence[Vector]) -> list[Vector]:
        """Latitude, longitude and altitude by the map's own conversion."""
        assert self.road_map is not None
        return [self.road_map.geolocate(*place) for place in places]

    def ask_map(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """A question to the client's map."""
        assert self.road_map is not None
        return getattr(self.road_map, name)(*arguments)

    def map_facts(self) -> tuple[str, str]:
        """Who answers for the map, and by which GPS conversion."""
        assert self.road_map is not None
        return self.road_map.source, self.road_map.gps_model

    def destroy(self) -> None:
        """Sensors first, then the car and the traffic."""
        vehicle, self.vehicle = self.vehicle, None
        self.desk.destroy()
        for actor in (*self.others, vehicle):
            if actor is not None:
                actor.destroy()
        self.others = []

    def close(self) -> None:
        """Give the server its own clock back, where that is safe.

        The 0.10 client is known to abort at that; the next run sets the mode anyway.
        """
        if self.world is None or self.client is None:
            return
        if self.manager is not None:
            self.manager.set_synchronous_mode(False)
        wanted = self.restore_async == "always"
        if self.restore_async == "auto":
            wanted = not self.version.startswith("0.10.")
        if wanted:
            with suppress(RuntimeError):
                settings = self.world.get_settings()
                settings.synchronous_mode = False
                settings.fixed_delta_seconds = None
                self.world.apply_settings(settings)

    def probe(self) -> dict[str, Any]:
        """Whether the server is alive: its version, and how long one question took."""
        began = time.monotonic()
        info = self.open()
        world = self.client.get_world()
        count = len(world.get_actors())
        return {
            "server": info.version,
            "client": self.client.get_client_version(),
            "town": str(world.get_map().name).rsplit("/", 1)[-1],
            "actors": count,
            "answered_s": round(time.monotonic() - began, 3),
        }


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
