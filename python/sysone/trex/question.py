"""What passes between a pilot and those around it: players, questions with answers, crashes."""

from typing import Literal, NamedTuple, Protocol

import msgspec

from sysone.trex.decide import Answer, Timing
from sysone.trex.keys import Action, Held
from sysone.trex.notices import Notice
from sysone_core.trex import Snapshot

CourseStyle = Literal["original", "staged"]
PremiseRule = Literal["reference", "checked"]
"""Which answer that has come and not yet landed a question reckons with: the original harness's
rule is whichever it is; ``checked`` leaves out one that is sure to be discarded when it lands."""
TRACE_FRAMES = 120


class Identity(Protocol):
    """Who plays, for limits and reports."""

    @property
    def name(self) -> str:
        """Display name."""

    @property
    def model(self) -> str:
        """The model that answered last."""

    @property
    def detail(self) -> str:
        """Where it is."""

    @property
    def inflight(self) -> int:
        """Requests at a time."""

    @property
    def usd_per_token(self) -> float:
        """Price of an input token in US dollars."""


class View(msgspec.Struct, frozen=True):
    """A moment that questions may be asked about."""

    frame: int
    snapshot: Snapshot
    run: int
    applied: int
    """Highest question whose answer had landed."""
    epoch: int


class Decision(msgspec.Struct):
    """A question, and its answer once there is one."""

    seq: int
    snapshot: Snapshot
    """What the question is about; the answer that is about to land is pending in it."""
    timing: Timing
    run: int = 0
    view_frame: int = 0
    epoch: int = 0
    sent_s: float = 0.0
    pending: Action | None = None
    pending_seq: int | None = None
    answer: Answer | None = None
    error: str | None = None
    executed: Action | None = None
    """The action to take: the answer's, unless the arrival shield changed it."""
    arrival_intervened: bool = False
    latency_ms: float = 0.0
    latency_frames: int = 0


class Witness(Protocol):
    """Who is told of every frame and of every answer that landed."""

    def played(self, frame: int) -> None:
        """A tick of the arena is over."""

    def landed(self, decision: Decision, frame: int, fate: str) -> None:
        """An answer landed: ``fate`` is ``Applied``, or the notice of why it was dropped."""


class Trace(NamedTuple):
    """One frame of the recent past, for the crash log."""

    frame: int
    trex_y: int
    held: Held
    speed: float
    score: int


class Crash(NamedTuple):
    """What led to the end of a run."""

    frame: int
    snapshot: Snapshot
    timing: Timing
    events: tuple[Notice, ...]
    trace: tuple[Trace, ...]
