"""The HTTP face of an engine.

The decision call and its sisters are plain ASGI, because a framework's request and response would
cost as much as a cached answer does; everything else is Starlette's.
"""

import asyncio
import hmac
import itertools
import os
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sysone.systemone.body import BodyReader, DisconnectedError, header
from sysone.systemone.embed import check_embedding
from sysone.systemone.engine import Decision, Engine
from sysone.systemone.metrics import Metrics
from sysone.systemone.openapi import document
from sysone.systemone.playground import PAGE
from sysone.systemone.questions import Request as DecisionRequest
from sysone.systemone.rank import QUESTION, check_rank, ranking
from sysone.systemone.replies import (
    STATUS_LINES,
    ApiError,
    Reply,
    embedding_body,
    error_reply,
    http_error,
    json_response,
    method_not_allowed,
    overloaded,
    reply_to,
    starlette_response,
    unauthorised,
)
from sysone.systemone.wire import parse_body

# A body above this is parsed beside the event loop, which would stand still meanwhile.
INLINE_BODY_BYTES = 64 << 10

# Threads for models that wait for another machine.
WAITING_THREADS = 64

NOT_AT_ONCE = "not_at_once"
"""In the scope's state of a request that `Service.at_once` has declined already."""


class Limits(msgspec.Struct, frozen=True):
    """What one request may take."""

    body_bytes: int = 32 << 20
    held_bytes: int = 512 << 20
    """All large bodies that are being read or answered, together."""
    body_timeout_s: float = 30.0
    """For the whole body to arrive."""
    time_limit_s: float = 60.0
    """For the answer, waiting included."""
    max_waiting: int = 1024
    """Requests being answered or waiting for it; one more is told to come back."""


DEFAULT_LIMITS = Limits()


Handler = Callable[[bytes | bytearray, bool], Awaitable[Reply]]
"""Body, and whether the caches may hold the answer (false: they do not); to the reply."""


class Service:
    """The ASGI application over one engine.

    Threads answer what needs an encoder; what the caches hold is answered on the event loop,
    because a change of threads would cost more.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        limits: Limits = DEFAULT_LIMITS,
        keys: Sequence[str] = (),
        cors: bool = False,
        ui: bool = False,
        threads: int | None = None,
    ) -> None:
        """``keys`` open ``/v1/*``; without any it is open to all.

        ``threads`` encode at once; as many as there are processors if None.
        """
        self._engine = engine
        self._limits = limits
        self._keys = [key.encode() for key in keys]
        self._cors = cors
        self._metrics = Metrics()
        self._bodies = BodyReader(limits.body_bytes, limits.body_timeout_s, limits.held_bytes)
        self._id_prefix = secrets.token_hex(12).encode()
        self._id_numbers = itertools.count()
        self._pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, "systemone")
        self._waiting_pool = ThreadPoolExecutor(WAITING_THREADS, "systemone-waiting")
        self._pending = 0
        self._posts: dict[str, Handler] = {
            "/v1/systemone": self._system_one,
            "/v1/rank": self._rank,
            "/v1/embeddings": self._embeddings,
        }
        gets: dict[str, Any] = {
            "/v1/models": self._list_models,
            "/health": self._health,
            "/metrics": self._figures,
            "/openapi.json": self._document,
        }
        if ui:
            gets["/"] = self._playground
        self._routes = {*self._posts, *gets}
        self._rest: ASGIApp = Starlette(
            routes=[Route(path, handler) for path, handler in gets.items()]
            # Only to answer other methods: POST never gets there.
            + [Route(path, method_not_allowed, methods=["POST"]) for path in self._posts],
            exception_handlers={HTTPException: http_error},
        )
        self._app: ASGIApp = self._dispatch
        if cors:
            self._app = CORSMiddleware(
                self._dispatch,
                allow_origins=["*"],
                allow_methods=["GET", "POST", "OPTIONS"],
                allow_headers=["*"],
                expose_headers=["x-clm-latency-ms", "x-typesafe-request-id"],
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._app(scope, receive, send)

    def at_once(
        self, path: str, headers: Sequence[tuple[bytes, bytes]], body: bytes
    ) -> bytes | None:
        """The whole response to a POST that needs no thread and no waiting; else None.

        That is a small decision whose vectors are all in the caches, or that is refused. It
        says what the application would say.
        """
        if (
            path != "/v1/systemone"
            or len(body) > min(INLINE_BODY_BYTES, self._limits.body_bytes)
            or self._cors
            or header(headers, b"content-encoding") is not None
        ):
            return None
        started = time.perf_counter()
        try:
            if self._keys:
                self._authorise(headers)
            decision = self._engine.decide(self._engine.check(parse_body(body)), cached=True)
            if decision is None:
                return None
            self._metrics.tokens(decision.usage.input_tokens)
            reply = Reply(200, decision.to_json())
        except Exception as error:
            reply = reply_to(error, self._limits.time_limit_s)
            self._metrics.error(path, reply.error_type or "")
        lines = [b"%s: %s\r\n" % item for item in self._headers(reply, started)]
        self._count(path, reply.status, started)
        return b"".join((STATUS_LINES[reply.status], *lines, b"\r\n", reply.body))

    def _count(self, route: str, status: int, started: float) -> None:
        self._metrics.request(route, status, time.perf_counter() - started)
        if self._metrics.due():
            self._metrics.caches(self._engine.statistics())

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._rest(scope, receive, send)
            return
        started = time.perf_counter()
        path: str = scope["path"]
        route = path if path in self._routes else "other"
        try:
            handler = self._posts.get(path) if scope["method"] == "POST" else None
            if handler is not None:
                status = await self._post(handler, route, started, scope, receive, send)
            else:
                status = await self._other(route, scope, receive, send)
        except DisconnectedError:
            status = 499  # nginx's number for a client that did not wait
        self._count(route, status, started)

    async def _post(
        self,
        handler: Handler,
        route: str,
        started: float,
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> int:
        try:
            if self._keys:
                self._authorise(scope["headers"])
            body = await self._bodies.read(scope, receive)
            try:
                reply = await handler(body, NOT_AT_ONCE not in scope.get("state", ()))
            finally:
                self._bodies.release(body)
        except DisconnectedError:
            raise
        except Exception as error:
            reply = reply_to(error, self._limits.time_limit_s)
            self._metrics.error(route, reply.error_type or "")
        await send(
            {
                "type": "http.response.start",
                "status": reply.status,
                "headers": self._headers(reply, started),
            }
        )
        await send({"type": "http.response.body", "body": reply.body})
        return reply.status

    def _headers(self, reply: Reply, started: float) -> list[tuple[bytes, bytes]]:
        latency_ms = (time.perf_counter() - started) * 1000
        return [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(reply.body)),
            (b"x-clm-latency-ms", b"%.1f" % latency_ms),
            (b"x-typesafe-request-id", self._request_id()),
            *reply.headers,
        ]

    def _request_id(self) -> bytes:
        """Unlike any other's: this process's random prefix and a number."""
        return b"%s%08x" % (self._id_prefix, next(self._id_numbers))

    def _authorise(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        scheme, _, given = (header(headers, b"authorization") or b"").strip().partition(b" ")
        if scheme.lower() != b"bearer" or not given.strip():
            raise unauthorised("this server needs a key: Authorization: Bearer <key>")
        # Every key is compared, whichever fits, and each in constant time.
        if not sum([hmac.compare_digest(given.strip(), key) for key in self._keys]):
            raise unauthorised("wrong key")

    async def _system_one(self, raw: bytes | bytearray, maybe_cached: bool) -> Reply:
        decision = await self._decide(raw, self._engine.check, maybe_cached)
        return Reply(200, decision.to_json())

    async def _rank(self, raw: bytes | bytearray, maybe_cached: bool) -> Reply:
        candidates: list[str] = []

        def check(body: object) -> DecisionRequest:
            request, found = check_rank(body, max_options=self._engine.max_options)
            candidates.extend(found)
            return request

        decision = await self._decide(raw, check, maybe_cached)
        answer = decision.answers[QUESTION]
        ranked = ranking(answer, candidates)  # type: ignore[arg-type]
        return Reply(200, msgspec.json.encode({"model": decision.model, "ranked": ranked}))

    async def _decide(
        self,
        raw: bytes | bytearray,
        check: Callable[[object], DecisionRequest],
        maybe_cached: bool,
    ) -> Decision:
        engine = self._engine
        deadline = time.monotonic() + self._limits.time_limit_s
        if len(raw) > INLINE_BODY_BYTES:

            def from_bytes() -> Decision | None:
                return engine.decide(check(parse_body(raw)), deadline=deadline)

            decision: Decision | None = await self._in_thread(self._pool, from_bytes, deadline)
        else:
            request = check(parse_body(raw))
            decision = engine.decide(request, cached=True) if maybe_cached else None
            if decision is None:
                pool = self._waiting_pool if engine.model(request.model).waits else self._pool
                decision = await self._in_thread(
                    pool, lambda: engine.decide(request, deadline=deadline), deadline
                )
        assert decision is not None
        self._metrics.tokens(decision.usage.input_tokens)
        return decision

    async def _in_thread(
        self, pool: ThreadPoolExecutor, call: Callable[[], Any], deadline: float
    ) -> Any:
        if self._pending >= self._limits.max_waiting:
            raise overloaded(f"{self._pending} requests are waiting already")

        def in_time() -> Any:
            if time.monotonic() > deadline:
                raise overloaded("no thread was free in time")
            return call()

        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, in_time)
        finally:
            self._pending -= 1

    async def _embeddings(self, raw: bytes | bytearray, _: bool) -> Reply:
        deadline = time.monotonic() + self._limits.time_limit_s

        def embed() -> Reply:
            request = check_embedding(parse_body(raw))
            name, embeddings = self._engine.embeddings(request.model)
            request.refuse_shorter(embeddings.encoder.max_tokens)
            found = embeddings.get(request.input, request.keep, deadline=deadline)
            assert found is not None
            return Reply(200, embedding_body(request, name, found.rows, found.tokens))

        reply: Reply = await self._in_thread(self._pool, embed, deadline)
        return reply

    async def _other(self, route: str, scope: Scope, receive: Receive, send: Send) -> int:
        status = 500

        async def annotated(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"x-typesafe-request-id", self._request_id()),
                ]
            await send(message)

        app: ASGIApp = self._rest
        if scope["path"].startswith("/v1/"):
            try:
                if self._keys:
                    self._authorise(scope["headers"])
            except ApiError as error:
                app = starlette_response(
                    error_reply(error.status, error.error_type, str(error), error.headers)
                )
        await app(scope, receive, annotated)
        return status

    async def _list_models(self, _: Request) -> Response:
        return json_response({"models": self._engine.models})

    async def _health(self, _: Request) -> Response:
        # A probe of another machine may take seconds.
        healthy = await asyncio.get_running_loop().run_in_executor(
            self._waiting_pool, self._engine.healthy
        )
        return json_response(
            {
                "ok": True,
                "embedder": healthy,
                "models": [entry.name for entry in self._engine.models],
                "cache": self._engine.statistics() or None,
                "max_options": self._engine.max_options,
                "reload": self._engine.reload_status(),
            }
        )

    async def _figures(self, _: Request) -> Response:
        text = self._metrics.text(self._engine.statistics())
        return Response(text, headers={"content-type": self._metrics.content_type})

    async def _document(self, _: Request) -> Response:
        return json_response(document(self._engine.max_options))

    async def _playground(self, _: Request) -> Response:
        return HTMLResponse(PAGE, headers={"cache-control": "no-cache"})
