"""Boxes of pixels in a picture, and the steps that were made from them in vain."""

import numpy as np
from numpy.typing import NDArray

from sysone.arc.moved import Box

Grid = NDArray[np.uint8]
Place = tuple[int, int]
"""Upper left pixel of the player's box."""


class TriedAt:
    """Steps that led nowhere from a place, whatever the values there promised."""

    def __init__(self) -> None:
        self._tried: set[tuple[Place, int]] = set()

    def add(self, place: Place, action_id: int) -> None:
        """This step was made from here and the player stayed."""
        self._tried.add((place, action_id))

    def clear(self) -> None:
        """Something happened: every step may do something else now."""
        self._tried.clear()

    def __call__(self, place: Place, action_id: int) -> bool:
        """Whether the step was made from there in vain."""
        return (place, action_id) in self._tried


def shifted(box: Box, step: Place) -> Box:
    """A box one step on."""
    return box[0] + step[0], box[1] + step[1], box[2] + step[0], box[3] + step[1]


def inside(box: Box, grid: Grid) -> bool:
    """Whether all of a box is in the picture."""
    height, width = grid.shape
    return box[0] >= 0 and box[1] >= 0 and box[2] < width and box[3] < height


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes share a pixel."""
    return a[0] <= b[2] and b[0] <= a[2] and a[1] <= b[3] and b[1] <= a[3]


def values_in(grid: Grid, box: Box, without: Box) -> frozenset[int]:
    """Values within a box and outside another."""
    x0, y0, x1, y1 = box
    if not overlap(box, without):
        # The usual case, a step of the player's own size: one colour each cell of few.
        return frozenset(grid[y0 : y1 + 1, x0 : x1 + 1].ravel().tolist())
    cells = grid[y0 : y1 + 1, x0 : x1 + 1].astype(np.int16)
    wx0, wy0 = max(without[0] - x0, 0), max(without[1] - y0, 0)
    cells[wy0 : max(without[3] - y0 + 1, 0), wx0 : max(without[2] - x0 + 1, 0)] = -1
    return frozenset(int(value) for value in np.unique(cells) if value >= 0)
