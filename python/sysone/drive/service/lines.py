"""Lines out of a byte stream, with the compiled reader or in plain Python."""

from typing import Any, Final

from sysone.drive.service import compiled

MAX_TO_MODEL: Final = 16 << 20


class WireError(ValueError):
    """A line or stream that cannot be used; ``code`` says why."""

    def __init__(self, code: str, message: str, tick: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.tick = code, message, tick


class PlainLineReader:
    """Lines out of a byte stream in plain Python; the same as `sysone_core.frames.LineReader`."""

    def __init__(self, max_bytes: int = MAX_TO_MODEL, chunk: int = 1 << 18) -> None:
        if max_bytes < 1 or chunk < 1:
            raise ValueError("max_bytes and chunk must be positive")
        self.max_bytes = max_bytes
        self.chunk = min(chunk, max_bytes + 1)
        self._buffer = bytearray(self.chunk)
        self._start = self._scanned = self._end = 0

    @property
    def pending(self) -> int:
        """Bytes received that are no whole line yet, or not yet taken."""
        return self._end - self._start

    @property
    def capacity(self) -> int:
        """Size of the buffer."""
        return len(self._buffer)

    def rest(self) -> bytes:
        """A copy of what was received and not taken."""
        return bytes(self._buffer[self._start : self._end])

    def _make_room(self, wanted: int) -> None:
        size, held = len(self._buffer), self._end - self._start
        if size - self._end >= wanted:
            return
        while size < held + wanted:
            size *= 2
        # A new one: lines that were handed out may still look into the old one.
        larger = bytearray(size)
        larger[:held] = self._buffer[self._start : self._end]
        self._buffer = larger
        self._scanned -= self._start
        self._start, self._end = 0, held

    def feed_into(self, receive: Any) -> int:
        """Call ``receive(view)`` (as `socket.recv_into`) once; the bytes it says it wrote."""
        self._make_room(self.chunk)
        with memoryview(self._buffer) as view:
            got: int = receive(view[self._end :])
        if not 0 <= got <= len(self._buffer) - self._end:
            raise ValueError(f"receive says {got} bytes")
        self._end += got
        return got

    def feed(self, data: Any) -> None:
        """Take bytes that were received elsewhere."""
        self._make_room(len(data))
        self._buffer[self._end : self._end + len(data)] = data
        self._end += len(data)

    def next(self) -> Any:
        """The next whole line without its line end, or None."""
        stop = self._buffer.find(b"\n", self._scanned, self._end)
        start = self._start
        if stop < 0:
            self._scanned = self._end
            if self._end - start > self.max_bytes:
                raise WireError("too_large", f"more than {self.max_bytes} bytes without a line end")
            return None
        self._start = self._scanned = stop + 1
        if stop - start > self.max_bytes:
            raise WireError("too_large", f"more than {self.max_bytes} bytes without a line end")
        return memoryview(self._buffer)[start:stop]


def line_reader(max_bytes: int) -> Any:
    """The compiled reader, or the plain one where it is not installed."""
    return (
        PlainLineReader(max_bytes)
        if compiled.frames is None
        else compiled.frames.LineReader(max_bytes)
    )


def next_line(reader: Any) -> Any:
    """The next line of either reader that is not blank, or None.

    Raises:
        WireError: ``too_large``.
    """
    while True:
        try:
            line = reader.next()
        except WireError:
            raise
        except ValueError as error:  # the compiled reader's own error
            raise WireError("too_large", str(error)) from None
        if line is None or bytes(line[:64]).strip() or (len(line) > 64 and bytes(line).strip()):
            return line
