"""The HTTP face: ``POST /v1/systemone``, ``GET /v1/models``, ``GET /health``."""

import asyncio
import os
import socket
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from sysone.systemone.engine import Decision, Engine, UnknownModelError
from sysone.systemone.questions import RequestError
from sysone.systemone.wire import parse_body

MAX_BODY_BYTES = 32 << 20

# A body above this is parsed beside the event loop, which would stand still meanwhile.
INLINE_BODY_BYTES = 64 << 10

_ERROR_TYPES = {
    404: "not_found_error",
    405: "method_not_allowed_error",
    413: "request_too_large",
}


class Json(Response):
    """A JSON reply; its encoder has no NaN, and answers hold finite numbers only."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """UTF-8 bytes."""
        return msgspec.json.encode(content)


def error_reply(status: int, error_type: str, message: str) -> Json:
    """An error in the object form of the contract."""
    return Json({"detail": {"error_type": error_type, "message": message}}, status)


def faults_reply(error: RequestError) -> Json:
    """An error in the list form: the caller's request breaks the contract."""
    return Json({"detail": error.faults}, 422)


class Service:
    """The routes over one engine, with a pool for what must not hold up the event loop."""

    def __init__(self, engine: Engine, threads: int | None = None) -> None:
        """``threads`` encode at once; as many as there are processors if None."""
        self._engine = engine
        self._pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, "systemone")

    def app(self) -> Starlette:
        """The ASGI application."""
        return Starlette(
            routes=[
                Route("/v1/systemone", self.system_one, methods=["POST"]),
                Route("/v1/models", self.models),
                Route("/health", self.health),
            ],
            exception_handlers={HTTPException: _http_error, Exception: _internal_error},
        )

    async def system_one(self, request: Request) -> Response:
        """The decision call."""
        started = time.perf_counter()
        try:
            raw = await _read_body(request)
        except ClientDisconnect:
            return Response(status_code=400)
        if raw is None:
            return error_reply(
                413, "request_too_large", f"the body is larger than {MAX_BODY_BYTES} bytes"
            )
        try:
            decision = await self._decide(raw)
        except RequestError as error:
            return faults_reply(error)
        except UnknownModelError as error:
            return error_reply(404, "not_found_error", str(error))
        reply = Json(decision.to_wire() if decision.truncated else _plain(decision))
        reply.headers["x-typesafe-request-id"] = uuid.uuid4().hex
        reply.headers["x-clm-latency-ms"] = f"{(time.perf_counter() - started) * 1000:.1f}"
        return reply

    async def _decide(self, raw: bytes | bytearray) -> Decision:
        loop = asyncio.get_running_loop()
        if len(raw) > INLINE_BODY_BYTES:
            return await loop.run_in_executor(self._pool, self._decide_in_thread, raw)
        checked = self._engine.check(parse_body(raw))
        # What the caches hold is answered here: a change of threads would cost more.
        decision = self._engine.decide(checked, cached=True)
        if decision is None:
            decision = await loop.run_in_executor(self._pool, self._engine.decide, checked)
        assert decision is not None
        return decision

    def _decide_in_thread(self, raw: bytes | bytearray) -> Decision:
        decision = self._engine.decide(self._engine.check(parse_body(raw)))
        assert decision is not None
        return decision

    async def models(self, _: Request) -> Response:
        """The model list."""
        return Json({"models": self._engine.models})

    async def health(self, _: Request) -> Response:
        """Liveness and limits."""
        return Json(
            {
                "ok": True,
                "embedder": True,
                "models": [entry.name for entry in self._engine.models],
                "cache": self._engine.statistics(),
                "max_options": self._engine.max_options,
            }
        )


def _plain(decision: Decision) -> dict[str, Any]:
    return {"model": decision.model, "answers": decision.answers, "usage": decision.usage}


async def _read_body(request: Request) -> bytes | bytearray | None:
    """The whole body, or None as soon as it is known to be too large."""
    announced = request.headers.get("content-length", "0")
    if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            return None
    return body


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = error.status_code
    reply = error_reply(status, _ERROR_TYPES.get(status, "invalid_request_error"), error.detail)
    reply.headers.update(error.headers or {})
    return reply


async def _internal_error(_: Request, __: Exception) -> Response:
    return error_reply(500, "internal_error", "the server failed; its log says why")


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; ``port`` 0 takes a free one. Raises `OSError` for a busy port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except BaseException:
        listener.close()
        raise
    return listener


def make_server(engine: Engine, *, log_level: str = "warning") -> uvicorn.Server:
    """A server to run on a bound socket: ``server.run(sockets=[bind(host, port)])``."""
    config = uvicorn.Config(
        Service(engine).app(),
        log_level=log_level,
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        timeout_graceful_shutdown=2,
    )
    return uvicorn.Server(config)
