"""Matches on the simulated clock: the baselines, and what an undisturbed game scores."""

import pytest

from sysone.trex.arena import Arena
from sysone.trex.baselines import POLICIES, play_baselines, play_seed
from sysone.trex.decide import answer_of
from sysone.trex.latency import Fixed
from sysone.trex.pilot import CourseStyle, Decision, Pilot
from sysone.trex.simulate import Conditions
from sysone.trex.virtual import VirtualClock, play
from sysone_core.trex import FRAME_MS, Planner
from trex.players import Nobody

FULL = 3600
"""60 s, after which every undisturbed game that survived has the same score."""


def conditions(latency_ms: float = 16.0, guarded: bool = True, ticks: int = FULL) -> Conditions:
    return Conditions(
        latency=Fixed(latency_ms), inflight=6, guarded=guarded, course="original", frames=ticks
    )


@pytest.mark.parametrize("course", ["original", "staged"])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_an_undisturbed_survivor_scores_697(seed: int, course: CourseStyle) -> None:
    planner = Planner()

    def best(decision: Decision, tick: int) -> int:
        plan = planner.plan(decision.snapshot, *decision.timing)
        decision.answer = answer_of(plan, {plan.best: 1.0}, True, inference_ms=1.0)
        return tick

    clock = VirtualClock()
    pilot = Pilot(Nobody(inflight=6), clock=clock, seed=seed, course=course)
    arena = play(pilot, best, FULL, clock)
    assert arena.frame == pilot.game_frames == FULL
    assert pilot.game.deaths == 0
    assert pilot.game.score == 697
    player = arena.report().players["Nobody"]
    assert player.agreement_with_planner == 1.0
    # An answer that is there at the next frame took one frame.
    assert player.latency_ms_p50 == round(FRAME_MS, 1)


@pytest.mark.parametrize("policy", POLICIES)
def test_baselines_are_deterministic_and_differ_by_seed(policy: str) -> None:
    def final(seed: int) -> tuple[bytes, int, int]:
        arena, pilot = play_seed(policy, seed, conditions(ticks=1200))
        assert isinstance(arena, Arena)
        stats = pilot.stats
        return pilot.game.packed_record(), len(stats.latency_ms), stats.emergency_saves

    assert final(3) == final(3)
    assert final(3)[0] != final(4)[0]


def test_shield_only_never_asks_and_is_shielded_whatever_the_run() -> None:
    _, pilot = play_seed("shield_only", 0, conditions(guarded=False, ticks=1200))
    assert pilot.seq == 0
    assert pilot.stats.emergency_saves > 0


def test_random_dies_without_the_shield_where_the_planner_survives() -> None:
    seeds = range(3)
    alone = conditions(guarded=False)
    found = play_baselines(seeds, alone, jobs=1)
    dice, best = found["random"], found["planner_best"]
    assert dice.survived == 0
    assert dice.deaths >= len(seeds)
    assert best.survived == len(seeds)
    assert best.mean_best_score == 697.0
    assert dice.shield_interventions == best.shield_interventions == 0


def test_answers_land_at_the_given_latency() -> None:
    latency_ms = 5 * FRAME_MS
    arena, pilot = play_seed("planner_best", 0, conditions(latency_ms, ticks=600))
    assert pilot.times.latency_frames == 4  # frames between the view's and the landing's
    assert arena.report().players["planner_best"].latency_ms_p50 == round(latency_ms, 1)


def test_every_seed_is_counted() -> None:
    seen = []
    found = play_baselines([5, 6], conditions(ticks=60), on_seed=lambda: seen.append(1))
    assert len(seen) == 2 * len(POLICIES)
    assert [baseline.survived for baseline in found.values()] == [2] * len(POLICIES)


def test_processes_change_nothing() -> None:
    apart = conditions(guarded=False, ticks=600)
    assert play_baselines([0, 1], apart, jobs=2) == play_baselines([0, 1], apart, jobs=1)
