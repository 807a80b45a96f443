"""A run that its user ends."""

import signal
import threading
from collections.abc import Callable, Iterator
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


@contextmanager
def interrupts_kept() -> Iterator[Callable[[], None]]:
    """Make sure that an interrupt ends the block: gives a check that raises it again.

    Python drops what is raised while it runs a finaliser or a weak reference's callback, with a
    note on stderr; an interrupt that comes just then is lost, and the run would go on. Where
    interrupts are handled in another way already, or outside the main thread, the check does
    nothing.
    """
    came = False

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield check
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
