"""Workers of this machine: results, faults, stopping, and none left behind."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sysone.executors import LocalExecutor

FOREVER_S = 600.0


def work(item: Any, stopping: Callable[[], bool]) -> Any:
    """What the tests' items ask for."""
    kind, value = item
    if kind == "square":
        return value**2
    if kind == "where":
        return os.getpid(), sorted(os.sched_getaffinity(0))
    if kind == "raise":
        raise ValueError(value)
    if kind == "die":
        os.kill(os.getpid(), value)
    if kind == "until told":
        while not stopping():
            time.sleep(0.01)
        return "stopped"
    time.sleep(value)
    return None


@pytest.fixture
def executor() -> Iterator[LocalExecutor]:
    found = LocalExecutor(work, 2)
    yield found
    found.kill()


def until(executor: LocalExecutor, count: int) -> dict[int, Any]:
    found: dict[int, Any] = {}
    while len(found) < count:
        for finished in executor.wait(FOREVER_S):
            found[finished.place] = finished
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_results_come_with_their_places_and_workers_are_kept(executor: LocalExecutor) -> None:
    executor.submit(7, ("where", None))
    pid = until(executor, 1)[7].result[0]
    executor.submit(8, ("where", None))
    assert until(executor, 1)[8].result[0] == pid
    executor.submit(1, ("square", 3))
    executor.submit(2, ("square", 4))
    assert executor.running == 2
    with pytest.raises(ValueError, match="no slot is free"):
        executor.submit(3, ("square", 5))
    found = until(executor, 2)
    assert [found[place].result for place in (1, 2)] == [9, 16]
    assert executor.wait(0) == []


def test_what_is_raised_is_told_and_the_worker_goes_on(executor: LocalExecutor) -> None:
    executor.submit(0, ("raise", "no such thing"))
    finished = until(executor, 1)[0]
    assert finished.result is None
    assert finished.error == "ValueError: no such thing"
    executor.submit(1, ("square", 2))
    assert until(executor, 1)[1].result == 4


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
def test_a_worker_that_dies_takes_one_piece_with_it(
    executor: LocalExecutor, number: signal.Signals
) -> None:
    executor.submit(0, ("die", number))
    executor.submit(1, ("square", 5))
    found = until(executor, 2)
    assert found[0].error == f"its process ended, by {number.name}"
    assert found[1].result == 25
    executor.submit(2, ("square", 6))
    assert until(executor, 1)[2].result == 36


def test_a_free_worker_that_died_is_replaced(executor: LocalExecutor) -> None:
    executor.submit(0, ("where", None))
    pid = until(executor, 1)[0].result[0]
    os.kill(pid, signal.SIGKILL)
    executor.submit(1, ("square", 3))
    finished = until(executor, 1)[1]
    # The kill may be noticed before the item is sent or after; the piece is not lost unseen.
    assert finished.result == 9 or finished.error is not None
    executor.submit(2, ("square", 3))
    assert until(executor, 1)[2].result == 9


def test_stop_asks_and_results_still_come(executor: LocalExecutor) -> None:
    for place in (0, 1):
        executor.submit(place, ("where", None))
    until(executor, 2)  # both have begun and listen
    for place in (0, 1):
        executor.submit(place, ("until told", None))
    # A request that comes between two pieces of work is for neither; so it is made until heard.
    found: dict[int, Any] = {}
    while len(found) < 2:
        executor.stop()
        found |= {finished.place: finished for finished in executor.wait(0.2)}
    assert [found[place].result for place in (0, 1)] == ["stopped"] * 2


def test_kill_leaves_no_process(executor: LocalExecutor) -> None:
    for place in (0, 1):
        executor.submit(place, ("where", None))
    pids = [finished.result[0] for finished in until(executor, 2).values()]
    executor.submit(0, ("sleep", FOREVER_S))
    executor.kill()
    assert executor.running == 0
    assert not any(alive(pid) for pid in pids)


def test_pinned_workers_keep_to_a_core_each() -> None:
    executor = LocalExecutor(work, 2, pin=True)
    for place in (0, 1):
        executor.submit(place, ("where", None))
    found = until(executor, 2)
    executor.close()
    assert [len(found[place].result[1]) for place in (0, 1)] == [1, 1]
    assert not any(alive(found[place].result[0]) for place in (0, 1))
