"""Sums as the reference makes them: one addition after the other.

From CPython 3.12 on the built-in ``sum`` of floats corrects its rounding errors, so that a total
would depend on the interpreter that made it, and differ from the published ones in its last digit.
"""

import operator
from collections.abc import Iterable
from functools import reduce


def in_order(values: Iterable[float]) -> float:
    """The sum of values from left to right, rounded at each addition; 0 of none."""
    return reduce(operator.add, values, 0)
