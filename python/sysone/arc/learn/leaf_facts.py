"""What a leaf of a choice is about, counted in its picture and in what is known: the facts that a
decision needs, of every candidate.

Of the cell that a candidate names or would bring the moving thing to: what lies there and around
it, and to which colours it is nearer than where the thing is now, straight and on foot. On foot
means over colours that the thing is known to have stood on, in steps of its own width; nothing
here knows a rule of a game.
"""

import math
import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc import wording
from sysone.arc.system1.leaf import Question
from sysone.arc.system1.tokens import NOWHERE, STATUSES, known_of, tokenise
from sysone.arc.vision import on_screen
from sysone_core import grids

SIDE: Final = 64
VALUES: Final = grids.VALUES
AROUND: Final = (-8, -4, 0, 4, 8)
RANKS: Final = 6
"""Colours that are told of by how rare they are, the rarest first."""
NEAR: Final = 4.0
"""Steps over which nearness falls to a third."""
FAR: Final = 96
"""Steps that stand for no way."""
SMALL: Final = 0.04
"""Share of the picture up to which a colour is of things that may be stepped on to reach them."""
GAIN: Final = 2.0
"""Weight of what gets nearer: the rest is the same for most candidates."""

PLACES: Final = VALUES + 6 + 3 * len(AROUND) ** 2
WAYS: Final = 2 * VALUES + 4 * RANKS + 2 + len(STATUSES)
_MOVER: Final = re.compile(re.escape(wording.MOVER) + r"x=(\d+) y=(\d+)")
_ROW: Final = re.compile(r"^(\d{1,2}):([0-9a-f*]+)$", re.MULTILINE)

Vector = NDArray[np.float32]
Cell = tuple[int, int]


def changed_cells(text: str) -> NDArray[np.bool_]:
    """Cells that a compact state says have changed, [64, 64]."""
    changed = np.zeros((SIDE, SIDE), bool)
    for number, row in _ROW.findall(text):
        for x, letter in enumerate(row[:SIDE]):
            changed[min(int(number), SIDE - 1), x] = letter == "*"
    return changed


def walks(screen: NDArray[np.uint8], ground: set[int], place: Cell, step: int) -> Any:
    """Steps on foot from each cell of a coarse picture to each value, int [16, h, w].

    The coarse picture has one cell in ``step``, those that lie whole steps from ``place``.
    """
    coarse = screen[place[1] % step :: step, place[0] % step :: step]
    shares = np.bincount(screen.ravel(), minlength=VALUES) / screen.size
    open_ = np.isin(coarse, [*ground, *np.flatnonzero(shares <= SMALL)])
    reached = coarse == np.arange(VALUES)[:, None, None]
    steps = np.where(reached, 0, FAR)
    for number in range(1, FAR):
        spread = np.zeros_like(reached)
        spread[:, 1:] |= reached[:, :-1]
        spread[:, :-1] |= reached[:, 1:]
        spread[:, :, 1:] |= reached[:, :, :-1]
        spread[:, :, :-1] |= reached[:, :, 1:]
        fresh = spread & open_ & (steps == FAR)
        if not fresh.any():
            break
        steps[fresh] = number
        reached = fresh
    return steps


def ground_of(screen: NDArray[np.uint8], changed: NDArray[np.bool_], mover: Cell) -> set[int]:
    """Values that what moves came from; without a change the commonest one right around it."""
    own = int(screen[mover[1], mover[0]])
    left = set(screen[changed].tolist())
    if left - {own}:
        return left | {own}
    labels = grids.components(screen).labels
    thing = labels == labels[mover[1], mover[0]]
    ring = thing.copy()
    ring[1:] |= thing[:-1]
    ring[:-1] |= thing[1:]
    ring[:, 1:] |= thing[:, :-1]
    ring[:, :-1] |= thing[:, 1:]
    values = np.bincount(screen[ring & ~thing], minlength=VALUES)
    return {own, int(values.argmax())}


class LeafFacts:
    """Facts of every candidate of one question."""

    def __init__(self, question: Question) -> None:
        self.screen = on_screen(question.grid)
        known = known_of(question.question_part)
        self.cells = [tokenise(tail, True, known).cells[-1] for tail in question.tails]
        ids = [candidate[6:7].encode() for candidate in question.candidates]
        self.status = [known.status.get(id_, b"").decode() for id_ in ids]
        mover = _MOVER.search(question.question_part)
        self.mover = (
            None if mover is None else (min(int(mover[1]), SIDE - 1), min(int(mover[2]), SIDE - 1))
        )
        self.changed = changed_cells(question.state_part)
        self.leads = [
            cell != NOWHERE and " x=" not in candidate
            for cell, candidate in zip(self.cells, question.candidates, strict=True)
        ]
        shares = np.bincount(self.screen.ravel(), minlength=VALUES) / self.screen.size
        self.rarity = -np.log(np.maximum(shares, 1 / 4096)) / math.log(4096)
        self.common = int(shares.argmax())
        own = -1 if self.mover is None else int(self.screen[self.mover[1], self.mover[0]])
        there = [value for value in np.argsort(shares, kind="stable") if shares[value] > 0]
        self.ranked = [int(value) for value in there if value != own][:RANKS]
        boxes = grids.components(self.screen)
        self.labels, self.boxes = boxes.labels, boxes.boxes

    def places(self) -> Vector:
        """What lies at each candidate's cell and around it, [K, .]."""
        return np.stack([self._place(cell) for cell in self.cells])

    def _place(self, cell: Cell) -> Vector:
        found = np.zeros(PLACES, np.float32)
        if cell == NOWHERE:
            return found
        x, y = min(cell[0], SIDE - 1), min(cell[1], SIDE - 1)
        value = int(self.screen[y, x])
        found[value] = 1
        box = self.boxes[self.labels[y, x]]
        same = self.boxes[self.boxes[:, 5] == value]
        found[VALUES : VALUES + 6] = (
            self.rarity[value],
            value == self.common,
            math.log1p(int(box[4])) / 8,
            math.log1p(len(same)) / 4,
            math.log1p(int((same[:, 4] == box[4]).sum())) / 4,
            1,
        )
        for index, (dy, dx) in enumerate((dy, dx) for dy in AROUND for dx in AROUND):
            if 0 <= y + dy < SIDE and 0 <= x + dx < SIDE:
                other = int(self.screen[y + dy, x + dx])
                start = VALUES + 6 + 3 * index
                found[start : start + 3] = (
                    0.5 * self.rarity[other],
                    0.5 * (other == value),
                    0.5 * (other == self.common),
                )
        return found

    def ways(self) -> Vector:
        """To which colours each candidate leads nearer, and what it did here, [K, .]."""
        found = np.zeros((len(self.cells), WAYS), np.float32)
        for index, status in enumerate(self.status):
            if status in STATUSES:
                found[index, STATUSES.index(status) - len(STATUSES)] = 1
        if self.mover is None or not any(self.leads):
            return found
        steps = [
            max(abs(cell[0] - self.mover[0]), abs(cell[1] - self.mover[1]))
            for cell, leads in zip(self.cells, self.leads, strict=True)
            if leads
        ]
        step = max(1, min((length for length in steps if length), default=1))
        ground = ground_of(self.screen, self.changed, self.mover)
        on_foot = walks(self.screen, ground, self.mover, step)
        straight = self._straight(step)
        here = self._of(on_foot, straight, self.mover, step)
        for index, (cell, leads) in enumerate(zip(self.cells, self.leads, strict=True)):
            if not leads:
                continue
            there = self._of(on_foot, straight, cell, step)
            gains = np.clip(here - there, -1.5, 1.5) * (np.minimum(here, there) < FAR)
            near = np.exp(-there / NEAR)
            ranked = [part[:, self.ranked] for part in (gains, near)]
            tail = VALUES * 2
            found[index, :tail] = GAIN * 0.5 * gains.ravel()
            for part, weight in zip(ranked, (GAIN, GAIN), strict=True):
                width = 2 * RANKS
                padded = np.zeros((2, RANKS), np.float32)
                padded[:, : part.shape[1]] = part
                found[index, tail : tail + width] = weight * padded.ravel()
                tail += width
            x, y = min(cell[0], SIDE - 1), min(cell[1], SIDE - 1)
            found[index, tail] = 1
            found[index, tail + 1] = int(self.screen[y, x]) in ground
        return found

    def _straight(self, step: int) -> list[Any]:
        """Cells of each value, in steps."""
        return [np.argwhere(self.screen == value) / step for value in range(VALUES)]

    def _of(self, on_foot: Any, straight: list[Any], cell: Cell, step: int) -> Vector:
        """Steps on foot and straight to each value, [2, 16]; `FAR` where there is none."""
        x, y = min(cell[0], SIDE - 1), min(cell[1], SIDE - 1)
        found = np.full((2, VALUES), FAR, np.float32)
        row, column = min(y // step, on_foot.shape[1] - 1), min(x // step, on_foot.shape[2] - 1)
        found[0] = on_foot[:, row, column]
        for value, cells in enumerate(straight):
            if len(cells):
                found[1, value] = np.abs(cells - (y / step, x / step)).sum(1).min()
        return found
