# mypy: disable-error-code="untyped-decorator"
"""The kernels: one pass over a grid each, nothing allocated that the caller can own.

They are compiled at their first call and kept in numba's cache beside this file, so that
importing this module compiles nothing. `sysone_core.grids.warm` fills the cache.
"""

import sys
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sysone_core.grids.constants import (
    COARSE,
    COARSE_SIDE,
    RARE,
    SIDE,
)
from sysone_core.grids.constants import GOLDEN_GAMMA as _GAMMA
from sysone_core.grids.constants import MIX_1 as _MIX_1
from sysone_core.grids.constants import MIX_2 as _MIX_2
from sysone_core.grids.twin import PALETTE

Grid = NDArray[np.uint8]
Bytes = NDArray[np.uint8]
Hashes = NDArray[np.uint64]
Int32 = NDArray[np.int32]

# numba would make floats of mixed int64 and uint64: every term of a hash is a uint64.
GAMMA = np.uint64(_GAMMA)
M1 = np.uint64(_MIX_1)
M2 = np.uint64(_MIX_2)
ONE = np.uint64(1)
S30 = np.uint64(30)
S27 = np.uint64(27)
S31 = np.uint64(31)
SIZE_KEY = np.uint64(2**32)
STAR = np.uint8(ord("*"))
NEWLINE = np.uint8(ord("\n"))
PAD = 2  # the 5x5 window reaches two cells beyond its middle
PADDED = SIDE + 2 * PAD


@njit(cache=True, nogil=True, inline="always")
def _mix(key):  # type: ignore[no-untyped-def]
    z = (key + ONE) * GAMMA
    z ^= z >> S30
    z *= M1
    z ^= z >> S27
    z *= M2
    return z ^ (z >> S31)


@njit(cache=True, nogil=True)
def grid_text(grid: Grid, out: Bytes) -> None:
    """See `sysone_core.grids.twin.grid_text`."""
    height, width = grid.shape
    for y in range(height):
        start = y * (width + 1)
        if y:
            out[start - 1] = NEWLINE
        for x in range(width):
            # '0' is 48 and 'a' 97: arithmetic is vectorised, a table is not.
            value = grid[y, x]
            out[start + x] = value + np.uint8(48) + (value > 9) * np.uint8(39)


@njit(cache=True, nogil=True)
def grid_hash(grid: Grid, mask: Grid, hashes: Hashes) -> None:
    """See `sysone_core.grids.twin.grid_hash`."""
    height, width = grid.shape
    whole = _mix(SIZE_KEY + np.uint64(64 * height + width))
    kept = whole
    for y in range(height):
        for x in range(width):
            term = _mix(np.uint64((64 * y + x) * 16) + np.uint64(grid[y, x]))
            whole ^= term
            if mask[y, x] == 0:
                kept ^= term
    hashes[0] = whole
    hashes[1] = kept


@njit(cache=True, nogil=True)
def observe(
    previous: Grid, grid: Grid, mask: Grid, hashes: Hashes, changed: Int32, diff: Bytes
) -> int:
    """See `sysone_core.grids.Observer.observe`."""
    height, width = grid.shape
    count = 0
    whole = hashes[0]
    kept = hashes[1]
    for y in range(height):
        start = y * (width + 1)
        if y:
            diff[start - 1] = NEWLINE
        differing = 0
        for x in range(width):
            value = grid[y, x]
            differs = value != previous[y, x]
            differing += differs
            digit = value + np.uint8(48) + (value > 9) * np.uint8(39)
            diff[start + x] = STAR if differs else np.uint8(digit)
        if differing == 0:
            continue
        for x in range(width):
            was = previous[y, x]
            value = grid[y, x]
            if was != value:
                changed[count] = y * width + x
                count += 1
                key = np.uint64((64 * y + x) * 16)
                flip = _mix(key + np.uint64(was)) ^ _mix(key + np.uint64(value))
                whole ^= flip
                if mask[y, x] == 0:
                    kept ^= flip
    hashes[0] = whole
    hashes[1] = kept
    return count


@njit(cache=True, nogil=True)
def anchors(
    changed: Int32, n_changed: int, grid: Grid, mask: Grid, room: int, full: bool, out: Int32
) -> int:
    """See `sysone_core.grids.anchors`."""
    height, width = grid.shape
    if room <= 0:
        return 0
    used = np.zeros(SIDE * SIDE, np.uint8)
    n_out = 0

    # cells that the last action changed, thinned evenly
    limit = max(room - (RARE + COARSE), 0) if full else room // 2
    n_moved = 0
    for i in range(n_changed):
        cell = changed[i]
        n_moved += mask[cell // width, cell % width] == 0
    taken = min(n_moved, limit)
    seen = 0
    due = 0
    for i in range(n_changed):
        if due == taken:
            break
        cell = changed[i]
        y = cell // width
        x = cell % width
        if mask[y, x] != 0:
            continue
        if seen == due * n_moved // taken:
            due += 1
            if n_out < room and used[cell] == 0:
                used[cell] = 1
                out[n_out, 0] = x
                out[n_out, 1] = y
                n_out += 1
        seen += 1

    # how often each value occurs; four tables, so that runs of one value do not wait on themselves
    table = np.zeros((4, 256), np.int32)
    for y in range(height):
        x = 0
        while x + 3 < width:
            table[0, grid[y, x]] += 1
            table[1, grid[y, x + 1]] += 1
            table[2, grid[y, x + 2]] += 1
            table[3, grid[y, x + 3]] += 1
            x += 4
        while x < width:
            table[0, grid[y, x]] += 1
            x += 1
    counts = table[0] + table[1] + table[2] + table[3]
    modal = 0
    for value in range(1, 16):
        if counts[value] > counts[modal]:
            modal = value
    if counts[0] + counts[modal] == height * width:
        modal = 0  # nothing but background: all values other than 0 are eligible

    # equal neighbours within the 5x5 window, a row at a time so that it is vectorised
    padded = np.full((PADDED, PADDED), 255, np.uint8)
    for y in range(height):
        for x in range(width):
            padded[y + PAD, x + PAD] = grid[y, x]
    n_rare = RARE if full else min(RARE, room // 4)
    best = np.empty(RARE + 1, np.int64)
    n_best = 0
    equal = np.empty(SIDE, np.uint8)
    for y in range(height):
        some = 0
        for x in range(width):
            value = grid[y, x]
            some += (value != 0) & (value != modal) & (mask[y, x] == 0)
        if some == 0 or n_rare == 0:
            continue
        middle = padded[y + PAD]
        equal[:] = 0
        for dy in range(5):
            row = padded[y + dy]
            for x in range(width):
                value = middle[x + 2]
                equal[x] += (
                    np.uint8(row[x] == value)
                    + np.uint8(row[x + 1] == value)
                    + np.uint8(row[x + 2] == value)
                    + np.uint8(row[x + 3] == value)
                    + np.uint8(row[x + 4] == value)
                )
        for x in range(width):
            value = grid[y, x]
            if value == 0 or value == modal or mask[y, x] != 0:
                continue
            key = (np.int64(equal[x]) << 25) | (np.int64(counts[value]) << 12) | (y * width + x)
            if n_best == n_rare and key >= best[n_best - 1]:
                continue
            place = min(n_best, n_rare - 1)
            while place > 0 and best[place - 1] > key:
                best[place] = best[place - 1]
                place -= 1
            best[place] = key
            n_best = min(n_best + 1, n_rare)
    for i in range(n_best):
        cell = best[i] & 4095
        if n_out < room and used[cell] == 0:
            used[cell] = 1
            out[n_out, 0] = cell % width
            out[n_out, 1] = cell // width
            n_out += 1

    # coarse points
    n_coarse = COARSE if full else min(COARSE, max(room - taken - n_best, 0))
    for i in range(n_coarse):
        point = i * COARSE // n_coarse
        x = (2 * (point % COARSE_SIDE) + 1) * width // (2 * COARSE_SIDE)
        y = (2 * (point // COARSE_SIDE) + 1) * height // (2 * COARSE_SIDE)
        cell = y * width + x
        if n_out < room and used[cell] == 0:
            used[cell] = 1
            out[n_out, 0] = x
            out[n_out, 1] = y
            n_out += 1
    return n_out


@njit(cache=True, nogil=True)
def components(grid: Grid, labels: Int32, boxes: Int32) -> int:
    """See `sysone_core.grids.components`. Runs of equal cells are joined, not single cells."""
    height, width = grid.shape
    parent = np.empty(SIDE * SIDE, np.int32)  # of a run; the lower run is the root
    row_start = np.empty(SIDE + 1, np.int32)
    run_x = np.empty(SIDE * SIDE + 1, np.int32)
    n_runs = 0
    for y in range(height):
        row_start[y] = n_runs
        before = grid[y, 0]
        run_x[n_runs] = 0
        parent[n_runs] = n_runs
        n_runs += 1
        for x in range(1, width):
            value = grid[y, x]
            if value != before:
                run_x[n_runs] = x
                parent[n_runs] = n_runs
                n_runs += 1
                before = value
        if y == 0:
            continue
        above = row_start[y - 1]
        above_end = row_start[y]
        for run in range(row_start[y], n_runs):
            start = run_x[run]
            end = run_x[run + 1] if run + 1 < n_runs else width
            value = grid[y, start]
            while above < above_end:
                other_start = run_x[above]
                other_end = run_x[above + 1] if above + 1 < above_end else width
                if other_start < end and start < other_end and grid[y - 1, other_start] == value:
                    a = run
                    while parent[a] != a:
                        parent[a] = parent[parent[a]]
                        a = parent[a]
                    b = above
                    while parent[b] != b:
                        parent[b] = parent[parent[b]]
                        b = parent[b]
                    if a < b:
                        parent[b] = a
                    elif b < a:
                        parent[a] = b
                if other_end > end:
                    break
                above += 1
    row_start[height] = n_runs

    # number the roots in reading order, fill labels and boxes run by run
    count = 0
    label_of = np.empty(SIDE * SIDE, np.int32)
    for y in range(height):
        for run in range(row_start[y], row_start[y + 1]):
            start = run_x[run]
            end = run_x[run + 1] if run + 1 < row_start[y + 1] else width
            length = end - start
            root = parent[run]
            if root == run:
                label = count
                count += 1
                boxes[label, 0] = start
                boxes[label, 1] = y
                boxes[label, 2] = end - 1
                boxes[label, 3] = y
                boxes[label, 4] = 0
                boxes[label, 5] = grid[y, start]
                boxes[label, 6] = 0
                boxes[label, 7] = 0
            else:
                # Roots are lower than their runs, so theirs are numbered already.
                label = label_of[root]
            label_of[run] = label
            boxes[label, 0] = min(boxes[label, 0], start)
            boxes[label, 2] = max(boxes[label, 2], end - 1)
            boxes[label, 3] = y
            boxes[label, 4] += length
            boxes[label, 6] += (start + end - 1) * length // 2
            boxes[label, 7] += y * length
            for x in range(start, end):
                labels[y, x] = label
    return count


@njit(cache=True, nogil=True)
def centres(labels: Int32, boxes: Int32, count: int, out: Int32) -> None:
    """See `sysone_core.grids.twin.centres`."""
    height, width = labels.shape
    nearest = np.full(count, np.int64(1) << 62, np.int64)
    for y in range(height):
        for x in range(width):
            label = labels[y, x]
            cells = np.int64(boxes[label, 4])
            across = cells * x - boxes[label, 6]
            down = cells * y - boxes[label, 7]
            distance = across * across + down * down
            if distance < nearest[label]:
                nearest[label] = distance
                out[label] = y * width + x


@njit(cache=True, nogil=True)
def render(grid: Grid, scale: int, out: Bytes) -> None:
    """See `sysone_core.grids.twin.render`."""
    height, width = grid.shape
    for y in range(height):
        for x in range(width):
            value = grid[y, x]
            for i in range(scale):
                for j in range(scale):
                    out[y * scale + i, x * scale + j, 0] = PALETTE[value, 0]
                    out[y * scale + i, x * scale + j, 1] = PALETTE[value, 1]
                    out[y * scale + i, x * scale + j, 2] = PALETTE[value, 2]


@njit(cache=True, nogil=True)
def hash_batch(grids: Grid, mask: Grid, hashes: Hashes) -> None:
    """See `sysone_core.grids.hash_batch`."""
    for index in range(grids.shape[0]):
        grid_hash(grids[index], mask, hashes[index])


@njit(cache=True, nogil=True)
def text_batch(grids: Grid, out: Bytes) -> None:
    """See `sysone_core.grids.text_batch`."""
    for index in range(grids.shape[0]):
        grid_text(grids[index], out[index])


def kept() -> bool:
    """Whether numba's cache holds every kernel, compiled after this file was written."""
    written = Path(__file__).stat().st_mtime
    python = f"py{sys.version_info.major}{sys.version_info.minor}"
    for name, kernel in list(globals().items()):
        if name.startswith("_") or not hasattr(kernel, "py_func"):
            continue
        found = Path(kernel.stats.cache_path).glob(f"compiled.{name}-*.{python}*.nbi")
        if not any(index.stat().st_mtime >= written for index in found):
            return False
    return True
