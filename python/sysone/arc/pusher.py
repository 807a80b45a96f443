"""A plan for things that can be pushed: every place of one value gets one of them.

Made from what the walker learnt: the player's size gives the cells, the values that moved with it
are boxes, and the rarest value that there are as many cells of as boxes is where they belong.
"""

from collections import deque
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action, simple
from sysone.arc.walker import Walker

Cell = tuple[int, int]
State = tuple[Cell, frozenset[Cell]]

MAX_STATES: Final = 30_000
"""States a plan may look at: some 0.3 s."""


def push_plan(
    walker: Walker, grid: NDArray[np.uint8], mask: NDArray[np.uint8]
) -> list[Action] | None:
    """Actions that bring every box home; None where there is no such plan or nothing to plan."""
    if walker.box is None or not walker.pushed or walker.slides:
        return None
    steps = {
        id_: (round(dx), round(dy))
        for id_, (dx, dy) in walker.relative.items()
        if (abs(round(dx)), abs(round(dy))) in ((0, 1), (1, 0))
    }
    if not steps:
        return None
    x0, y0, x1, y1 = walker.box
    width, height = x1 - x0 + 1, y1 - y0 + 1
    left, top = x0 % width, y0 % height
    rows = grid[top + height // 2 :: height, left + width // 2 :: width]
    hidden = mask[top + height // 2 :: height, left + width // 2 :: width]
    values = np.where(hidden != 0, 255, rows)
    floor = int(np.bincount(grid.ravel(), minlength=16).argmax())
    known = walker.passable | {floor} - walker.blocked
    player = (x0 // width, y0 // height)
    boxes: set[Cell] = set()
    others: dict[int, set[Cell]] = {}
    for y, row in enumerate(values.tolist()):
        for x, value in enumerate(row):
            if value in walker.pushed:
                boxes.add((x, y))
            elif value != floor and value not in walker.values and value != 255:
                others.setdefault(value, set()).add((x, y))
    homes = _homes(others, len(boxes), walker)
    if not homes or not boxes:
        return None
    free = set(homes)
    for y, row in enumerate(values.tolist()):
        for x, value in enumerate(row):
            if value in known or value in walker.values or (x, y) in boxes:
                free.add((x, y))
    return _search((player, frozenset(boxes)), frozenset(homes), free, steps)


def _homes(others: dict[int, set[Cell]], n_boxes: int, walker: Walker) -> set[Cell]:
    """Where boxes belong: as many cells as there are boxes, or the most that are fewer."""
    best: tuple[tuple[int, int], set[Cell]] | None = None
    for value, cells in others.items():
        if value in walker.blocked or value in walker.deadly or len(cells) > n_boxes:
            continue
        key = (-len(cells), value)
        if best is None or key < best[0]:
            best = (key, cells)
    return best[1] if best is not None else set()


def _search(
    start: State, homes: frozenset[Cell], free: set[Cell], steps: dict[int, Cell]
) -> list[Action] | None:
    came: dict[State, tuple[State, int] | None] = {start: None}
    queue = deque([start])
    while queue and len(came) < MAX_STATES:
        state = queue.popleft()
        (x, y), boxes = state
        for id_, (dx, dy) in steps.items():
            target = (x + dx, y + dy)
            if target not in free:
                continue
            moved = boxes
            if target in boxes:
                beyond = (x + 2 * dx, y + 2 * dy)
                if beyond not in free or beyond in boxes:
                    continue
                moved = boxes - {target} | {beyond}
            after = (target, moved)
            if after in came:
                continue
            came[after] = (state, id_)
            if moved is not boxes and homes <= moved:
                actions = []
                step = came[after]
                while step is not None:
                    actions.append(simple(step[1]))
                    step = came[step[0]]
                return actions[::-1]
            queue.append(after)
    return None
