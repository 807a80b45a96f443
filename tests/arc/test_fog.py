"""Where only the surroundings of the player are shown, what was seen is kept."""

import itertools

import numpy as np
import pytest

from sysone.arc import toolkit
from sysone.arc.actions import simple
from sysone.arc.decide import Agent
from sysone.arc.env import make_env
from sysone.arc.fog import Seen
from sysone.arc.moved import Box, Moved
from sysone.arc.play import Limits, play_game
from sysone.arc.policy import Explorer
from sysone.arc.walker import Walker

FOG, FLOOR, WALL, PLAYER, COIN = 4, 1, 3, 9, 8
CELL = 4
NO_MASK = np.zeros((64, 64), np.uint8)


def world() -> np.ndarray:
    """Sixteen by sixteen cells; a corridor with a coin at its left end."""
    cells = np.full((16, 16), WALL, np.uint8)
    cells[8, 1:15] = FLOOR
    cells[8, 1] = COIN
    return cells


def picture(cells: np.ndarray, column: int, fog: bool = True) -> np.ndarray:
    shown = cells.copy()
    shown[8, column] = PLAYER
    if fog:
        rows, columns = np.mgrid[:16, :16]
        shown[np.maximum(abs(columns - column), abs(rows - 8)) > 2] = FOG
    return np.repeat(np.repeat(shown, CELL, 0), CELL, 1)


def box(column: int) -> Box:
    return CELL * column, CELL * 8, CELL * column + 3, CELL * 8 + 3


def walked(fog: bool, columns: list[int]) -> tuple[Seen, np.ndarray]:
    cells = world()
    seen = Seen()
    before = picture(cells, columns[0], fog)
    seen.start_level(before, box(columns[0]))
    for old, new in itertools.pairwise(columns):
        after = picture(cells, new, fog)
        seen.note(before, after, box(old), box(new), NO_MASK)
        seen.look(after, box(new))
        before = after
    return seen, before


def test_fog_is_noticed_and_what_was_seen_before_is_on_the_map() -> None:
    seen, now = walked(True, [2, 3, 4, 5, 6, 7, 8])
    assert seen.value == FOG
    assert seen.reach == 2
    found = seen.map(now)[::CELL, ::CELL]
    assert found[8, 1] == COIN
    assert (found[8, 4:8] == FLOOR).all()
    assert found[8, 8] == PLAYER
    assert found[8, 12] == FOG
    assert (now[::CELL, ::CELL][8, :5] == FOG).all()


def test_places_are_worth_a_look_as_long_as_something_is_unseen_from_them() -> None:
    seen, _ = walked(True, [2, 3, 4, 5, 6, 7, 8])
    assert not seen.unseen(box(5))
    assert seen.unseen(box(9))


def test_without_fog_the_picture_is_the_map() -> None:
    seen, now = walked(False, [2, 3, 4, 5, 6, 7, 8])
    assert seen.value is None
    assert seen.map(now) is now
    assert seen.unseen(box(5))


def test_a_new_level_is_a_new_map_and_the_fog_stays_known() -> None:
    seen, _ = walked(True, [2, 3, 4, 5, 6, 7, 8])
    fresh = picture(world(), 12)
    seen.start_level(fresh, box(12))
    assert seen.value == FOG
    assert (seen.map(fresh) == fresh).all()


def test_what_stops_the_player_as_often_as_it_is_entered_is_no_way() -> None:
    walker = Walker(values=frozenset({PLAYER}))
    walker.relative = {4: (1.0, 0.0)}
    grid = picture(world(), 5, fog=False)
    walker.start_level(grid)
    move = Moved(CELL, 0, box(5), box(6), frozenset({PLAYER}))
    walker.learn(grid, simple(4), picture(world(), 6, fog=False), [move], True, False)
    assert walker.passable == {FLOOR}
    wall = picture(world(), 14, fog=False)
    walker.passable.add(WALL)
    walker.start_level(wall)
    walker.learn(wall, simple(4), wall, [], False, False)
    assert walker.passable == {FLOOR}
    assert walker.blocked == {WALL}


def test_one_odd_step_does_not_make_a_slider() -> None:
    walker = Walker(values=frozenset({PLAYER}))
    columns = [2, 3, 4, 5, 6, 7, 8, 9, 11]
    walker.start_level(picture(world(), 2, fog=False))
    for old, new in itertools.pairwise(columns):
        before, after = (picture(world(), column, fog=False) for column in (old, new))
        move = Moved(CELL * (new - old), 0, box(old), box(new), frozenset({PLAYER}))
        walker.learn(before, simple(4), after, [move], True, False)
    assert not walker.slides


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
@pytest.mark.parametrize(("game", "at_least"), [("pfog", 35), ("hfog", 25), ("pund", 80)])
def test_games_with_fog_and_with_floor_that_gives_way(game: str, at_least: float) -> None:
    played = play_game(make_env(game), Agent(Explorer(0)), Limits(500))
    assert played.final_state == "WIN"
    assert played.tally.rhae(played.tally.best) >= at_least
