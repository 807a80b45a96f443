"""The process behind `local_server`: announces its address on stdout, serves, ends with its parent.

It watches a pipe that only the parent holds open, and its parent's process id in case a fork of
the parent keeps the pipe.
"""

import json
import os
import selectors
import sys
import threading
import time

from sysone.systemone.engine import Engine
from sysone.systemone.questions import Choice
from sysone.systemone.serving import ServiceSettings, bind, make_server

HOST = "127.0.0.1"
WATCH_INTERVAL_S = 0.5
GRACE_S = 4.0


def wait_for_end(parent: int) -> None:
    """Return when the pipe on stdin closes or this process has another parent."""
    with selectors.DefaultSelector() as selector:
        selector.register(0, selectors.EVENT_READ)
        while os.getppid() == parent:
            if selector.select(WATCH_INTERVAL_S) and not os.read(0, 1):
                return


def main(parent: int) -> None:
    """Bind, load, announce, serve until the parent is gone."""
    listener = bind(HOST, 0)
    engine = Engine()
    # The first run sizes the runtime's buffers; no caller should wait for that.
    engine.answer("warm up", {"w": Choice({"a": None, "b": None})})
    server = make_server(engine, ServiceSettings(grace_s=2))

    def watch() -> None:
        wait_for_end(parent)
        server.should_exit = True
        time.sleep(GRACE_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    port = listener.getsockname()[1]
    # The socket listens already: a call between this line and the first accept just waits.
    print(json.dumps({"url": f"http://{HOST}:{port}"}), flush=True)
    server.run(sockets=[listener])


if __name__ == "__main__":
    main(int(sys.argv[1]))
