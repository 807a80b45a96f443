"""Grids of cells 0 to 15: texts, hashes, anchors, components, pictures.

Kernels compiled by numba (the extra ``arc``), or their NumPy twins, which give the same bits.
Nothing is compiled behind one's back: the kernels answer where `warm` has compiled them once on
this machine, the twins where it has not. numba is imported at the first use and not before.
``SYSONE_GRIDS=numba`` or ``numpy`` in the environment chooses one of them.

Grids are uint8 [H, W] with 1 <= H, W <= 64. A mask is uint8 [H, W], and not 0 where a cell is
left out. A cell's index is ``y * W + x``.
"""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from sysone_core.grids.choice import Grid, Int32, Kernels, Mask, backend, kernels, use
from sysone_core.grids.constants import (
    BOX_FIELDS,
    COARSE,
    MAX_CANDIDATES,
    PALETTE_HEX,
    RARE,
    SIDE,
    VALUES,
)

__all__ = [
    "BOX_FIELDS",
    "COARSE",
    "MAX_CANDIDATES",
    "PALETTE_HEX",
    "RARE",
    "SIDE",
    "VALUES",
    "Components",
    "Kernels",
    "Observed",
    "Observer",
    "anchor_cells",
    "anchors",
    "as_grid",
    "backend",
    "components",
    "diff_text",
    "frame_hash",
    "grid_text",
    "hash_batch",
    "kernels",
    "rgb",
    "text_batch",
    "text_to_grid",
    "use",
    "warm",
]

NO_CELLS: Final = np.zeros(0, np.int32)


def warm() -> float:
    """Compile every kernel, so that no later call does; the seconds it took.

    The first time on a machine this is compilation (some 10 s), which numba keeps on disk; later
    it loads that. From then on the kernels answer, in this process and in others. Without numba,
    or where ``SYSONE_GRIDS`` chooses the twins, these are called, which compile nothing.
    """
    start_s = time.perf_counter()
    if os.environ.get("SYSONE_GRIDS", "auto") == "auto":
        with suppress(ImportError):
            use("numba")
    grid = np.zeros((2, 2), np.uint8)
    grid[0, 1] = 3
    observer = Observer()
    observer.observe(grid)
    observer.observe(grid[::-1].copy())
    anchors(None, grid, None, 7)
    components(grid).centres()
    rgb(grid, 2)
    stack = np.stack([grid, grid])
    hash_batch(stack)
    text_batch(stack)
    return time.perf_counter() - start_s


def as_grid(value: Any) -> Grid:
    """``value`` as a grid: nested lists or an integer array; of a list of frames the last.

    Raises:
        ValueError: not a grid; the text names the shape, or the first bad cell and its value.
    """
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"a grid's rows have different lengths: {error}") from None
    if array.ndim == 3 and array.shape[0]:
        array = array[-1]
    if array.ndim != 2 or not (1 <= array.shape[0] <= SIDE and 1 <= array.shape[1] <= SIDE):
        raise ValueError(f"a grid has shape {array.shape}, expected 1 to {SIDE} rows and columns")
    if array.dtype == np.uint8 and array.flags.c_contiguous:
        grid = array
    elif array.dtype.kind in "iu":
        _check_values(array)
        return np.ascontiguousarray(array, np.uint8)
    else:
        raise ValueError(f"a grid's cells are {array.dtype}, expected integers 0 to {VALUES - 1}")
    _check_values(grid)
    return grid


def _check_values(array: NDArray[Any]) -> None:
    # The cheap question first: nearly every grid is right.
    if array.max() >= VALUES or (array.dtype.kind == "i" and array.min() < 0):
        y, x = np.argwhere((array < 0) | (array >= VALUES))[0]
        raise ValueError(f"cell x={x} y={y} is {array[y, x]}, expected 0 to {VALUES - 1}")


def _mask_of(mask: Mask | None, grid: Grid) -> Mask:
    if mask is None:
        return np.zeros(grid.shape, np.uint8)
    if mask.shape != grid.shape:
        raise ValueError(f"the mask has shape {mask.shape}, expected the grid's {grid.shape}")
    return np.ascontiguousarray(mask, np.uint8)


def grid_text(grid: Any) -> str:
    """One lowercase hex digit a cell, rows joined by line ends, none at the end."""
    checked = as_grid(grid)
    height, width = checked.shape
    out = np.empty(height * width + height - 1, np.uint8)
    kernels().grid_text(checked, out)
    return out.tobytes().decode("ascii")


def text_to_grid(text: str) -> Grid:
    """The grid of a `grid_text`.

    Raises:
        ValueError: rows of different lengths, no or too many cells, or another character.
    """
    rows = text.split("\n")
    width = len(rows[0])
    for y, row in enumerate(rows):
        if len(row) != width:
            raise ValueError(f"row {y} has {len(row)} cells, expected {width} as in row 0")
        for x, digit in enumerate(row):
            if digit not in "0123456789abcdef":
                raise ValueError(f"cell x={x} y={y} is {digit!r}, expected a lowercase hex digit")
    return as_grid(np.array([[int(digit, 16) for digit in row] for row in rows], np.uint8))


def diff_text(previous: Any, grid: Any) -> tuple[str, int]:
    """``*`` where a cell changed, else its hex digit; and the number of changed cells.

    Without a previous grid: plain text and 0. Of another shape: all ``*``.
    """
    observer = Observer()
    if previous is not None:
        observer.observe(as_grid(previous))
    seen = observer.observe(as_grid(grid))
    return seen.diff_text, seen.n_changed


def frame_hash(grid: Any, mask: Mask | None = None) -> int:
    """64-bit Zobrist hash of the cells that ``mask`` does not cover."""
    checked = as_grid(grid)
    hashes = np.zeros(2, np.uint64)
    kernels().grid_hash(checked, _mask_of(mask, checked), hashes)
    return int(hashes[1])


@dataclass(slots=True)
class Observed:
    """What a frame is and how it differs from the one before."""

    grid: Grid
    n_changed: int
    changed: Int32
    """Indices of the changed cells, ascending."""
    diff: NDArray[np.uint8]
    """Bytes of the diff text."""
    frame_hash: int
    masked_hash: int

    @property
    def diff_text(self) -> str:
        """``*`` where a cell changed, else its hex digit."""
        return self.diff.tobytes().decode("ascii")


class Observer:
    """Frames one after the other: each is compared with the one before it.

    Hashes go from frame to frame by the changed cells alone, and start anew when the shape or the
    mask is another.
    """

    def __init__(self) -> None:
        self._previous: Grid | None = None
        self._mask: Mask | None = None
        self._hashes = np.zeros(2, np.uint64)
        self._changed = np.empty(SIDE * SIDE, np.int32)
        self._functions = kernels()

    def forget(self) -> None:
        """Compare the next frame with none."""
        self._previous = None

    def set_mask(self, mask: Mask | None) -> None:
        """Leave these cells out of masked hashes from the next frame on."""
        self._mask = None if mask is None else np.ascontiguousarray(mask, np.uint8)
        if self._previous is not None and (mask is None or mask.shape == self._previous.shape):
            self._functions.grid_hash(
                self._previous, _mask_of(self._mask, self._previous), self._hashes
            )

    def observe(self, grid: Grid) -> Observed:
        """Compare ``grid`` (uint8, C-contiguous, checked by the caller) with the one before."""
        height, width = grid.shape
        functions = self._functions
        size = height * width + height - 1
        diff = np.empty(size, np.uint8)
        previous, mask = self._previous, self._mask
        if mask is None or mask.shape != grid.shape:
            mask = self._mask = np.zeros(grid.shape, np.uint8)
        if previous is None:
            functions.grid_text(grid, diff)
            functions.grid_hash(grid, mask, self._hashes)
            changed = NO_CELLS
        elif previous.shape != grid.shape:
            diff[:] = ord("*")
            diff[width :: width + 1] = ord("\n")
            functions.grid_hash(grid, mask, self._hashes)
            changed = np.arange(height * width, dtype=np.int32)
        else:
            count = functions.observe(previous, grid, mask, self._hashes, self._changed, diff)
            changed = self._changed[:count].copy()
        self._previous = grid
        whole, masked = self._hashes.tolist()
        return Observed(grid, len(changed), changed, diff, whole, masked)


def anchors(
    previous: Any,
    grid: Any,
    mask: Mask | None,
    n_simple: int,
    max_candidates: int = MAX_CANDIDATES,
    changed: Int32 | None = None,
) -> list[tuple[int, int]]:
    """Cells worth a click, as (x, y): changed, then rare, then coarse ones; first mention wins.

    Their room is ``max_candidates - n_simple``. ``changed`` are the indices of the changed cells
    where the caller has them; ``previous`` is then not looked at.
    """
    cells = anchor_cells(previous, grid, mask, n_simple, max_candidates, changed)
    return list(map(tuple, cells.tolist()))


def anchor_cells(
    previous: Any,
    grid: Any,
    mask: Mask | None,
    n_simple: int,
    max_candidates: int = MAX_CANDIDATES,
    changed: Int32 | None = None,
) -> Int32:
    """The same as an array [n, 2] of x, y (see `anchors`)."""
    current = as_grid(grid)
    if changed is None:
        changed = NO_CELLS
        if previous is not None:
            before = as_grid(previous)
            if before.shape != current.shape:
                changed = np.arange(current.size, dtype=np.int32)
            else:
                changed = np.flatnonzero(before.ravel() != current.ravel()).astype(np.int32)
    room = max(0, max_candidates - n_simple)
    out = np.empty((MAX_CANDIDATES, 2), np.int32)
    count = kernels().anchors(
        changed,
        len(changed),
        current,
        _mask_of(mask, current),
        min(room, MAX_CANDIDATES),
        max_candidates >= MAX_CANDIDATES,
        out,
    )
    return out[:count]


@dataclass(frozen=True, slots=True)
class Components:
    """Areas of 4-connected cells of one value, in reading order of their first cells."""

    labels: Int32
    """[H, W], 0 to n-1."""
    boxes: Int32
    """[n, 8]: x0, y0, x1, y1 (inclusive), cells, value, sum of x, sum of y."""

    def __len__(self) -> int:
        return len(self.boxes)

    def centres(self) -> Int32:
        """Of each the index of its cell nearest to the centroid, [n]; ties: the first."""
        out = np.empty(len(self.boxes), np.int32)
        kernels().centres(self.labels, self.boxes, len(self.boxes), out)
        return out


def components(grid: Any) -> Components:
    """The connected areas of a grid."""
    checked = as_grid(grid)
    labels = np.empty(checked.shape, np.int32)
    boxes = np.empty((checked.size, BOX_FIELDS), np.int32)
    count = kernels().components(checked, labels, boxes)
    return Components(labels, boxes[:count])


def rgb(grid: Any, scale: int = 1) -> NDArray[np.uint8]:
    """The toolkit's colours, [H*scale, W*scale, 3].

    Raises:
        ValueError: ``scale`` is below 1.
    """
    checked = as_grid(grid)
    if scale < 1:
        raise ValueError(f"scale is {scale}, expected at least 1")
    height, width = checked.shape
    out = np.empty((height * scale, width * scale, 3), np.uint8)
    kernels().render(checked, scale, out)
    return out


def hash_batch(grids: NDArray[np.uint8], mask: Mask | None = None) -> NDArray[np.uint64]:
    """Hash and masked hash of each of N grids of one shape, [N, 2]."""
    hashes = np.zeros((len(grids), 2), np.uint64)
    covered = _mask_of(mask, grids[0]) if len(grids) else np.zeros((1, 1), np.uint8)
    functions = kernels()
    if backend() == "numba":
        cast(Any, functions).hash_batch(np.ascontiguousarray(grids), covered, hashes)
    else:
        for grid, out in zip(grids, hashes, strict=True):
            functions.grid_hash(grid, covered, out)
    return hashes


def text_batch(grids: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bytes of the text of each of N grids of one shape, [N, H*W + H-1]."""
    n, height, width = grids.shape
    out = np.empty((n, height * width + height - 1), np.uint8)
    functions = kernels()
    if backend() == "numba":
        cast(Any, functions).text_batch(np.ascontiguousarray(grids), out)
    else:
        for grid, text in zip(grids, out, strict=True):
            functions.grid_text(grid, text)
    return out
