"""The lifecycle guard: the only place where a RESET comes from.

Never two RESETs in a row, never one as the first act of a level that already shows a frame (it
would throw away every level gained), never one after WIN.
"""

from sysone.arc.actions import RESET, RESET_ID, Action
from sysone.arc.frame import GAME_OVER, NOT_PLAYED, WIN
from sysone.arc.observe import Observation

EMPTY_BEFORE_RESET = 3
"""Answers without a picture in a row before a level reset; as many again end the game."""


class Guard:
    """Decides when a game must be reset or given up."""

    def __init__(self) -> None:
        self._acted = False  # in this level, since its first frame or reset
        self._last_was_reset = False
        self._empty = 0
        self._empty_since_reset: int | None = None
        self.given_up = False
        """Whether the game answers nothing any more."""

    def forced(self, observation: Observation | None) -> Action | None:
        """RESET where nothing else makes sense, else None."""
        if self._last_was_reset:
            return None
        if observation is None or observation.state in (NOT_PLAYED, GAME_OVER):
            return RESET
        if observation.state == WIN:
            return None
        silent = observation.empty and self._empty >= EMPTY_BEFORE_RESET
        return RESET if silent and self._empty_since_reset is None else None

    def may_reset(self, observation: Observation) -> bool:
        """Whether a level reset of the policy's own wish is allowed now."""
        return (
            self._acted
            and not self._last_was_reset
            and not observation.new_level
            and observation.state not in (WIN, NOT_PLAYED)
        )

    def note(self, action: Action, observation: Observation | None) -> None:
        """Take note of what was done and what came of it."""
        reset = self._last_was_reset = action.id == RESET_ID
        if observation is None or observation.empty:
            self._empty += 1
            if self._empty_since_reset is not None:
                self._empty_since_reset += 1
            elif reset:
                self._empty_since_reset = 0
            self.given_up = (self._empty_since_reset or 0) >= EMPTY_BEFORE_RESET
            return
        self._empty, self._empty_since_reset = 0, None
        self._acted = not reset and not observation.new_level
