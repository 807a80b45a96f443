"""MockSokoban: boxes to push home, without the toolkit, in its frame-data fields."""

import random
from collections import deque
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sysone.arc.frame import GAME_OVER, NOT_FINISHED, NOT_PLAYED, WIN, Frame

Cell = tuple[int, int]

N_LEVELS: Final = 4
SIDE: Final = 64
MOVES: Final[dict[int, Cell]] = {1: (0, -1), 2: (0, 1), 3: (-1, 0), 4: (1, 0)}
FLOOR, WALL, PAD, BOX, HOME, PLAYER, FULL, EMPTY, MARK = 5, 3, 11, 12, 14, 9, 8, 2, 7


@dataclass(frozen=True, slots=True)
class Layout:
    """A level, always solvable: it is made by pulling boxes away from their pads."""

    side: int
    walls: frozenset[Cell]
    pads: frozenset[Cell]
    boxes: frozenset[Cell]
    player: Cell
    baseline: int
    """Actions of a shortest solution."""


@dataclass(frozen=True, slots=True)
class _Position:
    player: Cell
    boxes: frozenset[Cell]


@cache
def layout(seed: int, level: int) -> Layout:
    """Level ``level`` (0 first) of a seed, the same in every process."""
    rng = random.Random(crc32(f"{seed}:{level}".encode()))
    n_boxes = 1 + level // 2
    while True:
        side = 7 + level
        border = {(x, y) for y in range(side) for x in range(side)}
        inner = {(x, y) for y in range(1, side - 1) for x in range(1, side - 1)}
        walls = border - inner
        walls |= {cell for cell in sorted(inner) if rng.random() < 0.1}
        free = sorted(inner - walls)
        if len(free) < 10:
            continue
        pads = frozenset(rng.sample(free, n_boxes))
        start = _Position(rng.choice([cell for cell in free if cell not in pads]), pads)
        position = _pulled_away(start, frozenset(walls), 6 + 6 * level, rng)
        if position.boxes & pads:
            continue
        made = Layout(side, frozenset(walls), pads, position.boxes, position.player, 0)
        length = solution_length(made)
        if length is not None and length >= 4 + 2 * level:
            return replace(made, baseline=length)


def _pulled_away(
    position: _Position, walls: frozenset[Cell], pulls: int, rng: random.Random
) -> _Position:
    """Random walks, each ending with a pull: every position so reached can be pushed back."""
    for _ in range(pulls):
        reach = sorted(_reachable(position, walls))
        ways = []
        for x, y in reach:
            for dx, dy in MOVES.values():
                box, back = (x + dx, y + dy), (x - dx, y - dy)
                if box in position.boxes and back in reach:
                    ways.append(_Position(back, position.boxes - {box} | {(x, y)}))
        if not ways:
            break
        position = rng.choice(ways)
    return position


def _reachable(position: _Position, walls: frozenset[Cell]) -> set[Cell]:
    seen = {position.player}
    queue = deque(seen)
    while queue:
        x, y = queue.popleft()
        for dx, dy in MOVES.values():
            cell = (x + dx, y + dy)
            if cell not in seen and cell not in walls and cell not in position.boxes:
                seen.add(cell)
                queue.append(cell)
    return seen


def _moved(position: _Position, direction: Cell, walls: frozenset[Cell]) -> _Position:
    x, y = position.player
    dx, dy = direction
    target = (x + dx, y + dy)
    if target in walls:
        return position
    boxes = position.boxes
    if target in boxes:
        beyond = (x + 2 * dx, y + 2 * dy)
        if beyond in walls or beyond in boxes:
            return position
        boxes = boxes - {target} | {beyond}
    return _Position(target, boxes)


def solution_length(made: Layout, max_states: int = 200_000) -> int | None:
    """Actions of a shortest solution; None where the search would hold too many states."""
    start = _Position(made.player, made.boxes)
    depth = {start: 0}
    queue = deque([start])
    while queue:
        position = queue.popleft()
        for direction in MOVES.values():
            after = _moved(position, direction, made.walls)
            if after in depth:
                continue
            depth[after] = depth[position] + 1
            if after.boxes == made.pads:
                return depth[after]
            if len(depth) > max_states:
                return None
            queue.append(after)
    return None


class MockSokoban:
    """A game of four levels. All of RESET and ACTION1 to ACTION7 are accepted.

    1 to 4 move up, down, left and right, 5 does nothing, 6 marks a cell until the next action,
    7 takes the last move back. A level counts only when every box is home; more than
    ``budget_factor`` times the shortest solution and 20 actions is GAME_OVER. In games of odd
    seeds the bottom row shows what is left of that.
    """

    def __init__(self, seed: int = 0, budget_factor: int = 4, hud: bool | None = None) -> None:
        self.seed = seed
        self.game_id = f"mock{seed}"
        self.hud = seed % 2 == 1 if hud is None else hud
        self.layouts = [layout(seed, level) for level in range(N_LEVELS)]
        self.baseline_actions = [made.baseline for made in self.layouts]
        self.budgets = [budget_factor * length + 20 for length in self.baseline_actions]
        self._level = 0
        self._completed = 0
        self._state = NOT_PLAYED
        self._acted = False
        self._start_level()

    def _start_level(self) -> None:
        made = self.layouts[self._level]
        self._position = _Position(made.player, made.boxes)
        self._history: list[_Position] = []
        self._left = self.budgets[self._level]
        self._mark: Cell | None = None

    def reset(self) -> Frame:
        """A level reset; a full one before the first action of a game, and after WIN."""
        full = self._state in (NOT_PLAYED, WIN)
        if full:
            self._level = self._completed = 0
        self._start_level()
        self._state = NOT_FINISHED
        self._acted = False
        return self._frame([self.picture()], 0, {}, full)

    def observe(self) -> Frame:
        """The present frame, without acting."""
        return self._frame([self.picture()], 0, {}, False)

    def step(self, action_id: int, data: dict[str, Any] | None = None) -> Frame:
        """One action; after the end of a game everything but RESET gives no picture.

        Raises:
            ValueError: the id is not 0 to 7.
        """
        if not 0 <= action_id <= 7:
            raise ValueError(f"action id is {action_id}, expected 0 to 7")
        if action_id == 0:
            return self.reset()
        if self._state in (WIN, GAME_OVER, NOT_PLAYED):
            # As the engine does it: no picture, and levels that read 0.
            return Frame(
                self.game_id,
                [],
                self._state,
                0,
                N_LEVELS,
                list(range(1, 8)),
                action_input={"id": action_id, "data": data or {}},
            )
        self._acted = True
        self._left -= 1
        self._mark = None
        walls = self.layouts[self._level].walls
        if action_id in MOVES:
            after = _moved(self._position, MOVES[action_id], walls)
            if after != self._position:
                self._history.append(self._position)
            self._position = after
        elif action_id == 7 and self._history:
            self._position = self._history.pop()
        elif action_id == 6:
            self._mark = self._cell_at(data or {})
        pictures = [self.picture()]
        if self._position.boxes == self.layouts[self._level].pads:
            self._completed += 1
            if self._completed == N_LEVELS:
                self._state = WIN
            else:
                self._level += 1
                self._start_level()
                pictures.append(self.picture())
        elif self._left <= 0:
            self._state = GAME_OVER
        return self._frame(pictures, action_id, data or {}, False)

    def _cell_at(self, data: dict[str, Any]) -> Cell | None:
        side = self.layouts[self._level].side
        scale, margin = SIDE // side, (SIDE - side * (SIDE // side)) // 2
        x = (int(data.get("x", 0)) - margin) // scale
        y = (int(data.get("y", 0)) - margin) // scale
        return (x, y) if 0 <= x < side and 0 <= y < side else None

    def _frame(
        self, pictures: list[NDArray[np.int8]], action_id: int, data: dict[str, Any], full: bool
    ) -> Frame:
        return Frame(
            self.game_id,
            pictures,
            self._state,
            self._completed,
            N_LEVELS,
            list(range(1, 8)),
            full,
            action_input={"id": action_id, "data": data},
        )

    def picture(self) -> NDArray[np.int8]:
        """The screen, int8 [64, 64]: the level scaled by the largest whole factor, centred."""
        made = self.layouts[self._level]
        cells = np.full((made.side, made.side), FLOOR, np.int8)
        for colour, where in ((WALL, made.walls), (PAD, made.pads)):
            for x, y in where:
                cells[y, x] = colour
        for x, y in self._position.boxes:
            cells[y, x] = HOME if (x, y) in made.pads else BOX
        x, y = self._position.player
        cells[y, x] = PLAYER
        if self._mark is not None:
            cells[self._mark[1], self._mark[0]] = MARK
        scale = SIDE // made.side
        view = np.repeat(np.repeat(cells, scale, 0), scale, 1)
        margin = (SIDE - len(view)) // 2
        screen = np.full((SIDE, SIDE), FLOOR, np.int8)
        screen[margin : margin + len(view), margin : margin + len(view)] = view
        if self.hud:
            full = -(-SIDE * max(self._left, 0) // self.budgets[self._level])
            screen[-1] = EMPTY
            screen[-1, :full] = FULL
        return screen
