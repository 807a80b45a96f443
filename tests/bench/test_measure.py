"""The method of the benches, on a clock of our own."""

import pytest

from bench.measure import (
    ROUND_NS,
    ROUNDS,
    Direct,
    Pair,
    Timer,
    fastest_of_each,
    measure,
    percentiles,
    times_better,
)


class Clock:
    """Time that passes only in the calls that are measured."""

    def __init__(self) -> None:
        self.now = 0
        self.order: list[str] = []

    def __call__(self) -> int:
        return self.now

    def call(self, name: str, *times_ns: int) -> "Call":
        return Call(self, name, times_ns)


class Call:
    """Takes the given times in turn, and then the last one for ever."""

    def __init__(self, clock: Clock, name: str, times_ns: tuple[int, ...]) -> None:
        self.clock, self.name, self.times_ns = clock, name, list(times_ns)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        self.clock.order.append(self.name)
        self.clock.now += self.times_ns.pop(0) if len(self.times_ns) > 1 else self.times_ns[0]


def test_the_ratio_is_that_of_the_fastest_rounds() -> None:
    clock = Clock()
    subject = clock.call("s", 9_000_000, 5_000_000, 2_000_000, 4_000_000)
    reference = clock.call("r", 90_000_000, 50_000_000, 70_000_000, 40_000_000, 80_000_000)
    found = measure(Pair(subject, reference, rounds=4, reference_rounds=4, clock=clock), "ms")
    assert (found.value, found.reference, found.ratio) == (2.0, 40.0, 20.0)
    assert (found.rounds, found.reference_rounds) == (4, 4)


def test_rounds_are_taken_in_turn_and_the_first_one_alternates() -> None:
    clock = Clock()
    pair = Pair(
        clock.call("s", ROUND_NS),
        clock.call("r", ROUND_NS),
        rounds=4,
        reference_rounds=4,
        clock=clock,
    )
    measure(pair, "ms")
    assert "".join(clock.order) == "sr" + "srrssrrs"


def test_few_reference_rounds_are_spread_over_all() -> None:
    clock = Clock()
    pair = Pair(
        clock.call("s", ROUND_NS),
        clock.call("r", ROUND_NS),
        rounds=9,
        reference_rounds=3,
        clock=clock,
    )
    found = measure(pair, "ms")
    assert "".join(clock.order) == "sr" + "sssr" + "ssrs" + "sssr"
    assert (found.rounds, found.reference_rounds) == (9, 3)


def test_a_reference_in_parts_is_the_sum_of_their_fastest() -> None:
    clock = Clock()
    parts = [
        clock.call("a", 9_000_000, 3_000_000, 8_000_000),
        clock.call("b", 9_000_000, 8_000_000, 4_000_000),
    ]
    pair = Pair(clock.call("s", ROUND_NS), parts, rounds=2, reference_rounds=2, clock=clock)
    assert measure(pair, "ms").reference == 7.0


def test_a_round_lasts_at_least_two_milliseconds() -> None:
    clock = Clock()
    call = clock.call("s", 1000)
    timer = Timer(call, clock)
    assert timer.loops * 1000 >= ROUND_NS
    before = clock.now
    timer.round()
    assert clock.now - before >= ROUND_NS
    assert timer.fastest_ns == 1000
    with pytest.raises(ValueError, match="takes no time"):
        Timer(clock.call("nothing", 0), clock)


def test_units() -> None:
    clock = Clock()
    pair = Pair(clock.call("s", 4_000_000), clock.call("r", 8_000_000), work=1000, clock=clock)
    rate = measure(pair, "frames/s")
    assert (rate.value, rate.reference, rate.ratio) == (250_000.0, 125_000.0, 2.0)
    time = measure(pair, "µs")
    assert (time.value, time.reference, time.ratio) == (4.0, 8.0, 2.0)


def test_two_plain_calls_are_a_pair() -> None:
    calls = [0, 0]

    def call(index: int) -> None:
        calls[index] += 1
        sum(range(10_000))

    found = measure((lambda: call(0), lambda: call(1)), "ms")
    assert found.value > 0
    assert found.ratio > 0
    assert found.rounds == found.reference_rounds == ROUNDS
    assert min(calls) > ROUNDS


def test_numbers_that_are_given() -> None:
    assert measure(Direct(2.0, 16.0, {"p99": 3.0}), "ms").ratio == 8.0
    assert measure(Direct(0.9, 0.45), "share", "higher").ratio == 2.0
    assert measure(Direct(2.0, 16.0, {"p99": 3.0}), "ms").statistics == {"p99": 3.0}
    assert times_better(0.0, 1.0, "lower") == float("inf")


def test_samples_become_percentiles_in_the_unit() -> None:
    clock = Clock()
    pair = Pair(
        clock.call("s", ROUND_NS),
        clock.call("r", ROUND_NS),
        samples=lambda: [1000.0 * n for n in range(1, 101)],
        clock=clock,
    )
    found = measure(pair, "µs")
    assert found.statistics == {"p50": 51.0, "p95": 96.0, "p99": 100.0, "max": 100.0}
    assert percentiles([]) == {}
    assert percentiles([7]) == {"p50": 7, "p95": 7, "p99": 7, "max": 7}


def test_the_fastest_time_of_each_call() -> None:
    calls = [0, 0]

    def call(index: int) -> None:
        calls[index] += 1

    times = fastest_of_each([lambda: call(0), lambda: call(1)], rounds=3)
    assert calls == [3, 3]
    assert len(times) == 2
    assert all(0 < time < float("inf") for time in times)
