"""Sums that do not depend on the interpreter."""

from sysone.runs.sums import in_order


def test_a_sum_is_rounded_at_each_addition() -> None:
    # A compensated sum, as Python 3.12 makes it, has 1.0.
    assert in_order([1e16, 1.0, -1e16]) == 0.0
    assert in_order(iter([0.1] * 10)) == 0.9999999999999999


def test_of_nothing_it_is_zero() -> None:
    assert in_order([]) == 0
