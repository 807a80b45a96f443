"""The machines of a Ray cluster that is already running.

Ray's driver is a process of its own (`sysone.executors.ray_driver`): Ray prints to the standard
output of its driver, takes its signals, and ends it when the cluster's head is gone. None of that
may happen to a run.
"""

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from sysone.executors import ray_driver
from sysone.executors.base import EngineError, Finished, Work
from sysone.executors.installation import installation

PATIENCE_S: Final = 10.0
"""How long the driver may take to let go of the cluster."""


class RayExecutor:
    """Runs ``work`` on a cluster, at most ``slots`` pieces at a time; see `Executor`.

    ``address`` is ``auto`` or HOST:PORT of the cluster's head; this machine must be one of its
    nodes, as Ray's drivers must. ``facts``, an importable function, is called here and on every
    node, and nodes whose answer differs are left out, which ``note`` tells. ``files`` are put on
    each node once; work finds them by name with `sysone.executors.shipped.path_of`.

    Raises:
        EngineError: Ray is not installed, no cluster answers, or no node may be used.
    """

    def __init__(
        self,
        work: Work,
        slots: int,
        *,
        address: str | None = None,
        facts: Callable[[], Mapping[str, str]] = installation,
        files: Mapping[str, bytes] | None = None,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        if find_spec("ray") is None:
            raise EngineError(
                "--engine ray needs Ray, which is not installed: pip install 'sysone-core[cluster]'"
            )
        self._wanted = slots
        self._note = note
        self._room = 0
        self._running: set[int] = set()
        self._ended: list[Finished] = []
        self._failure = ""
        context = multiprocessing.get_context("spawn")
        self._pipe: Connection
        self._pipe, theirs = context.Pipe()
        orders = ray_driver.Orders(
            work, facts, dict(facts()), address, dict(files or {}), os.getpid()
        )
        self._process: BaseProcess | None = context.Process(
            target=ray_driver.serve, args=(theirs, orders)
        )
        self._process.start()
        theirs.close()
        try:
            while not self._room:
                self._hear(None)
                self._check()
        except BaseException:
            self._end()
            raise

    @property
    def slots(self) -> int:
        """What was asked for, or fewer where the usable nodes have fewer processors."""
        self._hear(0.0)
        return min(self._wanted, self._room)

    @property
    def running(self) -> int:
        """How many pieces of work are under way."""
        return len(self._running)

    def submit(self, place: int, item: Any) -> None:
        """Begin a piece of work on the node with the most room."""
        if len(self._running) >= self._wanted:
            raise ValueError(f"{self._wanted} pieces of work are under way, no slot is free")
        self._running.add(place)
        self._tell("submit", place, item)

    def wait(self, timeout_s: float) -> list[Finished]:
        """What has ended meanwhile.

        Raises:
            EngineError: the cluster is gone, or no node has been usable for five minutes.
        """
        if not self._ended:
            self._hear(timeout_s)
        if not self._ended:
            self._check()  # only now: what came before is not lost
        ended, self._ended = self._ended, []
        self._running.difference_update(one.place for one in ended)
        return ended

    def stop(self) -> None:
        """Ask the work that is under way to end soon."""
        self._tell("stop")

    def kill(self) -> None:
        """End every piece of work now."""
        with contextlib.suppress(EngineError):
            self._tell("kill")
        self._running.clear()
        self._ended.clear()

    def close(self) -> None:
        """Let go of the cluster, which goes on."""
        if self._process is None:
            return
        with contextlib.suppress(EngineError):
            self._tell("close")
        self._end()

    def _tell(self, *order: Any) -> None:
        try:
            self._pipe.send(order)
        except OSError as error:
            raise EngineError("the Ray cluster is gone") from error

    def _hear(self, timeout_s: float | None) -> None:
        """Take what the driver says: wait for one word, and take what follows at once."""
        try:
            while self._pipe.poll(timeout_s):
                timeout_s = 0.0
                word, value = self._pipe.recv()
                if word == "room":
                    self._room = value
                elif word == "note":
                    self._note(value)
                elif word == "failed":
                    self._failure = value
                elif value.place in self._running:
                    self._ended.append(value)
        except (EOFError, OSError):
            self._failure = self._failure or "the Ray cluster is gone"

    def _check(self) -> None:
        if self._failure:
            raise EngineError(self._failure)

    def _end(self) -> None:
        self._pipe.close()
        process, self._process = self._process, None
        assert process is not None
        process.join(PATIENCE_S)
        if process.is_alive():
            process.kill()
            process.join()
        process.close()
        self._running.clear()
