"""Messages between the processes of a match: a length, a kind, a body, over a pair of pipes."""

import os
import select
import struct
from time import monotonic

_HEAD = struct.Struct("<IB")
_KINDS = [bytes([kind]) for kind in range(256)]
MOST_BYTES = 1 << 26


class ClosedError(Exception):
    """The other end is gone."""


class Channel:
    """One end: reads whole messages as they come, writes with a deadline."""

    def __init__(self, reader: int, writer: int) -> None:
        self.reader = reader
        self.writer = writer
        self._buffer = bytearray()
        self._waits = True  # whether a write waits, as it does with a new pipe

    def send(self, kind: bytes, body: bytes = b"") -> None:
        """Write a message; waits as long as it takes.

        Raises:
            ClosedError: nobody reads.
        """
        view = memoryview(_HEAD.pack(len(body), kind[0]) + body)
        try:
            while view:
                view = view[os.write(self.writer, view) :]
        except (BrokenPipeError, ConnectionResetError, OSError) as error:
            raise ClosedError from error

    def send_before(self, deadline: float, kind: bytes, body: bytes = b"") -> bool:
        """Write a message to a reader that may hang; False when the deadline passed first."""
        view = memoryview(_HEAD.pack(len(body), kind[0]) + body)
        try:
            if self._waits:
                os.set_blocking(self.writer, False)
                self._waits = False
            while view:
                # a pipe has room nearly always: it is asked only after it had none
                left = deadline - monotonic()
                if left <= 0:
                    return False
                try:
                    view = view[os.write(self.writer, view) :]
                except BlockingIOError:
                    if not select.select([], [self.writer], [], left)[1]:
                        return False
        except (BrokenPipeError, ConnectionResetError, OSError) as error:
            raise ClosedError from error
        return True

    def receive(self) -> tuple[bytes, bytes]:
        """The next message; waits as long as it takes.

        Raises:
            ClosedError: there will be none.
        """
        while True:
            message = self.pop()
            if message is not None:
                return message
            self.fill()

    def fill(self) -> None:
        """Read what has come; the descriptor must be readable, or this waits."""
        try:
            data = os.read(self.reader, 1 << 18)
        except OSError as error:
            raise ClosedError from error
        if not data:
            raise ClosedError
        self._buffer += data

    def pop(self) -> tuple[bytes, bytes] | None:
        """A whole message that was read, if there is one."""
        if len(self._buffer) < _HEAD.size:
            return None
        size, kind = _HEAD.unpack_from(self._buffer)
        if size > MOST_BYTES:
            raise ClosedError
        end = _HEAD.size + size
        if len(self._buffer) < end:
            return None
        with memoryview(self._buffer) as whole:
            body = bytes(whole[_HEAD.size : end])
        del self._buffer[:end]
        return _KINDS[kind], body

    def close(self) -> None:
        """Close both pipes."""
        for descriptor in (self.reader, self.writer):
            try:
                os.close(descriptor)
            except OSError:
                continue
