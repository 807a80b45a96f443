"""Turned, mirrored and recoloured rows, where everything moves together.

Grid, previous grid, the cells of all candidates, the ids that mean a direction, what is known of
the actions, and with the candidates the label.
"""

import random
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from sysone.arc import wording
from sysone.arc.actions import SIDE, Action, click, parse, simple
from sysone.arc.learn.rows import Row, cells
from sysone_core import grids

UP, DOWN, LEFT, RIGHT = 1, 2, 3, 4
_STEPS: Final = {UP: (0, -1), DOWN: (0, 1), LEFT: (-1, 0), RIGHT: (1, 0)}
_SHIFT: Final = re.compile(r"moves by x([+-]\d+) y([+-]\d+)")
_ON: Final = re.compile(r"^ACTION6 on ([0-9a-f])")
_MOVER: Final = re.compile(re.escape(wording.MOVER) + r"x=(\d+) y=(\d+), colour ([0-9a-f])(.*)")
_TO: Final = re.compile(r"; (\d) to x=(\d+) y=(\d+)")


@dataclass(frozen=True, slots=True)
class Transform:
    """First a transpose, then mirrors, then colours: all eight turns and mirrors of a square."""

    transpose: bool = False
    mirror_x: bool = False
    mirror_y: bool = False
    colours: tuple[int, ...] = tuple(range(16))
    """New value of each old one."""

    @property
    def inverse(self) -> "Transform":
        """What undoes it."""
        back = [0] * 16
        for old, new in enumerate(self.colours):
            back[new] = old
        x, y = self.mirror_x, self.mirror_y
        return Transform(self.transpose, *((y, x) if self.transpose else (x, y)), tuple(back))


def coord_transform(transform: Transform, x: int, y: int, side: int = SIDE) -> tuple[int, int]:
    """Where a cell of a square picture goes: the one function for points."""
    if transform.transpose:
        x, y = y, x
    if transform.mirror_x:
        x = side - 1 - x
    if transform.mirror_y:
        y = side - 1 - y
    return x, y


def direction(transform: Transform, dx: int, dy: int) -> tuple[int, int]:
    """Where a step goes."""
    if transform.transpose:
        dx, dy = dy, dx
    return (-dx if transform.mirror_x else dx), (-dy if transform.mirror_y else dy)


def grid_transform(transform: Transform, grid: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A square grid moved and recoloured.

    Raises:
        ValueError: the grid is not square.
    """
    if grid.shape[0] != grid.shape[1]:
        raise ValueError(f"a grid has shape {grid.shape}, expected a square")
    moved = grid.T if transform.transpose else grid
    if transform.mirror_x:
        moved = moved[:, ::-1]
    if transform.mirror_y:
        moved = moved[::-1]
    return np.ascontiguousarray(np.array(transform.colours, np.uint8)[moved])


def id_transform(transform: Transform, id_: int) -> int:
    """A mirrored world swaps left and right."""
    if id_ not in _STEPS:
        return id_
    wanted = direction(transform, *_STEPS[id_])
    return next(name for name, step in _STEPS.items() if step == wanted)


def action_transform(transform: Transform, action: Action) -> Action:
    """An action in the moved world."""
    if action.is_click:
        return click(*coord_transform(transform, action.x, action.y))
    return simple(id_transform(transform, action.id))


def line_transform(transform: Transform, line: str) -> str:
    """A line of what is known."""
    if line.startswith(wording.HERE):
        known = []
        for part in line[len(wording.HERE) :].split(", "):
            id_, _, what = part.partition(" ")
            known.append((id_transform(transform, int(id_)), what))
        return wording.HERE + ", ".join(f"{id_} {what}" for id_, what in sorted(known))
    mover = _MOVER.fullmatch(line)
    if mover:
        x, y = coord_transform(transform, int(mover[1]), int(mover[2]))
        told = []
        for id_, to_x, to_y in _TO.findall(mover[4]):
            cell = coord_transform(transform, int(to_x), int(to_y))
            told.append((id_transform(transform, int(id_)), cell))
        ends = [wording.TO.format(id=id_, x=cell[0], y=cell[1]) for id_, cell in sorted(told)]
        colour = f", colour {transform.colours[int(mover[3], 16)]:x}"
        return "".join([f"{wording.MOVER}x={x} y={y}{colour}", *ends])
    if line[:6] == "ACTION" and line[6:7].isdecimal():
        line = f"ACTION{id_transform(transform, int(line[6]))}{line[7:]}"
    on = _ON.match(line)
    if on:
        line = f"ACTION6 on {transform.colours[int(on[1], 16)]:x}{line[on.end() :]}"

    def moved(found: re.Match[str]) -> str:
        dx, dy = direction(transform, int(found[1]), int(found[2]))
        return f"moves by x{dx:+d} y{dy:+d}"

    return _SHIFT.sub(moved, line)


def transform_row(transform: Transform, row: Row) -> Row:
    """A row in the moved world; the label stays with its candidate.

    A level's clicks are of a 64x64 screen: rows of smaller or oblong grids only change colours.
    """
    grid = cells(row.grid)
    if grid.shape != (SIDE, SIDE):
        transform = Transform(colours=transform.colours)
        if grid.shape[0] != grid.shape[1]:
            return _recoloured(transform, row)
    candidates = [action_transform(transform, parse(text)).text for text in row.candidates]
    return replace(
        row,
        grid=grids.grid_text(grid_transform(transform, grid)),
        previous=_text(transform, row.previous),
        candidates=candidates,
        lines=[line_transform(transform, line) for line in row.lines],
    )


def _recoloured(transform: Transform, row: Row) -> Row:
    table = str.maketrans({f"{old:x}": f"{new:x}" for old, new in enumerate(transform.colours)})
    return replace(
        row,
        grid=row.grid.translate(table),
        previous=row.previous.translate(table),
        lines=[line_transform(transform, line) for line in row.lines],
    )


def _text(transform: Transform, text: str) -> str:
    return grids.grid_text(grid_transform(transform, cells(text))) if text else ""


def draw(rng: random.Random, grid: Any, keep_modal: bool = False) -> Transform:
    """A random transform: colour 0 stays, and with ``keep_modal`` the most frequent one too."""
    modal = int(np.bincount(np.asarray(grid).ravel(), minlength=16).argmax())
    free = [value for value in range(1, 16) if not keep_modal or value != modal]
    shuffled = free[:]
    rng.shuffle(shuffled)
    colours = list(range(16))
    for old, new in zip(free, shuffled, strict=True):
        colours[old] = new
    transpose, mirror_x, mirror_y = (rng.random() < 0.5 for _ in range(3))
    return Transform(transpose, mirror_x, mirror_y, tuple(colours))


def augmented(rng: random.Random, row: Row) -> Row:
    """A row moved by a random transform, its candidates in a random order.

    A fixed order would teach places in the list in place of actions.
    """
    moved = transform_row(draw(rng, cells(row.grid), rng.random() < 0.5), row)
    if row.family != "choice":
        return moved
    order = list(range(len(moved.candidates)))
    rng.shuffle(order)
    return replace(
        moved,
        candidates=[moved.candidates[index] for index in order],
        label=order.index(moved.label),
        shares=[moved.shares[index] for index in order] if moved.shares else [],
    )
