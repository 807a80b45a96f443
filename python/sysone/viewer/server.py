"""The local server: the page, its data, and news of runs that go on. Loopback alone."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from sysone.runs.errors import RunError, unreadable
from sysone.viewer.document import Opened, encode
from sysone.viewer.page import charts_library, page_file, served_page, served_policy

HOST: Final = "127.0.0.1"
POLL_S: Final = 0.5
"""Between two looks at a file that still grows; the run itself knows nothing of them."""
_TYPES: Final = {".js": "text/javascript", ".css": "text/css"}


class SafeHeaders:
    """Adds what keeps a page to itself, to every response."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.headers = [
            (b"content-security-policy", served_policy().encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass everything on, with the headers."""

        async def sending(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        await self.app(scope, receive, sending)


def make_app(opened: Opened, poll_s: float = POLL_S) -> Starlette:
    """The application that shows what was opened."""

    async def page(request: Request) -> Response:
        return Response(served_page(), media_type="text/html")

    async def file(request: Request) -> Response:
        path = page_file(request.path_params["name"])
        if path is None:
            return Response(status_code=404)
        return FileResponse(path, media_type=_TYPES[path.suffix])

    async def charts(request: Request) -> Response:
        path = charts_library()
        if path is None:
            return Response(status_code=404)
        return FileResponse(path, media_type="text/javascript")

    async def made(request: Request, makers: Mapping[str, Callable[[], Any]]) -> Response:
        make = makers.get(_name(request, opened))
        if make is None:
            return _refused(f"there is no {_name(request, opened)!r} here", 404)
        try:
            data = await run_in_threadpool(lambda: encode(make()))
        except RunError as error:
            return _refused(str(error))
        return Response(data, media_type="application/json")

    async def document(request: Request) -> Response:
        return await made(request, opened.documents)

    async def more(request: Request) -> Response:
        return await made(request, opened.more)

    async def verify(request: Request) -> Response:
        check = opened.verify.get(_name(request, opened))
        if check is None:
            return _refused("this cannot be verified", 404)
        try:
            found = await run_in_threadpool(check)
        except RunError as error:
            return _refused(str(error))
        return Response(msgspec.json.encode(found), media_type="application/json")

    async def picture(request: Request) -> Response:
        path = opened.picture(request.path_params["name"])
        return Response(status_code=404) if path is None else FileResponse(path)

    async def live(request: Request) -> Response:
        begin = opened.live.get(_name(request, opened))
        if begin is None:
            return _refused("nothing is being written here", 404)
        return StreamingResponse(_news(begin, poll_s), media_type="text/event-stream")

    return Starlette(
        routes=[
            Route("/", page),
            Route("/page/{name}", file),
            Route("/charts.js", charts),
            Route("/document", document),
            Route("/more", more),
            Route("/verify", verify, methods=["POST"]),
            Route("/picture/{name:path}", picture),
            Route("/live", live),
        ],
        middleware=[
            # A name that resolves to loopback must not open the page to another site's scripts.
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]),
            Middleware(SafeHeaders),
            Middleware(GZipMiddleware, minimum_size=4096, compresslevel=1),
        ],
    )


def _name(request: Request, opened: Opened) -> str:
    return request.query_params.get("name", opened.first)


def _refused(message: str, status: int = 422) -> Response:
    return JSONResponse({"error": message}, status_code=status)


async def _news(begin: Callable[[], Any], poll_s: float) -> AsyncIterator[str]:
    """Server-sent events: what is there at first, then what comes."""
    try:
        growing = await run_in_threadpool(begin)
        while True:
            found = await run_in_threadpool(growing.poll)
            if found is None:
                yield ": nothing new\n\n"
            else:
                yield f"data: {json.dumps(found)}\n\n"
                if found.get("ended"):
                    return
            await asyncio.sleep(poll_s)
    except RunError as error:
        yield f"event: refused\ndata: {json.dumps(str(error))}\n\n"


def bind(port: int) -> socket.socket:
    """A listening socket on loopback; port 0 chooses one.

    Raises:
        RunError: the port is taken.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise RunError(f"port {port} on {HOST} cannot be used: {error.strerror}") from error
    listening.listen(64)
    return listening


def serve(opened: Opened, listening: socket.socket) -> None:
    """Serve until interrupted."""
    import uvicorn

    config = uvicorn.Config(make_app(opened), log_level="warning", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])


def write_html(opened: Opened, out: Path) -> None:
    """Write one self-contained file.

    Raises:
        RunError: see `sysone.viewer.page.self_contained`; or ``out`` cannot be written.
    """
    from sysone.runs.atomic import write_text
    from sysone.viewer.page import self_contained

    if out.is_dir():
        raise unreadable(out, IsADirectoryError(21, "is a folder"))
    write_text(out, self_contained(opened))
