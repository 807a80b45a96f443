"""Wall time cut into frames of the game."""

from collections.abc import Callable

from sysone_core.trex import FRAME_MS

MOST_AT_ONCE = 3


class Pacer:
    """How many frames are due. Time that was missed is dropped and counted, never replayed.

    ``clock`` gives monotonic seconds; at most ``limit`` frames are due at once.
    """

    def __init__(self, clock: Callable[[], float], limit: int = MOST_AT_ONCE) -> None:
        self.limit = limit
        self.owed_ms = 0.0
        self.dropped_ms = 0.0
        self._clock = clock
        self._last_s = clock()

    def frames(self, paused: bool = False) -> int:
        """Frames due since the last call; paused time is not owed."""
        now_s = self._clock()
        if not paused:
            self.owed_ms += (now_s - self._last_s) * 1000
        self._last_s = now_s
        steps = int(self.owed_ms // FRAME_MS)
        self.owed_ms -= steps * FRAME_MS
        if steps > self.limit:
            self.dropped_ms += (steps - self.limit) * FRAME_MS
            steps = self.limit
        return steps

    def late_ms(self, later: int) -> float:
        """How long ago a frame's slot began that is due with ``later`` newer ones."""
        return self.owed_ms + later * FRAME_MS + (self._clock() - self._last_s) * 1000
