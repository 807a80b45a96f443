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
from typing import Final

from sysone.trex.arena import Arena
from sysone.trex.keys import ACTIONS, Action
from sysone.trex.pilot import Pilot
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
CERTAIN: Final = {action: {action: 1.0} for action in ACTIONS}


def play_seed(policy: str, seed: int, conditions: Conditions) -> tuple[Arena, Pilot]:
    """One seed of one policy of `POLICIES`."""
    if policy == SHIELD_ONLY:
        conditions = replace(conditions, guarded=True, lockstep=None)
    player = Identity(policy, conditions.inflight, model=policy)
    return simulate(player, seed, conditions, _chooser(policy, seed))


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


def _chooser(policy: str, seed: int) -> Chooser | None:
    choose = POLICIES[policy]
    if choose is None:
        return None
    stream = random.Random(f"{policy}-{seed}")
    return lambda plan: CERTAIN[choose(plan, stream)]


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
