"""The explorer: deterministic, wastes nothing that it knows, walks and pushes with a plan."""

import itertools
from typing import Any

import numpy as np
import pytest

from sysone.arc import toolkit
from sysone.arc.actions import RESET, Action, simple
from sysone.arc.decide import Agent
from sysone.arc.env import MockEnv, make_env, step_env
from sysone.arc.memory import NO_OP
from sysone.arc.moved import Moved
from sysone.arc.places import TriedAt
from sysone.arc.play import Limits, play_game
from sysone.arc.policy import Explorer, RandomPolicy, make_policy
from sysone.arc.pusher import push_plan
from sysone.arc.walker import Walker

FLOOR, WALL, PLAYER, BOX, PAD, GOAL = 5, 3, 9, 12, 11, 14
COLOURS = {".": FLOOR, "#": WALL, "@": PLAYER, "$": BOX, "o": PAD, "G": GOAL}
NO_MASK = np.zeros((64, 64), np.uint8)


def drawn(*rows: str) -> np.ndarray:
    """A picture of eight by eight cells, eight pixels each."""
    cells = np.array([[COLOURS[cell] for cell in row] for row in rows], np.uint8)
    return np.repeat(np.repeat(cells, 8, 0), 8, 1)


def walker_at(grid: np.ndarray) -> Walker:
    walker = Walker(values=frozenset({PLAYER}))
    walker.relative = {1: (0, -1), 2: (0, 1), 3: (-1, 0), 4: (1, 0)}
    walker.passable, walker.blocked = {FLOOR}, {WALL}
    walker.start_level(grid)
    return walker


ROOM = (
    "########",
    "#@.....#",
    "#.####.#",
    "#.#G.#.#",
    "#.#..#.#",
    "#.##.#.#",
    "#....#.#",
    "########",
)


def test_the_nearest_thing_that_promises_something_is_walked_to() -> None:
    grid = drawn(*ROOM)
    plan = walker_at(grid).plan(grid, NO_MASK, TriedAt())
    assert plan is not None
    assert plan.values == {GOAL}
    assert [action.id for action in plan.actions] == [2] * 5 + [4] * 3 + [1] * 3 + [3]


def test_a_step_made_in_vain_is_not_planned_again() -> None:
    grid = drawn(*ROOM)
    tried = TriedAt()
    tried.add((8, 8), 2)
    plan = walker_at(grid).plan(grid, NO_MASK, tried)
    assert plan is not None
    assert plan.actions[0] is simple(4)


def test_deadly_values_are_walked_around() -> None:
    rows = list(ROOM)
    rows[3] = "#$#G.#.#"
    grid = drawn(*rows)
    walker = walker_at(grid)
    walker.deadly = {BOX}
    plan = walker.plan(grid, NO_MASK, TriedAt())
    assert plan is None or GOAL not in plan.values


def test_walls_are_learnt_from_a_step_that_does_nothing() -> None:
    grid = drawn(*ROOM)
    walker = walker_at(grid)
    walker.blocked = set()
    walker.learn(grid, simple(1), grid, [], False, False)
    assert walker.blocked == {WALL}
    after = drawn(*[row.replace("#@.", "#.@") for row in ROOM])
    move = Moved(8, 0, (8, 8, 15, 15), (16, 8, 23, 15), frozenset({PLAYER}))
    walker.learn(grid, simple(4), after, [move], True, False)
    assert walker.box == (16, 8, 23, 15)


PUSHED = (
    "########",
    "#@.....#",
    "#..$...#",
    "#......#",
    "#...$..#",
    "#.o..o.#",
    "#......#",
    "########",
)


def test_boxes_are_pushed_home() -> None:
    grid = drawn(*PUSHED)
    walker = walker_at(grid)
    assert push_plan(walker, grid, NO_MASK) is None  # nothing is known to be pushed
    walker.pushed = {BOX}
    actions = push_plan(walker, grid, NO_MASK)
    assert actions is not None
    player, boxes = (1, 1), {(3, 2), (4, 4)}
    for action in actions:
        dx, dy = {1: (0, -1), 2: (0, 1), 3: (-1, 0), 4: (1, 0)}[action.id]
        player = (player[0] + dx, player[1] + dy)
        if player in boxes:
            boxes = boxes - {player} | {(player[0] + dx, player[1] + dy)}
        assert PUSHED[player[1]][player[0]] != "#"
    assert boxes == {(2, 5), (5, 5)}


def test_a_box_in_a_corner_has_no_plan() -> None:
    rows = [row.replace("$", ".").replace("o", ".") for row in PUSHED]
    rows[1], rows[5] = "#@....$#", "#.o....#"
    grid = drawn(*rows)
    walker = walker_at(grid)
    walker.pushed = {BOX}
    assert push_plan(walker, grid, NO_MASK) is None


def played(policy: Any, env: Any, actions: int) -> tuple[list[Action], float]:
    found: list[Action] = []

    def note(action: Action, record: Any, frame: Any) -> None:
        found.append(action)

    result = play_game(env, Agent(policy), Limits(actions), on_step=note)
    assert not result.errors
    return found, result.tally.rhae(result.tally.best)


def test_the_same_seed_makes_the_same_choices() -> None:
    for make in (Explorer, RandomPolicy):
        first = played(make(3), MockEnv(1, "competition"), 80)
        assert first == played(make(3), MockEnv(1, "competition"), 80)
    assert (
        played(RandomPolicy(1), MockEnv(1, "competition"), 80)[0]
        != played(RandomPolicy(2), MockEnv(1, "competition"), 80)[0]
    )


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_sokoban_is_solved_with_few_actions(seed: int) -> None:
    _, rhae = played(Explorer(0), MockEnv(seed, "competition"), 300)
    assert rhae > 60
    assert played(RandomPolicy(0), MockEnv(seed, "competition"), 300)[1] < 5


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
@pytest.mark.parametrize(
    ("game", "at_least"), [("hmaz", 30), ("pkey", 40), ("pcol", 50), ("psli", 50), ("pani", 40)]
)
def test_games_that_it_is_good_at(game: str, at_least: float) -> None:
    assert played(Explorer(0), make_env(game), 500)[1] >= at_least


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
@pytest.mark.parametrize("game", ["hmaz", "pkey", "psli"])
def test_what_is_known_to_do_nothing_is_not_done_again(game: str) -> None:
    env: Any = make_env(game)
    agent = Agent(make_policy("heuristic", 0))
    agent.begin(env.first())
    wasted = steps = 0
    while not agent.done and steps < 300:
        seen = agent.observation
        action, _ = agent.decide()
        assert seen is not None
        edge = agent.memory.edge(seen, action)
        wasted += edge is not None and edge.kind == NO_OP and action is not RESET
        agent.note(action, step_env(env, action))
        steps += 1
    assert wasted == 0


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(ValueError, match="policy is 'clever'"):
        make_policy("clever", 0)


def test_a_goal_is_learnt_from_the_last_picture_of_a_level() -> None:
    grid = drawn(*ROOM)
    walker = walker_at(grid)
    rows = [list(row.replace("@", ".")) for row in ROOM]
    rows[3][3] = "@"
    last = drawn(*["".join(row) for row in rows])
    walker.learn_goal(grid, simple(4), last)
    assert dict(walker.goals) == {GOAL: 1}
    beside = drawn(*[row.replace("#@.", "#@G") for row in ROOM])
    without = walker_at(beside)
    without.learn_goal(beside, simple(4))
    assert dict(without.goals) == {GOAL: 1}  # without it, what was ahead


COINS = (
    "########",
    "#@....G#",
    "#......#",
    "#....o.#",
    "#......#",
    "#o.....#",
    "#......#",
    "########",
)


@pytest.mark.parametrize(("left", "first"), [(False, PAD), (True, GOAL)])
def test_finds_come_first_where_levels_were_gained_with_none_left(left: bool, first: int) -> None:
    grid = drawn(*COINS)
    walker = walker_at(grid)
    walker.treasure = {PAD}
    walker.goals.update({GOAL: 1})
    walker.left_over[left] += 1
    plan = walker.plan(grid, NO_MASK, TriedAt())
    assert plan is not None
    assert plan.values == {first}


def test_a_goal_that_did_nothing_is_tried_again_after_something_happened() -> None:
    grid = drawn(*[row.replace("o", ".") for row in COINS])
    walker = walker_at(grid)
    walker.goals.update({GOAL: 1})
    walker.passable.add(GOAL)
    walker.spent = {GOAL: 0}
    plan = walker.plan(grid, NO_MASK, TriedAt())
    assert plan is not None
    assert plan.values != {GOAL}
    walker.events = 1
    plan = walker.plan(grid, NO_MASK, TriedAt())
    assert plan is not None
    assert plan.values == {GOAL}


def test_an_undone_step_teaches_nothing_about_ways() -> None:
    grid = drawn(*ROOM)
    walker = walker_at(grid)
    walker.undone(drawn(*[row.replace("#@.", "#.@") for row in ROOM]))
    assert walker.box == (16, 8, 23, 15)
    assert walker.passable == {FLOOR}


def test_the_first_find_opens_what_was_closed() -> None:
    """A key is known for one when it is gone, a step later; then doors are tried again."""
    rows = ["########", "#@o..$.#", *["#......#"] * 5, "########"]
    pictures = [
        drawn(*rows),
        drawn(rows[0], "#.@..$.#", *rows[2:]),
        drawn(rows[0], "#..@.$.#", *rows[2:]),
    ]
    walker = walker_at(pictures[0])
    walker.blocked = {WALL, BOX}
    for step, (before, after) in enumerate(itertools.pairwise(pictures)):
        x = 8 + 8 * step
        move = Moved(8, 0, (x, 8, x + 7, 15), (x + 8, 8, x + 15, 15), frozenset({PLAYER}))
        walker.learn(before, simple(4), after, [move], True, False)
        assert walker.events == step
    assert walker.treasure == {PAD}
    assert BOX in walker.reopen
