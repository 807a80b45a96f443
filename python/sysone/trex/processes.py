"""Independent pieces of work on every processor."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    jobs: int,
    begin: Callable[..., None] | None = None,
    arguments: tuple[Any, ...] = (),
) -> Iterator[tuple[int, Result]]:
    """The results with their items' places, as they are ready, from ``jobs`` processes.

    ``begin`` is called with ``arguments`` once in each. What ``work`` raises is raised here, and
    nothing more is begun; everything that crosses is pickled.
    """
    # Spawned: the parent may hold threads and a loaded model's runtime.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        min(jobs, len(items)), context, initializer=_begin, initargs=(begin, arguments)
    )
    try:
        places = {pool.submit(work, item): place for place, item in enumerate(items)}
        for future in as_completed(places):
            yield places[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(begin: Callable[..., None] | None, arguments: tuple[Any, ...]) -> None:
    # The keyboard's interrupt reaches the whole group; the parent ends the pool.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if begin is not None:
        begin(*arguments)
