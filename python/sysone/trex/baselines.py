"""The same seeds without a model, so that a reader sees what the harness alone survives.

Every baseline plays on a simulated clock with the run's own settings, and its answers land as late
as the run's typically did. The planner's proof is at hand in all but two:

* ``shield_only`` never answers; the emergency shield is on whatever the run's setting.
* ``planner_best`` always answers with the planner's best action.
* ``random_safe`` answers with one of the actions that the planner has proven safe.
* ``random`` answers with any of the three.

They are deterministic: random answers come from a stream that is seeded with the run's seed.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sysone.trex.arena import Arena
from sysone.trex.decide import answer_of
from sysone.trex.keys import ACTIONS, Action
from sysone.trex.pilot import CourseStyle, Decision, Pilot
from sysone.trex.report import Baseline
from sysone.trex.virtual import Answerer, VirtualClock, play
from sysone_core.trex import FRAME_MS, Plan, Planner

SHIELD_ONLY = "shield_only"

Policy = Callable[[Plan, random.Random], Action]
POLICIES: dict[str, Policy | None] = {
    SHIELD_ONLY: None,
    "planner_best": lambda plan, stream: plan.best,
    "random_safe": lambda plan, stream: stream.choice(plan.safe_actions or list(ACTIONS)),
    "random": lambda plan, stream: stream.choice(ACTIONS),
}


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the baselines share with the run that they are compared with."""

    latency_ms: float
    """From question to landing, typically."""
    inflight: int
    guarded: bool
    course: CourseStyle
    ticks: int
    """Frames of a seed."""


@dataclass(frozen=True, slots=True)
class _Nobody:
    name: str
    inflight: int
    model: str = ""
    detail: str = "virtual time"
    usd_per_token: float = 0.0


def play_seed(policy: str, seed: int, conditions: Conditions) -> tuple[Arena, Pilot]:
    """One seed of one policy of `POLICIES`."""
    clock = VirtualClock()
    pilot = Pilot(
        _Nobody(policy, conditions.inflight),
        clock=clock,
        guarded=conditions.guarded or policy == SHIELD_ONLY,
        seed=seed,
        course=conditions.course,
    )
    pilot.times.start_from([conditions.latency_ms])
    chooser = POLICIES[policy]
    if chooser is None:
        arena = Arena([pilot], clock)
        arena.start()
        for _ in range(conditions.ticks):
            arena.tick()
        return arena, pilot
    answer = _answerer(chooser, random.Random(f"{policy}-{seed}"), conditions)
    return play(pilot, answer, conditions.ticks, clock), pilot


def play_baseline(
    policy: str,
    seeds: Sequence[int],
    conditions: Conditions,
    on_seed: Callable[[], None] = lambda: None,
) -> Baseline:
    """One policy of `POLICIES` over the seeds; ``on_seed`` is called after each."""
    pilots = []
    for seed in seeds:
        pilots.append(play_seed(policy, seed, conditions)[1])
        on_seed()
    return _baseline(pilots)


def _baseline(pilots: Sequence[Pilot]) -> Baseline:
    scores = [max([*pilot.stats.finished_scores, pilot.game.score]) for pilot in pilots]
    stats = [pilot.stats for pilot in pilots]
    return Baseline(
        survived=sum(pilot.game.deaths == 0 for pilot in pilots),
        deaths=sum(pilot.game.deaths for pilot in pilots),
        mean_best_score=round(sum(scores) / len(scores), 1),
        shield_interventions=sum(
            player.interventions + player.arrival_saves + player.emergency_saves for player in stats
        ),
    )


def _answerer(policy: Policy, stream: random.Random, conditions: Conditions) -> Answerer:
    planner = Planner()
    # Landings are at frame borders, so a measured latency is near a whole number of frames.
    frames = max(1, round(conditions.latency_ms / FRAME_MS))

    def answer(decision: Decision, tick: int) -> int:
        plan = planner.plan(decision.snapshot, *decision.timing)
        chosen = policy(plan, stream)
        decision.answer = answer_of(
            plan,
            {action: float(action == chosen) for action in ACTIONS},
            conditions.guarded,
            inference_ms=conditions.latency_ms,
        )
        return tick - 1 + frames

    return answer
