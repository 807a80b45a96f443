"""HTTP on uvicorn's parser: what can be answered at once is, without a task of its own.

For most requests an application is started as a task and handed the request in messages. A small
decision whose vectors are all in the caches takes less time than that does; where the application
has an ``at_once``, it is asked first, as soon as the request is there as a whole.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sysone.systemone.server import INLINE_BODY_BYTES, NOT_AT_ONCE

# Many clients send a request's head and its body one after the other. What takes longer than
# this is left to the application, which has a time limit for it.
HELD_S = 0.02

AtOnce: TypeAlias = Callable[[str, Sequence[tuple[bytes, bytes]], bytes], bytes | None]
"""The whole response to a POST from its path, headers and body; None to be asked as ASGI."""


class JsonProtocol(HttpToolsProtocol):
    """As uvicorn's; what is no HTTP is refused in JSON, as everything else is."""

    transport: Any
    cycle: Any
    parser: Any
    flow: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """As uvicorn makes it, one for each connection."""
        super().__init__(*args, **kwargs)
        offered: AtOnce | None = getattr(self.app, "at_once", None)
        # Requests that uvicorn limits or logs are for uvicorn alone.
        self._at_once = None if self.limit_concurrency or self.config.access_log else offered
        self._held: bytes | None = None
        """The body so far of a request for which no task was started yet."""
        self._patience: asyncio.TimerHandle | None = None

    def on_headers_complete(self) -> None:
        """Hold back what may be answered at once; the rest goes the usual way."""
        if (
            self._at_once is not None
            and (self.cycle is None or self.cycle.response_complete)
            and self.parser.get_method() == b"POST"
            and not self.expect_100_continue
            and not self.flow.write_paused
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
        ):
            self._held = b""
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        if self._held is None:
            super().on_body(body)
            return
        self._held += body
        if len(self._held) > INLINE_BODY_BYTES:
            self._start()

    def on_message_complete(self) -> None:
        """The request is there: answer it, or start the application."""
        if self._held is not None:
            assert self._at_once is not None
            response = self._at_once(self.url.decode("latin-1"), self.headers, self._held)
            if response is not None:
                self._let_go()
                self.transport.write(response)
                self.on_response_complete()
                return
            self.scope["state"][NOT_AT_ONCE] = True
            self._start()
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        """Bytes of a request, or of several."""
        super().data_received(data)
        if self._held is not None and self._patience is None:
            self._patience = self.loop.call_later(HELD_S, self._start)

    def connection_lost(self, exc: Exception | None) -> None:
        """What was held back is of no use any more."""
        self._let_go()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """The server ends; a request that is on its way is still answered."""
        if self._held is not None:
            self._start()
        super().shutdown()

    def _start(self) -> None:
        """Start the application for the request that is held back."""
        body = self._let_go()
        super().on_headers_complete()
        if body:
            super().on_body(body)

    def _let_go(self) -> bytes:
        body, self._held = self._held or b"", None
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        return body

    def send_400_response(self, msg: str) -> None:
        """Refuse and hang up."""
        self._let_go()
        body = msgspec.json.encode(
            {"detail": {"error_type": "invalid_request_error", "message": msg}}
        )
        head = (
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            b"content-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        )
        self.transport.write(head + body)
        self.transport.close()
