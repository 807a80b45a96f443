"""System One: a decision end to end, the server's own cost, and many options at once."""

import atexit
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from time import perf_counter_ns

from bench.http_load import Connection, in_parallel, request_bytes, server
from bench.measure import Direct, Pair, percentiles
from bench.registry import promise
from sysone.systemone import Choice, CLMClient, Engine, local_server
from sysone.systemone.questions import to_wire

REQUESTS = 400
MS = 1e6

# The contract's bounds on one core, in ms: a state never seen before, and one that was.
UNSEEN_MS = 8.0
SEEN_MS = 1.0
OPTIONS_MS = 1.0
CACHED_RATE = 1000.0

QUESTION = Choice(
    {
        "jump": "Safe. Clears the 2 large cacti. Best.",
        "duck": "Unsafe. Hits the 2 large cacti. Collision.",
        "run": "Unsafe. Hits the 2 large cacti. Collision.",
    },
    "Choose the best safe action for the dinosaur.",
)


NO_OP_REQUEST = request_bytes(
    {
        "model": "jev-latest",
        "state": "Dino runner game. 2 large cacti ahead, 99 px away.",
        "questions": {"action": to_wire(QUESTION)},
    }
)


@promise("systemone.unseen_state")
def unseen_state() -> Direct:
    """With its instructions each state is 27 tokens long."""
    return decision(lambda index: state(100 + index), UNSEEN_MS)


@promise("systemone.seen_state")
def seen_state() -> Direct:
    return decision(lambda index: state(99), SEEN_MS)


@promise("systemone.http_one_client")
def http_one_client() -> Pair:
    """A model that does nothing: what is left is the server."""
    ours, twin = (connections[0] for connections in no_op_connections())
    check_equal(ours, twin)
    return Pair(
        lambda: ask_many(ours),
        lambda: ask_many(twin),
        work=MANY,
        clock=perf_counter_ns,
        samples=lambda: singles(ours),
    )


@promise("systemone.http_eight_clients")
def http_eight_clients() -> Pair:
    ours, twin = no_op_connections()
    return Pair(
        lambda: in_parallel(ours, NO_OP_REQUEST, MANY),
        lambda: in_parallel(twin, NO_OP_REQUEST, MANY),
        work=8 * MANY,
        clock=perf_counter_ns,
        samples=lambda: in_parallel(ours, NO_OP_REQUEST, REQUESTS),
    )


MANY = 50


@cache
def no_op_connections() -> tuple[list[Connection], list[Connection]]:
    """Eight to ours and eight to the twin; all stay open until the benches end."""
    stack = ExitStack()
    atexit.register(stack.close)
    ours, twin = (
        [stack.enter_context(closing(Connection(port))) for _ in range(8)]
        for port in (stack.enter_context(server(which)) for which in ("ours", "twin"))
    )
    return ours, twin


def check_equal(ours: Connection, twin: Connection) -> None:
    replies = [
        json.loads(connection.ask(NO_OP_REQUEST).partition(b"\r\n\r\n")[2])
        for connection in (ours, twin)
    ]
    assert replies[0] == replies[1], replies


def ask_many(connection: Connection) -> None:
    connection.wake()
    for _ in range(MANY):
        connection.ask(NO_OP_REQUEST)


def singles(connection: Connection) -> list[float]:
    samples = []
    connection.wake()
    for _ in range(REQUESTS):
        start = perf_counter_ns()
        connection.ask(NO_OP_REQUEST)
        samples.append(float(perf_counter_ns() - start))
    return samples


@promise("systemone.cached_rate")
def cached_rate() -> Direct:
    """Requests a second of known state and options; client and server share one core."""
    body = {"model": "trex", "state": state(99), "questions": {"action": to_wire(QUESTION)}}
    request = request_bytes(body)
    with one_core(), local_server() as base_url:
        connection = Connection(int(base_url.rsplit(":", 1)[1]))
        connection.ask(request)
        best_ns = float("inf")
        for _ in range(20):
            start = perf_counter_ns()
            for _ in range(MANY):
                connection.ask(request)
            best_ns = min(best_ns, perf_counter_ns() - start)
        connection.close()
    return Direct(MANY * 1e9 / best_ns, CACHED_RATE)


@promise("systemone.thousand_options")
def thousand_options() -> Direct:
    """In process, every option known: from the question to the finished reply."""
    engine = Engine()
    names = [f"Option number {index} of the list" for index in range(1000)]
    question = {"q": Choice(dict.fromkeys(names), "Which?")}
    samples = []
    for index in range(200):
        start = perf_counter_ns()
        reply = engine.answer("a state", question)
        samples.append((perf_counter_ns() - start) / MS)
        assert len(reply["answers"]["q"]["probabilities"]) == 1000
        assert index == 0 or reply["usage"]["input_tokens"] == 0
    found = percentiles(samples[1:])
    return Direct(found["p50"], OPTIONS_MS, found)


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
