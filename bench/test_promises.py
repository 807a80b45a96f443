"""The promises as pytest-benchmark reports: ``python -m pytest bench --benchmark-json=FILE``."""

from dataclasses import replace

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.measure import Direct, Pair, Timer, measure
from bench.promises import Promise, load
from bench.registry import Unavailable, entries


@pytest.mark.parametrize("promise", load(), ids=lambda promise: promise.name)
def test_promise(benchmark: BenchmarkFixture, promise: Promise) -> None:
    if benchmark.disabled:
        pytest.skip("timing is off")
    try:
        case = entries()[promise.name]()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if isinstance(case, Direct):
        pytest.skip("not a pair of calls")
    pair = Pair(*case) if isinstance(case, tuple) else case
    loops = Timer(pair.subject, pair.clock).loops
    benchmark.pedantic(pair.subject, rounds=pair.rounds, iterations=loops, warmup_rounds=1)
    few = replace(pair, reference_rounds=min(3, pair.reference_rounds), samples=None)
    measured = measure(few, promise.unit, promise.better)
    benchmark.extra_info.update(
        ratio=measured.ratio, reference=measured.reference, unit=promise.unit
    )
    assert measured.ratio > 0
