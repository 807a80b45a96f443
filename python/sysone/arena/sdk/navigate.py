"""Ways over the field for strategies: where to steer to get to a goal."""

from collections import OrderedDict
from math import hypot
from typing import Any

from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import season_named

CELL_M = 0.05
LOOK_AHEAD_CELLS = 12
GOAL_GRID_M = 0.25
MOST_GOALS = 32
UNREACHABLE = 65535
ARRIVED_M = 0.25


class Navigator:
    """Steers robots of one season along the shortest way that their model can walk.

    The cost fields of goals are made by the core (some milliseconds each) and kept.
    """

    def __init__(self, info: dict[str, Any]) -> None:
        season = season_named(info["season"])
        self._rules = Book.of(season, info.get("settings")).compiled
        self._columns, self._rows = self._rules.size
        self._fields: OrderedDict[tuple[int, int, int], memoryview] = OrderedDict()

    def steer(
        self, model: int, at: tuple[float, float], goal: tuple[float, float]
    ) -> tuple[float, float]:
        """The direction to move in, a vector of length at most 1; (0, 0) at the goal.

        ``at`` and ``goal`` are in metres. Where no way is known the direction is straight.
        """
        dx, dy = goal[0] - at[0], goal[1] - at[1]
        distance = hypot(dx, dy)
        if distance < ARRIVED_M:
            return 0.0, 0.0
        field = self._field(model, goal)
        column, row = int(at[0] / CELL_M), int(at[1] / CELL_M)
        cell = row * self._columns + column
        clear = LOOK_AHEAD_CELLS
        if 0 <= cell < len(field) and field[cell] != UNREACHABLE:
            chosen, clear = self._ahead(field, cell, at)
            dx = (chosen % self._columns + 0.5) * CELL_M - at[0]
            dy = (chosen // self._columns + 0.5) * CELL_M - at[1]
        size = hypot(dx, dy)
        if size == 0:
            return 0.0, 0.0
        # slower where the way is narrow, so that the body does not slide past the gap
        slow = min(1.0, distance / 0.6, (clear + 2) / 8)
        return round(dx / size * slow, 3), round(dy / size * slow, 3)

    def reachable(self, model: int, at: tuple[float, float], goal: tuple[float, float]) -> bool:
        """Whether the model can walk from one place to another."""
        cell = int(at[1] / CELL_M) * self._columns + int(at[0] / CELL_M)
        field = self._field(model, goal)
        return 0 <= cell < len(field) and field[cell] != UNREACHABLE

    def _ahead(self, field: memoryview, cell: int, at: tuple[float, float]) -> tuple[int, int]:
        """The farthest cell of the way that a straight line reaches, and how many cells that is."""
        chosen, steps = cell, 0
        for step in range(1, LOOK_AHEAD_CELLS + 1):
            if field[cell] == 0:
                break
            cell = self._lowest(field, cell)
            if step > 1 and not self._clear(field, at, cell):
                break
            chosen, steps = cell, step
        return chosen, steps

    def _clear(self, field: memoryview, at: tuple[float, float], cell: int) -> bool:
        x, y = (cell % self._columns + 0.5) * CELL_M, (cell // self._columns + 0.5) * CELL_M
        samples = max(2, int(hypot(x - at[0], y - at[1]) / CELL_M * 2))
        limit = field[int(at[1] / CELL_M) * self._columns + int(at[0] / CELL_M)] + 7
        for k in range(1, samples):
            column = int((at[0] + (x - at[0]) * k / samples) / CELL_M)
            row = int((at[1] + (y - at[1]) * k / samples) / CELL_M)
            if field[row * self._columns + column] > limit:
                return False
        return True

    def _lowest(self, field: memoryview, cell: int) -> int:
        best, least = cell, field[cell]
        for step in (-self._columns, self._columns):
            for side in (-1, 0, 1):
                other = cell + step + side
                if 0 <= other < len(field) and field[other] < least:
                    best, least = other, field[other]
        for other in (cell - 1, cell + 1):
            if 0 <= other < len(field) and field[other] < least:
                best, least = other, field[other]
        return best

    def _field(self, model: int, goal: tuple[float, float]) -> memoryview:
        key = (model, round(goal[0] / GOAL_GRID_M), round(goal[1] / GOAL_GRID_M))
        if key in self._fields:
            self._fields.move_to_end(key)
            return self._fields[key]
        x, y = (int(k * GOAL_GRID_M * 1000) for k in key[1:])
        made = memoryview(self._rules.flow(model, x, y)).cast("H")
        self._fields[key] = made
        if len(self._fields) > MOST_GOALS:
            self._fields.popitem(last=False)
        return made
