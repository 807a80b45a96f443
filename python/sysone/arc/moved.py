"""What moved: whether a rigid shift of some components explains a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sysone_core import grids

Box = tuple[int, int, int, int]
"""x0, y0, x1, y1, inclusive."""


@dataclass(frozen=True, slots=True)
class Moved:
    """Components that moved by the same step."""

    dx: int
    dy: int
    before: Box
    """Around all of them, before and after."""
    after: Box
    values: frozenset[int]
    parts: tuple[tuple[int, Box, Box], ...] = ()
    """Value, and box before and after, of each component."""

    def of(self, values: frozenset[int]) -> "Moved | None":
        """The components of some values alone; None if there are none."""
        parts = tuple(part for part in self.parts if part[0] in values)
        if not parts:
            return None
        return Moved(
            self.dx,
            self.dy,
            _around([part[1] for part in parts]),
            _around([part[2] for part in parts]),
            frozenset(part[0] for part in parts),
            parts,
        )


def find_moves(
    before: NDArray[np.uint8],
    after: NDArray[np.uint8],
    changed: NDArray[np.int32],
    mask: NDArray[np.uint8],
    old: grids.Components | None = None,
    new: grids.Components | None = None,
) -> list[Moved]:
    """Shifts that explain changed cells outside the mask, the one with most cells first.

    ``old`` and ``new`` are the components before and after where the caller has them.
    """
    if not len(changed) or before.shape != after.shape:
        return []
    changed = changed[mask.ravel()[changed] == 0]
    if not len(changed) or len(changed) > before.size // 4:
        return []
    modal = int(np.bincount(after.ravel(), minlength=grids.VALUES).argmax())
    left = _touched(old or grids.components(before), changed, modal)
    came = _touched(new or grids.components(after), changed, modal) if left else []
    if not came:
        return []
    groups: dict[tuple[int, int], list[tuple[Any, Any]]] = {}
    used: set[int] = set()
    for box in left:
        # Of several equal ones the nearest: things rarely jump over their likes.
        best, distance = -1, 1 << 30
        for index, other in enumerate(came):
            alike = (
                index not in used
                and box[4] == other[4]
                and box[5] == other[5]
                and box[2] - box[0] == other[2] - other[0]
                and box[3] - box[1] == other[3] - other[1]
            )
            if alike:
                away = abs(other[0] - box[0]) + abs(other[1] - box[1])
                if 0 < away < distance:
                    best, distance = index, away
        if best >= 0:
            used.add(best)
            other = came[best]
            groups.setdefault((other[0] - box[0], other[1] - box[1]), []).append((box, other))
    moves = []
    for (dx, dy), pairs in groups.items():
        size = sum(box[4] for box, _ in pairs)
        moves.append(
            (
                -size,
                Moved(
                    dx,
                    dy,
                    _around([box for box, _ in pairs]),
                    _around([other for _, other in pairs]),
                    frozenset(box[5] for box, _ in pairs),
                    tuple((box[5], _box(box), _box(other)) for box, other in pairs),
                ),
            )
        )
    moves.sort(key=lambda pair: pair[0])
    return [move for _, move in moves]


def _touched(
    found: grids.Components, changed: NDArray[np.int32], modal: int
) -> list[tuple[int, ...]]:
    """Rows of the components that a changed cell belongs to and that can have moved."""
    labels = set(found.labels.ravel()[changed].tolist())
    rows = found.boxes[sorted(labels)].tolist()
    limit = len(changed)
    return [tuple(row) for row in rows if row[5] != modal and row[4] <= limit]


def _box(row: tuple[int, ...]) -> Box:
    return row[0], row[1], row[2], row[3]


def _around(boxes: Sequence[tuple[int, ...]]) -> Box:
    return (
        min(box[0] for box in boxes),
        min(box[1] for box in boxes),
        max(box[2] for box in boxes),
        max(box[3] for box in boxes),
    )
