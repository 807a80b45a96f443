"""The HUD mask on the practice suite: what it finds, and what it takes wrongly."""

from typing import Any

import numpy as np
import pytest

from sysone.arc import toolkit
from sysone.arc.actions import click, simple
from sysone.arc.decide import Agent
from sysone.arc.env import make_env, step_env
from sysone.arc.hud import HudMask
from sysone.arc.policy import make_policy
from sysone.arc.practice.build import SUITE_IDS

ACTIONS = 40
CHANGED = np.zeros(0, np.int32)


def masks(game: str, policy: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the HUD is, what our mask takes after some actions, and where the playfield is."""
    env: Any = make_env(game)
    display = env.wrapper._game._display
    truth = display.cells() if display is not None else np.zeros((64, 64), np.bool_)
    agent = Agent(make_policy(policy, 0))
    agent.begin(env.first())
    first = agent.observation
    assert first is not None
    for _ in range(ACTIONS):
        if agent.done:
            break
        action, _ = agent.decide()
        agent.note(action, step_env(env, action))
    seen = agent.observation
    assert seen is not None
    camera = env.wrapper._game.camera
    scale, left, top = camera._calculate_scale_and_offset()
    playfield = np.zeros((64, 64), np.bool_)
    playfield[top : top + camera.height * scale, left : left + camera.width * scale] = True
    return truth, seen.mask != 0, playfield & ~truth


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
def test_quality_on_the_practice_suite() -> None:
    """The figures that docs/arc.md publishes."""
    found = wrong = total = bars = bars_found = 0
    for id_ in SUITE_IDS.values():
        for game in (id_, f"h{id_[1:]}"):
            for policy in ("heuristic", "random"):
                truth, ours, playfield = masks(game, policy)
                total += int(truth.sum())
                found += int((ours & truth).sum())
                wrong += int((ours & playfield).sum())
                if truth.sum() == 128:
                    bars += 128
                    bars_found += int((ours & truth).sum())
    assert bars_found == bars
    assert found >= 0.97 * total
    assert wrong == 0


def grid_with_bar(left: int) -> np.ndarray:
    grid = np.full((64, 64), 5, np.uint8)
    grid[20:40, 20:40] = 3
    grid[62:, :left] = 8
    grid[62:, left:] = 2
    return grid


def test_a_bar_is_known_from_the_first_frame() -> None:
    mask = HudMask().start_level(grid_with_bar(40))
    assert mask[62:].all()
    assert not mask[:62].any()


def test_the_background_at_an_edge_is_no_hud() -> None:
    assert not HudMask().start_level(np.full((64, 64), 5, np.uint8)).any()


def counter(turn: int) -> np.ndarray:
    grid = np.full((64, 64), 5, np.uint8)
    grid[20:40, 20:40] = 3
    for bit in range(4):
        grid[1:3, 2 + 3 * bit : 4 + 3 * bit] = 8 if turn >> bit & 1 else 2
    return grid


def test_lamps_are_learnt_where_every_action_changes_them() -> None:
    hud = HudMask()
    hud.start_level(counter(0))
    for turn in range(1, 11):
        changed = np.flatnonzero(counter(turn).ravel() != counter(turn - 1).ravel())
        hud.update(simple(1 + turn % 4), counter(turn), changed.astype(np.int32))
    assert hud.mask is not None
    assert int(hud.mask.sum()) == 16


def test_what_a_single_action_changes_is_not_learnt() -> None:
    hud = HudMask()
    hud.start_level(counter(0))
    for turn in range(1, 11):
        changed = np.flatnonzero(counter(turn).ravel() != counter(turn - 1).ravel())
        hud.update(click(30, 30), counter(turn), changed.astype(np.int32))
    assert hud.mask is not None
    assert not hud.mask.any()


def test_cells_that_react_to_one_action_leave_the_mask() -> None:
    hud = HudMask()
    hud.start_level(grid_with_bar(40))
    grid = grid_with_bar(40)
    corner = np.array([62 * 64, 62 * 64 + 1], np.int32)
    for turn in range(1, 21):
        hud.update(simple(1 + turn % 2), grid, corner if turn % 2 else CHANGED)
    assert hud.mask is not None
    assert not hud.mask[62, :2].any()
    assert hud.mask[63].all()


def test_a_mask_of_more_than_a_quarter_is_dropped() -> None:
    hud = HudMask()
    grid = np.full((20, 20), 5, np.uint8)
    grid[:2], grid[-2:] = 8, 9
    grid[2:-2, :2], grid[2:-2, -2:] = 10, 11
    assert not hud.start_level(grid).any()
    assert hud.dropped
