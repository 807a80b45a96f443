"""The kernels' twins in NumPy: the same functions, arguments and bits, for want of numba.

They are also what the kernels are tested and timed against, so they are written for speed as far
as NumPy goes, and without loops over cells.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from sysone_core.grids.constants import (
    BOX_FIELDS,
    COARSE,
    COARSE_SIDE,
    GOLDEN_GAMMA,
    MIX_1,
    MIX_2,
    PALETTE_HEX,
    RARE,
    SIDE,
    VALUES,
)

Grid = NDArray[np.uint8]
Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Int32 = NDArray[np.int32]

DIGITS = np.frombuffer(b"0123456789abcdef", np.uint8)
PALETTE = np.array([list(bytes.fromhex(code)) for code in PALETTE_HEX], np.uint8)
_STAR = ord("*")
_NEWLINE = ord("\n")


def mix(keys: Hashes) -> Hashes:
    """Splitmix64's finaliser of each key."""
    z = (keys + np.uint64(1)) * np.uint64(GOLDEN_GAMMA)
    z ^= z >> np.uint64(30)
    z *= np.uint64(MIX_1)
    z ^= z >> np.uint64(27)
    z *= np.uint64(MIX_2)
    return z ^ (z >> np.uint64(31))


@cache
def zobrist() -> Hashes:
    """One number for each cell and value, [64 * 64, 16]."""
    return mix(np.arange(SIDE * SIDE * VALUES, dtype=np.uint64)).reshape(SIDE * SIDE, VALUES)


def base(height: int, width: int) -> int:
    """What a grid's size alone adds to its hash."""
    return int(mix(np.array([2**32 + 64 * height + width], np.uint64))[0])


@cache
def _cells(height: int, width: int) -> NDArray[np.intp]:
    rows, columns = np.mgrid[:height, :width]
    return np.asarray((64 * rows + columns).ravel(), np.intp)


def grid_text(grid: Grid, out: Bytes) -> None:
    """Hex digits of every row and a line end between rows; ``out`` has H*W + H-1 bytes."""
    height, width = grid.shape
    lines = np.empty((height, width + 1), np.uint8)
    lines[:, :width] = DIGITS[grid]
    lines[:, width] = _NEWLINE
    out[:] = lines.ravel()[:-1]


def grid_hash(grid: Grid, mask: Grid, hashes: Hashes) -> None:
    """Hash of all cells and of those that ``mask`` does not cover, into ``hashes[:2]``."""
    height, width = grid.shape
    cells = zobrist()[_cells(height, width), grid.ravel()]
    start = np.uint64(base(height, width))
    hashes[0] = start ^ np.bitwise_xor.reduce(cells)
    hashes[1] = start ^ np.bitwise_xor.reduce(np.where(mask.ravel() == 0, cells, np.uint64(0)))


def observe(
    previous: Grid, grid: Grid, mask: Grid, hashes: Hashes, changed: Int32, diff: Bytes
) -> int:
    """See `sysone_core.grids.Observer.observe`."""
    height, width = grid.shape
    grid_text(grid, diff)
    cells = np.flatnonzero(previous.ravel() != grid.ravel())
    count = len(cells)
    changed[:count] = cells
    diff[cells + cells // width] = _STAR
    places = _cells(height, width)[cells]
    table = zobrist()
    flips = table[places, previous.ravel()[cells]] ^ table[places, grid.ravel()[cells]]
    hashes[0] ^= np.bitwise_xor.reduce(flips)
    hashes[1] ^= np.bitwise_xor.reduce(flips[mask.ravel()[cells] == 0])
    return count


def anchors(
    changed: Int32, n_changed: int, grid: Grid, mask: Grid, room: int, full: bool, out: Int32
) -> int:
    """See `sysone_core.grids.anchors`."""
    height, width = grid.shape
    if room <= 0:
        return 0
    limit = max(room - (RARE + COARSE), 0) if full else room // 2
    moved = changed[:n_changed]
    moved = moved[mask.ravel()[moved] == 0]
    if len(moved) > limit:
        moved = moved[np.arange(limit) * len(moved) // limit] if limit else moved[:0]
    n_rare = RARE if full else min(RARE, room // 4)
    rare = _rare(grid, mask, n_rare)
    n_coarse = COARSE if full else min(COARSE, max(room - len(moved) - len(rare), 0))
    picks = np.arange(n_coarse) * COARSE // max(n_coarse, 1)
    coarse = _coarse(height, width)[picks]
    cells = np.concatenate([moved, rare, coarse])
    _, first = np.unique(cells, return_index=True)
    chosen = cells[np.sort(first)][:room]
    out[: len(chosen), 0] = chosen % width
    out[: len(chosen), 1] = chosen // width
    return len(chosen)


@cache
def _coarse(height: int, width: int) -> NDArray[np.int64]:
    steps = 2 * np.arange(COARSE_SIDE) + 1
    x = steps * width // (2 * COARSE_SIDE)
    y = steps * height // (2 * COARSE_SIDE)
    return np.asarray((y[:, None] * width + x).ravel(), np.int64)


def _rare(grid: Grid, mask: Grid, n_rare: int) -> NDArray[np.int64]:
    height, width = grid.shape
    counts = np.bincount(grid.ravel(), minlength=VALUES)
    eligible = (grid != 0) & (grid != counts.argmax())
    if not eligible.any():
        eligible = grid != 0
    eligible &= mask == 0
    padded = np.full((height + 4, width + 4), 255, np.uint8)
    padded[2:-2, 2:-2] = grid
    equal = np.zeros(grid.shape, np.uint8)
    for dy in range(5):
        for dx in range(5):
            equal += padded[dy : dy + height, dx : dx + width] == grid
    cells = np.flatnonzero(eligible.ravel())
    key = (equal.ravel()[cells].astype(np.int64) << 25) | (counts[grid.ravel()[cells]] << 12)
    key |= cells
    if len(key) > n_rare:
        key = np.partition(key, n_rare - 1)[:n_rare] if n_rare else key[:0]
    return np.sort(key) & 4095


def components(grid: Grid, labels: Int32, boxes: Int32) -> int:
    """See `sysone_core.grids.components`."""
    height, width = grid.shape
    root = np.arange(height * width)
    cells = root.reshape(height, width)
    across = grid[:, 1:] == grid[:, :-1]
    down = grid[1:] == grid[:-1]
    first = np.concatenate([cells[:, :-1][across], cells[:-1][down]])
    second = np.concatenate([cells[:, 1:][across], cells[1:][down]])
    while True:
        low = np.minimum(root[first], root[second])
        before = root.copy()
        # Hook both ends' roots on the lower one, then shorten every path.
        np.minimum.at(root, before[first], low)
        np.minimum.at(root, before[second], low)
        while True:
            shorter = root[root]
            if np.array_equal(shorter, root):
                break
            root = shorter
        if np.array_equal(before, root):
            break
    heads, label = np.unique(root, return_inverse=True)
    count = len(heads)
    labels[:] = label.reshape(height, width)
    y, x = np.divmod(np.arange(height * width), width)
    rows = np.zeros((count, BOX_FIELDS), np.int64)
    rows[:, 0], rows[:, 1] = width, height
    np.minimum.at(rows[:, 0], label, x)
    np.minimum.at(rows[:, 1], label, y)
    np.maximum.at(rows[:, 2], label, x)
    np.maximum.at(rows[:, 3], label, y)
    rows[:, 4] = np.bincount(label, minlength=count)
    rows[:, 5] = grid.ravel()[heads]
    rows[:, 6] = np.bincount(label, weights=x, minlength=count)
    rows[:, 7] = np.bincount(label, weights=y, minlength=count)
    boxes[:count] = rows
    return count


def centres(labels: Int32, boxes: Int32, count: int, out: Int32) -> None:
    """The cell of each component nearest to its centroid, the first in reading order."""
    height, width = labels.shape
    label = labels.ravel()
    y, x = np.divmod(np.arange(height * width), width)
    rows = boxes[label].astype(np.int64)
    distance = (rows[:, 4] * x - rows[:, 6]) ** 2 + (rows[:, 4] * y - rows[:, 7]) ** 2
    order = np.lexsort((np.arange(height * width), distance, label))
    _, first = np.unique(label[order], return_index=True)
    out[:count] = order[first]


def render(grid: Grid, scale: int, out: Bytes) -> None:
    """RGB of every cell, each ``scale`` by ``scale`` pixels; ``out`` is [H*scale, W*scale, 3]."""
    out[:] = PALETTE[np.repeat(np.repeat(grid, scale, 0), scale, 1)]
