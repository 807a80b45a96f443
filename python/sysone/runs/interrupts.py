"""Signals that ask a run to end, for loops that look now and then."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Interrupts:
    """SIGINT and SIGTERM: the first asks, the second insists."""

    def __init__(self) -> None:
        self.count = 0
        self.number = 0

    @contextmanager
    def caught(self) -> Iterator["Interrupts"]:
        """Count signals instead of ending."""
        before = {
            number: signal.signal(number, self._handle)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        self.count += 1
        self.number = self.number or number
