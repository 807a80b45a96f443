"""Ways over the field for strategies: where to steer to get to a goal."""

from collections import OrderedDict
from math import hypot
from typing import Any, cast

from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import season_named

CELL_M = 0.05
CELLS_PER_M = 20
SIDE_COST, DIAGONAL_COST = 5, 7  # of the core's cost fields
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
        book = Book.of(season, info.get("settings"))
        self._rules = book.compiled
        self._columns, self._rows = self._rules.size
        self._ground = memoryview(self._rules.ground()).cast("h")
        self._step_mm = cast("int", book.settings["ledge_free_mm"])
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
        cell = self._cell(*at)
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
        cell = self._cell(*at)
        field = self._field(model, goal)
        return 0 <= cell < len(field) and field[cell] != UNREACHABLE

    def _cell(self, x: float, y: float) -> int:
        # positions come in whole millimetres; the addition keeps those on an edge in their cell
        return int(y * CELLS_PER_M + 1e-6) * self._columns + int(x * CELLS_PER_M + 1e-6)

    def _ahead(self, field: memoryview, cell: int, at: tuple[float, float]) -> tuple[int, int]:
        """The farthest cell of the way that a straight line reaches, and how many cells that is."""
        chosen, steps = cell, 0
        for step in range(1, LOOK_AHEAD_CELLS + 1):
            if field[cell] == 0:
                break
            cell = self._next(field, cell)
            if step > 1 and not self._clear(field, at, cell):
                break
            chosen, steps = cell, step
        return chosen, steps

    def _clear(self, field: memoryview, at: tuple[float, float], cell: int) -> bool:
        """Whether a straight line to a cell leads over nothing but ground that can be walked.

        Costs alone do not tell: the ground below a ledge may well be nearer to the goal.
        """
        x, y = (cell % self._columns + 0.5) * CELL_M, (cell // self._columns + 0.5) * CELL_M
        samples = max(2, int(hypot(x - at[0], y - at[1]) / CELL_M * 2))
        here = self._cell(*at)
        limit, height = field[here] + 7, self._ground[here]
        for k in range(1, samples + 1):
            there = self._cell(at[0] + (x - at[0]) * k / samples, at[1] + (y - at[1]) * k / samples)
            if field[there] > limit or abs(self._ground[there] - height) > self._step_mm:
                return False
            height = self._ground[there]
        return True

    def _next(self, field: memoryview, cell: int) -> int:
        """The next cell of a shortest way: its cost is less by the step's own, 5 or 7.

        Of two such cells the level one: the other may lie below a ledge, on a way of its own.
        """
        best, least = cell, (True, UNREACHABLE)
        for up in (-self._columns, 0, self._columns):
            for side in (-1, 0, 1):
                other = cell + up + side
                step = DIAGONAL_COST if up and side else SIDE_COST
                if not 0 <= other < len(field) or field[other] != field[cell] - step:
                    continue
                ledge = abs(self._ground[other] - self._ground[cell]) > self._step_mm
                if (ledge, field[other]) < least:
                    best, least = other, (ledge, field[other])
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
