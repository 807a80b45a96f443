"""What would be best in a practice game: known, since its rules can be searched.

Traces of practice games carry it for training. Nobody who plays sees it.
"""

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from sysone.arc.actions import UNDO_ID, Action
from sysone.arc.practice.rules import LOST, WON, Rules

MAX_STATES: Final = 8_000
"""States of a level that are looked at: generated levels are solved within 5,000."""


def distances(rules: Rules[Any], max_states: int = MAX_STATES) -> dict[Any, int]:
    """Fewest actions to the level's end from each state that can still reach it.

    States are those that a breadth-first search from the start meets first.
    """
    start = rules.start()
    seen = {start}
    queue = deque([start])
    came_from: dict[Any, list[Any]] = {}
    last: list[Any] = []
    while queue:
        state = queue.popleft()
        for move in rules.moves(state):
            outcome = rules.step(state, *move)
            if outcome.verdict == WON:
                last.append(state)
            elif outcome.verdict != LOST and outcome.state != state:
                if outcome.state not in seen:
                    if len(seen) >= max_states:
                        continue
                    seen.add(outcome.state)
                    queue.append(outcome.state)
                came_from.setdefault(outcome.state, []).append(state)
    found = dict.fromkeys(last, 1)
    queue = deque(found)
    while queue:
        state = queue.popleft()
        for before in came_from.get(state, ()):
            if before not in found:
                found[before] = found[state] + 1
                queue.append(before)
    return found


class Guide:
    """Knows the way in one practice game; tables of levels are kept between its episodes."""

    def __init__(self, tables: dict[int, dict[Any, int]]) -> None:
        self._tables = tables
        self.game: Any = None

    def best(self, candidates: Sequence[Action]) -> list[Action]:
        """The candidates that shorten the way the most; none where no way is known."""
        position = self.game.position
        table = self._tables.get(position.level)
        if table is None:
            table = self._tables[position.level] = distances(position.rules)
        worth: dict[Any, float] = {}
        ways = []
        for action in candidates:
            cell = self.game.camera.display_to_grid(action.x, action.y) if action.is_click else None
            move = (action.id, cell)
            if move not in worth:
                worth[move] = self._left(position, table, move)
            ways.append(worth[move])
        least = min(ways, default=math.inf)
        if math.isinf(least):
            return []
        return [action for action, left in zip(candidates, ways, strict=True) if left == least]

    @staticmethod
    def _left(position: Any, table: dict[Any, int], move: tuple[int, Any]) -> float:
        """Actions left after a move."""
        if move[0] == UNDO_ID:
            return table.get(position.before, math.inf)
        outcome = position.rules.step(position.state, *move)
        if outcome.verdict == WON:
            return 0
        if outcome.verdict == LOST:
            return math.inf
        return table.get(outcome.state, math.inf)


def guide_of(env: Any, tables: dict[int, dict[Any, int]]) -> Guide | None:
    """A guide through a game that is being played; None for a game whose rules are not ours."""
    game = getattr(getattr(env, "wrapper", None), "_game", None)
    if not hasattr(game, "position"):
        return None
    guide = Guide(tables)
    guide.game = game
    return guide
