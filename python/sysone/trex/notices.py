"""What happened to the answers, in a few words for spectators and for the crash log."""

from collections import deque
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

SHOWN_FRAMES: Final = 60
"""A notice of lower priority waits this long; a discard is hidden after it."""
DISCARD_EVERY_FRAMES: Final = 300
READY: Final = "Ready"


class Notice(NamedTuple):
    """One thing worth a line, and the question it is about, if any."""

    frame: int
    text: str
    seq: int | None = None


@lru_cache(maxsize=64)
def priority(text: str) -> int:
    """2 for what a spectator should see, 1 for discards, 0 for the ordinary course of things."""
    if "discarded" in text:
        return 1
    if text in ("", READY) or text.startswith("Answer →"):
        return 0
    return 2


class Notices:
    """The current notice and the newest 240. ``listener`` hears every one as it comes."""

    def __init__(self, listener: Callable[[Notice], None] | None = None) -> None:
        self.event = READY
        self.event_frame = 0
        self.log: deque[Notice] = deque(maxlen=240)
        self._listener = listener
        self._last_discard: int | None = None

    def note(self, frame: int, text: str, seq: int | None = None) -> None:
        """Log a notice, and show it unless something more important is on show."""
        notice = Notice(frame, text, seq)
        self.log.append(notice)
        if self._listener is not None:
            self._listener(notice)
        rank = priority(text)
        if (
            rank == 1
            and self._last_discard is not None
            and frame - self._last_discard < DISCARD_EVERY_FRAMES
        ):
            return
        if rank < priority(self.event) and frame - self.event_frame < SHOWN_FRAMES:
            return
        self.event, self.event_frame = text, frame
        if rank == 1:
            self._last_discard = frame

    def ready(self) -> None:
        """A new run begins: whatever was on show is over."""
        self.event = READY

    def shown(self, frame: int) -> str:
        """What a spectator sees at ``frame``."""
        if priority(self.event) == 1 and frame - self.event_frame >= SHOWN_FRAMES:
            return ""
        return self.event
