"""Boards of tiles: found, read, their clicks learnt, and played with few actions."""

from typing import Any

import numpy as np
import pytest

from sysone.arc import toolkit
from sysone.arc.actions import click
from sysone.arc.click_models import PickAndPut, Rewrite, Seen, search
from sysone.arc.clicker import ALIKE, LINES, PICTURE, Clicker, in_lines
from sysone.arc.decide import Agent
from sysone.arc.env import make_env
from sysone.arc.frame import NOT_FINISHED, Frame
from sysone.arc.linear import cycle_of, fewest_clicks
from sysone.arc.memory import GAINED, Node
from sysone.arc.observe import Watcher
from sysone.arc.play import Limits, play_game
from sysone.arc.policy import Explorer
from sysone.arc.tiles import MIXED, Board, find_board, find_picture

FLOOR = 5
NO_MASK = np.zeros((64, 64), np.uint8)


def picture(rows: list[list[int]], left: int = 10, top: int = 20, pitch: int = 12) -> np.ndarray:
    """Tiles of eight pixels; a value equal to the floor leaves a place empty."""
    grid = np.full((64, 64), FLOOR, np.uint8)
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            y, x = top + pitch * row, left + pitch * column
            grid[y : y + 8, x : x + 8] = value
    return grid


def test_a_board_is_found_and_read_with_its_empty_places() -> None:
    grid = picture([[8, 9, 8], [9, FLOOR, 9]])
    board = find_board(grid, NO_MASK)
    assert board is not None
    assert (board.shape, board.pitch, board.size) == ((3, 2), (12, 12), (8, 8))
    assert board.read(grid) == (8, 9, 8, 9, FLOOR, 9)
    assert board.floor == FLOOR
    assert board.at(board.action((1, 1))) == (1, 1)
    assert board.at(click(10 + 8, 20)) is None  # the gap between two tiles
    grid[20, 10] = 3
    assert board.read(grid)[0] == MIXED


def test_a_letter_box_of_another_colour_is_not_the_floor() -> None:
    grid = np.full((64, 64), 4, np.uint8)
    grid[16:48, 8:48] = 1
    grid[18:26, 10:18] = grid[18:26, 22:30] = grid[30:38, 10:18] = 9
    board = find_board(grid, NO_MASK)
    assert board is not None
    assert board.floor == 1
    assert board.read(grid) == (9, 9, 9, 1)


def test_what_stands_alone_is_no_tile_and_one_tile_is_no_board() -> None:
    assert find_board(picture([[8]]), NO_MASK) is None
    assert find_board(np.full((64, 64), FLOOR, np.uint8), NO_MASK) is None
    grid = picture([[8, 9], [9, 8]])
    grid[1:9, 50:58] = 7
    board = find_board(grid, NO_MASK)
    assert board is not None
    assert board.shape == (2, 2)
    mask = NO_MASK.copy()
    mask[:, :21] = 1
    assert find_board(grid, mask) != board


def test_a_column_without_a_tile_is_known_by_its_bar() -> None:
    grid = picture([[8, 8], [9, 9]])
    for column in range(3):
        grid[42:45, 10 + 12 * column : 18 + 12 * column] = 2
    board = find_board(grid, NO_MASK)
    assert board is not None
    assert board.shape == (3, 2)
    roomy = board.with_room(grid)
    assert roomy.shape == (4, 3)  # no room at the left, where the picture ends
    assert roomy.read(grid).count(FLOOR) == 3 + 2 + 2


def test_a_smaller_picture_of_the_board_is_found_and_a_hud_over_it_does_not_hurt() -> None:
    grid = picture([[8, 8, 9], [9, 9, 9]])
    for row, values in enumerate([[9, 8, 9], [8, 9, 8]]):
        for column, value in enumerate(values):
            grid[2 + 4 * row : 6 + 4 * row, 3 + 4 * column : 7 + 4 * column] = value
    board = find_board(grid, NO_MASK)
    assert board is not None
    wanted = (9, 8, 9, 8, 9, 8)
    assert find_picture(grid, NO_MASK, board) == wanted
    mask = NO_MASK.copy()
    grid[2, 3:6], mask[2, 3:6] = 1, 1
    assert find_picture(grid, mask, board) == wanted
    grid[4:6, 3:9] = 7
    assert find_picture(grid, mask, board) is None


def seen(places: Any, before: Any, clicked: int, after: Any, held: Any = None) -> Seen:
    return Seen(tuple(places), tuple(before), clicked, tuple(after), held)


THREE = [(0, 0), (1, 0), (2, 0)]


def test_offsets_and_the_next_value_are_learnt_and_planned_with() -> None:
    rule = Rewrite.fit([seen(THREE, (8, 8, 8), 1, (9, 9, 9))], FLOOR)
    assert rule is not None
    assert rule.offsets == {(-1, 0), (0, 0), (1, 0)}
    assert rule.following == {8: 9}
    more = [
        seen(THREE, (8, 8, 8), 1, (9, 9, 9)),
        seen(THREE, (9, 9, 9), 0, (8, 8, 9)),
    ]
    rule = Rewrite.fit(more, FLOOR)
    assert rule is not None
    assert rule.plan(tuple(THREE), [0, 1, 2], (8, 8, 9), (9, 9, 9)) == [0]
    assert rule.plan(tuple(THREE), [0, 1, 2], (9, 9, 8), (9, 8, 9)) == [2]
    # One in the middle changes all three, and one at an end two: an odd one cannot come.
    assert len(rule.plan(tuple(THREE), [0, 1, 2], (8, 8, 8), (9, 8, 8)) or []) == 2


def test_a_rule_that_does_not_explain_a_click_is_none() -> None:
    moved = seen(THREE, (8, 9, 8), 0, (FLOOR, 9, 8))
    other = seen(THREE, (8, 9, 8), 0, (9, 9, 8))
    assert Rewrite.fit([moved, other], FLOOR) is None
    assert Rewrite.fit([seen(THREE, (8, 8, 8), 0, (8, 9, 8))], FLOOR) is None
    assert Rewrite.fit([], FLOOR) is None


def test_tiles_that_change_alone_are_planned_one_by_one() -> None:
    rule = Rewrite({(0, 0)}, {1: 2, 2: 3, 3: 1})
    assert rule.plan(tuple(THREE), [0, 1, 2], (1, 2, 3), (3, 2, 1)) == [0, 0, 2]
    assert Rewrite({(0, 0)}, {1: 2}).plan(tuple(THREE), [0, 1, 2], (1, 2, 1), (3, 2, 1)) is None


PILES = [(column, row) for row in range(2) for column in range(3)]
E = FLOOR


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("side", [2, 3])
def test_elimination_finds_what_search_finds(k: int, side: int) -> None:
    places = tuple((c, r) for r in range(side) for c in range(side))
    cross = {(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)}
    reach = [[i for i, (x, y) in enumerate(places) if (x - c, y - r) in cross] for c, r in places]
    rng = np.random.default_rng(k)
    for _ in range(4):
        state = [0] * len(places)
        for clicked in rng.integers(0, len(places), 3).tolist():
            for i in reach[clicked]:
                state[i] = (state[i] + 1) % k
        if not any(state):
            continue

        def steps(now: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
            found = []
            for clicked, tiles in enumerate(reach):
                after = list(now)
                for i in tiles:
                    after[i] = (after[i] + 1) % k
                found.append((clicked, tuple(after)))
            return found

        times = fewest_clicks(reach, [-value for value in state], k)
        assert times is not None
        now = tuple(state)
        for clicked, n in enumerate(times):
            for _ in range(n):
                now = steps(now)[clicked][1]
        assert not any(now)
        found = search(tuple(state), lambda at: not any(at), steps)
        assert found is None or sum(times) == len(found)


def test_a_large_board_is_solved_and_an_impossible_one_is_not() -> None:
    places = tuple((c, r) for r in range(8) for c in range(8))
    cross = {(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)}
    rule = Rewrite(cross, {1: 2, 2: 1})
    state = [1] * 64
    for clicked in (0, 9, 35, 63, 20):
        column, row = places[clicked]
        for i, (x, y) in enumerate(places):
            if (x - column, y - row) in cross:
                state[i] = 3 - state[i]
    found = rule.plan(places, list(range(64)), tuple(state), (1,) * 64)
    assert found is not None
    assert sorted(found) == [0, 9, 20, 35, 63]
    row = tuple((c, 0) for c in range(2))
    pair = Rewrite({(0, 0), (1, 0), (-1, 0)}, {1: 2, 2: 1})
    assert pair.plan(row, [0, 1], (1, 2), (1, 1)) is None


def test_cycles_of_values() -> None:
    assert cycle_of({1: 2, 2: 1}) == [1, 2]
    assert cycle_of({4: 9, 9: 7, 7: 4}) == [4, 9, 7]
    for odd in ({1: 2}, {1: 2, 2: 3}, {1: 2, 2: 3, 3: 4, 4: 1}, {1: 1, 2: 2}, {1: 2, 2: 2, 3: 1}):
        assert cycle_of(odd) is None


def test_piles_are_told_by_which_piece_moves() -> None:
    start = (E, 8, E, 9, 8, E)
    lifted = (E, 7, E, 9, 8, E)  # the lower one was clicked, the upper one is marked
    first = seen(PILES, start, 4, lifted)
    rule = PickAndPut.fit([first], E)
    assert rule is not None
    assert rule.pull == (0, 1)
    held = PickAndPut.held_after(first, E)
    assert held == (1, 8)
    put = seen(PILES, lifted, 2, (E, E, E, 9, 8, 8), held)
    assert PickAndPut.fit([first, put], E) == rule
    wrong = seen(PILES, lifted, 2, (E, E, 8, 9, 8, E), held)
    assert PickAndPut.fit([first, wrong], E) is None
    board = Board(0, 0, (12, 12), (8, 8), tuple(PILES), E)
    clicks = rule.plan(tuple(PILES), start, lambda pieces: in_lines(rule, board, pieces))
    assert clicks is not None
    assert clicks == [3, 5]  # in lines already, and in lines elsewhere


def test_search_finds_a_way_back_to_the_start() -> None:
    assert search(0, lambda n: n == 0, lambda n: [(1, (n + 1) % 3)]) == [1, 1, 1]
    assert search(0, lambda n: n == 9, lambda n: [(1, (n + 1) % 3)]) is None


def play_by_hand(wanted: str, rows: list[list[int]], is_won: Any, step: Any) -> tuple[Clicker, int]:
    """A clicker on a board that is simulated here; clicks until it is won."""
    clicker, watcher = Clicker(), Watcher()
    action = None
    for clicks in range(60):
        grid = picture(rows)
        observed = watcher.observe(Frame("g", [grid], NOT_FINISHED, 0, 3, [6]), action)
        assert observed is not None
        action = clicker.propose(observed, Node())
        assert action is not None
        place = ((action.x - 10) // 12, (action.y - 20) // 12)
        rows = step(rows, place)
        gained = is_won(rows)
        kind = GAINED if gained else "changed"
        clicker.learn(grid, action, picture(rows), kind)
        if gained:
            return clicker, clicks + 1
    raise AssertionError(f"{wanted} was not found")


def test_alike_is_found_out_by_clicking() -> None:
    def step(rows: list[list[int]], place: tuple[int, int]) -> list[list[int]]:
        column, row = place
        return [
            [17 - v if abs(c - column) + abs(r - row) <= 1 else v for c, v in enumerate(values)]
            for r, values in enumerate(rows)
        ]

    start = step(step([[8, 8, 8], [8, 8, 8], [8, 8, 8]], (0, 0)), (2, 1))
    clicker, clicks = play_by_hand(
        "alike", start, lambda rows: all(v == 8 for values in rows for v in values), step
    )
    assert clicks <= 14
    assert clicker.proved[ALIKE, 8] == 1
    assert clicker.proved[PICTURE,] == 0


def test_room_that_is_none_is_given_up_after_one_click() -> None:
    """Two full piles and a free third column without a mark; to its right there is nothing."""

    def step(rows: list[list[int]], place: tuple[int, int]) -> list[list[int]]:
        column = place[0]
        piles = [[values[c] for values in rows] for c in range(3)]
        marked = [c for c in range(3) if 2 in piles[c]]
        if not 0 <= column <= 2:
            return rows
        if not marked:
            tops = [r for r in range(2) if piles[column][r] != FLOOR]
            if tops:
                lifted.append(piles[column][tops[0]])
                piles[column][tops[0]] = 2
        else:
            start, row = marked[0], piles[marked[0]].index(2)
            free = [r for r in range(2) if piles[column][r] == FLOOR]
            if column == start:
                piles[start][row] = lifted.pop()
            elif free:
                piles[start][row] = FLOOR
                piles[column][free[-1]] = lifted.pop()
        return [[piles[c][r] for c in range(3)] for r in range(2)]

    lifted: list[int] = []

    def is_won(rows: list[list[int]]) -> bool:
        kinds = [{v for v in column if v != FLOOR} for column in zip(*rows, strict=True)]
        found = [value for kind in kinds for value in kind]
        return 2 not in found and len(found) == len(set(found)) == 2

    clicker, clicks = play_by_hand("lines", [[9, 8, FLOOR], [8, 9, FLOOR]], is_won, step)
    assert clicker.proved[LINES,] == 1
    assert clicks <= 30


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
@pytest.mark.parametrize("game", ["ptog", "htog", "pcyc", "hcyc", "psta", "hsta"])
def test_boards_of_the_practice_suite_are_played_well(game: str) -> None:
    agent = Agent(Explorer(0))
    played = play_game(make_env(game), agent, Limits(200))
    assert not played.errors
    assert played.final_state == "WIN"
    assert played.tally.rhae(played.tally.best) >= 85
