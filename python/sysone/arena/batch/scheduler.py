"""Plays a run's games on an executor, and keeps each result the moment it is there."""

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from sysone.arena.batch import worker
from sysone.arena.batch.jobs import Job
from sysone.arena.batch.options import Options
from sysone.arena.batch.store import Store
from sysone.arena.batch.summary import State, summarise
from sysone.arena.batch.worker import Assignment
from sysone.arena.isolation.base import Isolation
from sysone.arena.match import Limits
from sysone.executors import ATTEMPTS, EngineError, Executor, Finished
from sysone.runs.interrupts import Interrupts

REAP_S: Final = 5.0
"""After an interrupt, games that have not ended by then are killed."""
TICK_S: Final = 2.0
"""Between two lines of progress."""


class Scheduler:
    """One run. ``on_result`` gets each line as it is kept, ``note`` lines of progress.

    ``wrap`` makes what the executor is given out of an assignment, and ``unwrap`` the line out of
    what it gives back; by default they are the same.
    """

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
        wrap: Callable[[Assignment], Any] = lambda item: item,
        unwrap: Callable[[Any, Assignment], dict[str, Any]] = lambda result, item: result,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self.jobs = jobs
        self.options = options
        self.executor = executor
        self.isolation = isolation
        self.on_result = on_result
        self.note = note
        self.wrap = wrap
        self.unwrap = unwrap
        self.clock = clock
        self.played = 0
        self._lost: Counter[int] = Counter()
        """How often each game's machine was lost."""
        self._under_way: dict[int, Assignment] = {}

    def run(self, interrupts: Interrupts) -> dict[str, Any]:
        """Play what is not yet ``ok``; returns the last summary.

        Raises:
            EngineError: nothing is left to play at; what was played is kept.
        """
        waiting = deque(
            job for job in self.jobs if self.store.results.get(job.index, {}).get("status") != "ok"
        )
        begun = self.clock()
        try:
            state = self._play(waiting, interrupts, begun)
        except EngineError:
            self._summarise("interrupted", begun)
            raise
        finally:
            self.executor.close()
        return self._summarise(state, begun)

    def _play(self, waiting: deque[Job], interrupts: Interrupts, begun: float) -> State:
        told = begun
        asked: float | None = None
        fast = False
        self._summarise("running", begun)
        while (waiting and not fast and asked is None) or self._under_way:
            while waiting and asked is None and not fast and self._has_slot():
                self._begin(waiting.popleft())
            for finished in self.executor.wait(0.2):
                item = self._under_way.pop(finished.place)
                if asked is None and not fast and self._goes_again(finished, item):
                    waiting.appendleft(item.job)
                    continue
                line = self._line(finished, item, asked is not None)
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
        if asked is not None:
            return "interrupted"
        return "failed_fast" if fast else "finished"

    def _goes_again(self, finished: Finished, item: Assignment) -> bool:
        """Whether a game whose machine was lost is played again, as a new attempt."""
        if not finished.lost or self._lost[item.job.index] + 1 >= ATTEMPTS:
            return False
        self._lost[item.job.index] += 1
        self.note(f"game {item.job.index}: {finished.error}; attempt {item.attempt + 1}")
        return True

    def _line(self, finished: Finished, item: Assignment, interrupted: bool) -> dict[str, Any]:
        if finished.result is None:
            return worker.lost(item, finished.error or "", interrupted=interrupted)
        return self.unwrap(finished.result, item)

    def _has_slot(self) -> bool:
        return len(self._under_way) < self.executor.slots

    def _begin(self, job: Job) -> None:
        options = self.options
        last = self.store.results.get(job.index)
        item = Assignment(
            job=job,
            attempt=(0 if last is None else last["attempt"]) + self._lost[job.index] + 1,
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
        self.executor.submit(job.index, self.wrap(item))

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
