"""Where the lanes are: the questions that the world, the planner and the criteria ask of a map.

A lane's centre is cut into straight pieces (`lanepieces`). The nearest one is found through a grid
whose cells remember which pieces can be nearest to a point in them.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from sysone.drive.gps import DEFAULT_MODEL, carla_to_gps, reference_of
from sysone.drive.lanepieces import (
    HAIR_S,
    LanePoint,
    Piece,
    cut_lane,
    lane_point,
    piece_columns,
    piece_distances,
    point_inside,
    project,
    s_along,
    space_distance2,
)
from sysone.drive.opendrive import parse
from sysone.runs.errors import RunError, unreadable

CELL_M: Final = 8.0
DRIVING: Final = frozenset({"driving"})
DRIVING_OR_PARKING: Final = frozenset({"driving", "parking"})
_AT_END_M: Final = 1e-5
"""So far beyond a dead end one is still at it; more than what a few sections' edges add up to."""


__all__ = ["DRIVING", "DRIVING_OR_PARKING", "LanePoint", "RoadMap", "map_text", "read_map"]


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
        self._arrays = {types: piece_columns(pieces) for types, pieces in self._pieces.items()}
        self._cells: dict[frozenset[str], dict[tuple[int, ...], list[Piece]]] = {
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
            d2, along = project(piece, x, y)
            # A later piece must be nearer by more than rounding, so that ties keep their order.
            if d2 < best - 1e-9:
                best, found, s = d2, piece, along
        return lane_point(found.road, found.lane, s_along(found, s), math.sqrt(best))

    def _nearest_in_space(self, x: float, y: float, z: float, types: frozenset[str]) -> LanePoint:
        key = (int(x // CELL_M), int(y // CELL_M), int(z // CELL_M))
        candidates = self._cells[types].get(key)
        if candidates is None:
            candidates = self._fill(key, types)
        best = math.inf
        for piece in candidates:
            d2 = space_distance2(piece, x, y, z)
            if d2 < best - 1e-9:
                best, found = d2, piece
        # the piece is chosen in space and the place on it from above, as CARLA does
        _, s = project(found, x, y)
        point = lane_point(found.road, found.lane, s_along(found, s))
        return point._replace(distance=math.hypot(point.x - x, point.y - y))

    def point_at(self, road_id: int, lane_id: int, s: float) -> LanePoint | None:
        """The centre of a lane at s, or None where there is no such lane."""
        road = self.roads.get(road_id)
        if road is None or not -HAIR_S <= s <= road.length + HAIR_S:
            return None
        lane = road.section_at(s).lanes.get(lane_id)
        return None if lane is None else lane_point(road, lane, min(max(s, 0.0), road.length))

    def next(self, point: LanePoint, distance: float) -> list[LanePoint]:
        """The points that far ahead in the direction of traffic: several at branches."""
        road = self.roads[point.road_id]
        forward = point.lane_id < 0
        s = point.s + distance if forward else point.s - distance
        section = road.section_at(point.s)
        # the very end of a lane is the beginning of the next one, as CARLA has it
        if section.s + HAIR_S < s < section.end - HAIR_S:
            return [lane_point(road, section.lanes[point.lane_id], s)]
        rest = s - section.end if forward else section.s - s
        found = []
        for road_id, lane_id, start in self.successors(road.id, point.lane_id, point.s):
            entry = self._entry(road_id, lane_id, start)
            if entry is not None:
                found += self.next(entry, rest) if rest > HAIR_S else [entry]
        if not found and rest <= _AT_END_M:
            edge = section.end if forward else section.s
            return [point_inside(road, section, section.lanes[point.lane_id], edge)]
        return found

    def _entry(self, road_id: int, lane_id: int, s: float) -> LanePoint | None:
        """Where a lane begins in the direction of traffic: in the section that starts there."""
        road = self.roads[road_id]
        for section in road.sections:
            edge = section.s if lane_id < 0 else section.end
            if abs(edge - s) <= HAIR_S and lane_id in section.lanes:
                return point_inside(road, section, section.lanes[lane_id], edge)
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
                    while s < section.end - HAIR_S:
                        found.append(lane_point(road, lane, s))
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

    def _cut(self, types: frozenset[str]) -> Iterator[Piece]:
        for road in self.roads.values():
            for section in road.sections:
                for lane in section.lanes.values():
                    if lane.type in types and section.end - section.s > HAIR_S:
                        yield from cut_lane(road, section, lane)

    def _fill(self, key: tuple[int, ...], types: frozenset[str]) -> list[Piece]:
        middle = np.array([(k + 0.5) * CELL_M for k in key])
        distances = piece_distances(self._arrays[types], middle)
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
