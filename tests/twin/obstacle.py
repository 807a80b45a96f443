"""Obstacle kinds, obstacles, and the boxes that collide, in plain Python."""

from dataclasses import dataclass
from math import floor
from typing import NamedTuple

FRAME_MS = 1000 / 60
WIDTH = 600
GAP_COEFFICIENT = 0.6
MAX_GAP_COEFFICIENT = 1.5

Box = tuple[int, int, int, int]  # x, y, width, height


class Kind(NamedTuple):
    name: str
    width: int
    height: int
    ys: tuple[int, ...]
    multiple_speed: float
    min_gap: int
    min_speed: float
    speed_offset: float
    boxes: tuple[Box, ...]


CACTUS_SMALL = Kind(
    "cactusSmall", 17, 35, (105,), 4, 120, 0, 0.0, ((0, 7, 5, 27), (4, 0, 6, 34), (10, 4, 7, 14))
)
CACTUS_LARGE = Kind(
    "cactusLarge", 25, 50, (90,), 7, 120, 0, 0.0, ((0, 12, 7, 38), (8, 0, 7, 49), (13, 10, 10, 38))
)
PTERODACTYL = Kind(
    "pterodactyl",
    46,
    40,
    (100, 75, 50),
    999,
    150,
    8.5,
    0.8,
    ((15, 15, 16, 5), (18, 21, 24, 6), (2, 14, 4, 3), (6, 10, 4, 7), (10, 8, 6, 9)),
)
KINDS = {kind.name: kind for kind in (CACTUS_SMALL, CACTUS_LARGE, PTERODACTYL)}
BIRD_LABELS = {100: "low bird", 75: "bird at head height", 50: "high bird"}

STANDING_BOXES: tuple[Box, ...] = (
    (22, 0, 17, 16),
    (1, 18, 30, 9),
    (10, 35, 14, 8),
    (1, 24, 29, 5),
    (5, 30, 21, 4),
    (9, 34, 15, 4),
)
DUCKING_BOXES: tuple[Box, ...] = ((1, 18, 55, 25),)


class Spec(NamedTuple):
    kind: str
    size: int = 1
    y: int = 0
    gap: float = 0.5
    faster: bool = False
    source: str = "random"


def js_round(value: float) -> int:
    """JavaScript's rounding: halves go up."""
    return floor(value + 0.5)


def obstacle_step(speed: float, offset: float = 0.0, dt: float = FRAME_MS) -> int:
    return floor(((speed + offset) * 60 / 1000) * dt)


@dataclass
class Obstacle:
    id: int
    kind: str
    label: str
    bird: bool
    x: int
    y: int
    size: int
    width: int
    height: int
    offset: float
    gap: int
    boxes: tuple[Box, ...]
    frame: int = 0
    timer: float = 0.0
    following_created: bool = False
    removed: bool = False

    def move(self, speed: float, dt: float) -> None:
        self.x -= obstacle_step(speed, self.offset, dt)
        if self.bird:
            self.timer += dt
            if self.timer >= 1000 / 6:
                self.frame = 1 - self.frame
                self.timer = 0.0
        self.removed = self.x + self.width <= 0


def make_obstacle(spec: Spec, speed: float, number: int = 1) -> Obstacle:
    kind = KINDS[spec.kind]
    size = 1 if spec.size > 1 and kind.multiple_speed > speed else spec.size
    width = kind.width * size
    y = spec.y if spec.y in kind.ys else kind.ys[0]
    boxes = kind.boxes
    if size > 1:
        # A group is one obstacle: its middle box spans what the outer two leave.
        left, middle, right = boxes
        middle = (middle[0], middle[1], width - left[2] - right[2], middle[3])
        right = (width - right[2], right[1], right[2], right[3])
        boxes = (left, middle, right)
    bird = kind is PTERODACTYL
    if bird:
        label = BIRD_LABELS[y]
    else:
        name = "small" if kind is CACTUS_SMALL else "large"
        label = f"{name} cactus" if size == 1 else f"{size} {name} cacti"
    min_gap = js_round(width * speed + kind.min_gap * GAP_COEFFICIENT)
    span = js_round(min_gap * MAX_GAP_COEFFICIENT) - min_gap
    return Obstacle(
        id=number,
        kind=kind.name,
        label=label,
        bird=bird,
        x=WIDTH + kind.width,
        y=y,
        size=size,
        width=width,
        height=kind.height,
        offset=kind.speed_offset if spec.faster else -kind.speed_offset if bird else 0.0,
        gap=min_gap + min(floor(spec.gap * (span + 1)), span),
        boxes=boxes,
    )


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[0] + b[2] and a[0] + a[2] > b[0] and a[1] < b[1] + b[3] and a[1] + a[3] > b[1]


def collides(
    trex_x: int,
    trex_y: int,
    ducking: bool,
    x: int,
    y: int,
    width: int,
    height: int,
    boxes: tuple[Box, ...],
) -> bool:
    """Whether the dinosaur touches an obstacle; the outer box is the standing one in any pose."""
    trex = (trex_x + 1, trex_y + 1, 42, 45)
    outer = (x + 1, y + 1, width - 2, height - 2)
    if not overlap(trex, outer):
        return False
    return any(
        overlap(
            (trex[0] + a[0], trex[1] + a[1], a[2], a[3]),
            (outer[0] + b[0], outer[1] + b[1], b[2], b[3]),
        )
        for a in (DUCKING_BOXES if ducking else STANDING_BOXES)
        for b in boxes
    )
