"""The HUD mask: cells that count steps or lives, and must not make every frame a new one.

Where a HUD can be is the band of four cells along each edge. What is masked there:

* from a level's first frame: bars, that is components of the band at least eight cells long and
  three times as long as thick (a step bar, a row of lives is found below);
* learnt: lines of the band in which something changed in at least 90 % of a level's first actions
  whatever the action was, and components that changed together with them;
* cells leave again when they changed for some actions and never for others: they react.

The published starting rule masks every small component in the band at once. It is measured beside
this one in docs/arc.md: in games whose cells are four pixels wide it takes the playfield's outer
row, with the player on it, for a HUD.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action
from sysone_core import grids

Grid = NDArray[np.uint8]
Mask = NDArray[np.uint8]

BAND: Final = 4
"""Cells from an edge, and the greatest thickness of a HUD element."""
LEARN_ACTIONS: Final = 10
"""Actions of a level from which the mask is learnt."""
SHARE: Final = 0.9
REACT_OBSERVATIONS: Final = 5
"""Observations of an action before its silence about a cell counts."""
FLOOR_SHARE: Final = 0.12
"""A value that covers more of the grid is no bar's."""
MAX_SHARE: Final = 0.25
"""A larger mask is dropped: all cells count."""


def band_of(shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Cells within `BAND` of an edge."""
    band = np.ones(shape, np.bool_)
    band[BAND:-BAND, BAND:-BAND] = False
    return band


def band_components(grid: Grid) -> tuple[grids.Components, NDArray[np.bool_]]:
    """All components, and which lie in the band of one edge and are not the background."""
    height, width = grid.shape
    found = grids.components(grid)
    boxes = found.boxes
    inside = (
        (boxes[:, 2] < BAND)
        | (boxes[:, 3] < BAND)
        | (boxes[:, 0] >= width - BAND)
        | (boxes[:, 1] >= height - BAND)
    )
    return found, inside


def published_rule(grid: Grid) -> Mask:
    """The starting rule of a level's first frame, for comparison: every component of the band."""
    found, inside = band_components(grid)
    mask: Mask = inside[found.labels].astype(np.uint8)
    return mask


def bars(grid: Grid) -> Mask:
    """Long thin components of the band, and their continuation in another colour."""
    found, inside = band_components(grid)
    boxes = found.boxes
    across = boxes[:, 2] - boxes[:, 0] + 1
    down = boxes[:, 3] - boxes[:, 1] + 1
    long, thick = np.maximum(across, down), np.minimum(across, down)
    # What covers much of the screen is the playfield's floor or wall, and a strip of it at an edge
    # is what the scaling left over.
    counts = np.bincount(grid.ravel(), minlength=grids.VALUES)
    common = counts[boxes[:, 5]] > FLOOR_SHARE * grid.size
    chosen = inside & (long >= 8) & (long >= 3 * thick) & ~common
    mask: Mask = chosen[found.labels].astype(np.uint8)
    return mask


def _alike(boxes: NDArray[np.int32], joined: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Components of the size and in the row, or column, of joined ones: lamps that rest."""
    found = np.zeros(len(boxes), np.bool_)
    for x0, y0, x1, y1 in boxes[joined, :4].tolist():
        same = (boxes[:, 2] - boxes[:, 0] == x1 - x0) & (boxes[:, 3] - boxes[:, 1] == y1 - y0)
        found |= same & ((boxes[:, 1] == y0) | (boxes[:, 0] == x0))
    return found


class HudMask:
    """The mask of one game, learnt anew in each level from what the last one left."""

    def __init__(self) -> None:
        self.mask: Mask | None = None
        self.dropped = False
        """Whether a mask of more than a quarter of the grid was thrown away."""
        self._carried: Mask | None = None
        self._start(None)

    def start_level(self, grid: Grid) -> Mask:
        """The mask of a level's first frame."""
        carried = self._carried
        if self.mask is not None:
            carried = self.mask if self.mask.any() else carried
        self._start(grid)
        mask = bars(grid)
        if carried is not None and carried.shape == grid.shape:
            mask |= carried
        self._carried = carried
        self._set(mask)
        assert self.mask is not None
        return self.mask

    def _start(self, grid: Grid | None) -> None:
        shape = (1, 1) if grid is None else grid.shape
        self._band = band_of(shape)
        self._n = 0
        self._actions: set[Action] = set()
        self._changed = np.zeros(shape, np.int32)
        self._rows = np.zeros(shape[0], np.int32)
        self._columns = np.zeros(shape[1], np.int32)
        self._by_action = np.zeros((8, *shape), np.int32)
        self._n_by_action = np.zeros(8, np.int32)
        self._ever = np.zeros(shape, np.bool_)

    def update(self, action: Action, grid: Grid, changed: NDArray[np.int32]) -> bool:
        """Learn from one action within a level; whether the mask is another now."""
        action_id = action.id
        if self.mask is None or grid.shape != self.mask.shape or not 1 <= action_id <= 7:
            return False
        width = grid.shape[1]
        self._n += 1
        if self._n <= LEARN_ACTIONS:
            self._actions.add(action)
        self._n_by_action[action_id] += 1
        if len(changed):
            y, x = np.divmod(changed, width)
            here = self._band[y, x]
            y, x = y[here], x[here]
            self._by_action[action_id, y, x] += 1
            if self._n <= LEARN_ACTIONS:
                self._ever[y, x] = True
                self._changed[y, x] += 1
                self._rows[np.unique(y)] += 1
                self._columns[np.unique(x)] += 1
        before = self.mask
        if self._n in (5, LEARN_ACTIONS):
            self._learn(grid)
        elif self._n % 10 == 0 and self._n <= 200:
            self._release()
        return self.mask is not before

    def _learn(self, grid: Grid) -> None:
        """Lines of the band that change whatever is done."""
        assert self.mask is not None
        height, width = grid.shape
        need = SHARE * self._n
        lines = np.zeros(grid.shape, np.bool_)
        rows = np.flatnonzero(self._rows >= need)
        rows = rows[(rows < BAND) | (rows >= height - BAND)]
        columns = np.flatnonzero(self._columns >= need)
        columns = columns[(columns < BAND) | (columns >= width - BAND)]
        lines[rows] = True
        lines[:, columns] = True
        cells = lines & self._ever & self._band
        cells |= self._changed >= need
        # Two different actions at least, or it may be the reaction to one of them.
        if len(self._actions) < 2 or not cells.any():
            return
        found, inside = band_components(grid)
        labels = np.unique(found.labels[cells])
        joined = np.zeros(len(found), np.bool_)
        joined[labels] = True
        joined &= inside
        joined |= inside & _alike(found.boxes, joined)
        mask = self.mask | cells | joined[found.labels]
        self._set(mask.astype(np.uint8))
        self._release()

    def _release(self) -> None:
        """Let go of cells that react: changed by one action, never by another."""
        if self.mask is None or not self.mask.any():
            return
        seen = self._n_by_action >= REACT_OBSERVATIONS
        if np.count_nonzero(seen) < 2:
            return
        counts = self._by_action[seen]
        often = counts.max(axis=0) >= REACT_OBSERVATIONS
        reacting = (self.mask != 0) & often & (counts.min(axis=0) == 0)
        if reacting.any():
            self._set((self.mask.astype(np.bool_) & ~reacting).astype(np.uint8))

    def _set(self, mask: Mask) -> None:
        if np.count_nonzero(mask) > MAX_SHARE * mask.size:
            self.dropped = True
            mask = np.zeros_like(mask)
        if self.mask is None or not np.array_equal(mask, self.mask):
            self.mask = np.ascontiguousarray(mask, np.uint8)
