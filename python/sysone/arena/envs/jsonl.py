"""``arena-env-v1`` over standard input and output: one line in, one line out."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import IO

import msgspec

from sysone.arena.envs.requests import RequestError, Requests, refused

MOST_LINE = 8 << 20
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """A signal came; ``number`` is which."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def signals_end() -> Iterator[None]:
    """Let SIGINT and SIGTERM raise `Stopped`, once; what comes after it does not disturb the
    clean-up.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        for each in _SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    before = {each: signal.signal(each, stop) for each in _SIGNALS}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def serve(requests: Requests, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
    """Answer lines until ``close`` or the end of the input; the pool is the caller's to close."""
    _say(outgoing, msgspec.json.encode(requests.ready()))
    while not requests.closed:
        line = incoming.readline(MOST_LINE + 2)
        if not line:
            return
        if len(line.rstrip(b"\r\n")) > MOST_LINE:
            while line and not line.endswith(b"\n"):
                line = incoming.readline(MOST_LINE)
            error = RequestError("line_too_long", f"a line is longer than {MOST_LINE} bytes")
            _say(outgoing, refused(None, error))
        elif line.strip():
            _say(outgoing, requests.line(line))


def _say(outgoing: IO[bytes], line: bytes) -> None:
    outgoing.write(line + b"\n")
    outgoing.flush()
