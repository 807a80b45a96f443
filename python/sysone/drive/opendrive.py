"""OpenDRIVE read into plain data: roads, sections, lanes, signals and links.

Everything is in CARLA's frame: y and angles are turned over when the file is read, so that y
points right of x and yaw grows clockwise seen from above. Angles are radians, lengths metres.
What a map answers about its lanes is in `roadmap`.
"""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from sysone.drive.geometry import (
    Arc,
    Cubics,
    Floats,
    Geometry,
    Line,
    Polynomial,
    Shape,
    Spiral,
    poly3,
)

TRAFFIC_LIGHT: Final = "1000001"
STOP_SIGN: Final = "206"
DEFAULT_SPEED: Final = 50 / 3.6
"""m/s, where a road says nothing."""
_END: Final = 1e-6
_POST_SHIFT_M: Final = 0.25
"""CARLA stands a traffic light this much further along its road than its s says."""


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane of one section; negative ids run with the road, positive ones against it."""

    id: int
    type: str
    widths: Cubics
    inner: tuple[Cubics, ...]
    """Widths of the lanes between it and the middle, from the middle outwards."""
    shift: Cubics
    """Of the middle to the left of the reference line (``laneOffset``)."""
    predecessor: int | None
    successor: int | None
    change: str
    """Lane changes that its outer marking allows: none, increase, decrease or both."""
    steady: tuple[float, float, float] | None
    """What `place` answers, where that is the same all along."""

    def place(self, s: float) -> tuple[float, float, float]:
        """Offset of its centre to the right of the reference line, its slope, and the width."""
        if self.steady is not None:
            return self.steady
        side = 1.0 if self.id < 0 else -1.0
        wide, rise = self.widths.at(s), self.widths.slope(s)
        beside, slope = 0.0, 0.0
        for lane in self.inner:
            beside += lane.at(s)
            slope += lane.slope(s)
        return (
            -self.shift.at(s) + side * (beside + wide / 2),
            -self.shift.slope(s) + side * (slope + rise / 2),
            wide,
        )

    def along(self, s: Floats) -> tuple[Floats, Floats]:
        """Offset and width at many s at once."""
        side = 1.0 if self.id < 0 else -1.0
        wide = self.widths.along(s)
        beside = sum((lane.along(s) for lane in self.inner), np.zeros_like(s))
        return -self.shift.along(s) + side * (beside + wide / 2), wide


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a road with the same lanes."""

    s: float
    end: float
    lanes: dict[int, Lane]


@dataclass(frozen=True, slots=True)
class Signal:
    """A traffic light, a sign or a stencil."""

    id: str
    type: str
    name: str
    road_id: int
    s: float
    t: float
    """Left of the reference line."""
    x: float
    y: float
    heading: float
    """Of the road there, radians."""
    orientation: str
    validities: tuple[tuple[int, int], ...]
    value: float


@dataclass(frozen=True, slots=True)
class Link:
    """What a road is joined to at one end."""

    kind: str
    id: int
    contact: str


@dataclass(frozen=True, slots=True)
class Road:
    """One road."""

    id: int
    length: float
    junction: int
    geometry: tuple[Geometry, ...]
    sections: tuple[Section, ...]
    elevation: Cubics
    predecessor: Link | None
    successor: Link | None
    speed_limit: float

    def at(self, s: float) -> tuple[float, float, float]:
        """x, y and heading of the reference line."""
        return self.piece_at(s).at(s)

    def piece_at(self, s: float) -> Geometry:
        """The stretch of the reference line that holds s."""
        for piece in reversed(self.geometry):
            if s >= piece.s - _END:
                return piece
        return self.geometry[0]

    def section_at(self, s: float) -> Section:
        """The section that holds s."""
        for section in reversed(self.sections):
            if s >= section.s - _END:
                return section
        return self.sections[0]


Connection = tuple[int, str, tuple[tuple[int, int], ...]]
"""Connecting road, its contact point, and (from, to) of its lanes."""


@dataclass(frozen=True, slots=True)
class Network:
    """All that a file holds."""

    roads: dict[int, Road]
    signals: list[Signal]
    connections: dict[tuple[int, int], list[Connection]]
    """What leads out of a road into a junction, by (junction, road)."""
    controllers: dict[str, str]
    """Controller of each signal."""
    geo_reference: str | None


def parse(root: ET.Element) -> Network:
    """A file's content.

    Raises:
        KeyError, ValueError, TypeError: something is missing or no number; the text names it.
    """
    roads = {road.id: road for road in map(_road, root.iter("road"))}
    return Network(
        roads=roads,
        signals=list(_signals(root, roads)),
        connections=_connections(root),
        controllers={
            control.get("signalId", ""): controller.get("id", "")
            for controller in root.findall("controller")
            for control in controller.findall("control")
        },
        geo_reference=root.findtext("header/geoReference"),
    )


def _road(node: ET.Element) -> Road:
    road_id, length = int(node.attrib["id"]), float(node.attrib["length"])
    speed = node.find("type/speed")
    geometry = tuple(_geometry(g, road_id) for g in node.iter("geometry"))
    if not geometry:
        raise ValueError(f"road {road_id} has no geometry")
    return Road(
        id=road_id,
        length=length,
        junction=int(node.get("junction", "-1")),
        geometry=geometry,
        sections=tuple(_sections(node, length)),
        elevation=_cubics(node.findall("elevationProfile/elevation"), "s", 0.0),
        predecessor=_link(node.find("link/predecessor")),
        successor=_link(node.find("link/successor")),
        speed_limit=DEFAULT_SPEED if speed is None else _speed(speed),
    )


def _geometry(node: ET.Element, road_id: int) -> Geometry:
    length = float(node.attrib["length"])
    return Geometry(
        s=float(node.attrib["s"]),
        x=float(node.attrib["x"]),
        y=-float(node.attrib["y"]),
        heading=-float(node.attrib["hdg"]),
        length=length,
        shape=_shape(node[0], length, road_id),
    )


def _shape(node: ET.Element, length: float, road_id: int) -> Shape:
    def number(name: str) -> float:
        return float(node.attrib[name])

    if node.tag == "line":
        return Line()
    if node.tag == "arc":
        return Arc(-number("curvature")) if number("curvature") else Line()
    if node.tag == "spiral":
        start, end = -number("curvStart"), -number("curvEnd")
        return Spiral(start, end, length)
    if node.tag == "poly3":
        a, b, c, d = (-number(name) for name in "abcd")
        return poly3(a, b, c, d, length)
    if node.tag == "paramPoly3":
        u = [number(f"{name}U") for name in "abcd"]
        v = [-number(f"{name}V") for name in "abcd"]
        by_length = node.get("pRange") == "arcLength"
        return Polynomial(u, v, length if by_length else 1.0, length)
    raise ValueError(
        f"road {road_id} has a <{node.tag}>, expected line, arc, spiral, poly3 or paramPoly3"
    )


def _cubics(nodes: list[ET.Element], start: str, base: float) -> Cubics:
    return Cubics(
        [
            (
                base + float(node.get(start, "0")),
                *(float(node.get(name, "0")) for name in "abcd"),  # type: ignore[misc]
            )
            for node in nodes
        ]
    )


def _signals(root: ET.Element, roads: dict[int, Road]) -> Iterator[Signal]:
    for node in root.iter("road"):
        road = roads[int(node.attrib["id"])]
        for signal in node.iter("signal"):
            s, t = float(signal.attrib["s"]), float(signal.get("t", "0"))
            kind = signal.get("type", "")
            x, y, heading = road.at(s)
            if kind == TRAFFIC_LIGHT:
                x += _POST_SHIFT_M * math.cos(heading)
                y += _POST_SHIFT_M * math.sin(heading)
            orientation = signal.get("orientation", "+")
            validities = tuple(
                (int(v.attrib["fromLane"]), int(v.attrib["toLane"]))
                for v in signal.iter("validity")
            )
            if not validities:
                lanes = [
                    lane.id
                    for lane in road.section_at(s).lanes.values()
                    if lane.type == "driving" and (lane.id < 0) == (orientation == "+")
                ]
                validities = tuple((lane, lane) for lane in lanes)
            yield Signal(
                id=signal.attrib["id"],
                type=kind,
                name=signal.get("name", ""),
                road_id=road.id,
                s=s,
                t=t,
                x=x + t * math.sin(heading),
                y=y - t * math.cos(heading),
                heading=heading,
                orientation=orientation,
                validities=validities,
                value=float(signal.get("value", "-1") or -1),
            )


def _sections(node: ET.Element, length: float) -> Iterator[Section]:
    lanes = node.find("lanes")
    if lanes is None:
        raise ValueError(f"road {node.get('id')} has no lanes")
    shift = _cubics(lanes.findall("laneOffset"), "s", 0.0)
    found = lanes.findall("laneSection")
    starts = [float(section.attrib["s"]) for section in found]
    for section, start, end in zip(found, starts, [*starts[1:], length], strict=True):
        yield Section(start, end, dict(_lanes(section, start, shift)))


def _lanes(section: ET.Element, start: float, shift: Cubics) -> Iterator[tuple[int, Lane]]:
    for side, sign in (("left", -1.0), ("right", 1.0)):
        group = section.find(side)
        if group is None:
            continue
        inner: tuple[Cubics, ...] = ()
        middle = 0.0
        # from the middle outwards
        for node in sorted(group.iter("lane"), key=lambda lane: abs(int(lane.attrib["id"]))):
            widths = _cubics(node.findall("width"), "sOffset", start)
            mark = node.find("roadMark")
            steady = None
            if shift.constant is not None and widths.constant is not None:
                wide = widths.constant
                steady = (-shift.constant + sign * (middle + wide / 2), 0.0, wide)
                middle += wide
            if any(lane.constant is None for lane in inner):
                steady = None
            lane = Lane(
                id=int(node.attrib["id"]),
                type=node.get("type", "none").lower(),
                widths=widths,
                inner=inner,
                shift=shift,
                predecessor=_lane_link(node.find("link/predecessor")),
                successor=_lane_link(node.find("link/successor")),
                change="none" if mark is None else mark.get("laneChange", "both").lower(),
                steady=steady,
            )
            inner = (*inner, widths)
            yield lane.id, lane


def _lane_link(node: ET.Element | None) -> int | None:
    return None if node is None else int(node.attrib["id"])


def _link(node: ET.Element | None) -> Link | None:
    if node is None:
        return None
    return Link(
        node.attrib["elementType"], int(node.attrib["elementId"]), node.get("contactPoint", "start")
    )


def _connections(root: ET.Element) -> dict[tuple[int, int], list[Connection]]:
    """What leads out of a road into a junction, by (junction, road)."""
    found: dict[tuple[int, int], list[Connection]] = {}
    for junction in root.findall("junction"):
        for node in junction.findall("connection"):
            key = (int(junction.attrib["id"]), int(node.attrib["incomingRoad"]))
            lanes = tuple(
                (int(link.attrib["from"]), int(link.attrib["to"]))
                for link in node.findall("laneLink")
            )
            found.setdefault(key, []).append(
                (int(node.attrib["connectingRoad"]), node.get("contactPoint", "start"), lanes)
            )
    return found


def _speed(node: ET.Element) -> float:
    value = node.get("max", "")
    if not re.fullmatch(r"[0-9.]+", value):
        return DEFAULT_SPEED
    unit = node.get("unit", "m/s")
    return float(value) / {"km/h": 3.6, "mph": 2.2369362921}.get(unit, 1.0)


def lane_change_allowed(mine: Lane, other: Lane) -> bool:
    """Whether the marking between two lanes of the same direction lets one cross it."""
    inner = mine if abs(mine.id) < abs(other.id) else other
    outward = abs(other.id) > abs(mine.id)
    # "increase" means towards larger ids: outwards on the left, inwards on the right
    grows = outward == (mine.id > 0)
    return inner.change == "both" or inner.change == ("increase" if grows else "decrease")
