"""Practice levels as a game of the official engine."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from arcengine import ARCBaseGame, Camera, GameAction, Level, RenderableUserDisplay, Sprite

from sysone.arc.practice.levels import level
from sysone.arc.practice.rules import LOST, WON, Rules

HUDS: Final = ("bottom", "top", "right", "lamps")
"""A bar of the steps left at an edge, or their number in binary in the upper left."""
LETTER_BOX: Final = 4
_THICK: Final = 2


def budget_of(baseline: int) -> int:
    """Actions that a level allows where its HUD counts them."""
    return 6 * baseline + 40


class StepHud(RenderableUserDisplay):
    """Shows how many actions are left."""

    def __init__(self, kind: str, colour: int, empty: int) -> None:
        self.kind, self.colour, self.empty = kind, colour, empty
        self.left = self.total = 1

    def render_interface(self, frame: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Draw over the finished picture."""
        if self.kind == "lamps":
            units = self.left % 64
            for bit in range(6):
                x = 1 + 3 * bit
                frame[0:2, x : x + 2] = self.colour if units >> bit & 1 else self.empty
            return frame
        full = -(-64 * self.left // self.total) if self.total else 0
        cells = frame[:_THICK] if self.kind == "top" else frame[-_THICK:]
        if self.kind == "right":
            cells = frame[:, -_THICK:].T
        cells[:] = self.empty
        cells[:, :full] = self.colour
        return frame

    def cells(self) -> np.ndarray[Any, Any]:
        """Where this HUD draws, bool [64, 64]: what a mask is judged by."""
        drawn = [
            self.render_interface(np.full((64, 64), filling, np.int8)) != filling
            for filling in (99, 98)
        ]
        found: np.ndarray[Any, Any] = drawn[0] | drawn[1]
        return found


@dataclass(frozen=True, slots=True)
class Position:
    """Where a game is in its rules."""

    level: int
    rules: Rules[Any]
    state: Any
    before: Any
    """What an undo leads to; None where there is none."""


class PracticeGame(ARCBaseGame):
    """One game: levels from seeds, an optional HUD with a limit, undo where the rules have it."""

    mechanics: tuple[tuple[str, ...], ...] = ()
    """Those of each level."""
    hud: str | None = None
    seed_text = ""
    name = ""
    attempts: tuple[int, ...] = ()
    baselines: tuple[int, ...] = ()

    def __init__(self, seed: int = 0) -> None:
        self._rules: list[Rules[Any]] = []
        for index, names in enumerate(self.mechanics):
            rules = level(names, index, self.seed_text, self.attempts[index])
            if rules is None:
                raise ValueError(f"{self.name}: no level {index} at try {self.attempts[index]}")
            self._rules.append(rules)
        self._display: StepHud | None = None
        palette = self._rules[0].draw(self._rules[0].start())
        background = int(np.bincount(palette.ravel()).argmax())
        if self.hud is not None:
            # Colours that no level draws with, so that a HUD is seen.
            used = {int(value) for rules in self._rules for value in rules.draw(rules.start()).flat}
            free = [value for value in (2, 1, 7, 10, 13, 12) if value not in used] + [2, 1]
            self._display = StepHud(self.hud, free[0], free[1])
        levels = [self._level(rules, index) for index, rules in enumerate(self._rules)]
        ids = sorted({action for rules in self._rules for action in rules.action_ids})
        self._pending: list[Any] = []
        self._verdict = ""
        super().__init__(
            self.name,
            levels,
            Camera(
                background=background,
                letter_box=LETTER_BOX,
                interfaces=[self._display] if self._display else [],
            ),
            available_actions=ids,
            seed=seed,
        )

    @staticmethod
    def _level(rules: Rules[Any], index: int) -> Level:
        board = Sprite(pixels=rules.draw(rules.start()).tolist(), name="board")
        return Level([board], grid_size=rules.size, name=f"level {index}")

    def on_set_level(self, level: Level) -> None:
        """Begin the level anew."""
        rules = self._rules[self.level_index]
        self._state_now = rules.start()
        self._history: list[Any] = []
        self._left = budget_of(self.baselines[self.level_index])
        self._pending = []
        self._show(self._state_now)
        if self._display is not None:
            self._display.left, self._display.total = self._left, self._left

    @property
    def position(self) -> Position:
        """What the level's rules say of now."""
        before = self._history[-1] if self._history else None
        return Position(self.level_index, self._rules[self.level_index], self._state_now, before)

    def _show(self, state: Any) -> None:
        board = self.current_level.get_sprites_by_name("board")[0]
        board.pixels = self._rules[self.level_index].draw(state)

    def step(self) -> None:
        """One picture of an action: the first call acts, the others show what is on the way."""
        if self._pending:
            self._show(self._pending.pop(0))
            self._finish()
            return
        action = self.action.id
        if action == GameAction.RESET:
            self.complete_action()
            return
        rules = self._rules[self.level_index]
        self._left -= 1
        if self._display is not None:
            self._display.left = max(self._left, 0)
        self._verdict = ""
        if action == GameAction.ACTION7:
            if 7 in rules.action_ids and self._history:
                self._state_now = self._history.pop()
                self._show(self._state_now)
            self._finish()
            return
        cell = None
        if action == GameAction.ACTION6:
            data = self.action.data
            cell = self.camera.display_to_grid(int(data.get("x", 0)), int(data.get("y", 0)))
        outcome = rules.step(self._state_now, int(action.value), cell)
        if outcome.state != self._state_now:
            self._history.append(self._state_now)
        self._state_now, self._verdict = outcome.state, outcome.verdict
        self._pending = [*outcome.shown, outcome.state]
        self._show(self._pending.pop(0))
        self._finish()

    def _finish(self) -> None:
        if self._pending:
            return
        if self._verdict == WON:
            self.next_level()
        elif self._verdict == LOST or (self._display is not None and self._left <= 0):
            self.lose()
        self.complete_action()


def practice_game(
    name: str,
    *,
    mechanics: tuple[tuple[str, ...], ...],
    seed: str,
    attempts: tuple[int, ...],
    baselines: tuple[int, ...],
    hud: str | None = None,
) -> type[PracticeGame]:
    """The class of one game; a game's file holds nothing but this call.

    Raises:
        ValueError: an unknown HUD, or not one try and one baseline for each level.
    """
    if hud is not None and hud not in HUDS:
        raise ValueError(f"hud is {hud!r}, expected one of {', '.join(HUDS)}")
    if not len(mechanics) == len(attempts) == len(baselines):
        raise ValueError(f"{name} has {len(mechanics)} levels, {len(attempts)} tries")
    members = {
        "mechanics": mechanics,
        "hud": hud,
        "seed_text": seed,
        "name": name,
        "attempts": attempts,
        "baselines": baselines,
    }
    return type(name.capitalize(), (PracticeGame,), members)
