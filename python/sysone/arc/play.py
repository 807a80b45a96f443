"""One game from its first frame to its end, counted as the competition counts."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sysone.arc.actions import RESET, Action
from sysone.arc.decide import FORCED, SOURCES, Agent, StepRecord
from sysone.arc.env import Env, step_env
from sysone.arc.frame import GAME_OVER, WIN, Frame
from sysone.arc.score import Tally
from sysone.arc.wake import REASONS


class Player(Protocol):
    """Who plays a game."""

    def begin(self, frame: Frame | None) -> None:
        """The frame that the game begins with."""

    def decide(self) -> tuple[Action, StepRecord]:
        """The next action and how it came about."""

    def note(self, action: Action, frame: Frame | None) -> Any:
        """What the game answered."""

    @property
    def done(self) -> bool:
        """Whether the player has finished."""


@dataclass(slots=True)
class Limits:
    """When a game ends for an agent."""

    max_actions: int = 2000
    """Resets count."""
    time_limit_s: float = 900.0
    human_cutoff: float = 0.0
    """End at so many times the baseline of a level; 0: never."""


@dataclass(slots=True)
class Played:
    """What came of a game."""

    tally: Tally
    final_state: str
    seconds: float
    steps: int
    decisions: dict[str, int]
    errors: dict[str, int]
    latencies_ms: list[float] = field(default_factory=list)
    repaired_frames: int = 0
    degraded: bool = False
    system2_calls: dict[str, int] = field(default_factory=dict)
    broken: str = ""
    """Why a game ended before its time."""

    def row(self) -> dict[str, Any]:
        """The game's row of a report."""
        tally, play = self.tally, self.tally.best
        ordered = sorted(self.latencies_ms)

        def at(share: float) -> float:
            return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)

        return {
            "win": self.final_state == WIN,
            "final_state": self.final_state,
            "best_level": tally.best_level,
            "win_levels": len(play.level_actions),
            "resets": tally.resets,
            "actions": tally.actions,
            "level_actions": play.level_actions,
            "baseline_actions": tally.baselines,
            "level_scores": [round(score, 6) for score in tally.scores(play)],
            "rhae": round(tally.rhae(play), 6),
            "seconds": round(self.seconds, 3),
            "steps_per_s": round(self.steps / self.seconds, 1) if self.seconds > 0 else 0.0,
            "decisions": {name: self.decisions.get(name, 0) for name in SOURCES},
            "system2_calls": {name: self.system2_calls.get(name, 0) for name in REASONS},
            "repaired_frames": self.repaired_frames,
            "errors": dict(sorted(self.errors.items())),
            "first_action_ms": round(self.latencies_ms[0], 3) if self.latencies_ms else None,
            "p50_ms": at(0.5) if ordered else None,
            "p95_ms": at(0.95) if ordered else None,
        }


TIMES = ("seconds", "steps_per_s", "first_action_ms", "p50_ms", "p95_ms")
"""Keys of a row that differ from run to run; everything else is the same for a seed."""


def play_game(
    env: Env,
    player: Player,
    limits: Limits | None = None,
    *,
    on_step: Callable[[Action, StepRecord, Frame | None], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Played:
    """Play a game until it is won, given up or out of budget."""
    limits = limits or Limits()
    tally = Tally(env.baseline_actions, env.n_levels)
    decisions: dict[str, int] = {}
    latencies: list[float] = []
    broken = ""
    start_s = clock()
    frame = env.first()
    final_state = frame.state if frame is not None else "NOT_PLAYED"
    player.begin(frame)
    steps = 0
    while steps < limits.max_actions:
        if final_state == WIN or player.done:
            break
        if clock() - start_s >= limits.time_limit_s:
            broken = "time"
            break
        if limits.human_cutoff and _cut_off(tally, limits.human_cutoff):
            broken = "human cutoff"
            break
        action, record = player.decide()
        if final_state == GAME_OVER and action.id != RESET.id:
            # A game that is over hears nothing else, whoever plays it.
            action, record = RESET, StepRecord(FORCED, reason="game over")
        answered = step_env(env, action)
        tally.note(action, answered)
        decisions[record.source] = decisions.get(record.source, 0) + 1
        latencies.append(record.latency_ms)
        if answered is not None:
            final_state = answered.state
        player.note(action, answered)
        if on_step is not None:
            on_step(action, record, answered)
        steps += 1
    seconds = clock() - start_s
    agent = player if isinstance(player, Agent) else None
    return Played(
        tally,
        final_state,
        seconds,
        steps,
        decisions,
        errors_of(agent) if agent else {},
        latencies,
        agent.watcher.repaired_frames if agent else 0,
        agent.degraded if agent else False,
        dict(agent.waker.calls) if agent else {},
        broken or ("given up" if agent is not None and agent.guard.given_up else ""),
    )


def errors_of(agent: Agent) -> dict[str, int]:
    """What went wrong for an agent, states that its model had to be given shorter included."""
    shortened = getattr(agent.system1, "shortened_states", 0)
    return dict(agent.errors) | ({"shortened_states": shortened} if shortened else {})


def _cut_off(tally: Tally, times: float) -> bool:
    level = tally.play.levels_completed
    baselines: Sequence[int] = tally.baselines
    return level < len(baselines) and tally.play.level_actions[level] >= times * baselines[level]
