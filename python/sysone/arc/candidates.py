"""The actions that a decision chooses from, in a frozen order.

A pure function of previous grid, grid, allowed ids, mask and limit: a trained model depends on it.
"""

from typing import Final, Literal

import numpy as np

from sysone.arc.actions import CLICK_ID, Action, clicks, clicks_at, simple
from sysone.arc.observe import Observation
from sysone_core import grids

MAX_CANDIDATES: Final = grids.MAX_CANDIDATES
OBJECT_SIDES: Final = (2, 32)
"""Cells on each side of a component that is taken for an object."""

AnchorMode = Literal["cells", "objects"]


def build_candidates(
    observation: Observation,
    max_candidates: int = MAX_CANDIDATES,
    anchor_mode: AnchorMode = "cells",
) -> list[Action]:
    """Simple actions by id, then clicks: changed cells, rare cells, coarse points.

    RESET is never among them. With ``anchor_mode="objects"`` each object has a click too, before
    the coarse points.

    Raises:
        ValueError: ``max_candidates`` is not 1 to 255.
    """
    if not 1 <= max_candidates <= MAX_CANDIDATES:
        raise ValueError(f"max_candidates is {max_candidates}, expected 1 to {MAX_CANDIDATES}")
    ids = observation.available_actions
    plain = [simple(id_) for id_ in ids if id_ != CLICK_ID][:max_candidates]
    if CLICK_ID not in ids:
        return plain
    cells = grids.anchor_cells(
        observation.previous,
        observation.grid,
        observation.mask,
        len(plain),
        max_candidates,
        changed=observation.changed,
    )
    if anchor_mode == "objects":
        listed = list(map(tuple, cells.tolist()))
        return plain + clicks(_with_objects(observation, listed, max_candidates - len(plain)))
    return plain + clicks_at((cells[:, 1] * 64 + cells[:, 0]).tolist())


def objects(observation: Observation) -> list[tuple[int, int, int, int]]:
    """Objects of a grid by salience, each as (x, y, value, cells) with the cell to click.

    An object is a component of 2 to 32 cells on each side that is neither of the most frequent
    value nor in the HUD. Values with fewer objects come first, then smaller objects.
    """
    grid = observation.grid
    found = grids.components(grid)
    boxes = found.boxes
    across = boxes[:, 2] - boxes[:, 0] + 1
    down = boxes[:, 3] - boxes[:, 1] + 1
    low, high = OBJECT_SIDES
    modal = int(np.bincount(grid.ravel(), minlength=grids.VALUES).argmax())
    eligible = (boxes[:, 5] != modal) & (np.minimum(across, down) >= low)
    eligible &= np.maximum(across, down) <= high
    width = grid.shape[1]
    centres = found.centres()
    eligible &= observation.mask.ravel()[centres] == 0
    chosen = np.flatnonzero(eligible)
    values = boxes[chosen, 5]
    alike = np.bincount(values, minlength=grids.VALUES)[values]
    order = np.lexsort((chosen, boxes[chosen, 4], alike))
    return [
        (int(cell) % width, int(cell) // width, int(value), int(size))
        for cell, value, size in zip(
            centres[chosen[order]], values[order], boxes[chosen[order], 4], strict=True
        )
    ]


def _with_objects(
    observation: Observation, cells: list[tuple[int, int]], room: int
) -> list[tuple[int, int]]:
    """Anchors with the objects' cells put in before the coarse points."""
    height, width = observation.grid.shape
    coarse = {
        ((2 * i + 1) * width // 16, (2 * j + 1) * height // 16) for i in range(8) for j in range(8)
    }
    # The coarse points are the tail of the list; a changed or rare cell may be one of them too.
    tail = len(cells)
    while tail and cells[tail - 1] in coarse:
        tail -= 1
    clicked = [(x, y) for x, y, _, _ in objects(observation)]
    return list(dict.fromkeys([*cells[:tail], *clicked, *cells[tail:]]))[:room]
