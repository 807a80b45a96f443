from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

Action = Literal["jump", "duck", "run"]
Held = Literal["run", "duck"]
Status = Literal["run", "jump", "duck"]
Kind = Literal["cactusSmall", "cactusLarge", "pterodactyl"]
Box = tuple[int, int, int, int]

ACTIONS: Final[tuple[Action, Action, Action]]
FPS: Final[int]
FRAME_MS: Final[float]
RESTART_DELAY_MS: Final[int]
DUCK_LEAD_FRAMES: Final[int]
RECENT_ANSWERS: Final[int]
LONGEST_LATENCY: Final[int]
LONGEST_JITTER: Final[int]
LONGEST_STAGGER: Final[int]
LONGEST_WAIT: Final[int]
GAPS_KEPT: Final[int]
GAPS_NEEDED: Final[int]
FINISHED_KEPT: Final[int]
DROPPED_KEPT: Final[int]
ACCEPTED_KEPT: Final[int]

class RandomStream:
    """The stream of CPython's ``random.Random(text)`` (seeding version 2)."""

    def __init__(self, text: str) -> None: ...
    def random(self) -> float:
        """The next double in [0, 1), bit-equal to CPython's."""

class Spec:
    """What a course asks for at one place: an obstacle's kind, size, height and gap."""

    def __init__(
        self,
        kind: Kind,
        size: int = 1,
        y: int = 0,
        gap: float = 0.5,
        faster: bool = False,
        source: str = "random",
    ) -> None: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def size(self) -> int: ...
    @property
    def y(self) -> int: ...
    @property
    def gap(self) -> float: ...
    @property
    def faster(self) -> bool: ...
    @property
    def source(self) -> str: ...
    def __eq__(self, other: object) -> bool: ...

class Course:
    """A deterministic source of obstacles; see `RandomCourse` and `StagedCourse`."""

    @property
    def seed(self) -> int: ...
    @property
    def style(self) -> Literal["original", "staged"]: ...
    def spec(self, game: Game, index: int, source: str = "random") -> Spec: ...

class RandomCourse(Course):
    """The original style: every obstacle drawn from its own stream."""

    def __init__(self, seed: int) -> None: ...

class StagedCourse(Course):
    """The staged style: the original draws, shaped by phase."""

    def __init__(self, seed: int) -> None: ...

def course_spec(
    style: Literal["original", "staged"],
    seed: int,
    run_index: int,
    index: int,
    speed: float,
    history: Sequence[Kind] = ...,
) -> Spec:
    """The spec of one place without a game; ``history`` is most recent first, at most two."""

def phase_name(index: int, speed: float) -> str:
    """The staged course's phase for an obstacle index and a speed in pixels per frame."""

class Obstacle:
    """One obstacle of a running game (a copy: the game keeps its own)."""

    def __init__(self, spec: Spec, speed: float, id: int = 1) -> None: ...
    @property
    def id(self) -> int: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def label(self) -> str: ...
    @property
    def bird(self) -> bool: ...
    @property
    def x(self) -> int: ...
    @property
    def y(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def speed_offset(self) -> float: ...
    @property
    def gap(self) -> int: ...
    @property
    def boxes(self) -> list[Box]: ...
    @property
    def frame(self) -> int: ...
    @property
    def following_created(self) -> bool: ...

class Game:
    """One game at 60 frames a second. Positions in canvas pixels, speeds in pixels per frame.

    ``course`` is a style name (the seed is then ``seed``) or a `Course`. Without ``scenery`` the
    cosmetic stream (clouds, stars, ground texture, blinking) is left out; nothing else changes.
    """

    def __init__(
        self,
        seed: int = 0,
        course: Course | Literal["original", "staged"] = "original",
        *,
        invincible: bool = False,
        scenery: bool = True,
    ) -> None: ...
    # inputs, each callable at any time between steps
    def press_jump(self) -> None: ...
    def press_duck(self) -> None: ...
    def release_duck(self) -> None: ...
    def restart(self) -> None: ...
    def step(self, frames: int = 1) -> None:
        """Advance by whole frames of 1000/60 ms."""
    def drain_events(self) -> list[str]:
        """The sound events (press, score, hit) since the last call, and forget them."""
    # the game
    @property
    def seed(self) -> int: ...
    @property
    def course(self) -> Course: ...
    @property
    def invincible(self) -> bool: ...
    @property
    def playing(self) -> bool: ...
    @property
    def crashed(self) -> bool: ...
    @property
    def paused(self) -> bool: ...
    @property
    def activated(self) -> bool: ...
    @property
    def playing_intro(self) -> bool: ...
    @property
    def intro_ms(self) -> float: ...
    @property
    def crash_ms(self) -> float: ...
    @property
    def speed(self) -> float: ...
    @property
    def distance(self) -> float: ...
    @property
    def running_time(self) -> float:
        """Milliseconds since the run began to count."""
    @property
    def score(self) -> int: ...
    @property
    def shown_score(self) -> int: ...
    @property
    def score_visible(self) -> bool: ...
    @property
    def achievement(self) -> bool: ...
    @property
    def high_score(self) -> int:
        """The longest distance of a crashed run, in pixels rounded up (not points)."""
    @property
    def deaths(self) -> int: ...
    @property
    def run_index(self) -> int: ...
    @property
    def obstacle_index(self) -> int: ...
    @property
    def history(self) -> list[Kind]: ...
    @property
    def obstacles(self) -> list[Obstacle]: ...
    @property
    def inverted(self) -> bool: ...
    @property
    def reveal(self) -> float:
        """Visible canvas width in pixels."""
    # the dinosaur
    @property
    def trex_x(self) -> int: ...
    @property
    def trex_y(self) -> int: ...
    @property
    def velocity(self) -> float: ...
    @property
    def jumping(self) -> bool: ...
    @property
    def ducking(self) -> bool: ...
    @property
    def speed_drop(self) -> bool: ...
    @property
    def reached_min_height(self) -> bool: ...
    @property
    def jump_count(self) -> int: ...
    @property
    def status(self) -> Literal["waiting", "running", "jumping", "ducking", "crashed"]: ...
    @property
    def scenery(self) -> dict[str, object]:
        """The cosmetic state for drawing: clouds, ground, night, blink, sprite."""
    def packed_record(self) -> bytes:
        """The physics state as little-endian bytes, for checksums over whole runs."""
    def advance_checksum(self, calls: Mapping[int, str], frames: int, every: int) -> list[int]:
        """Play ``frames`` frames with key letters (J, D, U, R) before the frames of ``calls``.

        Returns the FNV-1a-64 checksum over all packed records after each ``every`` frames.
        """

class TrexState:
    """The dinosaur as the planner sees it (a value, comparable and hashable)."""

    def __init__(
        self,
        y: int = 93,
        velocity: float = 0.0,
        jumping: bool = False,
        ducking: bool = False,
        speed_drop: bool = False,
        reached_min_height: bool = False,
        status: Status = "run",
    ) -> None: ...
    @property
    def y(self) -> int: ...
    @property
    def velocity(self) -> float: ...
    @property
    def jumping(self) -> bool: ...
    @property
    def ducking(self) -> bool: ...
    @property
    def speed_drop(self) -> bool: ...
    @property
    def reached_min_height(self) -> bool: ...
    @property
    def status(self) -> Status: ...
    def astuple(self) -> tuple[int, float, bool, bool, bool, bool, Status]: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class ObstacleView:
    """One obstacle of a snapshot (a value)."""

    def __init__(
        self,
        id: int,
        label: str,
        bird: bool,
        x: int,
        y: int,
        width: int,
        height: int,
        offset: float,
        boxes: Sequence[Box],
    ) -> None: ...
    @property
    def id(self) -> int: ...
    @property
    def label(self) -> str: ...
    @property
    def bird(self) -> bool: ...
    @property
    def x(self) -> int: ...
    @property
    def y(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def offset(self) -> float: ...
    @property
    def boxes(self) -> list[Box]: ...
    def __eq__(self, other: object) -> bool: ...

class Snapshot:
    """Everything the planner and the shield may know of one moment (immutable, picklable)."""

    def __init__(
        self,
        trex: TrexState,
        trex_x: int,
        speed: float,
        obstacles: Sequence[ObstacleView],
        held: Held = "run",
        playing: bool = True,
        pending: Action | None = None,
    ) -> None: ...
    @property
    def trex(self) -> TrexState: ...
    @property
    def trex_x(self) -> int: ...
    @property
    def speed(self) -> float: ...
    @property
    def obstacles(self) -> list[ObstacleView]: ...
    @property
    def held(self) -> Held: ...
    @property
    def playing(self) -> bool: ...
    @property
    def pending(self) -> Action | None: ...
    def with_pending(self, pending: Action | None) -> Snapshot:
        """The same moment with another pending answer."""
    def __eq__(self, other: object) -> bool: ...

def snapshot(game: Game, held: Held = "run", pending: Action | None = None) -> Snapshot:
    """The obstacles on screen (x < 600, in list order) and the dinosaur, at this moment."""

class Plan:
    """What the planner proved for one landing window; mappings are in `ACTIONS` order."""

    @property
    def safe(self) -> dict[Action, bool]: ...
    @property
    def best(self) -> Action: ...
    @property
    def airborne(self) -> bool: ...
    @property
    def threat(self) -> str | None: ...
    @property
    def ahead(self) -> str | None: ...
    @property
    def distance(self) -> int | None:
        """Pixels from the dinosaur's front to the obstacle ahead when the answer lands."""
    @property
    def eta_ms(self) -> float | None: ...
    @property
    def notes(self) -> dict[Action, str]: ...
    @property
    def states(self) -> int:
        """Memo entries of the main search."""
    @property
    def robust(self) -> bool:
        """False when no action is proven safe and the labels are best effort."""
    @property
    def subjects(self) -> tuple[int | None, int | None]:
        """Ids of the threat and of the obstacle ahead."""
    @property
    def safe_actions(self) -> list[Action]: ...
    def __eq__(self, other: object) -> bool: ...

class Planner:
    """Proves which keys are safe to hold or press when a late answer lands."""

    def __init__(self, max_horizon: int = 150) -> None: ...
    @property
    def max_horizon(self) -> int: ...
    def horizon(self, snap: Snapshot) -> int:
        """Frames until everything on screen is passed, 12 to ``max_horizon``."""
    def plan(
        self,
        snap: Snapshot,
        first: tuple[float, float],
        gap: tuple[float, float],
        period: float | None = None,
    ) -> Plan:
        """Plan for an answer that lands within ``first`` frames of the snapshot.

        ``gap`` bounds the frames from one answer to the next. With a ``period`` (longest wait
        between questions, frames) several requests are in flight; else one.
        """

class World:
    """Where every obstacle will be: look-ahead tables for frames 1 to ``horizon``."""

    def __init__(self, snap: Snapshot, horizon: int) -> None: ...
    @property
    def horizon(self) -> int: ...
    @property
    def birds(self) -> bool: ...
    @property
    def passed(self) -> dict[int, int]:
        """Obstacle id to the first frame at which it is behind the dinosaur."""
    def speed(self, frame: int) -> float: ...
    def first(self, frame: int) -> tuple[int, int] | None:
        """Id and x of the front obstacle at a frame, or None."""
    def hit(self, frame: int, y: int, ducking: bool) -> bool: ...

class Search:
    """Safety with one request in flight: ``gap`` frames from one answer to the next."""

    def __init__(self, world: World, gap: tuple[int, int], horizon: int) -> None: ...
    def run_frames(
        self, state: TrexState, action: Held, start: int, count: int
    ) -> TrexState | None: ...
    def press(self, state: TrexState, action: Action, frame: int) -> TrexState: ...
    def lands(
        self,
        state: TrexState,
        held: Held,
        action: Action,
        t: int,
        lo: int,
        hi: int,
        lock: tuple[Action, int] | None = None,
    ) -> bool: ...
    @property
    def states(self) -> int: ...

class StaggeredSearch(Search):
    """Safety with several requests in flight, one asked at least every ``period`` frames."""

    def __init__(self, world: World, gap: tuple[int, int], horizon: int, period: int) -> None: ...

def protect(snap: Snapshot, action: Action, urgent: int = 12, horizon: int = 42) -> Action:
    """The live shield: the action itself when it survives, else one that does."""

def play_batch(
    seeds: Sequence[int],
    policy: str,
    threads: int,
    frames: int,
    frames_per_decision: int,
    course: str,
    shield: bool,
    plans: bool,
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], list[Plan] | None]:
    """Columns of games and decisions, and the plans if asked for."""

class Match:
    """A match that was played on the simulated clock."""

    @property
    def game(self) -> Game:
        """As it was after the last frame (a copy)."""

    @property
    def frames(self) -> int:
        """Of the match; in lockstep more than the game's."""

    @property
    def finished_scores(self) -> list[int]:
        """Of the runs that ended."""

    @property
    def decisions(self) -> int:
        """Answers that were applied."""

    @property
    def agreed(self) -> int:
        """Of those, the proposals that were the planner's best."""

    @property
    def best_effort(self) -> int:
        """Of those, to questions with no action proven safe."""

    @property
    def discarded(self) -> int:
        """Answers that came too late."""

    @property
    def shield_interventions(self) -> int: ...
    @property
    def arrival_saves(self) -> int: ...
    @property
    def emergency_saves(self) -> int: ...

def play_match(
    seed: int,
    policy: Literal["planner_best", "random_safe", "random", "hold"],
    latencies_ms: NDArray[np.float64],
    warm_ms: NDArray[np.float64],
    *,
    frames: int = 3600,
    inflight: int = 1,
    guarded: bool = True,
    course: Literal["original", "staged"] = "original",
    lockstep: int | None = None,
    checked_premise: bool = False,
) -> Match:
    """Play a seed of a policy whose answers come late, on the simulated clock.

    ``latencies_ms`` (N,) are the times from question to answer in the order of the questions;
    ``2 * frames + 4`` always suffice. ``warm_ms`` (at least one) are those of a warm-up, from which
    the first estimates are made. ``inflight`` requests are under way at a time, in lockstep one.
    ``guarded`` turns the three shields on. Random policies draw from CPython's streams
    ``Random(f"random_safe-{seed}")`` and ``Random(f"random-{seed}")``; ``hold`` never asks. The
    rules are those of `sysone.trex`, and so is every count. The GIL is released.

    Raises:
        ValueError: names the argument, its value and what was expected.
    """

def js_round(value: float) -> int: ...
def obstacle_step(speed: float, offset: float = 0.0) -> int:
    """Whole pixels an obstacle moves in one frame."""

def jump_step(
    y: int, velocity: float, speed_drop: bool, ms_per_frame: float, dt: float = ...
) -> tuple[int, float, bool, bool]:
    """One frame of a jump: new y, new velocity, reached the minimum height, ended."""

def check_collision(
    trex_x: int, trex_y: int, ducking: bool, obstacle: Obstacle | ObstacleView
) -> bool: ...
def enforce(state: TrexState, held: Held) -> TrexState: ...
def impulse_jump(state: TrexState, speed: float) -> TrexState: ...
def trex_frame(state: TrexState) -> TrexState: ...
def end_of_frame(state: TrexState) -> TrexState: ...
