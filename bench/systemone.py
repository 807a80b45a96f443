"""System One: a decision end to end, client and server sharing one core."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter_ns

from bench.measure import Direct, percentiles
from bench.registry import promise
from sysone.systemone import Choice, CLMClient, local_server

REQUESTS = 400
MS = 1e6

# The contract's bounds on one core, in ms: a state never seen before, and one that was.
UNSEEN_MS = 8.0
SEEN_MS = 1.0

QUESTION = Choice(
    {
        "jump": "Safe. Clears the 2 large cacti. Best.",
        "duck": "Unsafe. Hits the 2 large cacti. Collision.",
        "run": "Unsafe. Hits the 2 large cacti. Collision.",
    },
    "Choose the best safe action for the dinosaur.",
)


@promise("systemone.unseen_state")
def unseen_state() -> Direct:
    """With its instructions each state is 27 tokens long."""
    return decision(lambda index: state(100 + index), UNSEEN_MS)


@promise("systemone.seen_state")
def seen_state() -> Direct:
    return decision(lambda index: state(99), SEEN_MS)


def state(distance_px: int) -> str:
    return f"Dino runner game. 2 large cacti ahead, {distance_px} px away."


def decision(state_of: Callable[[int], str], reference_ms: float) -> Direct:
    """Median round trip in ms of one client that asks one question after the other."""
    samples = []
    with one_core(), local_server() as base_url, CLMClient(base_url, model="trex") as client:
        expected = client.system_one(state(99), {"action": QUESTION})
        assert expected.answers["action"].choice == "jump"
        for index in range(REQUESTS):
            asked = state_of(index)
            start = perf_counter_ns()
            client.system_one(asked, {"action": QUESTION})
            samples.append((perf_counter_ns() - start) / MS)
    found = percentiles(samples)
    return Direct(found["p50"], reference_ms, found)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and the children it starts meanwhile, on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
