"""Reading a request's body: bounded in size and time, whatever its transfer encoding."""

import asyncio
import sys
import zlib
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from starlette.types import Message, Receive, Scope

from sysone.systemone.questions import Fault, RequestError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


# What is smaller does not count: it is no more than a connection's own buffers.
LARGE_BODY_BYTES = 64 << 10


class BodyError(Exception):
    """The body cannot be had; ``status`` and ``error_type`` are the reply's."""

    def __init__(self, status: int, error_type: str, message: str) -> None:
        """Keep what the reply needs."""
        super().__init__(message)
        self.status = status
        self.error_type = error_type


class DisconnectedError(Exception):
    """The client is gone; nobody waits for a reply."""


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """The first header of that lower-case name."""
    return next((value for key, value in headers if key == name), None)


class BodyReader:
    """Reads bodies of at most ``limit`` bytes that arrive within ``timeout_s``.

    One timer looks after all requests that wait for their bodies: a timer for each would cost
    more than everything else that is done for a body that is there already.
    """

    def __init__(self, limit: int, timeout_s: float, held_limit: int) -> None:
        """Nothing runs before the first request; ``held_limit`` is for all large bodies."""
        self._limit = limit
        self._held_limit = max(held_limit, 2 * limit)
        self._held = 0
        self._timeout_s = timeout_s
        self._waiting: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def read(self, scope: Scope, receive: Receive) -> bytes | bytearray:
        """The whole decoded body; give it to `release` when it is done with.

        Raises `BodyError`, `RequestError` for broken compression, and `DisconnectedError`.
        """
        task = asyncio.current_task()
        assert task is not None
        loop = asyncio.get_running_loop()
        self._waiting[task] = loop.time() + self._timeout_s
        if self._timer is None:
            self._timer = loop.call_later(self._timeout_s, self._sweep, loop)
        try:
            raw = await self._receive_all(receive)
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            self._late.discard(task)
            task.uncancel()
            raise BodyError(
                408, "timeout_error", f"the body did not arrive within {self._timeout_s:g} s"
            ) from None
        finally:
            self._waiting.pop(task, None)
        encoding = header(scope["headers"], b"content-encoding")
        if encoding is None or encoding.strip().lower() in (b"", b"identity"):
            return raw
        # A small body may unpack to a large one: not while everybody waits.
        name = encoding.strip().lower().decode("latin-1")
        try:
            decoded = await asyncio.to_thread(_decode, raw, name, self._limit)
        finally:
            self.release(raw)
        return self._held_if_large(decoded)

    def _held_if_large(self, body: bytes) -> bytes | bytearray:
        if len(body) <= LARGE_BODY_BYTES:
            return body
        self._hold(len(body))
        return bytearray(body)

    async def _receive_all(self, receive: Receive) -> bytes | bytearray:
        """Bytes if it is small and in one piece; else a bytearray, which is held and counts."""
        message = await _receive(receive)
        first: bytes = message.get("body", b"")
        if not message.get("more_body"):
            if len(first) > self._limit:
                raise _too_large(self._limit)
            return self._held_if_large(first)
        body = bytearray(first)
        self._hold(len(first))
        try:
            while message.get("more_body") and len(body) <= self._limit:
                message = await _receive(receive)
                chunk = message.get("body", b"")
                self._hold(len(chunk))
                body += chunk
            if len(body) > self._limit:
                await self._drop(receive, message)
                raise _too_large(self._limit)
        except BaseException:
            self.release(body)
            raise
        return body

    async def _drop(self, receive: Receive, message: Message) -> None:
        """Throw the rest away: most clients read no reply before they have sent it all."""
        dropped = 0
        while message.get("more_body") and dropped < self._limit:
            message = await _receive(receive)
            dropped += len(message.get("body", b""))

    def _hold(self, count: int) -> None:
        if self._held + count > self._held_limit:
            raise BodyError(
                529, "overloaded_error", f"bodies of {self._held} bytes are being read already"
            )
        self._held += count

    def release(self, body: bytes | bytearray) -> None:
        """The body does not count any more."""
        if isinstance(body, bytearray):
            self._held -= len(body)

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        """Interrupt who has waited too long; come back when the next one will have."""
        now = loop.time()
        for task, end in list(self._waiting.items()):
            if end <= now:
                del self._waiting[task]
                self._late.add(task)
                task.cancel()
        self._timer = None
        if self._waiting:
            soonest = next(iter(self._waiting.values()))
            self._timer = loop.call_at(soonest, self._sweep, loop)


async def _receive(receive: Receive) -> Message:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise DisconnectedError
    return message


def _too_large(limit: int) -> BodyError:
    return BodyError(413, "request_too_large", f"the body is larger than {limit} bytes")


class _Decompressor(Protocol):
    eof: bool

    def decompress(self, data: bytes | bytearray, max_length: int, /) -> bytes: ...


_DECODERS: dict[str, Callable[[], Any]] = {
    "zstd": zstd.ZstdDecompressor,
    "gzip": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "deflate": zlib.decompressobj,
}


def _decode(raw: bytes | bytearray, encoding: str, limit: int) -> bytes:
    make = _DECODERS.get(encoding)
    if make is None:
        raise BodyError(
            415,
            "unsupported_media_type_error",
            f"content-encoding {encoding[:40]!r}; expected one of {', '.join(_DECODERS)}",
        )
    decoder: _Decompressor = make()
    try:
        # One byte more than allowed tells a bomb from a body; the rest of it is never unpacked.
        body = decoder.decompress(raw, limit + 1)
    except (zlib.error, zstd.ZstdError) as error:
        raise _broken(f"the body is not {encoding}: {error}") from None
    if len(body) > limit:
        raise _too_large(limit)
    if not decoder.eof:
        raise _broken(f"the {encoding} body is cut off")
    return body


def _broken(message: str) -> RequestError:
    return RequestError([Fault(("body",), message, "content_encoding")])
