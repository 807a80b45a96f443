"""The replay backend: a recorded drive, tick by tick, whatever the agent answers.

It feeds what was recorded through the whole executor again: the same protocol lines, criteria and
scores. With the recorded controls the result must be the recorded one; with an agent it shows what
that agent would have answered to the same frames.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from sysone.drive.backend import (
    ActorState,
    Backend,
    Control,
    EgoState,
    Frame,
    Info,
    SensorSpec,
    Setup,
    SimulationCrashed,
    Vector,
)
from sysone.drive.drivers import Decision
from sysone.drive.embedded.camera import pattern
from sysone.drive.embedded.lights import find_lights, find_stops
from sysone.drive.embedded.vehicle import HALF_LENGTH_M, HALF_WIDTH_M
from sysone.drive.gps import carla_to_gps
from sysone.drive.pictures import FRAMES as FRAMES
from sysone.drive.pictures import frame_path, read_png
from sysone.drive.planning import DensePlan
from sysone.drive.protocol import RouteStart
from sysone.drive.roadmap import LanePoint
from sysone.drive.routeline import RoutePoint, TriggerBox
from sysone.drive.score import RouteScore
from sysone.drive.ticks import TickStore, read_ticks
from sysone.runs.errors import RunError
from sysone.runs.sums import in_order

VERSION: Final = "1"
GRAVITY: Final = 9.81
SEEN_BY_SCRIPTS: Final = ("scenario_timeout", "yield_emergency")
_BACKGROUND: Final = ActorState(
    501, "vehicle.lincoln.mkz_2017", "background", 0.0, 0.0, 0.0, 0.0, 2.44, 0.92, 1.5
)


class ReplayBackend:
    """The drive in a folder. What was not recorded is computed: GNSS and IMU, without noise.

    Of lights only the one that affected the car was recorded; the others are ``Unknown``.

    Raises:
        RunError: the ticks cannot be read, or lack what a replay needs (``--tick-json`` files and
            files of other harnesses do).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store, _ = read_ticks(folder / "ticks.jsonl.gz")
        for name in ("ego_yaw", "frame"):
            if any(value is None for value in self.store.column(name)):
                raise RunError(f"{folder} cannot be replayed: its ticks have no {name}")
        if not len(self.store):
            raise RunError(f"{folder} cannot be replayed: it has no ticks")
        self.setup: Setup
        self.spec = SensorSpec(camera="none")
        self.index = -1

    def open(self) -> Info:
        """Nothing to start."""
        return Info("replay", VERSION)

    def load(self, setup: Setup, route: Sequence[RoutePoint]) -> None:
        """Lights and signs of the map; the drive starts again."""
        self.setup, self.road_map = setup, setup.road_map
        self.lights, self.stops = find_lights(setup.road_map), find_stops(setup.road_map)
        self.index = -1
        self.row: dict[str, Any] = self.store[0]
        self.here = (route[0].x, route[0].y, route[0].z)

    def spawn_ego(self, x: float, y: float, z: float, yaw: float) -> None:
        """The record says where the car is."""

    def attach(self, spec: SensorSpec) -> None:
        """The recorded pictures, or none, blank ones or the pattern.

        Raises:
            RunError: pictures are asked for and were not recorded, or a lidar, which never is.
        """
        if spec.lidar:
            raise RunError("a replay has no lidar: its points are not recorded")
        if spec.camera not in ("replay", "none", "blank", "pattern"):
            raise RunError(
                f"camera is {spec.camera!r}, expected replay, none, blank or pattern in a replay"
            )
        if spec.camera == "replay" and not frame_path(self.folder, 1).is_file():
            raise RunError(f"{self.folder} has no pictures: record them with --save-frames")
        self.spec = spec

    def warmup(self, ticks: int = 10) -> Vector:
        """GNSS at the start of the route."""
        return self.geolocate(*self.here)

    def tick(self) -> Frame:
        """The next recorded tick.

        Raises:
            SimulationCrashed: the record ends.
        """
        if self.index + 1 >= len(self.store):
            raise SimulationCrashed(f"the record ends after tick {len(self.store)}")
        self.index += 1
        self.row = row = self.store[self.index]
        number = int(row["frame"])
        states = {light.id: "Unknown" for light in self.lights}
        if row["traffic_light_id"] is not None:
            states[row["traffic_light_id"]] = row["traffic_light_state"]
        contacts = [(int(c[0]), str(c[1]), float(c[2])) for c in row["contacts"] or ()]
        return Frame(number, row["sim_time"], self._sense(number), contacts, states)

    def _sense(self, number: int) -> dict[str, tuple[int, Any]]:
        spec, ego = self.spec, self.ego()
        cos, sin = math.cos(ego.yaw), math.sin(ego.yaw)
        ax, ay, _ = ego.acceleration
        turned = math.radians(ego.angular_velocity[2])
        compass = (ego.yaw + math.pi / 2) % (2 * math.pi)
        imu = (ax * cos + ay * sin, ay * cos - ax * sin, GRAVITY, 0.0, 0.0, turned, compass)
        found: dict[str, tuple[int, Any]] = {
            "gps": (number, self.geolocate(*ego.location)),
            "imu": (number, imu),
            "speed": (number, ego.forward_speed),
        }
        if spec.camera == "replay":
            found["rgb"] = (number, read_png(frame_path(self.folder, self.row["tick"])))
        elif spec.camera == "pattern":
            found["rgb"] = (number, pattern(spec, number))
        elif spec.camera == "blank":
            found["rgb"] = (number, np.zeros((spec.height, spec.width, 3), np.uint8))
        return found

    def ego(self) -> EgoState:
        """The car as it was recorded."""
        row = self.row
        velocity = tuple(row["ego_velocity"])
        forward = row["forward_vector"] or (math.cos(row["ego_yaw"]), math.sin(row["ego_yaw"]), 0)
        return EgoState(
            tuple(row["ego_location"]),
            row["ego_yaw"],
            velocity,
            tuple(row["ego_acceleration"]),
            tuple(row["angular_velocity"] or (0.0, 0.0, 0.0)),
            row["ego_speed"],
            in_order(a * b for a, b in zip(velocity, forward, strict=True)),
            HALF_LENGTH_M,
            HALF_WIDTH_M,
        )

    def lane(self, x: float, y: float) -> LanePoint:
        """The nearest driving lane."""
        return self.road_map.nearest(x, y, z=self.row["ego_location"][2])

    def affecting_light(self) -> tuple[str | None, int | None, str | None]:
        """As recorded."""
        row = self.row
        return row["traffic_light_state"], row["traffic_light_id"], row["light_at_entry"]

    def forecast(self, seconds: float) -> Mapping[int, str]:
        """What the lights are, as nothing is known of later."""
        state, light, _ = self.affecting_light()
        return {} if light is None or state is None else {light: state}

    def boxes(self) -> Sequence[TriggerBox]:
        """Of lights and stop signs."""
        return [*(light.box for light in self.lights), *self.stops]

    def actors(self) -> Sequence[ActorState]:
        """One background vehicle that has the mean speed of the recorded ones."""
        speed = self.row["background_speed"]
        if speed is None:
            return []
        a = _BACKGROUND
        size = (a.half_length, a.half_width, a.height)
        return [ActorState(a.id, a.type, a.role, a.x, a.y, a.yaw, speed, *size)]

    def weather(self, values: Mapping[str, float]) -> None:
        """The pictures show it already."""

    def scenario_events(self, ended: bool) -> Sequence[tuple[str, str]]:
        """As recorded."""
        events = self.row["events"] or ()
        return [(e["type"], e["message"]) for e in events if e["type"] in SEEN_BY_SCRIPTS]

    def apply(self, control: Control) -> None:
        """The record goes on as it did."""

    def geolocate(self, x: float, y: float, z: float) -> Vector:
        """As the map does it, or by another model that was asked for."""
        if self.setup.gps_model == self.road_map.gps_model:
            return self.road_map.geolocate(x, y, z)
        return *carla_to_gps(x, y, *self.road_map.reference, model=self.setup.gps_model), z

    def destroy(self) -> str:
        """To the end of the record: nothing can be ticked any more."""
        self.index = len(self.store)
        return ""

    def close(self) -> None:
        """Nothing to stop."""


class RecordedDriver:
    """Gives the recorded controls again."""

    name = "recorded"

    def __init__(self, store: TickStore) -> None:
        self.controls = store.column("control")
        self.sources = store.column("control_source")

    def begin(self, start: RouteStart, plan: DensePlan, backend: Backend, setup: Setup) -> None:
        """A route begins."""

    def decide(self, tick: int, frame: Frame, ego: EgoState, drop: bool) -> Decision:
        """What acted in the next tick."""
        if tick >= len(self.controls):
            return Decision(Control(), self.name)
        return Decision(Control(**self.controls[tick]), self.sources[tick] or self.name)

    def finish(self, score: RouteScore) -> None:
        """Nothing is left."""


@dataclass(frozen=True, slots=True)
class Differences:
    """Controls of a replay beside the recorded ones."""

    ticks: int
    differing: int
    """By more than a millionth."""
    mean: dict[str, float]
    """Mean absolute difference of throttle, brake and steer."""
    most: dict[str, float]


def differences(recorded: TickStore, replayed: TickStore) -> Differences:
    """How far the answers are from the recorded ones, over the ticks that both have."""
    names = ("throttle", "brake", "steer")
    pairs = list(zip(recorded.column("control"), replayed.column("control"), strict=False))
    off = np.array([[abs(a[name] - b[name]) for name in names] for a, b in pairs]).reshape(-1, 3)
    most = off.max(axis=0) if len(off) else np.zeros(3)
    mean = off.mean(axis=0) if len(off) else np.zeros(3)
    return Differences(
        len(pairs),
        int((off > 1e-6).any(axis=1).sum()),
        dict(zip(names, mean.tolist(), strict=True)),
        dict(zip(names, most.tolist(), strict=True)),
    )
