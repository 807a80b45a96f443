"""When System-2 is woken: something new, a gained level, or a stall; within its budget."""

import math
import statistics
from collections import Counter, deque
from typing import Final

from sysone.arc.config import Hybrid
from sysone.arc.observe import Observation

NOVEL, LEVEL, STALL, FAILED = "novel", "level", "stall", "failed"
REASONS: Final = (NOVEL, LEVEL, STALL, FAILED)
PAUSE: Final = 8
"""Actions between a wake and the next one because of a new state."""
TIME_SHARE: Final = 0.95
"""Share of a game's time after which nobody is woken any more."""
CALLS_KEPT: Final = 15
"""Call times of which the median is taken."""


class Breaker:
    """Keeps a failing System-2 from costing time: three failures in a row rest it, ten end it."""

    REST_S = 60.0
    IN_A_ROW = 3
    IN_ALL = 10

    def __init__(self) -> None:
        self.failures = 0
        self._row = 0
        self._rest_until_s = -math.inf

    def closed(self, now_s: float) -> bool:
        """Whether a call may be made."""
        return self.failures < self.IN_ALL and now_s >= self._rest_until_s

    def note(self, failed: bool, now_s: float) -> None:
        """Count a call."""
        self._row = self._row + 1 if failed else 0
        self.failures += failed
        if self._row >= self.IN_A_ROW:
            self._row = 0
            self._rest_until_s = now_s + self.REST_S


class Waker:
    """Counts actions and calls of one game, and says when a call is due and why."""

    def __init__(self, rules: Hybrid | None = None) -> None:
        self.rules = rules or Hybrid()
        self.calls: Counter[str] = Counter()
        """By reason; those that failed are also counted as such."""
        self.breaker = Breaker()
        self._since_wake = math.inf
        self._without_new = 0
        self._level: int | None = None
        """Levels completed at the last wake."""
        self._begun: int | None = None
        """Levels completed at the first observation."""
        self._seen_level: int | None = None
        self._seen: set[int] = set()
        self._seconds: deque[float] = deque(maxlen=CALLS_KEPT)
        self._new = False

    def observe(self, observation: Observation) -> None:
        """Take note of one observation, the first of a game included."""
        key = observation.frame_hash if self.rules.novelty == "raw" else observation.masked_hash
        if self._begun is None:
            self._begun = observation.levels_completed
        if self._seen_level != observation.levels_completed:
            self._seen_level = observation.levels_completed
            self._seen.clear()
        self._new = key not in self._seen
        self._seen.add(key)
        self._since_wake += 1
        self._without_new = 0 if self._new else self._without_new + 1

    def reason(
        self, observation: Observation, now_s: float, left_s: float, novelty: bool = True
    ) -> str | None:
        """Why to wake System-2 now, or None.

        Args:
            observation: the newest, given to `observe` before.
            now_s: of the clock that the breaker rests by.
            left_s: seconds until 95 % of the game's time are used up.
            novelty: whether something new is a reason; a gained level and a stall always are.
        """
        used = sum(self.calls[name] for name in (NOVEL, LEVEL, STALL))
        if used >= self.rules.system2_max_calls_per_game or not self.breaker.closed(now_s):
            return None
        if left_s <= (2 * statistics.median(self._seconds) if self._seconds else 0.0):
            return None
        levels = observation.levels_completed
        before = self._begun if self._level is None else self._level
        if before is not None and levels > before:
            return LEVEL
        if novelty and self._level != levels:
            return NOVEL
        if novelty and self._new and (self.rules.novelty == "raw" or self._since_wake >= PAUSE):
            return NOVEL
        return STALL if self._without_new >= self.rules.stall_patience else None

    def woken(self, reason: str, observation: Observation, seconds: float) -> None:
        """A call was made."""
        self.calls[reason] += 1
        self._seconds.append(seconds)
        self._since_wake = 0
        self._without_new = 0
        self._level = observation.levels_completed

    def failed(self, failed: bool, now_s: float) -> None:
        """Whether it brought anything."""
        self.calls[FAILED] += failed
        self.breaker.note(failed, now_s)
