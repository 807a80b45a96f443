"""From settings to a listening service, in this process or in several workers."""

import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from typing import Any

import msgspec
import uvicorn
from starlette.types import ASGIApp
from uvicorn.supervisors import Multiprocess

from sysone.systemone.engine import Engine
from sysone.systemone.metrics import SHARED_FOLDER
from sysone.systemone.server import Limits, Service

GRACE_S = 10
# A worker that cannot say a word for so long hangs, however busy the machine is.
WORKER_HANGS_S = 60


class ServiceSettings(msgspec.Struct, frozen=True):
    """What the HTTP face needs to know; see `Service`."""

    limits: Limits = Limits()
    keys: tuple[str, ...] = ()
    cors: bool = False
    ui: bool = False
    threads: int | None = None
    log_level: str = "warning"
    grace_s: int = GRACE_S
    """For requests under way when the server is told to end."""


DEFAULT_SETTINGS = ServiceSettings()


class AppFactory(msgspec.Struct, frozen=True):
    """Makes the application; what is sent to a worker process instead of the application."""

    make_engine: Callable[[], Engine]
    settings: ServiceSettings

    def __call__(self) -> ASGIApp:
        """Load the models."""
        return make_service(self.make_engine(), self.settings)


def make_service(engine: Engine, settings: ServiceSettings) -> Service:
    """The application over an engine."""
    return Service(
        engine,
        limits=settings.limits,
        keys=settings.keys,
        cors=settings.cors,
        ui=settings.ui,
        threads=settings.threads,
    )


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


def _http_protocol() -> Any:
    """Ours where uvicorn's quick parser is installed."""
    try:
        from sysone.systemone.protocol import JsonProtocol
    except ImportError:
        return "auto"
    return JsonProtocol


def _config(app: Any, settings: ServiceSettings, **more: Any) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_level=settings.log_level,
        access_log=False,
        lifespan="off",
        server_header=False,
        date_header=False,
        http=_http_protocol(),
        # What a proxy says of a client is of no use here and would be looked for each time.
        proxy_headers=False,
        timeout_graceful_shutdown=settings.grace_s,
        **more,
    )


def make_server(engine: Engine, settings: ServiceSettings = DEFAULT_SETTINGS) -> uvicorn.Server:
    """A server to run on a bound socket: ``server.run(sockets=[bind(host, port)])``."""
    return uvicorn.Server(_config(make_service(engine, settings), settings))


def run_workers(
    listener: socket.socket,
    make_engine: Callable[[], Engine],
    settings: ServiceSettings,
    workers: int,
) -> None:
    """Serve from several processes on one socket until told to end; a dead one is replaced.

    ``make_engine`` is called in each and has to be picklable.
    """
    shared = tempfile.mkdtemp(prefix="systemone-metrics-")
    # Read when a worker imports the metrics; set before it starts.
    os.environ[SHARED_FOLDER] = shared
    try:
        config = _config(
            AppFactory(make_engine, settings),
            settings,
            factory=True,
            workers=workers,
            timeout_worker_healthcheck=WORKER_HANGS_S,
        )
        Multiprocess(config, [listener]).run()
    finally:
        del os.environ[SHARED_FOLDER]
        shutil.rmtree(shared, ignore_errors=True)
