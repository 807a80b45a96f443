"""What the camera sees: flat ground from a picture of the map, sky, and boxes for everything else.

Not a renderer: no shadows, no textures, no other buildings. Deterministic to the byte.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.drive.backend import ActorState, SensorSpec
from sysone.drive.embedded.lights import Light
from sysone.drive.opendrive import Lane, Road, Section
from sysone.drive.roadmap import RoadMap
from sysone.drive.routeline import TriggerBox
from sysone_core import frames

CELL_M: Final = 0.1
MARGIN_M: Final = 30.0
STEP_M: Final = 0.06
"""Between painted samples; less than a cell, so that nothing stays unpainted."""
MARK_M: Final = 0.08
"""Half the width of a marking."""
DASH_M: Final = 3.0
DASH_EVERY_M: Final = 6.0
GRASS, PAVEMENT, ASPHALT, WHITE, YELLOW = range(5)
COLOURS: Final = ((58, 110, 74), (150, 150, 152), (68, 66, 66), (225, 228, 228), (60, 180, 220))
"""BGR of each kind of ground."""
LAYERS: Final = (({"sidewalk", "shoulder"}, PAVEMENT), ({"driving", "parking"}, ASPHALT))
"""Lane types of each colour, later ones on top."""
LAMP: Final = {"Red": (40, 40, 220), "Yellow": (40, 200, 230), "Green": (70, 200, 60)}
_NEAR_M: Final = 0.3
_FACES: Final = ((0, 1, 2, 3), (4, 5, 6, 7), (0, 1, 5, 4), (2, 3, 7, 6), (0, 3, 7, 4), (1, 2, 6, 5))
_SHADES: Final = (0.75, 1.0, 0.8, 0.8, 0.9, 0.9)


class Ground:
    """A map from above: a palette index for each 0.1 m."""

    def __init__(self, road_map: RoadMap) -> None:
        west, north, east, south = road_map.bounds()
        self.west, self.north = west - MARGIN_M, north - MARGIN_M
        width = math.ceil((east - west + 2 * MARGIN_M) / CELL_M)
        height = math.ceil((south - north + 2 * MARGIN_M) / CELL_M)
        self.cells: NDArray[np.uint8] = np.full((height, width), GRASS, dtype=np.uint8)
        for kinds, colour in (
            ({"sidewalk", "shoulder"}, PAVEMENT),
            ({"driving", "parking"}, ASPHALT),
        ):
            for road in road_map.roads.values():
                for section in road.sections:
                    for lane in section.lanes.values():
                        if lane.type in kinds:
                            self._surface(road, section, lane, colour)
        for road in road_map.roads.values():
            if road.junction >= 0:
                continue
            for section in road.sections:
                s = np.arange(section.s, section.end, STEP_M)
                if not len(s):
                    continue
                first = next(iter(section.lanes.values()), None)
                if first is not None:
                    dashed = s[(s - section.s) % DASH_EVERY_M < DASH_M]
                    self._line(road, dashed, -first.shift.along(dashed), YELLOW)
                for lane in section.lanes.values():
                    if lane.type == "driving":
                        offset, wide = lane.along(s)
                        side = wide / 2 if lane.id < 0 else -wide / 2
                        self._line(road, s, offset + side, WHITE)

    def _surface(self, road: Road, section: Section, lane: Lane, colour: int) -> None:
        s = np.arange(section.s, section.end, STEP_M)
        if not len(s):
            return
        offset, width = lane.along(s)
        half = float(width.max()) / 2
        across = np.arange(-half, half + 1e-9, STEP_M)
        inside = np.abs(across)[None, :] <= width[:, None] / 2 + 1e-9
        self._paint(road, s, offset[:, None] + across[None, :], colour, inside)

    def _line(
        self, road: Road, s: NDArray[np.float64], offset: NDArray[np.float64], colour: int
    ) -> None:
        if len(s):
            across = np.arange(-MARK_M, MARK_M + 1e-9, STEP_M)
            self._paint(road, s, offset[:, None] + across[None, :], colour)

    def _paint(
        self,
        road: Road,
        s: NDArray[np.float64],
        sides: NDArray[np.float64],
        colour: int,
        part: NDArray[np.bool_] | None = None,
    ) -> None:
        """Colour the places that lie ``sides`` metres to the right of the reference line."""
        x, y, heading = _reference(road, s)
        xs = x[:, None] - sides * np.sin(heading)[:, None]
        ys = y[:, None] + sides * np.cos(heading)[:, None]
        columns = ((xs - self.west) / CELL_M).astype(np.int64)
        rows = ((ys - self.north) / CELL_M).astype(np.int64)
        height, width = self.cells.shape
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        if part is not None:
            inside &= part
        self.cells[rows[inside], columns[inside]] = colour


def _reference(
    road: Road, s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """x, y and heading of a road's reference line at many s."""
    x, y, heading = np.empty_like(s), np.empty_like(s), np.empty_like(s)
    for piece in road.geometry:
        part = s >= piece.s - 1e-6
        x[part], y[part], heading[part] = piece.along(s[part])
    return x, y, heading


def palette(brightness: float) -> NDArray[np.uint8]:
    """The 256 colours of the ground picture, in BGR."""
    colours = np.zeros((256, 3), dtype=np.uint8)
    for index, colour in enumerate(COLOURS):
        colours[index] = [int(value * brightness) for value in colour]
    return colours


class Camera:
    """Draws frames of one size."""

    def __init__(self, spec: SensorSpec, sun_altitude_deg: float = 70.0) -> None:
        self.spec = spec
        self.focal = spec.width / 2 / math.tan(math.radians(spec.fov) / 2)
        self.light(sun_altitude_deg)

    def light(self, sun_altitude_deg: float) -> None:
        """From the next picture on the sun stands there."""
        self.brightness = 0.35 + 0.65 * min(1.0, max(0.0, sun_altitude_deg / 60.0))
        self.palette = palette(self.brightness)
        self.sky = self._sky()

    def _sky(self) -> NDArray[np.uint8]:
        rows = np.linspace(0.0, 1.0, self.spec.height // 2)[:, None]
        top, horizon = np.array([200.0, 140.0, 90.0]), np.array([230.0, 215.0, 200.0])
        colours = (top + rows * (horizon - top)) * self.brightness
        sky = np.repeat(colours.astype(np.uint8)[:, None, :], self.spec.width, axis=1)
        return np.ascontiguousarray(sky)

    def draw(
        self,
        ground: Ground,
        pose: tuple[float, float, float],
        actors: Sequence[ActorState],
        lights: Sequence[Light],
        states: dict[int, str],
        stops: Sequence[TriggerBox],
    ) -> NDArray[np.uint8]:
        """One picture: uint8 (height, width, 3), BGR. The pose is x, y (m) and yaw (radians)."""
        spec = self.spec
        picture = np.empty((spec.height, spec.width, 3), dtype=np.uint8)
        picture[: spec.height // 2] = self.sky
        frames.ground_camera(
            ground.cells,
            ground.west,
            ground.north,
            CELL_M,
            self.palette,
            picture,
            *pose,
            self.focal,
            *spec.position,
        )
        for _, corners, colour in sorted(
            self._boxes(pose, actors, lights, states, stops), key=lambda item: -item[0]
        ):
            self._box(picture, corners, colour)
        return picture

    def _boxes(
        self,
        pose: tuple[float, float, float],
        actors: Sequence[ActorState],
        lights: Sequence[Light],
        states: dict[int, str],
        stops: Sequence[TriggerBox],
    ) -> list[tuple[float, NDArray[np.float64], tuple[int, int, int]]]:
        found = []
        things = [
            (a.x, a.y, a.yaw, a.half_length, a.half_width, 0.0, a.height, _body(a.type))
            for a in actors
        ]
        for light in lights:
            box = light.box
            x, y = _beside(box, 3.4, ahead=BOX_AHEAD_M, across=-math.pi / 2)
            lamp = LAMP.get(states.get(light.id, "Off"), (60, 60, 60))
            things.append((x, y, box.yaw, 0.25, 0.15, 2.6, 3.6, lamp))
            things.append((x, y, box.yaw, 0.06, 0.06, 0.0, 2.6, (90, 90, 90)))
        for stop in stops:
            x, y = _beside(stop, 3.0, ahead=0.0, across=0.0)
            things.append((x, y, stop.yaw, 0.05, 0.35, 1.8, 2.5, (40, 40, 190)))
        for x, y, yaw, half_length, half_width, low, high, colour in things:
            corners = self._project(pose, x, y, yaw, half_length, half_width, low, high)
            if corners is not None:
                found.append((math.hypot(x - pose[0], y - pose[1]), corners, colour))
        return found

    def _project(
        self,
        pose: tuple[float, float, float],
        x: float,
        y: float,
        yaw: float,
        half_length: float,
        half_width: float,
        low: float,
        high: float,
    ) -> NDArray[np.float64] | None:
        """The eight corners in pixels, or None for a box that is not wholly before the camera."""
        mx, my, mz = self.spec.position
        cos, sin = math.cos(pose[2]), math.sin(pose[2])
        box_cos, box_sin = math.cos(yaw), math.sin(yaw)
        corners = np.empty((8, 2))
        for i in range(8):
            along = half_length if i % 4 in (0, 1) else -half_length
            across = half_width if i % 4 in (0, 3) else -half_width
            wx = x + along * box_cos - across * box_sin - pose[0]
            wy = y + along * box_sin + across * box_cos - pose[1]
            ahead = wx * cos + wy * sin - mx
            right = wy * cos - wx * sin - my
            if ahead < _NEAR_M or ahead > 200.0:
                return None
            up = (low if i < 4 else high) - mz
            corners[i] = (
                self.spec.width / 2 + self.focal * right / ahead,
                self.spec.height / 2 - self.focal * up / ahead,
            )
        return corners

    def _box(
        self, picture: NDArray[np.uint8], corners: NDArray[np.float64], colour: tuple[int, int, int]
    ) -> None:
        for face, shade in zip(_FACES, _SHADES, strict=True):
            polygon = np.ascontiguousarray(corners[list(face)])
            light = shade * self.brightness
            frames.fill_convex(
                polygon,
                (int(colour[0] * light), int(colour[1] * light), int(colour[2] * light)),
                picture,
            )


BOX_AHEAD_M: Final = 3.0


def _beside(box: TriggerBox, right: float, *, ahead: float, across: float) -> tuple[float, float]:
    """A place right of a box's lane and ahead of it; ``across`` turns the box to its lane."""
    yaw = box.yaw + across
    return (
        box.x + ahead * math.cos(yaw) - right * math.sin(yaw),
        box.y + ahead * math.sin(yaw) + right * math.cos(yaw),
    )


def _body(kind: str) -> tuple[int, int, int]:
    if "walker" in kind:
        return (120, 90, 60)
    return (150, 60, 40) if "vehicle" in kind else (60, 130, 230)


def pattern(spec: SensorSpec, number: int) -> NDArray[np.uint8]:
    """A picture that encodes the frame number: for tests of every byte."""
    count = spec.height * spec.width * 3
    values = (np.arange(count, dtype=np.uint32) * np.uint32(2654435761)) >> np.uint32(24)
    shifted: NDArray[np.uint8] = (values + number).astype(np.uint8)
    return shifted.reshape(spec.height, spec.width, 3)
