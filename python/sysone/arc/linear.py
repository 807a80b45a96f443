"""Fewest clicks where their order does not matter: a linear system over the integers modulo k.

With values that follow each other in a cycle of prime length k, a click adds one to every tile that
it reaches. So lights out and its kin are solved at any size by elimination, and of all solutions
the one with the fewest clicks is found in the null space.
"""

from collections.abc import Sequence
from itertools import product
from typing import Final

import numpy as np
from numpy.typing import NDArray

MAX_SOLUTIONS: Final = 5000
"""Solutions that are compared; where there are more, one of them is taken."""
PRIMES: Final = (2, 3, 5, 7, 11, 13)


def cycle_of(following: dict[int, int]) -> list[int] | None:
    """The values in their order, the smallest first; None unless they are one cycle, of a prime."""
    if len(following) not in PRIMES:
        return None
    found = [min(following)]
    while (after := following.get(found[-1])) not in (None, found[0]):
        assert after is not None
        if after in found:
            return None
        found.append(after)
    return found if len(found) == len(following) and following.get(found[-1]) == found[0] else None


def fewest_clicks(
    reaches: Sequence[Sequence[int]], wanted: Sequence[int], k: int
) -> list[int] | None:
    """How often to click each tile, so that tile i is stepped on by ``wanted[i]``, modulo k.

    ``reaches[j]`` are the tiles that a click on tile j steps on. None where it cannot be.
    """
    n = len(reaches)
    system = np.zeros((n, n + 1), np.int64)
    for clicked, tiles in enumerate(reaches):
        for tile in tiles:
            system[tile, clicked] += 1
    system[:, n] = np.asarray(wanted) % k
    system %= k
    pivots = _eliminate(system, k)
    if any(system[row, n] for row in range(len(pivots), n)):
        return None
    solution = np.zeros(n, np.int64)
    solution[pivots] = system[: len(pivots), n]
    free = [column for column in range(n) if column not in set(pivots)]
    if k ** len(free) > MAX_SOLUTIONS:
        return [int(times) for times in solution]
    best = solution
    for times in product(range(k), repeat=len(free)):
        other = np.zeros(n, np.int64)
        other[free] = times
        other[pivots] = (
            system[: len(pivots), n] - system[: len(pivots)][:, free] @ np.asarray(times, np.int64)
            if free
            else system[: len(pivots), n]
        ) % k
        if other.sum() < best.sum():
            best = other
    return [int(times) for times in best]


def _eliminate(system: NDArray[np.int64], k: int) -> list[int]:
    """Reduce the rows in place; the columns of the pivots."""
    n = len(system)
    pivots: list[int] = []
    for column in range(n):
        row = len(pivots)
        below = np.flatnonzero(system[row:, column])
        if not len(below):
            continue
        swap = row + int(below[0])
        system[[row, swap]] = system[[swap, row]]
        system[row] = system[row] * pow(int(system[row, column]), -1, k) % k
        others = np.flatnonzero(system[:, column])
        for other in others[others != row]:
            system[other] = (system[other] - system[other, column] * system[row]) % k
        pivots.append(column)
        if len(pivots) == n:
            break
    return pivots
