"""The same seeds without a model, so that a reader sees what the harness alone survives.

Every baseline plays on a simulated clock with the run's own settings, and its answers come as late
as the run's. The planner's proof is at hand in all but two:

* ``shield_only`` never answers; the emergency shield is on whatever the run's setting.
* ``planner_best`` always answers with the planner's best action.
* ``random_safe`` answers with one of the actions that the planner has proven safe.
* ``random`` answers with any of the three.

They are deterministic: random answers come from a stream that is seeded with the run's seed. The
core plays them whole (`play_policy`); `play_seed` plays the same match with our own pilot, which
is some ten times slower and keeps everything for a report. Tests hold the two together.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

import msgspec
import numpy as np

from sysone.executors import LocalExecutor, collect, processors, results
from sysone.trex.arena import Arena
from sysone.trex.keys import ACTIONS, Action
from sysone.trex.pilot import Pilot
from sysone.trex.report import Baseline
from sysone.trex.simulate import Chooser, Conditions, Identity, simulate
from sysone_core.trex import Plan, play_match
from sysone_core.trex import Policy as CorePolicy

SHIELD_ONLY: Final = "shield_only"
PLANNER_BEST: Final = "planner_best"

Policy = Callable[[Plan, random.Random], Action]
POLICIES: Final[dict[str, Policy | None]] = {
    SHIELD_ONLY: None,
    PLANNER_BEST: lambda plan, stream: plan.best,
    "random_safe": lambda plan, stream: stream.choice(plan.safe_actions or ACTIONS),
    "random": lambda plan, stream: stream.choice(ACTIONS),
}
WORTH_PROCESSES: Final = 360_000
"""Frames of 100 minutes: about half a second's work, which is twice what a process costs."""
WORTH_SHARING: Final = 4
"""Processors: a second one saves little more than it takes to start a process on it."""
CORE_POLICIES: Final[dict[str, CorePolicy]] = {
    SHIELD_ONLY: "hold",
    PLANNER_BEST: "planner_best",
    "random_safe": "random_safe",
    "random": "random",
}
CERTAIN: Final = {action: {action: 1.0} for action in ACTIONS}


class Outcome(msgspec.Struct, frozen=True):
    """What one seed came to."""

    deaths: int
    best_score: int
    decisions: int
    """Answers that were applied."""
    agreed: int
    """Of those, the proposals that were the planner's best."""
    discarded: int
    shield_interventions: int
    arrival_saves: int
    emergency_saves: int

    @classmethod
    def of(cls, pilot: Pilot) -> "Outcome":
        """The outcome of a match that our own pilot played."""
        stats = pilot.stats
        return cls(
            deaths=pilot.game.deaths,
            best_score=max([*stats.finished_scores, pilot.game.score]),
            decisions=len(stats.latency_ms),
            agreed=stats.agreed,
            discarded=stats.discarded,
            shield_interventions=stats.interventions,
            arrival_saves=stats.arrival_saves,
            emergency_saves=stats.emergency_saves,
        )


def play_policy(policy: str, seed: int, conditions: Conditions) -> Outcome:
    """One seed of one policy of `POLICIES`, played by the core."""
    conditions = _conditions(policy, conditions)
    match = play_match(
        seed,
        CORE_POLICIES[policy],
        np.fromiter(islice(conditions.latency.stream(seed), 2 * conditions.frames + 4), float),
        np.array(conditions.latency.typical_ms(seed)),
        frames=conditions.frames,
        inflight=conditions.inflight,
        guarded=conditions.guarded,
        course=conditions.course,
        lockstep=conditions.lockstep,
        checked_premise=conditions.premise_rule == "checked",
    )
    return Outcome(
        deaths=match.game.deaths,
        best_score=max([*match.finished_scores, match.game.score]),
        decisions=match.decisions,
        agreed=match.agreed,
        discarded=match.discarded,
        shield_interventions=match.shield_interventions,
        arrival_saves=match.arrival_saves,
        emergency_saves=match.emergency_saves,
    )


def play_seed(policy: str, seed: int, conditions: Conditions) -> tuple[Arena, Pilot]:
    """The same match, played by our own pilot."""
    player = Identity(policy, conditions.inflight, model=policy)
    return simulate(player, seed, _conditions(policy, conditions), _chooser(policy, seed))


def _conditions(policy: str, conditions: Conditions) -> Conditions:
    if policy == SHIELD_ONLY:
        return replace(conditions, guarded=True, lockstep=None)
    return conditions


def play_baselines(
    seeds: Sequence[int],
    conditions: Conditions,
    on_seed: Callable[[], None] = lambda: None,
    jobs: int | None = None,
) -> dict[str, Baseline]:
    """All of `POLICIES` over the seeds; ``on_seed`` is called after each seed of each.

    They are shared out to ``jobs`` processes; by default as many as there are processors, or none
    where that takes longer than it saves. The result is the same.
    """
    matches = [(policy, seed, conditions) for policy in POLICIES for seed in seeds]
    if jobs is None:
        worth = len(matches) * conditions.frames >= WORTH_PROCESSES
        jobs = processors() if worth and processors() >= WORTH_SHARING else 1
    outcomes: dict[int, Outcome] = {}
    if jobs == 1:
        for place, match in enumerate(matches):
            outcomes[place] = play_policy(*match)
            on_seed()
    else:
        executor = LocalExecutor(_play_there, min(jobs, len(matches)))
        for place, outcome in results(collect(executor, len(matches), matches.__getitem__)):
            outcomes[place] = outcome
            on_seed()
    count = len(seeds)
    return {
        policy: _baseline([outcomes[number * count + index] for index in range(count)])
        for number, policy in enumerate(POLICIES)
    }


def _play_there(match: tuple[str, int, Conditions], stopping: Callable[[], bool]) -> Outcome:
    return play_policy(*match)


def _chooser(policy: str, seed: int) -> Chooser | None:
    choose = POLICIES[policy]
    if choose is None:
        return None
    stream = random.Random(f"{policy}-{seed}")
    return lambda plan: CERTAIN[choose(plan, stream)]


def _baseline(outcomes: Sequence[Outcome]) -> Baseline:
    return Baseline(
        survived=sum(outcome.deaths == 0 for outcome in outcomes),
        deaths=sum(outcome.deaths for outcome in outcomes),
        mean_best_score=round(sum(outcome.best_score for outcome in outcomes) / len(outcomes), 1),
        shield_interventions=sum(
            outcome.shield_interventions + outcome.arrival_saves + outcome.emergency_saves
            for outcome in outcomes
        ),
    )
