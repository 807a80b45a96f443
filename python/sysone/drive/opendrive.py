"""A small OpenDRIVE reader: lines, arcs, constant widths, junction links and signals.

Everything is in CARLA's frame: y and angles are turned over when the file is read, so that y
points right of x and yaw grows clockwise seen from above. Angles are radians, lengths metres.
A lane's centre is cut into straight pieces: a line is one, an arc is chords, set where CARLA's own
search sets them, so that both find the same s. The nearest piece is found through a grid whose
cells remember which pieces can be nearest to a point in them.
"""

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from sysone.drive.gps import reference_of
from sysone.runs.errors import RunError, unreadable

CELL_M: Final = 8.0
TRAFFIC_LIGHT: Final = "1000001"
STOP_SIGN: Final = "206"
YIELD_SIGN: Final = "205"
DRIVING: Final = frozenset({"driving"})
DRIVING_OR_PARKING: Final = frozenset({"driving", "parking"})
DEFAULT_SPEED: Final = 50 / 3.6
"""m/s, where a road says nothing."""
_END: Final = 1e-6
_CHORD_M: Final = 1.0
_CHORD_TURN: Final = math.pi / 100
"""CARLA ends a chord at the first whole metre at which the lane has turned by more than this."""
_POST_SHIFT_M: Final = 0.25
"""CARLA stands a traffic light this much further along its road than its s says."""


class LanePoint(NamedTuple):
    """A point on a lane's centre. Plain data."""

    road_id: int
    lane_id: int
    s: float
    """Along the road's reference line."""
    x: float
    y: float
    yaw: float
    """Radians, in the direction of traffic."""
    width: float
    junction_id: int
    """-1 outside junctions."""
    distance: float
    """From the point that was asked about."""
    lane_type: str
    speed_limit: float
    """m/s."""

    @property
    def is_junction(self) -> bool:
        """Whether the road belongs to a junction."""
        return self.junction_id >= 0


@dataclass(frozen=True, slots=True)
class Geometry:
    """A stretch of a road's reference line."""

    s: float
    x: float
    y: float
    heading: float
    length: float
    curvature: float

    def at(self, s: float) -> tuple[float, float, float]:
        """x, y and heading at a road's s."""
        d = s - self.s
        h = self.heading
        if self.curvature == 0.0:
            return self.x + d * math.cos(h), self.y + d * math.sin(h), h
        k = self.curvature
        end = h + k * d
        return (
            self.x + (math.sin(end) - math.sin(h)) / k,
            self.y - (math.cos(end) - math.cos(h)) / k,
            end,
        )


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane of one section; negative ids run with the road, positive ones against it."""

    id: int
    type: str
    width: float
    offset: float
    """Of its centre to the right of the reference line."""
    predecessor: int | None
    successor: int | None
    change: str
    """Lane changes that its outer marking allows: none, increase, decrease or both."""


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
    predecessor: Link | None
    successor: Link | None
    speed_limit: float

    def at(self, s: float) -> tuple[float, float, float]:
        """x, y and heading of the reference line."""
        for piece in reversed(self.geometry):
            if s >= piece.s - _END:
                return piece.at(s)
        return self.geometry[0].at(s)

    def section_at(self, s: float) -> Section:
        """The section that holds s."""
        for section in reversed(self.sections):
            if s >= section.s - _END:
                return section
        return self.sections[0]


class _Piece(NamedTuple):
    """A straight piece of one lane's centre, ready for the nearest-point search."""

    x: float
    y: float
    cos: float
    sin: float
    length: float
    s: float
    s_length: float
    sign: float
    """Of s in the direction of traffic."""
    road: Road
    lane: Lane


class RoadMap:
    """A map that answers where the lanes are.

    Raises:
        RunError: the text is not OpenDRIVE, or uses what this reader lacks (spirals, polynomials,
            widths that vary); the text names it.
    """

    def __init__(self, text: str, name: str = "map") -> None:
        try:
            root = ET.fromstring(text)
        except ET.ParseError as error:
            raise RunError(f"{name} is not XML: {error}") from error
        if root.tag != "OpenDRIVE":
            raise RunError(f"{name} is not OpenDRIVE: its root is <{root.tag}>")
        self.name = name
        self.text = text
        self.geo_reference = root.findtext("header/geoReference")
        self.reference = reference_of(self.geo_reference)
        """(lat0, lon0) in degrees."""
        try:
            self.roads = {road.id: road for road in map(self._road, root.iter("road"))}
            self.signals = list(self._signals(root))
            self._connections = _connections(root)
            self.controllers = {
                control.get("signalId", ""): controller.get("id", "")
                for controller in root.findall("controller")
                for control in controller.findall("control")
            }
        except (KeyError, ValueError, TypeError) as error:
            raise RunError(f"{name} is not OpenDRIVE that can be read: {error}") from error
        if not self.roads:
            raise RunError(f"{name} has no road")
        self._pieces = {types: list(self._cut(types)) for types in (DRIVING, DRIVING_OR_PARKING)}
        self.has_parking = len(self._pieces[DRIVING_OR_PARKING]) > len(self._pieces[DRIVING])
        self._cells: dict[frozenset[str], dict[tuple[int, int], list[_Piece]]] = {
            types: {} for types in self._pieces
        }
        if not self._pieces[DRIVING]:
            raise RunError(f"{name} has no driving lane")

    def nearest(self, x: float, y: float, types: frozenset[str] = DRIVING) -> LanePoint:
        """The nearest point on the centre of a lane of these types."""
        key = (int(x // CELL_M), int(y // CELL_M))
        candidates = self._cells[types].get(key)
        if candidates is None:
            candidates = self._fill(key, types)
        best = math.inf
        for piece in candidates:
            d2, along = _project(piece, x, y)
            # A later piece must be nearer by more than rounding, so that ties keep their order.
            if d2 < best - 1e-9:
                best, found, s = d2, piece, along
        # As CARLA has it, a metre along the chord is a metre of s, up to the chord's end.
        s = found.s + found.sign * min(s, found.s_length)
        return _point(found.road, found.lane, s, math.sqrt(best))

    def point_at(self, road_id: int, lane_id: int, s: float) -> LanePoint | None:
        """The centre of a lane at s, or None where there is no such lane."""
        road = self.roads.get(road_id)
        if road is None or not -_END <= s <= road.length + _END:
            return None
        lane = road.section_at(s).lanes.get(lane_id)
        return None if lane is None else _point(road, lane, min(max(s, 0.0), road.length))

    def next(self, point: LanePoint, distance: float) -> list[LanePoint]:
        """The points that far ahead in the direction of traffic: several at branches."""
        road = self.roads[point.road_id]
        forward = point.lane_id < 0
        s = point.s + distance if forward else point.s - distance
        section = road.section_at(point.s)
        # the very end of a lane is the beginning of the next one, as CARLA has it
        if section.s + _END < s < section.end - _END:
            return [_point(road, section.lanes[point.lane_id], s)]
        rest = s - section.end if forward else section.s - s
        found = []
        for road_id, lane_id, start in self.successors(road.id, point.lane_id, point.s):
            entry = self.point_at(road_id, lane_id, start)
            if entry is not None:
                found += self.next(entry, rest) if rest > _END else [entry]
        return found

    def successors(self, road_id: int, lane_id: int, s: float) -> list[tuple[int, int, float]]:
        """(road, lane, s at which it is entered) of what follows a lane's section."""
        road = self.roads[road_id]
        section = road.section_at(s)
        lane = section.lanes[lane_id]
        forward = lane_id < 0
        index = road.sections.index(section)
        beside = index + 1 if forward else index - 1
        linked = lane.successor if forward else lane.predecessor
        if 0 <= beside < len(road.sections):
            if linked is None:
                return []
            return [(road_id, linked, section.end if forward else section.s)]
        link = road.successor if forward else road.predecessor
        if link is None:
            return []
        if link.kind == "junction":
            found = []
            for connecting, contact, lanes in self._connections.get((link.id, road_id), ()):
                for source, target in lanes:
                    if source == lane_id:
                        entry = 0.0 if contact == "start" else self.roads[connecting].length
                        found.append((connecting, target, entry))
            return found
        if linked is None or link.id not in self.roads:
            return []
        other = self.roads[link.id]
        return [(link.id, linked, 0.0 if link.contact == "start" else other.length)]

    def topology(self) -> list[tuple[int, int, int, int]]:
        """(road, lane, road, lane) of every driving lane and what follows it, in order."""
        found = set()
        for road in self.roads.values():
            for section in road.sections:
                for lane in section.lanes.values():
                    if lane.type == "driving":
                        for other, target, _ in self.successors(road.id, lane.id, section.s):
                            if other != road.id:
                                found.add((road.id, lane.id, other, target))
        return sorted(found)

    def waypoints(self, distance: float) -> list[LanePoint]:
        """Points of every driving lane this far apart along its road."""
        found = []
        for road in self.roads.values():
            for section in road.sections:
                for lane in section.lanes.values():
                    if lane.type != "driving":
                        continue
                    s = section.s
                    while s < section.end - _END:
                        found.append(_point(road, lane, s))
                        s += distance
        return found

    def bounds(self) -> tuple[float, float, float, float]:
        """Least x, least y, greatest x, greatest y of all reference lines, in metres."""
        places = [
            road.at(road.length * i / 16)[:2] for road in self.roads.values() for i in range(17)
        ]
        xs, ys = [p[0] for p in places], [p[1] for p in places]
        return min(xs), min(ys), max(xs), max(ys)

    def _road(self, node: ET.Element) -> Road:
        road_id, length = int(node.attrib["id"]), float(node.attrib["length"])
        speed = node.find("type/speed")
        return Road(
            id=road_id,
            length=length,
            junction=int(node.get("junction", "-1")),
            geometry=tuple(_geometry(g, road_id) for g in node.iter("geometry")),
            sections=tuple(_sections(node, length)),
            predecessor=_link(node.find("link/predecessor")),
            successor=_link(node.find("link/successor")),
            speed_limit=DEFAULT_SPEED if speed is None else _speed(speed),
        )

    def _signals(self, root: ET.Element) -> Iterator[Signal]:
        for node in root.iter("road"):
            road = self.roads[int(node.attrib["id"])]
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

    def _cut(self, types: frozenset[str]) -> Iterator[_Piece]:
        for road in self.roads.values():
            for geometry in road.geometry:
                for section in road.sections:
                    start = max(geometry.s, section.s)
                    end = min(geometry.s + geometry.length, section.end)
                    if end <= start:
                        continue
                    for lane in section.lanes.values():
                        if lane.type in types:
                            yield from _chords(road, lane, geometry, start, end)

    def _fill(self, key: tuple[int, int], types: frozenset[str]) -> list[_Piece]:
        x, y = (key[0] + 0.5) * CELL_M, (key[1] + 0.5) * CELL_M
        distances = [math.sqrt(_project(piece, x, y)[0]) for piece in self._pieces[types]]
        # no point of the cell is further than half a diagonal from its middle
        reach = min(distances) + CELL_M * math.sqrt(2.0)
        found = [
            piece
            for piece, distance in zip(self._pieces[types], distances, strict=True)
            if distance <= reach
        ]
        self._cells[types][key] = found
        return found


def read_map(path: Path) -> RoadMap:
    """The map in a file.

    Raises:
        RunError: it cannot be read or is not OpenDRIVE.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is not UTF-8") from error
    return RoadMap(text, path.stem)


def _point(road: Road, lane: Lane, s: float, distance: float = 0.0) -> LanePoint:
    x, y, heading = road.at(s)
    return LanePoint(
        road.id,
        lane.id,
        s,
        x - lane.offset * math.sin(heading),
        y + lane.offset * math.cos(heading),
        heading if lane.id < 0 else heading + math.pi,
        lane.width,
        road.junction,
        distance,
        lane.type,
        road.speed_limit,
    )


def _project(piece: _Piece, x: float, y: float) -> tuple[float, float]:
    """Squared distance to the piece, and how far along it the nearest point is."""
    px, py, cos, sin, length = piece[:5]
    dx, dy = x - px, y - py
    along = dx * cos + dy * sin
    if along < 0.0:
        along = 0.0
    elif along > length:
        along = length
    dx -= along * cos
    dy -= along * sin
    return dx * dx + dy * dy, along


def _chords(
    road: Road, lane: Lane, geometry: Geometry, start: float, end: float
) -> Iterator[_Piece]:
    step = math.inf
    if geometry.curvature != 0.0:
        step = _CHORD_M * (math.floor(_CHORD_TURN / abs(geometry.curvature) / _CHORD_M) + 1)
    # in the direction of traffic
    sign = 1.0 if lane.id < 0 else -1.0
    s, last = (start, end) if lane.id < 0 else (end, start)
    while abs(last - s) > _END:
        ahead = s + sign * min(step, abs(last - s))
        a, b = _point(road, lane, s), _point(road, lane, ahead)
        dx, dy = b.x - a.x, b.y - a.y
        length = math.hypot(dx, dy)
        cos, sin = (dx / length, dy / length) if length else (1.0, 0.0)
        yield _Piece(a.x, a.y, cos, sin, length, s, abs(ahead - s), sign, road, lane)
        s = ahead


def _geometry(node: ET.Element, road_id: int) -> Geometry:
    shape = node[0]
    if shape.tag not in ("line", "arc"):
        raise ValueError(f"road {road_id} has a <{shape.tag}>, expected lines and arcs")
    return Geometry(
        s=float(node.attrib["s"]),
        x=float(node.attrib["x"]),
        y=-float(node.attrib["y"]),
        heading=-float(node.attrib["hdg"]),
        length=float(node.attrib["length"]),
        curvature=-float(shape.attrib["curvature"]) if shape.tag == "arc" else 0.0,
    )


def _sections(node: ET.Element, length: float) -> Iterator[Section]:
    lanes = node.find("lanes")
    if lanes is None:
        raise ValueError(f"road {node.get('id')} has no lanes")
    offsets = [(float(o.get("s", "0")), float(o.get("a", "0"))) for o in lanes.iter("laneOffset")]
    found = list(lanes.iter("laneSection"))
    starts = [float(section.attrib["s"]) for section in found]
    for section, start, end in zip(found, starts, [*starts[1:], length], strict=True):
        shift = -next((a for s, a in reversed(offsets) if s <= start + _END), 0.0)
        yield Section(start, end, dict(_lanes(section, shift)))


def _lanes(section: ET.Element, shift: float) -> Iterator[tuple[int, Lane]]:
    for side, sign in (("left", -1.0), ("right", 1.0)):
        group = section.find(side)
        if group is None:
            continue
        inner = 0.0
        # from the middle outwards
        for node in sorted(group.iter("lane"), key=lambda lane: abs(int(lane.attrib["id"]))):
            width = node.find("width")
            if width is not None and any(float(width.get(c, "0")) for c in "bcd"):
                raise ValueError("a lane's width varies, expected a constant one")
            wide = 0.0 if width is None else float(width.attrib["a"])
            mark = node.find("roadMark")
            lane = Lane(
                id=int(node.attrib["id"]),
                type=node.get("type", "none").lower(),
                width=wide,
                offset=shift + sign * (inner + wide / 2),
                predecessor=_lane_link(node.find("link/predecessor")),
                successor=_lane_link(node.find("link/successor")),
                change="none" if mark is None else mark.get("laneChange", "both").lower(),
            )
            inner += wide
            yield lane.id, lane


def _lane_link(node: ET.Element | None) -> int | None:
    return None if node is None else int(node.attrib["id"])


def _link(node: ET.Element | None) -> Link | None:
    if node is None:
        return None
    return Link(
        node.attrib["elementType"], int(node.attrib["elementId"]), node.get("contactPoint", "start")
    )


_Connection = tuple[int, str, tuple[tuple[int, int], ...]]


def _connections(root: ET.Element) -> dict[tuple[int, int], list[_Connection]]:
    """What leads out of a road into a junction, by (junction, road)."""
    found: dict[tuple[int, int], list[_Connection]] = {}
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


def plan_roads(points: Sequence[Any]) -> list[int]:
    """Ids of the roads that lane points lie on, each once, in order."""
    return list(dict.fromkeys(point.road_id for point in points))
