"""Sums of floats that every Python makes alike: one addition after the other.

From CPython 3.12 on the built-in ``sum`` of floats corrects its rounding errors, so that a result
would depend on the interpreter that made it, and differ from a reference's in its last digit.
"""

import operator
from collections.abc import Iterable
from functools import reduce


def in_order(values: Iterable[float]) -> float:
    """The sum of values from left to right, rounded at each addition; 0 of none."""
    return reduce(operator.add, values, 0)
