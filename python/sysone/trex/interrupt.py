"""A run that its user ends."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class RunInterrupted(Exception):  # noqa: N818 - an interrupt is no error
    """The keyboard's interrupt, with what was kept of the run as its text."""


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Let a block finish first: an interrupt that comes meanwhile is raised after it.

    A signal mask does not do that. It holds for one thread; the signal then goes to another, and
    Python raises in the main thread all the same. Outside the main thread, where Python raises no
    interrupts, this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True

    before = signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)
