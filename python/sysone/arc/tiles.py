"""A board of equal tiles in a picture, and a smaller picture of what it might become.

Click games mostly show things in rows and columns. A board is found from solid rectangles of one
size; places between them that are empty belong to it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action, click
from sysone_core import grids

Grid = NDArray[np.uint8]
Place = tuple[int, int]
"""Column and row; the first tile that was found is 0, 0."""
Values = tuple[int, ...]

SIDES: Final = (3, 32)
"""Pixels on each side of a tile."""
MAX_PLACES: Final = 64
MIXED: Final = -1
"""Value of a place that shows more than one colour."""
CLEAR: Final = 0.8
"""Share of a block of one value from which on it counts as that value; the rest may be a HUD."""


@dataclass(frozen=True, slots=True)
class Board:
    """Where the tiles of a level are."""

    left: int
    top: int
    pitch: Place
    size: Place
    places: tuple[Place, ...]
    floor: int
    """The value of an empty place: the most frequent one between the tiles."""

    @property
    def shape(self) -> Place:
        """Columns and rows."""
        return (
            1 + max(c for c, _ in self.places) - min(c for c, _ in self.places),
            1 + max(r for _, r in self.places) - min(r for _, r in self.places),
        )

    def corner(self, place: Place) -> Place:
        """The upper left pixel of a place."""
        return self.left + place[0] * self.pitch[0], self.top + place[1] * self.pitch[1]

    def read(self, grid: Grid) -> Values:
        """The value of every place, `MIXED` where it is not one."""
        found = []
        for place in self.places:
            x, y = self.corner(place)
            cells = grid[y : y + self.size[1], x : x + self.size[0]]
            first = int(cells[0, 0])
            found.append(first if (cells == first).all() else MIXED)
        return tuple(found)

    def action(self, place: Place) -> Action:
        """A click on the middle of a place."""
        x, y = self.corner(place)
        return click(x + (self.size[0] - 1) // 2, y + (self.size[1] - 1) // 2)

    def at(self, action: Action) -> Place | None:
        """The place that a click is on."""
        column, x = divmod(action.x - self.left, self.pitch[0])
        row, y = divmod(action.y - self.top, self.pitch[1])
        place = (column, row)
        inside = x < self.size[0] and y < self.size[1]
        return place if inside and place in self.places else None

    def with_room(self, grid: Grid) -> "Board":
        """The same with a row more above and a column more at each side, where all is empty.

        A pile may grow into them; whether they are places at all has to be tried.
        """
        columns = sorted({c for c, _ in self.places})
        rows = sorted({r for _, r in self.places})
        lines = [
            [(c, rows[0] - 1) for c in columns],
            [(columns[0] - 1, r) for r in rows],
            [(columns[-1] + 1, r) for r in rows],
        ]
        fresh = [place for line in lines if self._all_empty(grid, line) for place in line]
        return self.with_places(sorted([*self.places, *fresh], key=lambda place: place[::-1]))

    def with_places(self, places: Sequence[Place]) -> "Board":
        """The same board of other places."""
        return replace(self, places=tuple(places))

    def _all_empty(self, grid: Grid, line: list[Place]) -> bool:
        for place in line:
            x, y = self.corner(place)
            cells = grid[max(y, 0) : y + self.size[1], max(x, 0) : x + self.size[0]]
            whole = x >= 0 and y >= 0 and cells.shape == (self.size[1], self.size[0])
            if not whole or (cells != self.floor).any():
                return False
        return True


def find_board(grid: Grid, mask: NDArray[np.uint8]) -> Board | None:
    """The board of a picture; None where fewer than two equal tiles stand in rows and columns."""
    modal = int(np.bincount(grid.ravel(), minlength=grids.VALUES).argmax())
    solid = []
    for x0, y0, x1, y1, size, value, *_ in grids.components(grid).boxes.tolist():
        width, height = x1 - x0 + 1, y1 - y0 + 1
        small, large = min(width, height), max(width, height)
        if value == modal or size != width * height or small < 2 or large > SIDES[1]:
            continue
        if not mask[(y0 + y1) // 2, (x0 + x1) // 2]:
            solid.append((x0, y0, width, height))
    groups: dict[Place, list[Place]] = {}
    for x0, y0, width, height in solid:
        if min(width, height) >= SIDES[0]:
            groups.setdefault((width, height), []).append((x0, y0))
    best: tuple[int, Place] | None = None
    for tile, corners in groups.items():
        key = (len(corners) * tile[0] * tile[1], tile)
        if len(corners) > 1 and (best is None or key > best):
            best = key
    if best is None:
        return None
    width, height = best[1]
    corners = _aligned(groups[width, height])
    lines = [sorted({corner[axis] for corner in corners}) for axis in (0, 1)]
    bars = [(x, y, h) for x, y, w, h in solid if w == width and h != height]
    lines[0] = _with_bars(lines[0], bars)
    pitches = []
    for line, side in zip(lines, (width, height), strict=True):
        steps = [after - before for before, after in pairwise(line)]
        pitch = min(steps, default=side)
        if pitch < side or any(step % pitch for step in steps):
            return None
        pitches.append(pitch)
    left, top = lines[0][0], lines[1][0]
    columns = range((lines[0][-1] - left) // pitches[0] + 1)
    rows = range((lines[1][-1] - top) // pitches[1] + 1)
    if len(columns) * len(rows) > MAX_PLACES:
        return None
    places = tuple((column, row) for row in rows for column in columns)
    around = grid[top : lines[1][-1] + height, left : lines[0][-1] + width].copy()
    for x, y in corners:
        around[y - top : y - top + height, x - left : x - left + width] = grids.VALUES
    floor = int(np.bincount(around.ravel(), minlength=grids.VALUES + 1)[:-1].argmax())
    if not (around == floor).any():
        floor = modal
    return Board(left, top, (pitches[0], pitches[1]), (width, height), places, floor)


def _aligned(corners: list[Place]) -> list[Place]:
    """Without those that stand in no row or column with another, if the others do."""
    across, down = (Counter(corner[axis] for corner in corners) for axis in (0, 1))
    found = [corner for corner in corners if across[corner[0]] > 1 or down[corner[1]] > 1]
    return found or corners


def _with_bars(xs: list[int], bars: list[tuple[int, int, int]]) -> list[int]:
    """Columns that hold no tile, but stand on the same kind of bar as every column that does."""
    rows: dict[Place, set[int]] = {}
    for x, y, height in bars:
        rows.setdefault((y, height), set()).add(x)
    for found in rows.values():
        if set(xs) < found:
            return sorted(found)
    return xs


def find_picture(grid: Grid, mask: NDArray[np.uint8], board: Board) -> Values | None:
    """A small picture of the board elsewhere: as many blocks, each of one value; None without.

    Its values are in the order of ``board.places``.
    """
    columns, rows = board.shape
    least_column = min(c for c, _ in board.places)
    least_row = min(r for _, r in board.places)
    corners = [board.corner(place) for place in board.places]
    own = (
        min(x for x, _ in corners),
        min(y for _, y in corners),
        max(x for x, _ in corners) + board.size[0],
        max(y for _, y in corners) + board.size[1],
    )
    boxes = []
    for x0, y0, x1, y1, size, value, *_ in grids.components(grid).boxes.tolist():
        if value == board.floor or size < 4 or max(x1 - x0, y1 - y0) >= SIDES[1]:
            continue
        if mask[(y0 + y1) // 2, (x0 + x1) // 2] or mask[y1, x1]:
            continue
        if x1 < own[0] or y1 < own[1] or x0 >= own[2] or y0 >= own[3]:
            boxes.append((x0, y0, x1, y1))
    for x0, y0, x1, y1 in _clusters(boxes):
        width, height = x1 - x0 + 1, y1 - y0 + 1
        if width % columns or height % rows:
            continue
        across, down = width // columns, height // rows
        values = []
        for column, row in board.places:
            x, y = x0 + (column - least_column) * across, y0 + (row - least_row) * down
            hidden = mask[y : y + down, x : x + across] != 0
            cells = grid[y : y + down, x : x + across][~hidden]
            if not cells.size:
                break
            counts = np.bincount(cells, minlength=grids.VALUES)
            value = int(counts.argmax())
            if counts[value] < CLEAR * cells.size or value == board.floor:
                break
            values.append(value)
        if len(values) == len(board.places):
            return tuple(values)
    return None


def _clusters(boxes: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Boxes around those that touch."""
    clusters: list[tuple[int, int, int, int]] = []
    for box in boxes:
        merged = box
        rest = []
        for other in clusters:
            apart = (
                other[2] + 1 < merged[0]
                or merged[2] + 1 < other[0]
                or other[3] + 1 < merged[1]
                or merged[3] + 1 < other[1]
            )
            if apart:
                rest.append(other)
            else:
                merged = (
                    min(merged[0], other[0]),
                    min(merged[1], other[1]),
                    max(merged[2], other[2]),
                    max(merged[3], other[3]),
                )
        clusters = [*rest, merged]
    return clusters
