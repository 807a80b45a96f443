"""A System One endpoint on loopback that answers, lies, stays silent or dies as told."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

GOOD = {"jump": 0.2, "duck": 0.1, "run": 0.7}


class SilentError(Exception):
    """Say nothing until the endpoint is closed."""


class CutError(Exception):
    """Close the connection without a word."""


Script = Callable[[int, dict[str, Any]], tuple[int, bytes]]
"""Status and body for the call of a number (from 1) with a request."""


def reply(probabilities: Any = GOOD, **fields: Any) -> tuple[int, bytes]:
    body = {
        "model": "fake-1",
        "answers": {"action": {"type": "choice", "probabilities": probabilities}},
        "usage": {"input_tokens": 30, "output_tokens": 0},
        **fields,
    }
    return 200, json.dumps(body).encode()


def good(number: int, request: dict[str, Any]) -> tuple[int, bytes]:
    return reply()


def after(calls: int, then: Script) -> Script:
    """Well-behaved for so many calls."""

    def script(number: int, request: dict[str, Any]) -> tuple[int, bytes]:
        return (good if number <= calls else then)(number, request)

    return script


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Broken connections are what these tests are about."""


class FakeEndpoint:
    """Serves ``script`` on a free port while it is open. ``requests`` keeps what was asked."""

    def __init__(self, script: Script = good) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # Without it a reply in two packets waits for the other side's delayed acknowledgement.
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                endpoint._answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        request = json.loads(body)
        with self._lock:
            self.requests.append(request)
            self.headers.append({name.lower(): text for name, text in handler.headers.items()})
            number = len(self.requests)
        handler.close_connection = self.released.is_set()
        try:
            status, content = self.script(number, request)
        except SilentError:
            self.released.wait()
            handler.close_connection = True
            return
        except CutError:
            handler.close_connection = True
            return
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
