"""All pieces of a work on an executor, each result as it comes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from sysone.executors.base import ATTEMPTS, Executor, Finished
from sysone.runs.errors import RunError

LOOK_S: Final = 0.2


def collect(
    executor: Executor,
    count: int,
    item_of: Callable[[int], Any],
    *,
    check: Callable[[], None] = lambda: None,
) -> Iterator[Finished]:
    """What ends, in the order of its ending; places are 0 to ``count`` - 1.

    ``item_of`` makes the item of a place when it is begun. What was lost with its machine is begun
    again, three times in all. ``check`` is called now and then and may raise to end everything.
    When the iteration ends, in whatever way, so does all work.

    Raises:
        EngineError: nothing is left to do work at.
    """
    waiting = deque(range(count))
    begun: dict[int, int] = {}
    running = 0
    try:
        while waiting or running:
            check()
            while waiting and running < executor.slots:
                place = waiting.popleft()
                begun[place] = begun.get(place, 0) + 1
                executor.submit(place, item_of(place))
                running += 1
            for finished in executor.wait(LOOK_S):
                running -= 1
                if finished.lost and begun[finished.place] < ATTEMPTS:
                    waiting.append(finished.place)
                else:
                    yield finished
    finally:
        if running:
            executor.kill()
        executor.close()


def results(ended: Iterable[Finished]) -> Iterator[tuple[int, Any]]:
    """Place and result of each piece; for work of which none may fail.

    Raises:
        RunError: one has no result; the text says why.
    """
    for finished in ended:
        if finished.error is not None:
            raise RunError(finished.error)
        yield finished.place, finished.result
