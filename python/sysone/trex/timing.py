"""When answers land: learnt from the answers that have landed, in frames.

The core's `play_match` has the same rules (``csrc/trex/landing_times.h``, where the numbers are).
"""

from collections import deque
from collections.abc import Sequence

from sysone.trex.decide import Timing
from sysone_core.trex import (
    FRAME_MS,
    GAPS_KEPT,
    GAPS_NEEDED,
    LONGEST_JITTER,
    LONGEST_LATENCY,
    LONGEST_STAGGER,
    LONGEST_WAIT,
    RECENT_ANSWERS,
)


class LandingTimes:
    """Estimates of latency, jitter and rhythm, and the rules that follow from them.

    ``inflight`` is the number of requests at a time, ``lockstep`` the frames played per decision
    while the game waits for the model, or None in real time.
    """

    def __init__(self, inflight: int, lockstep: int | None = None) -> None:
        self.inflight = inflight
        self.lockstep = lockstep
        self.latency_frames: float = 1.0
        self.typical_frames: float = 1.0
        self.interval_frames: float = 1.0
        self.jitter_frames: float = 1.0
        self.observed: deque[int] = deque(maxlen=90)
        self.ask_gaps: deque[int] = deque(maxlen=GAPS_KEPT)
        self._recent: deque[int] = deque(maxlen=RECENT_ANSWERS)
        self._last_landing: int | None = None
        self._stagger_for: float | None = None
        self._stagger = 1

    def start_from(self, samples_ms: Sequence[float]) -> None:
        """First estimates, from the warm-up's times. They stay fractions until an answer lands."""
        ordered = sorted(samples_ms)
        self.latency_frames = int(ordered[0] / FRAME_MS)
        self.typical_frames = ordered[len(ordered) // 2] / FRAME_MS
        self.interval_frames = max(1.0, self.typical_frames)
        self.jitter_frames = max(1.0, ordered[-1] / FRAME_MS + 1 - self.latency_frames)

    def observe(self, latency: int, frame: int) -> None:
        """Learn from an answer that landed at ``frame`` after ``latency`` frames.

        A slower regime is believed at once, a faster one as the slow answers leave the window.
        """
        latency = min(LONGEST_LATENCY, max(0, latency))
        if latency > self.latency_frames + max(4, 2 * self.jitter_frames):
            self.observed.clear()
            self._recent.clear()
        self.observed.append(latency)
        self._recent.append(latency)
        recent = sorted(self._recent)
        count = len(recent)
        self.latency_frames = recent[count // 5]
        self.typical_frames = recent[count // 2]
        self.jitter_frames = min(LONGEST_JITTER, max(1, recent[-1] - self.latency_frames))
        if self._last_landing is not None:
            gap = min(LONGEST_LATENCY, max(1, frame - self._last_landing))
            self.interval_frames += 0.3 * (gap - self.interval_frames)
        self._last_landing = frame

    def forget_run(self) -> None:
        """A new run of the game: its rhythm starts anew, the estimates stay."""
        self.observed.clear()
        self._recent.clear()
        self.ask_gaps.clear()
        self._last_landing = None

    @property
    def stagger(self) -> int:
        """Frames between two questions when several may be in flight."""
        if self._stagger_for != self.typical_frames:
            # Looked at every frame, and new only with an answer.
            share = max(1.0, self.typical_frames) / min(self.inflight, 4)
            self._stagger_for = self.typical_frames
            self._stagger = min(LONGEST_STAGGER, max(1, round(share)))
        return self._stagger

    @property
    def longest_wait(self) -> int:
        """Frames between two questions that the planner must reckon with."""
        if len(self.ask_gaps) >= GAPS_NEEDED:
            ordered = sorted(self.ask_gaps)
            usual = ordered[int(0.95 * (len(ordered) - 1))]
        else:
            usual = 2 * self.stagger
        return min(LONGEST_WAIT, max(self.stagger, usual), 3 * self.stagger + 2)

    def timing(self) -> Timing:
        """What a question asked now is planned for."""
        if self.lockstep is not None:
            return Timing((0, 0), (self.lockstep, self.lockstep), None)
        landing = (self.latency_frames, self.latency_frames + self.jitter_frames)
        return Timing(landing, landing, None if self.inflight == 1 else self.longest_wait)
