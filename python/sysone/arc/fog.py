"""A map of what was seen where a game shows only the surroundings of the player.

Fog is one value: cells away from the player turn into it and back as the player moves. Once that
is noticed, cells keep the last thing that was seen there, and places are told apart by what a look
from them would still show.
"""

from collections import Counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.moved import Box

Grid = NDArray[np.uint8]

LEAST_MOVES: Final = 3
"""Moves with nothing but fog coming and going after which it is taken for fog."""
SHARE: Final = 0.6
"""Of all moves that must show it."""
SELDOM: Final = 0.15
"""Share of the looks below which a distance is an exception."""
EDGE: Final = 4
FRAMES_KEPT: Final = 40


class Seen:
    """Of one game; the map is drawn anew in each level."""

    def __init__(self) -> None:
        self.value: int | None = None
        """The fog's value, once it is known that there is fog."""
        self._votes: Counter[int] = Counter()
        self._moves = 0
        self._reaches: Counter[int] = Counter()
        """How far beyond the player's box things came to light, in the player's sizes."""
        self._frames: list[tuple[Grid, Box]] = []
        self._map: Grid | None = None
        self._known: NDArray[np.bool_] | None = None

    def start_level(self, grid: Grid, box: Box | None) -> None:
        """Forget the map of the level before."""
        self._map, self._known = None, None
        self._frames = []
        if box is not None:
            self.look(grid, box)

    def note(self, before: Grid, after: Grid, old: Box, new: Box, mask: NDArray[np.uint8]) -> None:
        """Take note of a step of the player from one box to another."""
        if before.shape != after.shape:
            return
        differs = (before != after) & (mask == 0)
        for x0, y0, x1, y1 in (old, new):
            differs[y0 : y1 + 1, x0 : x1 + 1] = False
        # What changes at the edge is a counter rather than fog.
        inner = np.zeros_like(differs)
        inner[EDGE:-EDGE, EDGE:-EDGE] = differs[EDGE:-EDGE, EDGE:-EDGE]
        differs = inner
        self._moves += 1
        if np.count_nonzero(differs) >= (new[2] - new[0] + 1) * (new[3] - new[1] + 1):
            gone, came = before[differs], after[differs]
            counts = np.bincount(gone, minlength=16) + np.bincount(came, minlength=16)
            # Of two that change places with each other the one that most of the picture shows.
            shown = np.bincount(after.ravel(), minlength=16)
            value = int((counts * (after.size + 1) + shown).argmax())
            # Every cell turns into it or out of it, and some do each.
            if ((gone == value) | (came == value)).all() and counts[value] > 1:
                self._votes[value] += 1
                rows, columns = np.nonzero(differs & (before == value))
                if len(rows):
                    x0, y0, x1, y1 = new
                    away = max(
                        (x0 - columns).max(),
                        (columns - x1).max(),
                        (y0 - rows).max(),
                        (rows - y1).max(),
                    )
                    self._reaches[round(float(away) / (x1 - x0 + 1))] += 1
        if self.value is None and self._votes:
            best, votes = self._votes.most_common(1)[0]
            if votes >= LEAST_MOVES and votes >= SHARE * self._moves:
                self.value = best
                for frame, box in self._frames:
                    self.look(frame, box)
                self._frames = []

    def map(self, grid: Grid) -> Grid:
        """What is known of the level: the picture itself where there is no fog."""
        if self.value is None or self._map is None or self._map.shape != grid.shape:
            return grid
        return np.where(grid == self.value, self._map, grid).astype(np.uint8)

    def unseen(self, box: Box) -> bool:
        """Whether a look from a box would show anything that was never seen; True without fog."""
        if self.value is None or self._known is None:
            return True
        return not bool(self._window(self._known, box, self.reach).all())

    def look(self, grid: Grid, box: Box) -> None:
        """Draw what is seen from a box into the map."""
        if self.value is None:
            if len(self._frames) < FRAMES_KEPT:
                self._frames.append((grid, box))
            return
        if self._map is None or self._known is None:
            self._map = grid.copy()
            self._known = np.zeros(grid.shape, bool)
        clear = grid != self.value
        self._map[clear] = grid[clear]
        # Fog beside the player is a wall of the same colour, or what was there is gone.
        near = self._window(grid, box, 1)
        self._window(self._map, box, 1)[:] = near
        self._window(self._known, box, self.reach)[:] = True

    @property
    def reach(self) -> int:
        """How far can be seen, in the player's sizes: the farthest that is no exception."""
        least = max(2, SELDOM * self._reaches.total())
        return max((far for far, times in self._reaches.items() if times >= least), default=1)

    @staticmethod
    def _window(array: NDArray[Any], box: Box, reach: int) -> NDArray[Any]:
        x0, y0, x1, y1 = box
        reach *= x1 - x0 + 1
        return array[max(y0 - reach, 0) : y1 + reach + 1, max(x0 - reach, 0) : x1 + reach + 1]
