"""Where the lanes are: the questions that the world, the planner and the criteria ask of a map.

A lane's centre is cut into straight pieces: a line is one, everything else is chords, set where
CARLA's own search sets them, so that both find the same s. The nearest piece is found through a
grid whose cells remember which pieces can be nearest to a point in them.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sysone.drive.geometry import Line
from sysone.drive.gps import DEFAULT_MODEL, carla_to_gps, reference_of
from sysone.drive.opendrive import Lane, Road, Section, parse
from sysone.runs.errors import RunError, unreadable
from sysone.runs.sums import in_order

CELL_M: Final = 8.0
DRIVING: Final = frozenset({"driving"})
DRIVING_OR_PARKING: Final = frozenset({"driving", "parking"})
_END: Final = 1e-6
_HAIR_M: Final = 1e-7
_AT_END_M: Final = 1e-5
"""So far beyond a dead end one is still at it; more than what a few sections' edges add up to."""
_CHORD_TURN: Final = math.pi / 100
"""CARLA ends a chord at the first whole metre at which the lane has turned by more than this."""
_CHORD_M: Final = 100.0
"""Nor is a chord longer than this, unless it is a whole straight lane."""


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
    """From the point that was asked about, seen from above."""
    lane_type: str
    speed_limit: float
    """m/s."""
    z: float = 0.0

    @property
    def is_junction(self) -> bool:
        """Whether the road belongs to a junction."""
        return self.junction_id >= 0


class _Piece(NamedTuple):
    """A straight piece of one lane's centre, ready for the nearest-point search."""

    x: float
    y: float
    cos: float
    sin: float
    length: float
    """Seen from above."""
    s: float
    s_length: float
    sign: float
    """Of s in the direction of traffic."""
    road: Road
    lane: Lane
    z: float
    rise: float
    """Over its length."""
    closed: bool
    """The lane ends with it, and at its end CARLA has a piece of no length too."""


class RoadMap:
    """A map that answers where the lanes are, from its OpenDRIVE text alone.

    Raises:
        RunError: the text is not OpenDRIVE, or has a shape that CARLA does not know either; the
            text names it.
    """

    source: str = "own reader"
    """Who answers."""
    gps_model: str = DEFAULT_MODEL
    """The conversion that `geolocate` follows."""

    def __init__(self, text: str, name: str = "map") -> None:
        try:
            root = ET.fromstring(text)
        except ET.ParseError as error:
            raise RunError(f"{name} is not XML: {error}") from error
        if root.tag != "OpenDRIVE":
            raise RunError(f"{name} is not OpenDRIVE: its root is <{root.tag}>")
        self.name = name
        self.text = text
        try:
            network = parse(root)
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise RunError(f"{name} is not OpenDRIVE that can be read: {error}") from error
        self.geo_reference = network.geo_reference
        self.reference = reference_of(self.geo_reference)
        """(lat0, lon0) in degrees."""
        self.roads, self.signals = network.roads, network.signals
        self.controllers = network.controllers
        self._connections = network.connections
        if not self.roads:
            raise RunError(f"{name} has no road")
        self.flat = all(road.elevation.constant == 0.0 for road in self.roads.values())
        self._pieces = {types: list(self._cut(types)) for types in (DRIVING, DRIVING_OR_PARKING)}
        self.has_parking = len(self._pieces[DRIVING_OR_PARKING]) > len(self._pieces[DRIVING])
        self._arrays = {types: _columns(pieces) for types, pieces in self._pieces.items()}
        self._cells: dict[frozenset[str], dict[tuple[int, ...], list[_Piece]]] = {
            types: {} for types in self._pieces
        }
        if not self._pieces[DRIVING]:
            raise RunError(f"{name} has no driving lane")

    def nearest(
        self, x: float, y: float, types: frozenset[str] = DRIVING, z: float | None = None
    ) -> LanePoint:
        """The nearest point on the centre of a lane of these types.

        Heights count where the map has any and ``z`` is given; otherwise it is seen from above.
        """
        if z is not None and not self.flat:
            return self._nearest_in_space(x, y, z, types)
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
        return _point(found.road, found.lane, _s_along(found, s), math.sqrt(best))

    def _nearest_in_space(self, x: float, y: float, z: float, types: frozenset[str]) -> LanePoint:
        key = (int(x // CELL_M), int(y // CELL_M), int(z // CELL_M))
        candidates = self._cells[types].get(key)
        if candidates is None:
            candidates = self._fill(key, types)
        best = math.inf
        for piece in candidates:
            d2 = _space_distance2(piece, x, y, z)
            if d2 < best - 1e-9:
                best, found = d2, piece
        # the piece is chosen in space and the place on it from above, as CARLA does
        _, s = _project(found, x, y)
        point = _point(found.road, found.lane, _s_along(found, s))
        return point._replace(distance=math.hypot(point.x - x, point.y - y))

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
            entry = self._entry(road_id, lane_id, start)
            if entry is not None:
                found += self.next(entry, rest) if rest > _END else [entry]
        if not found and rest <= _AT_END_M:
            edge = section.end if forward else section.s
            return [_inside(road, section, section.lanes[point.lane_id], edge)]
        return found

    def _entry(self, road_id: int, lane_id: int, s: float) -> LanePoint | None:
        """Where a lane begins in the direction of traffic: in the section that starts there."""
        road = self.roads[road_id]
        for section in road.sections:
            edge = section.s if lane_id < 0 else section.end
            if abs(edge - s) <= _END and lane_id in section.lanes:
                return _inside(road, section, section.lanes[lane_id], edge)
        return None

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
                        inside = (section.s + section.end) / 2
                        for other, target, _ in self.successors(road.id, lane.id, inside):
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

    def geolocate(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """Latitude, longitude (degrees) and altitude (m), by the map's own conversion."""
        return *carla_to_gps(x, y, *self.reference, model=self.gps_model), z

    def _cut(self, types: frozenset[str]) -> Iterator[_Piece]:
        for road in self.roads.values():
            for section in road.sections:
                for lane in section.lanes.values():
                    if lane.type in types and section.end - section.s > _END:
                        yield from _chords(road, section, lane)

    def _fill(self, key: tuple[int, ...], types: frozenset[str]) -> list[_Piece]:
        middle = np.array([(k + 0.5) * CELL_M for k in key])
        distances = _distances(self._arrays[types], middle)
        # no point of the cell is further than half a diagonal from its middle
        reach = distances.min() + CELL_M * math.sqrt(len(key))
        pieces = self._pieces[types]
        found = [pieces[i] for i in np.flatnonzero(distances <= reach)]
        self._cells[types][key] = found
        return found


def read_map(path: Path) -> RoadMap:
    """The map in a file.

    Raises:
        RunError: it cannot be read or is not OpenDRIVE.
    """
    return RoadMap(map_text(path), path.stem)


def map_text(path: Path) -> str:
    """A map file's text.

    Raises:
        RunError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is not UTF-8") from error


def _point(road: Road, lane: Lane, s: float, distance: float = 0.0) -> LanePoint:
    x, y, heading = road.at(s)
    offset, slope, width = lane.place(s)
    # CARLA adds the slope itself, not its arc tangent
    yaw = heading + slope
    return LanePoint(
        road.id,
        lane.id,
        s,
        x - offset * math.sin(heading),
        y + offset * math.cos(heading),
        yaw if lane.id < 0 else yaw + math.pi,
        width,
        road.junction,
        distance,
        lane.type,
        road.speed_limit,
        road.elevation.at(s),
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


def _s_along(piece: _Piece, along: float) -> float:
    """As CARLA has it, a metre along the chord is a metre of s, up to the chord's end."""
    if piece.closed and along >= piece.length:
        along = piece.s_length
    return piece.s + piece.sign * min(along, piece.s_length)


def _space_distance2(piece: _Piece, x: float, y: float, z: float) -> float:
    """Squared distance to the piece in three dimensions."""
    whole = math.hypot(piece.length, piece.rise) or 1.0
    flat = piece.length / whole
    ux, uy, uz = piece.cos * flat, piece.sin * flat, piece.rise / whole
    dx, dy, dz = x - piece.x, y - piece.y, z - piece.z
    along = min(max(dx * ux + dy * uy + dz * uz, 0.0), whole)
    dx, dy, dz = dx - along * ux, dy - along * uy, dz - along * uz
    return dx * dx + dy * dy + dz * dz


_Columns = tuple[NDArray[np.float64], NDArray[np.float64]]


def _columns(pieces: list[_Piece]) -> _Columns:
    """Starts and spans of pieces: (n, 3) each."""
    starts = np.array([(p.x, p.y, p.z) for p in pieces]).reshape(-1, 3)
    spans = np.array([(p.cos * p.length, p.sin * p.length, p.rise) for p in pieces])
    return starts, spans.reshape(-1, 3)


def _distances(columns: _Columns, place: NDArray[np.float64]) -> NDArray[np.float64]:
    """From a place with two or three coordinates to each piece, in as many."""
    starts, spans = (column[:, : len(place)] for column in columns)
    to = place - starts
    squares = np.maximum((spans * spans).sum(axis=1), 1e-12)
    share = np.clip((to * spans).sum(axis=1) / squares, 0.0, 1.0)
    off = to - share[:, None] * spans
    found: NDArray[np.float64] = np.sqrt((off * off).sum(axis=1))
    return found


def _is_straight(road: Road, section: Section, lane: Lane) -> bool:
    """Whether CARLA takes the lane for one straight piece."""
    piece = road.piece_at(section.s)
    return (
        isinstance(piece.shape, Line)
        and section.end <= piece.s + piece.length + _END
        and not lane.shift.curved
        and not road.elevation.curved
    )


def _chords(road: Road, section: Section, lane: Lane) -> Iterator[_Piece]:
    # in the direction of traffic
    sign = 1.0 if lane.id < 0 else -1.0
    s, last = (section.s, section.end) if lane.id < 0 else (section.end, section.s)
    whole = abs(last - s)
    closed = False
    if _is_straight(road, section, lane):
        cuts = [s, last]
    else:
        places = [s + sign * i for i in range(math.ceil(whole - _END))]
        cuts = [s]
        before = _forward(road, lane, s)
        for place in [*places[1:], last]:
            now = _forward(road, lane, place)
            cosine = in_order(a * b for a, b in zip(before, now, strict=True))
            if math.acos(min(1.0, cosine)) > _CHORD_TURN or abs(place - cuts[-1]) > _CHORD_M:
                cuts.append(place)
                before = now
        closed = cuts[-1] == last
        if not closed:
            cuts.append(last)
    for start, end in pairwise(cuts):
        a, b = _inside(road, section, lane, start), _inside(road, section, lane, end)
        dx, dy = b.x - a.x, b.y - a.y
        length = math.hypot(dx, dy)
        cos, sin = (dx / length, dy / length) if length else (1.0, 0.0)
        yield _Piece(
            *(a.x, a.y, cos, sin, length, start, abs(end - start), sign, road, lane),
            *(a.z, b.z - a.z, closed and end == last),
        )


def _inside(road: Road, section: Section, lane: Lane, s: float) -> LanePoint:
    """A point of a section; at its end still on its own side of the next one."""
    if s == section.end and section is not road.sections[-1]:
        s -= 2 * _END
    return _point(road, lane, s)


def _forward(road: Road, lane: Lane, s: float) -> tuple[float, float, float]:
    """Direction of the lane's centre; where a record begins still that of the one passed."""
    s = min(max(s - _HAIR_M if lane.id < 0 else s + _HAIR_M, 0.0), road.length)
    _, _, heading = road.at(s)
    yaw, pitch = heading + lane.place(s)[1], road.elevation.slope(s)
    return math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch)
