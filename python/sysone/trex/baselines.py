"""The same seeds without a model, so that a reader sees what the harness alone survives.

Every baseline plays on a simulated clock with the run's own settings, and its answers come as late
as the run's. The planner's proof is at hand in all but two:

* ``shield_only`` never answers; the emergency shield is on whatever the run's setting.
* ``planner_best`` always answers with the planner's best action.
* ``random_safe`` answers with one of the actions that the planner has proven safe.
* ``random`` answers with any of the three.

They are deterministic: random answers come from a stream that is seeded with the run's seed.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from sysone.trex.arena import Arena
from sysone.trex.keys import ACTIONS, Action
from sysone.trex.pilot import Pilot
from sysone.trex.processes import processors, spread
from sysone.trex.report import Baseline
from sysone.trex.simulate import Chooser, Conditions, Identity, simulate
from sysone_core.trex import Plan

SHIELD_ONLY: Final = "shield_only"
PLANNER_BEST: Final = "planner_best"

Policy = Callable[[Plan, random.Random], Action]
POLICIES: Final[dict[str, Policy | None]] = {
    SHIELD_ONLY: None,
    PLANNER_BEST: lambda plan, stream: plan.best,
    "random_safe": lambda plan, stream: stream.choice(plan.safe_actions or ACTIONS),
    "random": lambda plan, stream: stream.choice(ACTIONS),
}
WORTH_PROCESSES: Final = 36_000
"""Frames of ten minutes: about half a second's work, which is twice what a process costs."""
WORTH_SHARING: Final = 4
"""Processors: a second one saves little more than it takes to start a process on it."""
CERTAIN: Final = {action: {action: 1.0} for action in ACTIONS}


def play_seed(policy: str, seed: int, conditions: Conditions) -> tuple[Arena, Pilot]:
    """One seed of one policy of `POLICIES`."""
    if policy == SHIELD_ONLY:
        conditions = replace(conditions, guarded=True, lockstep=None)
    player = Identity(policy, conditions.inflight, model=policy)
    return simulate(player, seed, conditions, _chooser(policy, seed))


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
    scores: dict[int, _Score] = {}
    played = (
        spread(_play_match, matches, jobs)
        if jobs > 1
        else ((place, _play_match(match)) for place, match in enumerate(matches))
    )
    for place, score in played:
        scores[place] = score
        on_seed()
    count = len(seeds)
    return {
        policy: _baseline([scores[number * count + index] for index in range(count)])
        for number, policy in enumerate(POLICIES)
    }


class _Score(NamedTuple):
    deaths: int
    best: int
    interventions: int


def _play_match(match: tuple[str, int, Conditions]) -> _Score:
    pilot = play_seed(*match)[1]
    stats = pilot.stats
    return _Score(
        deaths=pilot.game.deaths,
        best=max([*stats.finished_scores, pilot.game.score]),
        interventions=stats.interventions + stats.arrival_saves + stats.emergency_saves,
    )


def _chooser(policy: str, seed: int) -> Chooser | None:
    choose = POLICIES[policy]
    if choose is None:
        return None
    stream = random.Random(f"{policy}-{seed}")
    return lambda plan: CERTAIN[choose(plan, stream)]


def _baseline(scores: Sequence[_Score]) -> Baseline:
    return Baseline(
        survived=sum(score.deaths == 0 for score in scores),
        deaths=sum(score.deaths for score in scores),
        mean_best_score=round(sum(score.best for score in scores) / len(scores), 1),
        shield_interventions=sum(score.interventions for score in scores),
    )
