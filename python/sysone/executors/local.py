"""Worker processes of this machine.

A worker is spawned with its first piece of work and kept for the next one. It dies with the
process that made it, is told to stop by SIGTERM, and ignores the terminal's interrupt, which is
for the process that schedules. A worker that dies takes one piece of work with it: that is
reported, and the next piece gets a new worker.
"""

import contextlib
import multiprocessing
import os
import signal
from multiprocessing.connection import Connection, wait
from typing import Any

from sysone.executors.base import Finished, Work, answer, die_with_parent

PATIENCE_S = 5.0
"""How long a worker that was killed or let go may take to be gone."""


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class LocalExecutor:
    """Runs ``work`` in up to ``slots`` processes; see `Executor`.

    With ``pin`` each worker keeps to one processor. Use it from one thread: a worker dies with the
    thread that began it.
    """

    def __init__(self, work: Work, slots: int, *, pin: bool = False) -> None:
        self._slots = slots
        self._work = work
        self._pin = pin
        # Spawned: the parent may hold threads and a loaded model's runtime.
        self._context = multiprocessing.get_context("spawn")
        self._free: list[_Worker] = []
        self._busy: dict[int, _Worker] = {}
        self._names = list(range(slots))

    @property
    def slots(self) -> int:
        """How many workers there may be."""
        return self._slots

    @property
    def running(self) -> int:
        """How many pieces of work are under way."""
        return len(self._busy)

    def submit(self, place: int, item: Any) -> None:
        """Begin a piece of work in a free worker, or in a new one."""
        if len(self._busy) >= self._slots:
            raise ValueError(f"{self._slots} pieces of work are under way, no slot is free")
        while self._free:
            worker = self._free.pop()
            try:
                worker.pipe.send(item)
            except OSError:
                self._bury(worker)
                continue
            self._busy[place] = worker
            return
        worker = self._begin()
        with contextlib.suppress(OSError):  # `wait` reports a worker that died at once
            worker.pipe.send(item)
        self._busy[place] = worker

    def wait(self, timeout_s: float) -> list[Finished]:
        """What has ended meanwhile."""
        if not self._busy:
            return []
        ready = wait([worker.pipe for worker in self._busy.values()], timeout_s)
        finished = []
        for place, worker in list(self._busy.items()):
            if worker.pipe not in ready:
                continue
            del self._busy[place]
            try:
                result, error = worker.pipe.recv()
            except (EOFError, OSError):
                worker.process.join(PATIENCE_S)
                error = f"its process ended, {_ending(worker.process.exitcode)}"
                finished.append(Finished(place, error=error))
                self._bury(worker)
                continue
            finished.append(Finished(place, result, error))
            self._free.append(worker)
        return finished

    def stop(self) -> None:
        """Ask the work that is under way to end soon."""
        for worker in self._busy.values():
            worker.process.terminate()

    def kill(self) -> None:
        """End every worker now."""
        for worker in [*self._busy.values(), *self._free]:
            worker.process.kill()
            self._bury(worker)
        self._busy.clear()
        self._free.clear()

    def close(self) -> None:
        """Let the workers go."""
        for worker in self._free:
            worker.pipe.close()  # its next read ends it
        for worker in self._free:
            self._bury(worker)
        self._free.clear()
        if self._busy:
            self.kill()

    def _begin(self) -> "_Worker":
        ours, theirs = self._context.Pipe()
        name = self._names.pop(0)
        core = None
        if self._pin and hasattr(os, "sched_getaffinity"):
            cores = sorted(os.sched_getaffinity(0))
            core = cores[name % len(cores)]
        process = self._context.Process(
            target=_serve, args=(theirs, self._work, core, os.getpid()), daemon=False
        )
        process.start()
        theirs.close()
        return _Worker(name, process, ours)

    def _bury(self, worker: "_Worker") -> None:
        worker.pipe.close()
        worker.process.join(PATIENCE_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.process.close()
        self._names.append(worker.name)


class _Worker:
    def __init__(self, name: int, process: Any, pipe: Connection) -> None:
        self.name = name
        self.process = process
        self.pipe = pipe


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        with contextlib.suppress(ValueError):
            return f"by {signal.Signals(-code).name}"
    return f"with exit code {code}"


def _serve(pipe: Connection, work: Work, core: int | None, parent: int) -> None:
    die_with_parent(parent)
    if core is not None:
        os.sched_setaffinity(0, {core})
    asked: list[bool] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: asked.append(True))
    while True:
        try:
            item = pipe.recv()
        except (EOFError, OSError):
            return
        found = answer(work, item, lambda: bool(asked))
        # Now and not before the work: a request may be here before the item is.
        asked.clear()
        try:
            pipe.send(found)
        except OSError:
            return
