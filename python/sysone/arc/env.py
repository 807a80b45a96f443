"""Games to step through, whoever runs them: a mock, or the official toolkit offline."""

import re
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from sysone.arc.actions import RESET_ID, Action
from sysone.arc.frame import Frame, frame_of
from sysone.arc.practice.build import SUITE
from sysone.arc.practice.sokoban import N_LEVELS, MockSokoban
from sysone.arc.toolkit import games_on_disk, import_toolkit, level_resets_only, offline_arcade
from sysone.runs.errors import RunError

RuleSet = Literal["competition", "normal"]
MOCKS: Final = tuple(f"mock{seed}" for seed in range(4))


class Env(Protocol):
    """One game being played."""

    game_id: str
    baseline_actions: list[int]
    n_levels: int

    def first(self) -> Frame | None:
        """The frame that the game begins with."""

    def step(self, action: Action) -> Frame | None:
        """What the game answers to an action; None if it broke."""


class MockEnv:
    """A `MockSokoban`."""

    def __init__(self, seed: int, rules: RuleSet) -> None:
        self.game = MockSokoban(seed)
        self.game_id = self.game.game_id
        self.baseline_actions = self.game.baseline_actions
        self.n_levels = N_LEVELS

    def first(self) -> Frame | None:
        """The frame that the game begins with."""
        return self.game.reset()

    def step(self, action: Action) -> Frame | None:
        """What the game answers to an action."""
        return self.game.step(action.id, action.data)


class ToolkitEnv:
    """A game of the official engine. A RESET keeps the levels gained unless rules are normal."""

    def __init__(self, wrapper: Any, baselines: list[int], rules: RuleSet) -> None:
        from arcengine import GameAction

        self.wrapper = wrapper
        self._actions = {member.value: member for member in GameAction}
        self._rules = rules
        self._first = frame_of(wrapper.observation_space)
        self.game_id = str(wrapper.environment_info.game_id)
        self.baseline_actions = baselines
        self.n_levels = self._first.win_levels if self._first is not None else len(baselines)

    def first(self) -> Frame | None:
        """The frame that the game begins with: a wrapper comes already reset."""
        return self._first

    def step(self, action: Action) -> Frame | None:
        """What the engine answers; its own data dict, never the shared enum's."""
        if action.id != RESET_ID:
            return frame_of(self.wrapper.step(self._actions[action.id], action.data))
        if self._rules == "normal":
            return frame_of(self.wrapper.reset())
        with level_resets_only():
            return frame_of(self.wrapper.reset())


def make_env(
    game_id: str, folder: Path = SUITE, rules: RuleSet = "competition", seed: int = 0
) -> Env:
    """A game, reset: ``mock<seed>`` needs no toolkit, others are in the folder of games.

    Raises:
        RunError: no such game, or it does not start.
    """
    mock = re.fullmatch(r"mock(\d{0,9})", game_id)
    if mock:
        return MockEnv(int(mock[1] or 0) + 1000 * seed, rules)
    arcade = offline_arcade(folder)
    games = {game.id: game for game in reversed(games_on_disk(folder))}
    full = {game.metadata.game_id: game for game in games_on_disk(folder)}
    game = full.get(game_id) or games.get(game_id)
    if game is None:
        known = ", ".join(sorted(games)[:12]) or "none"
        raise RunError(f"no game {game_id!r} in {folder}; there are {known}")
    import_toolkit()
    wrapper = arcade.make(game.metadata.game_id, seed=seed)
    if wrapper is None or wrapper.observation_space is None:
        raise RunError(f"the game {game_id!r} does not start; its log is above")
    return ToolkitEnv(wrapper, list(game.metadata.baseline_actions), rules)


def step_env(env: Env, action: Action) -> Frame | None:
    """One action in any game, with whatever it raises as None: a broken answer."""
    try:
        return env.step(action)
    except Exception:  # a game is somebody else's code, and nothing may kill the run
        return None
