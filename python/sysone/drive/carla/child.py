"""The process that imports ``carla``: answers one question after another, and may die of any."""

import importlib
import os
import pickle
import signal
import sys
import threading
import time
from typing import Any, Final

from sysone.drive.backend import ServerLost, SimulationCrashed
from sysone.drive.carla.world import CarlaWorld

STAND_IN: Final = "stand-in"
ORPHAN_CHECK_S: Final = 1.0


def client_module(source: str) -> Any:
    """``carla``, or with ``stand-in`` or ``stand-in:FILE`` the server of the tests.

    Raises:
        ServerLost: the client cannot be imported.
    """
    if source.split(":", 1)[0] == STAND_IN:
        from sysone.drive.standin import module

        return module(source.partition(":")[2] or None)
    try:
        return importlib.import_module("carla")
    except ImportError as error:
        raise ServerLost(
            "import",
            f"the carla client cannot be imported: {error}; "
            "pip install 'sysone-core[ue5]' (0.10), [ue4] (0.9.15) or [map] (0.9.16)",
        ) from error


def main(source: str, host: str, port: int, tm_port: int, restore_async: str) -> None:
    """Answer (name, arguments) from stdin with ("ok", value), ("lost", …) or ("crashed", text)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the client prints; the pipe is for answers alone
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    world: CarlaWorld | None = None
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            if world is None:
                world = CarlaWorld(client_module(source), host, port, tm_port, restore_async)
            answer: tuple[str, Any] = ("ok", getattr(world, name)(*arguments))
        except ServerLost as error:
            answer = ("lost", (error.kind, str(error)))
        except SimulationCrashed as error:
            answer = ("crashed", str(error))
        except (RuntimeError, ValueError, IndexError, AttributeError, TypeError) as error:
            # the client's own errors, of whatever type its version raises
            answer = ("crashed", f"{name}: {type(error).__name__}: {str(error)[:300]}")
        try:
            pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except BrokenPipeError:
            return


def _end_with_parent(parent: int) -> None:
    """A question that hangs must not outlive a killed parent."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_CHECK_S)
    os._exit(1)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
