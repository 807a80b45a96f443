"""Speed that can be believed on a busy machine: rounds in turn, ratio of minimums.

Other work only ever makes a round slower, so the fastest of many rounds is the one that it
disturbed least. Subject and reference take turns, so that both meet the same load. Timing lasts
at least 2 ms a round, so that the clock and the loop do not count.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter_ns, thread_time_ns
from typing import Literal

ROUND_NS = 2_000_000
ROUNDS = 31
NS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}

Call = Callable[[], object]


@dataclass(frozen=True)
class Pair:
    """Two ways to do the same work, to be timed against each other.

    ``subject`` and ``reference`` do ``work`` units of it in one call. A slow reference may be
    given in parts, each timed by itself, so that a few rounds find an undisturbed moment for
    each; ``reference_rounds`` says how few. ``samples`` returns single times in ns, for
    percentiles.

    ``clock`` counts ns. The default is the processor time of this thread, which stands still
    while other work has the core; work that waits, or that other threads or processes do, needs
    ``time.perf_counter_ns``.
    """

    subject: Call
    reference: Call | Sequence[Call]
    work: float = 1
    rounds: int = ROUNDS
    reference_rounds: int = ROUNDS
    samples: Callable[[], Sequence[float]] | None = None
    clock: Callable[[], int] = thread_time_ns


@dataclass(frozen=True)
class Direct:
    """Two numbers that are not a time to be measured here, in the promise's unit."""

    value: float
    reference: float
    statistics: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Measurement:
    value: float
    reference: float
    ratio: float
    rounds: int = 1
    reference_rounds: int = 1
    statistics: dict[str, float] = field(default_factory=dict)


def measure(
    case: Pair | Direct | tuple[Call, Call],
    unit: str,
    better: Literal["lower", "higher"] = "lower",
) -> Measurement:
    """Time a pair, or take two numbers as they are, and compare them."""
    if isinstance(case, Direct):
        ratio = times_better(case.value, case.reference, better)
        return Measurement(case.value, case.reference, ratio, statistics=case.statistics)
    pair = Pair(*case) if isinstance(case, tuple) else case
    parts = [pair.reference] if callable(pair.reference) else list(pair.reference)
    with quiet_collector():
        subject = Timer(pair.subject, pair.clock)
        references = [Timer(part, pair.clock) for part in parts]
        for index in range(pair.rounds):
            # The reference's rounds are spread evenly over the subject's.
            due = (index + 1) * pair.reference_rounds // pair.rounds
            turn = [subject, *(references if due > references[0].rounds else [])]
            for timer in reversed(turn) if index % 2 else turn:
                timer.round()
        singles = pair.samples() if pair.samples else ()
    subject_ns = subject.fastest_ns
    reference_ns = sum(timer.fastest_ns for timer in references)
    ratio = reference_ns / subject_ns
    if unit.endswith("/s"):
        value, reference = (pair.work * 1e9 / ns for ns in (subject_ns, reference_ns))
    else:
        value, reference = (ns / pair.work / NS[unit] for ns in (subject_ns, reference_ns))
    scale = NS.get(unit, 1e6)
    statistics = {name: ns / scale for name, ns in percentiles(singles).items()}
    return Measurement(value, reference, ratio, subject.rounds, references[0].rounds, statistics)


def times_better(value: float, reference: float, better: Literal["lower", "higher"]) -> float:
    """How many times better than the reference a value is; above 1 is better either way."""
    over, under = (reference, value) if better == "lower" else (value, reference)
    return over / under if under else float("inf")


class Timer:
    """The fastest of a call's rounds; each round has as many calls as 2 ms need."""

    def __init__(self, call: Call, clock: Callable[[], int]) -> None:
        self.call, self.clock = call, clock
        self.rounds = 0
        self.fastest_ns = float("inf")
        self.loops = 1
        while (elapsed := self._time(self.loops)) < ROUND_NS:
            # Half as many again as this round asks for: later ones may be faster.
            self.loops = max(2 * self.loops, int(1.5 * self.loops * ROUND_NS / max(elapsed, 1)))
            if self.loops > 1 << 30:
                raise ValueError("the call takes no time at all")

    def round(self) -> None:
        self.rounds += 1
        self.fastest_ns = min(self.fastest_ns, self._time(self.loops) / self.loops)

    def _time(self, loops: int) -> int:
        call, counts = self.call, range(loops)
        start = self.clock()
        for _ in counts:
            call()
        return self.clock() - start


def fastest_of_each(calls: Sequence[Call], rounds: int = 7) -> list[float]:
    """For each call its fastest time in ns, for percentiles over the calls and not the load."""
    fastest = [float("inf")] * len(calls)
    for _ in range(rounds):
        for index, call in enumerate(calls):
            start = perf_counter_ns()
            call()
            fastest[index] = min(fastest[index], perf_counter_ns() - start)
    return fastest


def percentiles(values: Sequence[float]) -> dict[str, float]:
    if not values:
        return {}
    ordered = sorted(values)
    last = len(ordered) - 1
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: ordered[min(last, int(q * len(ordered)))] for name, q in shares.items()}


@contextmanager
def quiet_collector() -> Iterator[None]:
    """No garbage collection in the middle of a round, as in the standard library's timeit."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
