"""Random play over every game: nothing breaks. ``make arc-soak`` plays a million actions."""

import os
from collections import Counter

import numpy as np
import pytest

from sysone.arc import toolkit
from sysone.arc.actions import Action
from sysone.arc.decide import Agent
from sysone.arc.env import MOCKS, make_env
from sysone.arc.frame import GAME_OVER, NOT_FINISHED, Frame
from sysone.arc.play import Limits, play_game
from sysone.arc.policy import Explorer, RandomPolicy
from sysone.arc.practice.build import SUITE

ACTIONS = int(os.environ.get("ARC_SOAK_ACTIONS", "12000"))
GAMES = [*MOCKS, *[game.id for game in toolkit.games_on_disk(SUITE)]]
PLAY = 2000
"""Actions of one play; after that, or a win, the game begins anew with another seed."""


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("game", GAMES)
def test_random_actions_break_nothing(game: str) -> None:
    wanted = -(-ACTIONS // len(GAMES))
    played, errors, ended = 0, Counter[str](), Counter[str]()
    seed = 0
    while played < wanted:
        agent = Agent(RandomPolicy(seed))
        result = play_game(make_env(game), agent, Limits(min(PLAY, wanted - played), 3600.0))
        played += max(result.steps, 1)
        errors.update(result.errors)
        ended[result.broken] += 1
        assert sum(result.decisions.values()) == result.steps
        seed += 1
    assert not errors
    assert set(ended) == {""}


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("game", GAMES)
def test_the_explorer_breaks_nothing(game: str) -> None:
    """Its plans are the most code that a decision runs through; a fallback would hide a fault."""
    result = play_game(make_env(game), Agent(Explorer(1)), Limits(max(60, ACTIONS // 400), 3600.0))
    assert not result.errors
    assert result.decisions.get("fallback", 0) == 0


class Chaos:
    """A game without rules: boards, things and fog come, go and change size at random."""

    game_id, n_levels = "chaos", 9

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.baseline_actions = [5] * 9
        self.levels = 0
        self.grid = self._drawn()
        self.ids = [int(i) for i in self.rng.permutation(np.arange(1, 8))[: seed % 7 + 1]]

    def _drawn(self) -> np.ndarray:
        rng = self.rng
        grid = np.full((64, 64), rng.integers(16), np.int8)
        pitch, size = int(rng.integers(4, 16)), int(rng.integers(2, 12))
        for y in range(int(rng.integers(6)), 60, pitch):
            for x in range(int(rng.integers(6)), 60, pitch):
                if rng.random() < 0.6:
                    grid[y : y + size, x : x + size] = rng.integers(16)
        if rng.random() < 0.3:
            grid[rng.integers(64)] = rng.integers(16)
        return grid

    def _frame(self, state: str) -> Frame:
        pictures = [self.grid.copy() for _ in range(int(self.rng.integers(1, 4)))]
        return Frame("chaos", pictures, state, self.levels, 9, self.ids)

    def first(self) -> Frame:
        return self._frame(NOT_FINISHED)

    def step(self, action: Action) -> Frame:
        luck = self.rng.random()
        if action.id == 0:
            return self._frame(NOT_FINISHED)
        if luck < 0.03:
            self.levels = min(self.levels + 1, 8)
        if luck < 0.1:
            self.grid = self._drawn()
        elif luck < 0.5:
            self.grid = np.roll(self.grid, tuple(self.rng.integers(-4, 5, 2)), (0, 1))
        elif luck < 0.8:
            x, y = self.rng.integers(0, 56, 2)
            self.grid[y : y + 8, x : x + 8] = self.rng.integers(16)
        return self._frame(GAME_OVER if luck > 0.98 else NOT_FINISHED)


@pytest.mark.parametrize("seed", range(21))
def test_the_explorer_stands_a_game_without_rules(seed: int) -> None:
    result = play_game(Chaos(seed), Agent(Explorer(seed)), Limits(150, 3600.0))
    assert not result.errors
    assert result.decisions.get("fallback", 0) == 0
    assert result.steps == 150
