"""Matches of bundled strategies in this process, without budgets."""

import importlib.util
import json
from typing import Any

from sysone.arena import lineup, sources
from sysone.arena.engine import TEAMS, Game, Setup, static


def load(key: str, name: str) -> Any:
    """A bundled strategy's module, of its own for each name."""
    path = sources.find(f"bundled:{key}").folder / "main.py"
    spec = importlib.util.spec_from_file_location(f"strategy_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def played(red: str, blue: str, seed: int, duration_s: float | None = None) -> Game:
    """A match of two bundled strategies of 2027 with the default line-up."""
    line = lineup.default("2027")
    game = Game(Setup("2027", seed, {"red": line, "blue": line}, duration_s=duration_s))
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
    return game
