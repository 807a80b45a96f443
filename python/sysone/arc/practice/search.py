"""Shortest solutions of practice levels, by breadth-first search over the rules' states."""

from collections import deque
from collections.abc import Hashable
from typing import Any, TypeVar

from sysone.arc.practice.rules import LOST, WON, Move, Rules

S = TypeVar("S", bound=Hashable)


def solve(rules: Rules[Any], max_states: int = 60_000) -> list[Move] | None:
    """A shortest solution; None where there is none within ``max_states`` states."""
    start = rules.start()
    came_from: dict[Any, tuple[Any, Move]] = {start: (start, (0, None))}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for move in rules.moves(state):
            outcome = rules.step(state, *move)
            if outcome.verdict == WON:
                path = [move]
                while state != start:
                    state, move = came_from[state]
                    path.append(move)
                return path[::-1]
            if outcome.verdict == LOST or outcome.state in came_from:
                continue
            came_from[outcome.state] = (state, move)
            if len(came_from) > max_states:
                return None
            queue.append(outcome.state)
    return None
