import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from sysone.systemone import Engine, local_server
from sysone.systemone.serving import ServiceSettings, bind, make_server


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine()


@pytest.fixture(scope="session")
def base_url() -> Iterator[str]:
    with local_server() as url:
        yield url


@contextmanager
def in_thread(engine: Engine, settings: ServiceSettings) -> Iterator[str]:
    listener = bind("127.0.0.1", 0)
    server = make_server(engine, settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


Serve = Callable[..., str]


@pytest.fixture(scope="module")
def serve() -> Iterator[Serve]:
    """``serve(engine, **settings)``: the base URL of a server in a thread."""
    with ExitStack() as stack:
        yield lambda engine, **settings: stack.enter_context(
            in_thread(engine, ServiceSettings(**{"grace_s": 1, **settings}))
        )
