"""Relative human action efficiency (RHAE), as the toolkit's scorecard counts it, in percent.

A level completed in ``a`` actions against a baseline of ``b`` scores ``min(115, 100 * (b/a)**2)``.
A game is the mean over all baselines, level i with weight i, and at most the share of weight that
was completed. Every action and every reset that is not a full reset counts for the level it was
made in, if the game answered with a picture. Source: arc_agi.scorecard of arc-agi 0.9.9; golden
data in tests/data/arc/rhae.json.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from sysone.arc.actions import RESET_ID, Action
from sysone.arc.frame import Frame
from sysone.runs.sums import in_order

LEVEL_CAP: Final = 115.0
BOOTSTRAP: Final = 2000
UNIT: Final = "percent"


def level_score(baseline: int, actions: int, completed: bool) -> float:
    """One level, 0 to 115."""
    if not completed or actions <= 0:
        return 0.0
    ratio: float = baseline / actions
    return min(LEVEL_CAP, ratio**2 * 100.0)


def game_score(level_scores: Sequence[float], completed: Sequence[bool]) -> float:
    """One game, 0 to 100, from a score for each baseline."""
    if not level_scores:
        return 0.0
    weights = range(1, len(level_scores) + 1)
    total = sum(weights)
    mean: float = (
        in_order(w * score for w, score in zip(weights, level_scores, strict=True)) / total
    )
    done = sum(w for w, yes in zip(weights, completed, strict=True) if yes)
    return min(mean, 100.0 * done / total)


@dataclass(slots=True)
class Play:
    """The count of one play: actions by level, levels completed."""

    n_levels: int
    level_actions: list[int] = field(default_factory=list)
    levels_completed: int = 0
    resets: int = 0
    state: str = "NOT_FINISHED"

    def __post_init__(self) -> None:
        self.level_actions = self.level_actions or [0] * max(self.n_levels, 1)

    @property
    def actions(self) -> int:
        """All of them, resets included."""
        return sum(self.level_actions)


class Tally:
    """Counts what the scorecard counts, action by action.

    A full reset begins a new play; under the competition's rules there is none but the first.
    """

    def __init__(self, baselines: Sequence[int], n_levels: int) -> None:
        self.baselines = list(baselines)
        self._n_levels = max(n_levels, len(self.baselines), 1)
        self.plays = [Play(self._n_levels)]
        self.best_level = 0

    @property
    def play(self) -> Play:
        """The play that goes on."""
        return self.plays[-1]

    @property
    def actions(self) -> int:
        """Actions of all plays."""
        return sum(play.actions for play in self.plays)

    @property
    def resets(self) -> int:
        """Resets that counted as an action, of all plays."""
        return sum(play.resets for play in self.plays)

    def note(self, action: Action, frame: Frame | None) -> None:
        """Count one action and what the game answered; None for no answer."""
        if frame is not None and frame.full_reset:
            if self.play.actions or self.play.levels_completed:
                self.plays.append(Play(self._n_levels))
            return
        # The scorecard hears of answers with a picture only: a game that is over, or broke, sends
        # none, and levels that read 0.
        if frame is None or not len(frame.frame):
            return
        play = self.plays[-1]
        play.level_actions[min(play.levels_completed, self._n_levels - 1)] += 1
        if action.id == RESET_ID:
            play.resets += 1
        play.state = frame.state
        if frame.levels_completed > play.levels_completed:
            play.levels_completed = frame.levels_completed
            self.best_level = max(self.best_level, play.levels_completed)

    def scores(self, play: Play) -> list[float]:
        """A score for each baseline."""
        return [
            level_score(baseline, play.level_actions[index], index < play.levels_completed)
            for index, baseline in enumerate(self.baselines)
        ]

    def rhae(self, play: Play) -> float:
        """The score of one play, percent."""
        completed = [index < play.levels_completed for index in range(len(self.baselines))]
        return game_score(self.scores(play), completed)

    @property
    def best(self) -> Play:
        """The play that counts: the best, of equal ones the first."""
        return max(self.plays, key=self.rhae)


def interval(values: Sequence[float], seed: int = 0) -> tuple[float, float]:
    """95 % bootstrap interval of the mean; of one value that value twice."""
    if not len(values):
        return 0.0, 0.0
    array = np.asarray(values, np.float64)
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(array), (BOOTSTRAP, len(array)))
    low, high = np.percentile(array[picks].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
