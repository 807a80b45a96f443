"""The T-Rex real-time harness's names, on the compiled core.

A harness of that lineage keeps its code and changes where `Game`, `Planner`, `protect` and the rest
are imported from. Snapshots, plans and their parts answer `dataclasses.replace`, `fields` and
`asdict`, as the ones they replace do.
"""

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any, Final, Protocol

from sysone_core import trex as core
from sysone_core.trex import (
    ACTIONS,
    DUCK_LEAD_FRAMES,
    FPS,
    FRAME_MS,
    RESTART_DELAY_MS,
    Obstacle,
    ObstacleView,
    Plan,
    RandomCourse,
    Search,
    Snapshot,
    Spec,
    StagedCourse,
    StaggeredSearch,
    TrexState,
    World,
    end_of_frame,
    enforce,
    impulse_jump,
    js_round,
    jump_step,
    obstacle_step,
    protect,
    snapshot,
    trex_frame,
)

if TYPE_CHECKING:
    from sysone.trex.ask import build_question
    from sysone.trex.backend import ApiBackend
    from sysone.trex.decide import decide, warm
    from sysone.trex.pacer import Pacer
    from sysone.trex.pilot import Pilot
    from sysone.trex.player import RemoteBrain, serve
    from sysone_core._trex import Action

__all__ = [
    "ACCELERATION",
    "ACHIEVEMENT_DISTANCE",
    "ACTIONS",
    "BLINK_TIMING",
    "BOTTOM_PAD",
    "CLEAR_TIME",
    "DISTANCE_COEFFICIENT",
    "DROP_VELOCITY",
    "DUCK_LEAD_FRAMES",
    "FLASH_DURATION",
    "FLASH_ITERATIONS",
    "FPS",
    "FRAME_MS",
    "GAMEOVER_CLEAR_TIME",
    "GAP_COEFFICIENT",
    "GRAVITY",
    "GROUND_Y",
    "HEIGHT",
    "INITIAL_JUMP_VELOCITY",
    "INTRO_DURATION",
    "INTRO_MS",
    "INVERT_DISTANCE",
    "INVERT_FADE_DURATION",
    "MAX_BLINK_COUNT",
    "MAX_DISTANCE_UNITS",
    "MAX_GAP_COEFFICIENT",
    "MAX_JUMP_HEIGHT",
    "MAX_OBSTACLE_DUPLICATION",
    "MAX_OBSTACLE_LENGTH",
    "MAX_SPEED",
    "MIN_JUMP_HEIGHT",
    "MIN_JUMP_Y",
    "RESTART_DELAY_MS",
    "RESTART_FRAMES",
    "RESTART_LOGO_PAUSE",
    "SPEED",
    "SPEED_DROP_COEFFICIENT",
    "START_X",
    "TREX_HEIGHT",
    "TREX_WIDTH",
    "TREX_WIDTH_DUCK",
    "WIDTH",
    "ApiBackend",
    "Game",
    "Obstacle",
    "ObstacleView",
    "Pacer",
    "Pilot",
    "Plan",
    "Planner",
    "RandomCourse",
    "RemoteBrain",
    "Search",
    "Snapshot",
    "Spec",
    "StagedCourse",
    "StaggeredSearch",
    "TrexState",
    "World",
    "build_question",
    "check_collision",
    "decide",
    "end_of_frame",
    "enforce",
    "impulse_jump",
    "js_round",
    "jump_step",
    "obstacle_step",
    "protect",
    "serve",
    "snapshot",
    "trex_frame",
    "warm",
]

# The game's constants by their upper-case names: canvas pixels, pixels per frame, milliseconds.
WIDTH: Final = 600
HEIGHT: Final = 150
SPEED: Final = 6
ACCELERATION: Final = 0.001
MAX_SPEED: Final = 13
GAP_COEFFICIENT: Final = 0.6
MAX_GAP_COEFFICIENT: Final = 1.5
CLEAR_TIME: Final = 3000
MAX_OBSTACLE_LENGTH: Final = 3
MAX_OBSTACLE_DUPLICATION: Final = 2
BOTTOM_PAD: Final = 10
INVERT_DISTANCE: Final = 700
INVERT_FADE_DURATION: Final = 12000
DISTANCE_COEFFICIENT: Final = 0.025
FLASH_DURATION: Final = 250
FLASH_ITERATIONS: Final = 3
GAMEOVER_CLEAR_TIME: Final = 1200
TREX_WIDTH: Final = 44
TREX_HEIGHT: Final = 47
TREX_WIDTH_DUCK: Final = 59
START_X: Final = 50
INTRO_DURATION: Final = 1500
INTRO_MS: Final = 400
GRAVITY: Final = 0.6
INITIAL_JUMP_VELOCITY: Final = -10
DROP_VELOCITY: Final = -5
MIN_JUMP_HEIGHT: Final = 30
MAX_JUMP_HEIGHT: Final = 30
SPEED_DROP_COEFFICIENT: Final = 3
GROUND_Y: Final = HEIGHT - TREX_HEIGHT - BOTTOM_PAD
MIN_JUMP_Y: Final = GROUND_Y - MIN_JUMP_HEIGHT
BLINK_TIMING: Final = 7000
MAX_BLINK_COUNT: Final = 3
ACHIEVEMENT_DISTANCE: Final = 100
MAX_DISTANCE_UNITS: Final = 5
RESTART_LOGO_PAUSE: Final = 875
RESTART_FRAMES: Final = 8


class _Dinosaur(Protocol):
    @property
    def x(self) -> int: ...
    @property
    def y(self) -> int: ...
    @property
    def ducking(self) -> bool: ...


class Dino:
    """The dinosaur of a `Game`, always as it is now."""

    def __init__(self, game: core.Game) -> None:
        self._game = game

    @property
    def x(self) -> int:
        """Left edge in pixels."""
        return self._game.trex_x

    @property
    def y(self) -> int:
        """Top edge in pixels, growing downwards; 93 on the ground."""
        return self._game.trex_y

    @property
    def velocity(self) -> float:
        """Pixels per frame."""
        return self._game.velocity

    @property
    def jumping(self) -> bool:
        """In the air."""
        return self._game.jumping

    @property
    def ducking(self) -> bool:
        """On the ground, ducked."""
        return self._game.ducking

    @property
    def speed_drop(self) -> bool:
        """Falling fast."""
        return self._game.speed_drop

    @property
    def reached_min_height(self) -> bool:
        """High enough for the jump to be cut short; kept after landing."""
        return self._game.reached_min_height

    @property
    def jump_count(self) -> int:
        """1 after a landing, else 0."""
        return self._game.jump_count

    @property
    def status(self) -> str:
        """Animation: waiting, running, jumping, ducking or crashed."""
        return self._game.status


class Game(core.Game):
    """The compiled game with its dinosaur as ``trex``."""

    @property
    def trex(self) -> Dino:
        """The dinosaur, as it is now."""
        return Dino(self)


class Planner(core.Planner):
    """The compiled planner, with the recommendation alone too."""

    def recommend(
        self,
        snap: Snapshot,
        first: tuple[float, float],
        gap: tuple[float, float],
        period: float | None = None,
    ) -> "Action":
        """The best action of `plan` for the same arguments."""
        return self.plan(snap, first, gap, period).best


def check_collision(trex: _Dinosaur, obstacle: Obstacle | ObstacleView) -> bool:
    """Whether the dinosaur hits the obstacle: outer boxes first, then every pair of inner ones."""
    return core.check_collision(trex.x, trex.y, trex.ducking, obstacle)


# Served by the layers above, loaded when they are first asked for.
_LAYERS = {
    "ApiBackend": ("sysone.trex.backend", "ApiBackend"),
    "build_question": ("sysone.trex.ask", "build_question"),
    "decide": ("sysone.trex.decide", "decide"),
    "warm": ("sysone.trex.decide", "warm"),
    "Pacer": ("sysone.trex.pacer", "Pacer"),
    "Pilot": ("sysone.trex.pilot", "Pilot"),
    "RemoteBrain": ("sysone.trex.player", "RemoteBrain"),
    "serve": ("sysone.trex.player", "serve"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAYERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _LAYERS[name]
    return getattr(importlib.import_module(module), attribute)


def _answer_dataclasses(kind: type, names: tuple[str, ...]) -> None:
    """Make ``dataclasses`` functions take values of a compiled class."""
    template = dataclasses.make_dataclass(kind.__name__, names)
    kind.__dataclass_fields__ = template.__dataclass_fields__  # type: ignore[attr-defined]


_answer_dataclasses(
    TrexState,
    ("y", "velocity", "jumping", "ducking", "speed_drop", "reached_min_height", "status"),
)
_answer_dataclasses(
    ObstacleView, ("id", "label", "bird", "x", "y", "width", "height", "offset", "boxes")
)
_answer_dataclasses(
    Snapshot, ("trex", "trex_x", "speed", "obstacles", "held", "playing", "pending")
)
_answer_dataclasses(
    Plan,
    (
        "safe",
        "best",
        "airborne",
        "threat",
        "ahead",
        "distance",
        "eta_ms",
        "notes",
        "states",
        "robust",
        "subjects",
    ),
)
