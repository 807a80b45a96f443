"""What is seen of a game: the last frame, repaired if need be, and the mask."""

from typing import Any

import numpy as np
import pytest

from sysone.arc.actions import RESET, click, parse, simple
from sysone.arc.candidates import build_candidates, objects
from sysone.arc.frame import GAME_OVER, NOT_FINISHED, Frame
from sysone.arc.observe import (
    Watcher,
    compact_text,
    encode_observation,
    parse_state_text,
    repair_grid,
)


def frame(*pictures: Any, **rest: Any) -> Frame:
    return Frame(frame=list(pictures), state=NOT_FINISHED, win_levels=3, **rest)


def picture(*cells: tuple[int, int, int], floor: int = 5) -> np.ndarray:
    grid = np.full((64, 64), floor, np.int8)
    for x, y, value in cells:
        grid[y, x] = value
    return grid


def test_the_last_frame_is_the_present() -> None:
    old, new = picture((9, 9, 3)), picture((30, 30, 8))
    seen = Watcher().observe(frame(old, new))
    assert seen is not None
    assert seen.grid[30, 30] == 8
    assert seen.grid[9, 9] == 5
    assert seen.n_frames == 2


def test_compact_text_holds_the_changed_rows() -> None:
    seen = encode_observation([[1, 2], [3, 4], [5, 6]], [[1, 2], [3, 0], [5, 6]])
    assert seen.compact_text == "qwenjev-state-v1c|h=3 w=2 l=0 s=NOT_FINISHED\n1:3*"
    nothing = encode_observation([[1, 2]], [[1, 2]])
    assert nothing.compact_text == "qwenjev-state-v1c|h=1 w=2 l=0 s=NOT_FINISHED"
    assert compact_text("**\n**", 1, "WIN").split("\n")[1:] == ["0:**", "1:**"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("qwenjev-state-v2|h=1 w=1 l=0 s=WIN\n0", "state version"),
        ("qwenjev-state-v1|w=1 h=1 l=0 s=WIN\n0", "expected h= w= l= s="),
        ("qwenjev-state-v1|h=1 w=1 l=0 s=LOST\n0", "'LOST'"),
        ("qwenjev-state-v1|h=2 w=1 l=0 s=WIN\n0", "shape (1, 1)"),
        ("qwenjev-state-v1|h=x w=1 l=0 s=WIN\n0", "whole numbers"),
        ("qwenjev-state-v1|h=1 w=1 l=0 s=WIN\nz", "'z'"),
    ],
)
def test_a_bad_state_text_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        parse_state_text(text)
    assert words in str(refused.value)


def test_pictures_are_repaired_and_counted() -> None:
    watcher = Watcher()
    too_large = np.full((70, 80), 99)
    seen = watcher.observe(frame(too_large))
    assert seen is not None
    assert seen.repaired
    assert seen.grid.shape == (64, 64)
    assert seen.grid.max() == 15
    assert watcher.repaired_frames == 1
    assert repair_grid([[1, 2], [3]])[0][:2, :2].tolist() == [[1, 2], [3, 0]]
    assert repair_grid([[-4, float("nan")]])[0][0, :2].tolist() == [0, 0]


@pytest.mark.parametrize("rubbish", [None, "grid", 7, [], [[]], {}])
def test_what_is_no_picture_keeps_the_last_observation(rubbish: Any) -> None:
    watcher = Watcher()
    first = watcher.observe(frame(picture()))
    seen = watcher.observe(frame(rubbish), simple(1))
    assert first is not None
    assert seen is not None
    assert seen.empty
    assert seen.masked_hash == first.masked_hash


def test_no_frames_after_the_end_are_no_lost_progress() -> None:
    watcher = Watcher()
    watcher.observe(frame(picture(), levels_completed=2))
    over = Frame(frame=[], state=GAME_OVER, levels_completed=0)
    seen = watcher.observe(over, simple(1))
    assert seen is not None
    assert (seen.state, seen.levels_completed, seen.win_levels) == (GAME_OVER, 2, 3)
    assert watcher.observe(None, simple(1)).levels_completed == 2  # type: ignore[union-attr]


def test_nothing_seen_yet_is_none() -> None:
    assert Watcher().observe(None) is None
    assert Watcher().observe(Frame()) is None


def test_candidates_of_a_known_frame() -> None:
    seen = encode_observation(picture((10, 20, 8)), available_actions=[6, 3, 1, 0])
    found = build_candidates(seen)
    assert [action.text for action in found[:3]] == ["ACTION1", "ACTION3", "ACTION6 x=10 y=20"]
    assert RESET not in found
    assert len(found) == len({action.text for action in found}) == 2 + 1 + 64
    assert len(build_candidates(seen, 2)) == 2
    assert build_candidates(seen, 1) == [simple(1)]


def test_no_ids_on_offer_means_all() -> None:
    found = build_candidates(encode_observation(picture()))
    assert [action.id for action in found[:6]] == [1, 2, 3, 4, 5, 7]
    assert found[6].is_click


def test_objects_come_before_the_coarse_points() -> None:
    grid = picture()
    grid[10:14, 20:26] = 8
    grid[40:44, 20:26] = 9
    grid[50:54, 50:56] = 9
    seen = encode_observation(grid, available_actions=[6])
    assert objects(seen)[0][2:] == (8, 24)  # the rarest kind first
    found = build_candidates(seen, anchor_mode="objects")
    assert click(22, 11) in found
    assert found.index(click(22, 11)) < found.index(click(4, 4))
    seen.mask = np.zeros((64, 64), np.uint8)
    seen.mask[10:14, 20:26] = 1
    assert all(value != 8 for _, _, value, _ in objects(seen))


@pytest.mark.parametrize("limit", [0, 256, -1])
def test_a_limit_out_of_range_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=f"max_candidates is {limit}"):
        build_candidates(encode_observation(picture()), limit)


def test_action_texts_go_there_and_back() -> None:
    for action in [*[simple(id_) for id_ in (0, 1, 2, 3, 4, 5, 7)], click(0, 63), click(63, 0)]:
        assert parse(action.text) is action
    assert click(-3, 99) is click(0, 63)
    for text in ("ACTION6", "ACTION8", "ACTION6 x=64 y=0", "ACTION6 y=1 x=0", "action1", ""):
        with pytest.raises(ValueError, match="expected ACTION1"):
            parse(text)


def test_observing_twice_gives_the_same_bytes() -> None:
    pictures = [picture((x, 20, 8)) for x in range(10, 20)]
    texts = []
    for _ in range(2):
        watcher = Watcher()
        seen = [watcher.observe(frame(one), simple(4)) for one in pictures]
        texts.append([(one.state_text, one.masked_hash) for one in seen if one is not None])
    assert texts[0] == texts[1]
