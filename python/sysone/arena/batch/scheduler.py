"""Plays a run's games on an executor, and keeps each result the moment it is there."""

import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from sysone.arena.batch import worker
from sysone.arena.batch.jobs import Job
from sysone.arena.batch.options import Options
from sysone.arena.batch.store import Store
from sysone.arena.batch.summary import State, summarise
from sysone.arena.batch.worker import Assignment
from sysone.arena.isolation.base import Isolation
from sysone.arena.match import Limits
from sysone.executors import Executor

REAP_S: Final = 5.0
"""After an interrupt, games that have not ended by then are killed."""
TICK_S: Final = 2.0
"""Between two lines of progress."""


class Interrupts:
    """SIGINT and SIGTERM: the first asks, the second insists."""

    def __init__(self) -> None:
        self.count = 0
        self.number = 0

    @contextmanager
    def caught(self) -> Iterator["Interrupts"]:
        """Count signals instead of ending."""
        before = {
            number: signal.signal(number, self._handle)
            for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: object) -> None:
        self.count += 1
        self.number = self.number or number


class Scheduler:
    """One run. ``on_result`` gets each line as it is kept, ``note`` lines of progress."""

    def __init__(
        self,
        store: Store,
        jobs: Sequence[Job],
        options: Options,
        executor: Executor,
        isolation: Isolation,
        *,
        on_result: Callable[[dict[str, Any]], None],
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self.jobs = jobs
        self.options = options
        self.executor = executor
        self.isolation = isolation
        self.on_result = on_result
        self.note = note
        self.clock = clock
        self.played = 0
        self._under_way: dict[int, Assignment] = {}

    def run(self, interrupts: Interrupts) -> dict[str, Any]:
        """Play what is not yet ``ok``; returns the last summary."""
        waiting = deque(
            job for job in self.jobs if self.store.results.get(job.index, {}).get("status") != "ok"
        )
        begun = told = self.clock()
        asked: float | None = None
        fast = False
        self._summarise("running", begun)
        while (waiting and not fast and asked is None) or self._under_way:
            while waiting and asked is None and not fast and self._has_slot():
                self._begin(waiting.popleft())
            for finished in self.executor.wait(0.2):
                item = self._under_way.pop(finished.place)
                line = finished.result
                if line is None:
                    line = worker.lost(item, finished.error or "", interrupted=asked is not None)
                self._keep(line, begun)
                fast = fast or (self.options.fail_fast and _ends_run(line))
            now = self.clock()
            if interrupts.count and asked is None:
                asked = now
                self.executor.stop()
            if asked is not None and (interrupts.count > 1 or now - asked > REAP_S):
                self.executor.kill()
                self._under_way.clear()
            if self.options.progress and now - told >= TICK_S:
                told = now
                self._tell(len(waiting))
        self.executor.close()
        state: State = "finished"
        if asked is not None:
            state = "interrupted"
        elif fast:
            state = "failed_fast"
        return self._summarise(state, begun)

    def _has_slot(self) -> bool:
        return len(self._under_way) < self.executor.slots

    def _begin(self, job: Job) -> None:
        options = self.options
        last = self.store.results.get(job.index)
        item = Assignment(
            job=job,
            attempt=1 if last is None else last["attempt"] + 1,
            limits=Limits(
                options.timeout, options.startup_timeout, options.match_timeout, options.memory_mb
            ),
            replays="all" if self.store.single else options.replays,
            replay_path=self.store.replay_path(job.index),
            replay_name=self.store.replay_name(job.index),
            isolation=self.isolation,
            logs=self.store.folder / "logs",
        )
        self._under_way[job.index] = item
        self.executor.submit(job.index, item)

    def _keep(self, line: dict[str, Any], begun: float) -> None:
        self.store.add(line)
        self.played += 1
        self._summarise("running", begun)
        self.on_result(line)
        if self.options.progress:
            words = line["outcome"] or (line["error"] or {}).get("message", "")
            self.note(f"game {line['index']} seed {line['seed']}: {line['status']}, {words}")

    def _tell(self, waiting: int) -> None:
        done = len(self.jobs) - waiting - len(self._under_way)
        self.note(f"{done}/{len(self.jobs)} games, {len(self._under_way)} under way")

    def _summarise(self, state: State, begun: float) -> dict[str, Any]:
        summary = summarise(
            len(self.jobs),
            self.store.results,
            state=state,
            workers=self.options.workers,
            elapsed_s=self.clock() - begun,
            played=self.played,
        )
        self.store.summary(summary)
        return summary


def _ends_run(line: dict[str, Any]) -> bool:
    return line["status"] not in ("ok", "interrupted")
