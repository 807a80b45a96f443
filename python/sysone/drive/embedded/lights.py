"""Traffic lights and stop signs: where they take effect and which state they have when."""

import math
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sysone.drive.opendrive import STOP_SIGN, TRAFFIC_LIGHT, Signal
from sysone.drive.roadmap import LanePoint, RoadMap
from sysone.drive.routeline import TriggerBox

GREEN_S: Final = 10.0
YELLOW_S: Final = 3.0
ALL_RED_S: Final = 2.0
PHASE_S: Final = GREEN_S + YELLOW_S + ALL_RED_S
STATES: Final = ("Red", "Yellow", "Green", "Off", "Unknown")
BOX_BEFORE_M: Final = 3.0
"""The middle of a light's trigger box lies this far before its signal."""
AFFECTS_M: Final = 15.0


@dataclass(frozen=True, slots=True)
class Light:
    """One light for one lane."""

    id: int
    road_id: int
    lane_id: int
    stop_s: float
    """Where its lane meets the junction."""
    junction_id: int
    group: int
    groups: int
    box: TriggerBox


def _lane_of(signal: Signal) -> int:
    for first, last in signal.validities:
        for lane in range(min(first, last), max(first, last) + 1):
            if lane != 0:
                return lane
    return -1 if signal.orientation == "+" else 1


def find_lights(road_map: RoadMap) -> list[Light]:
    """The map's traffic lights, with opposite approaches of a junction in one group."""
    raw: list[tuple[Signal, LanePoint, int]] = []
    for signal in road_map.signals:
        if signal.type != TRAFFIC_LIGHT:
            continue
        lane = _lane_of(signal)
        sign = 1.0 if lane < 0 else -1.0
        road = road_map.roads[signal.road_id]
        s = min(max(signal.s - sign * BOX_BEFORE_M, 0.0), road.length)
        point = road_map.point_at(road.id, lane, s)
        link = road.successor if lane < 0 else road.predecessor
        if point is not None:
            raw.append((signal, point, link.id if link and link.kind == "junction" else -1))
    lights = []
    for signal, point, junction in raw:
        axes = sorted({_axis(p) for _, p, j in raw if j == junction})
        road = road_map.roads[signal.road_id]
        lights.append(
            Light(
                id=int(signal.id),
                road_id=point.road_id,
                lane_id=point.lane_id,
                stop_s=road.length if point.lane_id < 0 else 0.0,
                junction_id=junction,
                group=axes.index(_axis(point)),
                groups=len(axes),
                box=TriggerBox(
                    int(signal.id),
                    "light",
                    point.x,
                    point.y,
                    point.z,
                    point.yaw + math.pi / 2,
                    point.width / 2 - 0.05,
                    1.0,
                ),
            )
        )
    return lights


def _axis(point: LanePoint) -> int:
    """Direction of an approach in steps of 45 degrees, opposite ones equal."""
    return round(math.degrees(point.yaw) / 45.0) % 4


def find_stops(road_map: RoadMap) -> list[TriggerBox]:
    """The trigger boxes of the map's stop signs."""
    found = []
    for signal in road_map.signals:
        if signal.type != STOP_SIGN:
            continue
        point = road_map.point_at(signal.road_id, _lane_of(signal), signal.s)
        if point is not None:
            found.append(
                TriggerBox(int(signal.id), "stop", point.x, point.y, point.z, point.yaw, 1.5, 1.5)
            )
    return found


class LightPlan:
    """The state of every light: a pure function of junction, time and seed, or of a script."""

    def __init__(
        self,
        lights: Iterable[Light],
        mode: str = "cycle",
        seed: int = 0,
        script: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        if mode not in ("cycle", "green", "red", "script"):
            raise ValueError(f"lights is {mode!r}, expected cycle, green, red or a script")
        self.lights = list(lights)
        self.mode = mode
        self.forced: str | None = None
        self.offsets = {
            light.junction_id: random.Random(f"{seed}/{light.junction_id}").uniform(
                0.0, PHASE_S * light.groups
            )
            for light in self.lights
        }
        self.script = sorted(script, key=lambda entry: float(entry["at"]))
        for entry in self.script:
            if entry.get("state") not in STATES:
                raise ValueError(
                    f"light script: state is {entry.get('state')!r}, expected one of "
                    f"{', '.join(STATES)}"
                )

    def states(self, t: float) -> dict[int, str]:
        """State of each light at t seconds."""
        if self.forced is not None:
            return {light.id: self.forced for light in self.lights}
        if self.mode == "green":
            return {light.id: "Green" for light in self.lights}
        if self.mode == "red":
            return {light.id: "Red" for light in self.lights}
        found = {light.id: self._cycle(light, t) for light in self.lights}
        for entry in self.script:
            if float(entry["at"]) <= t:
                found[int(entry["light"])] = str(entry["state"])
        return found

    def _cycle(self, light: Light, t: float) -> str:
        at = (t + self.offsets[light.junction_id]) % (PHASE_S * light.groups)
        at -= PHASE_S * light.group
        if 0.0 <= at < GREEN_S:
            return "Green"
        return "Yellow" if GREEN_S <= at < GREEN_S + YELLOW_S else "Red"


class Affecting:
    """The light that the car must heed, from 15 m before its line until the junction is left."""

    def __init__(self, lights: Iterable[Light], half_length: float) -> None:
        self.by_lane = {(light.road_id, light.lane_id): light for light in lights}
        self.half_length = half_length
        self.light: Light | None = None
        self.at_entry: str | None = None
        self._entered = False

    def update(self, lane: LanePoint, states: Mapping[int, str]) -> None:
        """After the car has moved."""
        here = self.by_lane.get((lane.road_id, lane.lane_id))
        if here is not None and abs(here.stop_s - lane.s) <= AFFECTS_M:
            if self.light is not here:
                self.light, self.at_entry, self._entered = here, None, False
        elif self.light is not None and lane.junction_id == self.light.junction_id:
            # the connecting road begins at the stop line
            if not self._entered and lane.s >= self.half_length:
                self._entered = True
                self.at_entry = states.get(self.light.id)
        else:
            self.light, self.at_entry, self._entered = None, None, False
