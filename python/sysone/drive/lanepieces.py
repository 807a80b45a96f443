"""A lane's centre in straight pieces, and how far a point is from one.

A line is one piece, everything else is chords, set where CARLA's own search sets them, so that
both find the same s.
"""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sysone.drive.geometry import Line
from sysone.drive.opendrive import Lane, Road, Section
from sysone.runs.sums import in_order

HAIR_S: Final = 1e-6
"""Metres along a road within which two places are one."""
_HAIR_M: Final = 1e-7
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


class Piece(NamedTuple):
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


def lane_point(road: Road, lane: Lane, s: float, distance: float = 0.0) -> LanePoint:
    """The point of a lane's centre at s."""
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


def project(piece: Piece, x: float, y: float) -> tuple[float, float]:
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


def s_along(piece: Piece, along: float) -> float:
    """As CARLA has it, a metre along the chord is a metre of s, up to the chord's end."""
    if piece.closed and along >= piece.length:
        along = piece.s_length
    return piece.s + piece.sign * min(along, piece.s_length)


def space_distance2(piece: Piece, x: float, y: float, z: float) -> float:
    """Squared distance to the piece in three dimensions."""
    whole = math.hypot(piece.length, piece.rise) or 1.0
    flat = piece.length / whole
    ux, uy, uz = piece.cos * flat, piece.sin * flat, piece.rise / whole
    dx, dy, dz = x - piece.x, y - piece.y, z - piece.z
    along = min(max(dx * ux + dy * uy + dz * uz, 0.0), whole)
    dx, dy, dz = dx - along * ux, dy - along * uy, dz - along * uz
    return dx * dx + dy * dy + dz * dz


Columns = tuple[NDArray[np.float64], NDArray[np.float64]]


def piece_columns(pieces: list[Piece]) -> Columns:
    """Starts and spans of pieces: (n, 3) each."""
    starts = np.array([(p.x, p.y, p.z) for p in pieces]).reshape(-1, 3)
    spans = np.array([(p.cos * p.length, p.sin * p.length, p.rise) for p in pieces])
    return starts, spans.reshape(-1, 3)


def piece_distances(columns: Columns, place: NDArray[np.float64]) -> NDArray[np.float64]:
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
        and section.end <= piece.s + piece.length + HAIR_S
        and not lane.shift.curved
        and not road.elevation.curved
    )


def cut_lane(road: Road, section: Section, lane: Lane) -> Iterator[Piece]:
    """A section's lane in straight pieces, in the direction of traffic."""
    sign = 1.0 if lane.id < 0 else -1.0
    s, last = (section.s, section.end) if lane.id < 0 else (section.end, section.s)
    whole = abs(last - s)
    closed = False
    if _is_straight(road, section, lane):
        cuts = [s, last]
    else:
        places = [s + sign * i for i in range(math.ceil(whole - HAIR_S))]
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
        a, b = point_inside(road, section, lane, start), point_inside(road, section, lane, end)
        dx, dy = b.x - a.x, b.y - a.y
        length = math.hypot(dx, dy)
        cos, sin = (dx / length, dy / length) if length else (1.0, 0.0)
        yield Piece(
            *(a.x, a.y, cos, sin, length, start, abs(end - start), sign, road, lane),
            *(a.z, b.z - a.z, closed and end == last),
        )


def point_inside(road: Road, section: Section, lane: Lane, s: float) -> LanePoint:
    """A point of a section; at its end still on its own side of the next one."""
    if s == section.end and section is not road.sections[-1]:
        s -= 2 * HAIR_S
    return lane_point(road, lane, s)


def _forward(road: Road, lane: Lane, s: float) -> tuple[float, float, float]:
    """Direction of the lane's centre; where a record begins still that of the one passed."""
    s = min(max(s - _HAIR_M if lane.id < 0 else s + _HAIR_M, 0.0), road.length)
    _, _, heading = road.at(s)
    yaw, pitch = heading + lane.place(s)[1], road.elevation.slope(s)
    return math.cos(pitch) * math.cos(yaw), math.cos(pitch) * math.sin(yaw), math.sin(pitch)
