"""What is learnt from actions: kinds, moves, effects, the graph, and another mask."""

import numpy as np

from sysone.arc.actions import RESET, Action, click, simple
from sysone.arc.frame import GAME_OVER, NOT_FINISHED, Frame
from sysone.arc.memory import DIED, GAINED, LINES, MOVED_ON, NO_OP, Memory, Noted
from sysone.arc.moved import find_moves
from sysone.arc.observe import Observation, Watcher


def picture(x: int, y: int = 20, extra: int = 0) -> np.ndarray:
    grid = np.full((64, 64), 5, np.int8)
    grid[y : y + 4, x : x + 4] = 8
    grid[40:44, 40:44] = 9 + extra
    return grid


class Game:
    """A watcher and a memory fed by hand."""

    def __init__(self, first: np.ndarray) -> None:
        self.watcher, self.memory = Watcher(), Memory()
        self.seen = self.look(first, None)
        self.memory.start_level(self.seen)

    def look(self, grid: np.ndarray, action: Action | None, **rest: object) -> Observation:
        frame = Frame("g", [grid], NOT_FINISHED, 0, 3, [1, 2, 3, 4, 6])
        for key, value in rest.items():
            setattr(frame, key, value)
        seen = self.watcher.observe(frame, action)
        assert seen is not None
        return seen

    def act(self, action: Action, grid: np.ndarray, **rest: object) -> Noted:
        before, self.seen = self.seen, self.look(grid, action, **rest)
        return self.memory.note(before, action, self.seen)


def test_kinds_of_outcomes() -> None:
    game = Game(picture(10))
    start = game.seen
    noted = game.act(simple(4), picture(14))
    assert (noted.kind, noted.novel) == (MOVED_ON, True)
    assert [(move.dx, move.dy, move.values) for move in noted.moves] == [(4, 0, {8})]
    assert game.act(simple(1), picture(14)).kind == NO_OP
    assert not game.act(simple(3), picture(10)).novel
    edge = game.memory.edge(start, simple(4))
    assert edge is not None
    assert edge.kind == MOVED_ON
    assert game.act(simple(2), picture(10, 24), state=GAME_OVER).kind == DIED
    assert game.act(RESET, picture(10)).kind == MOVED_ON
    assert game.act(simple(4), picture(30), levels_completed=1).kind == GAINED
    assert [goal.level for goal in game.memory.goals] == [0]
    assert list(game.memory.graph) == [game.seen.masked_hash]


def test_effects_are_counted_by_the_value_clicked_on() -> None:
    game = Game(picture(10))
    game.act(click(41, 41), picture(10, extra=1))
    game.act(click(2, 2), picture(10, extra=1))
    game.act(click(3, 3), picture(10, extra=1))
    effects = game.memory.effects
    assert (effects["ACTION6 on 9"].tried, effects["ACTION6 on 9"].changed) == (1, 1)
    assert (effects["ACTION6 on 5"].tried, effects["ACTION6 on 5"].changed) == (2, 0)
    lines = game.memory.lines()
    assert lines[0] == "ACTION6 on 5: changed 0 of 2"
    assert lines[1] == "ACTION6 on 9: changed 1 of 1, 16 cells"
    assert len(lines) <= LINES


def test_the_way_back_is_found_over_known_edges() -> None:
    game = Game(picture(10))
    home = game.seen.masked_hash
    for x in (14, 18, 22):
        game.act(simple(4), picture(x))
    game.act(simple(3), picture(18))
    game.act(simple(3), picture(14))
    game.act(simple(3), picture(10))
    game.act(simple(4), picture(14))
    path = game.memory.path(game.seen.masked_hash, lambda place, node: place == home)
    assert path == [simple(3)]
    assert game.memory.path(game.seen.masked_hash, lambda place, node: False) is None


def test_another_mask_judges_the_level_anew() -> None:
    def counted(turn: int, x: int) -> np.ndarray:
        grid = picture(x)
        for bit in range(4):
            grid[1:3, 2 + 3 * bit : 4 + 3 * bit] = 11 if turn >> bit & 1 else 2
        return grid

    game = Game(counted(0, 10))
    for turn in range(1, 12):
        noted = game.act(simple(1 + turn % 3), counted(turn, 10))
    # Before the counter was known every frame was new; now the level has one state.
    assert noted.kind == NO_OP
    assert len(game.memory.graph) == 1
    (node,) = game.memory.graph.values()
    assert {edge.kind for edge in node.edges.values()} == {NO_OP}


def test_moves_of_several_things() -> None:
    before, after = picture(10).astype(np.uint8), picture(14).astype(np.uint8)
    before[50:54, 10:14] = 12
    after[50:54, 14:18] = 12
    after[40:44, 40:44] = 5
    after[44:48, 40:44] = 9
    changed = np.flatnonzero(before.ravel() != after.ravel()).astype(np.int32)
    moves = find_moves(before, after, changed, np.zeros((64, 64), np.uint8))
    assert [(move.dx, move.dy) for move in moves] == [(4, 0), (0, 4)]
    assert moves[0].values == {8, 12}
    masked = np.ones((64, 64), np.uint8)
    assert find_moves(before, after, changed, masked) == []
