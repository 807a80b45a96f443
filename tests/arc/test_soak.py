"""Random play over every game: nothing breaks. ``make arc-soak`` plays a million actions."""

import os
from collections import Counter

import pytest

from sysone.arc import toolkit
from sysone.arc.decide import Agent
from sysone.arc.env import MOCKS, make_env
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
