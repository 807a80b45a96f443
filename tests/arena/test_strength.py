"""How strong the bundled strategies are against each other, over seeds and both sides.

Matches run in this process, without budgets. ``ARENA_PROOF=full`` (``make arena-proof``) plays 64
seeds of every pair; otherwise one pair plays one seed.
"""

import importlib.util
import json
import os
from typing import Any

import pytest

from sysone.arena import lineup, sources
from sysone.arena.engine import TEAMS, Game, Setup, static

FULL = os.environ.get("ARENA_PROOF") == "full"
SEEDS = 64 if FULL else 1
LEAST_SHARE = 0.6


def load(key: str, name: str) -> Any:
    path = sources.find(f"bundled:{key}").folder / "main.py"
    spec = importlib.util.spec_from_file_location(f"strategy_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def winner(red: str, blue: str, seed: int) -> str | None:
    line = lineup.default("2027")
    game = Game(Setup("2027", seed, {"red": line, "blue": line}))
    shared = {"season": "2027", "settings": game.book.settings, "static": static(game.book)}
    minds = [load(key, side) for key, side in zip((red, blue), TEAMS, strict=True)]
    states: list[dict[str, Any]] = [{}, {}]
    for i, mind in enumerate(minds):
        mind.reset({"team": TEAMS[i], "seed_hint": game.core.seed_hint(i), **shared})
    while not game.ended:
        for side, mind, state in zip(TEAMS, minds, states, strict=True):
            action = mind.act(json.loads(game.observe(side)), state)
            assert game.act(side, json.dumps(action)) is None, action
        game.advance()
    won = game.result()["winner"]
    return None if won is None else (red, blue)[TEAMS.index(won)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("better", "other"),
    [("rush", "hold"), ("team", "rush"), ("team", "econ"), ("econ", "random")],
)
def test_strength(better: str, other: str) -> None:
    if not FULL and (better, other) != ("team", "rush"):
        pytest.skip("make arena-proof plays every pair")
    a, b = f"std_2027_{better}", f"std_2027_{other}"
    wins = losses = 0
    for seed in range(SEEDS):
        for pair in ((a, b), (b, a)):
            won = winner(*pair, seed)
            wins += won == a
            losses += won == b
    assert wins + losses > 0
    assert wins >= LEAST_SHARE * (wins + losses), (wins, losses)
