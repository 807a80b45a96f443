from collections.abc import Sequence
from typing import Any, Final

VERSION: Final[str]
SOURCES_SHA256: Final[str]
TICKS_PER_SECOND: Final[int]

class RulesError(ValueError):
    """Rules or line-ups that the core cannot play."""

OWN_COLUMNS: Final[int]
MATE_COLUMNS: Final[int]
ENEMY_COLUMNS: Final[int]
GLOBAL_COLUMNS: Final[int]
ORDERS: Final[int]

def isqrt(value: int) -> int:
    """Floor of the square root of a 64-bit number."""

def sine(angle: int) -> int:
    """Sine times 2^30 of an angle in 1/2^20 turn."""

def cosine(angle: int) -> int:
    """Cosine times 2^30 of an angle in 1/2^20 turn."""

def atan2(y: int, x: int) -> int:
    """The angle of (x, y) in 1/2^20 turn."""

def philox(counter: Sequence[int], key: Sequence[int]) -> list[int]:
    """Philox4x32-10 of four counter and two key words."""

def xxh64(data: bytes, seed: int = 0) -> int:
    """XXH64."""

def state_fields() -> list[tuple[str, str, int, str]]:
    """Group, name, number of words and meaning of every word of the state, in order."""

class Rules:
    """Settings, models and field of a season, rasterised."""

    def __init__(self, json: str) -> None: ...
    @property
    def season(self) -> str: ...
    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of cells of 50 mm."""
    def ground(self) -> bytes:
        """Ground height of each cell: int16, mm."""
    def top(self) -> bytes:
        """Height of ground and solids of each cell: int16, mm."""
    def gates(self) -> bytes:
        """Gate of each cell: uint8, 0 for none."""
    def rough(self) -> bytes:
        """Speed of each cell: uint8, percent."""
    def zones(self) -> bytes:
        """Zone bits of each cell: int32."""
    def blocked(self, model: int) -> bytes:
        """Whether each cell is blocked for a model's body: uint8."""
    def flow(self, model: int, x_mm: int, y_mm: int) -> bytes:
        """Cost of the way from each cell to a goal: uint16, 5 a side, 65535 unreachable."""

class Simulator:
    """One match.

    Teams are 0 (red) and 1 (blue). A side that gave no action for a decision holds.
    """

    def __init__(
        self,
        rules: Rules,
        red: Sequence[tuple[int, int]],
        blue: Sequence[tuple[int, int]],
        seed: int,
        duration_ticks: int,
        deck: bool = False,
    ) -> None: ...
    def reset(self, seed: int, scenario: str = "") -> tuple[str, str, str] | None:
        """Start anew; None, or code, path and message of what is wrong with the scenario."""
    def act(self, team: int, text: str | bytes, slot: int = 0) -> tuple[str, str] | None:
        """Give the next decision's action; None, or code and path of its error."""
    def drop_actions(self) -> None:
        """Forget the actions given for the next decision."""
    def score(self) -> tuple[int, int]:
        """The attack damage of red and blue."""
    def advance(self, ticks: int) -> int:
        """Run an even number of ticks; returns those done before the end."""
    def observe(self, team: int, slot: int = 0) -> bytes:
        """The observation's JSON; with a slot that of a robot's own strategy."""
    def events_json(self) -> str:
        """The events of the last advance, a JSON list."""
    def frame(self) -> bytes:
        """The replay's keyframe: int32 words, nine a robot and nine a team."""
    def shots(self) -> bytes:
        """The shots that ended in the last advance (when recording): int32 [n][8]."""
    def digests(self) -> bytes:
        """The tick digests of the last advance: uint64, little-endian."""
    def canon(self) -> bytes:
        """The canonical encoding of the state."""
    def state_json(self) -> str:
        """The full state."""
    def seed_hint(self, team: int) -> int:
        """The number that a side's strategies are given for their own random choices."""
    def record(self, on: bool) -> None:
        """Keep shots."""
    def use_digests(self, on: bool) -> None:
        """Make tick digests; on at first."""
    @property
    def tick_digest(self) -> int: ...
    @property
    def tick(self) -> int: ...
    @property
    def ended(self) -> bool: ...
    @property
    def winner(self) -> int:
        """-1 none, 0 red, 1 blue."""
    @property
    def reason(self) -> str: ...

class SimBatch:
    """Many matches on threads, over arrays of the caller."""

    def __init__(
        self,
        rules: Rules,
        red: Sequence[tuple[int, int]],
        blue: Sequence[tuple[int, int]],
        arrays: dict[str, Any],
        *,
        envs: int,
        threads: int,
        rows: int,
        duration_ticks: int,
        deck: bool,
        action_repeat: int,
        max_steps: int,
        score: bool,
        score_scale: float,
        autoreset: str,
        digests: bool,
        bots: tuple[str, str],
        driven: tuple[bool, bool],
        scenario: str,
    ) -> None: ...
    def reset(self, envs: Sequence[int]) -> None:
        """Begin episodes with the seeds in their array."""
    def step(self) -> None:
        """Advance every environment that is not over."""
    def digests(self, env: int, last: bool = False) -> bytes:
        """The tick digests of an environment's episode, or of the one before it: uint64."""
    def observe(self, env: int, team: int) -> bytes:
        """The observation's JSON."""
    def can(self, team: int, row: int, order: int) -> bool:
        """Whether a row's robot is of a kind that can do this."""

def seccomp_filter() -> bytes:
    """The BPF program that strategies are held by; empty where there is none."""
