"""Matches on the simulated clock: the baselines, and what an undisturbed game scores."""

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sysone.trex.arena import Arena
from sysone.trex.baselines import (
    POLICIES,
    SHIELD_ONLY,
    Outcome,
    play_baselines,
    play_policy,
    play_seed,
)
from sysone.trex.decide import answer_of
from sysone.trex.latency import Fixed, Latency, Measured, normal
from sysone.trex.pilot import Pilot
from sysone.trex.question import CourseStyle, Decision
from sysone.trex.simulate import Conditions
from sysone.trex.virtual import VirtualClock, play
from sysone_core.trex import FRAME_MS, Planner, play_match
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


FACTOR = float(os.environ.get("SYSONE_CASES", "1"))
milliseconds = st.floats(0, 400)
latencies: st.SearchStrategy[Latency] = st.one_of(
    st.sampled_from([0.0, 0.5, FRAME_MS / 2, FRAME_MS, 40.0, 250.0, 2000.0]).map(Fixed),
    milliseconds.map(Fixed),
    st.builds(normal, milliseconds, st.floats(0, 100)),
    st.lists(milliseconds, min_size=1, max_size=9).map(lambda ms: Measured("ms", tuple(ms))),
)
any_conditions = st.builds(
    Conditions,
    latency=latencies,
    inflight=st.integers(1, 8),
    guarded=st.booleans(),
    course=st.sampled_from(["original", "staged"]),
    frames=st.integers(0, 2400),
    lockstep=st.none() | st.integers(1, 20),
    premise_rule=st.sampled_from(["reference", "checked"]),
)


@settings(max_examples=int(80 * FACTOR), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(list(POLICIES)), st.integers(-5, 10**6), any_conditions)
def test_the_core_plays_a_policy_as_our_own_pilot_does(
    policy: str, seed: int, conditions: Conditions
) -> None:
    arena, pilot = play_seed(policy, seed, conditions)
    assert play_policy(policy, seed, conditions) == Outcome.of(pilot)
    if policy == SHIELD_ONLY:
        return
    match = core_match(policy, seed, conditions)
    assert match.game.packed_record() == pilot.game.packed_record()
    assert match.frames == arena.frame
    assert match.finished_scores == pilot.stats.finished_scores
    assert match.best_effort == pilot.stats.best_effort


def core_match(policy: Any, seed: int, conditions: Conditions, latencies: int | None = None) -> Any:
    stream = conditions.latency.stream(seed)
    count = 2 * conditions.frames + 4 if latencies is None else latencies
    return play_match(
        seed,
        policy,
        np.array([next(stream) for _ in range(count)]),
        np.array(conditions.latency.typical_ms(seed)),
        frames=conditions.frames,
        inflight=conditions.inflight,
        guarded=conditions.guarded,
        course=conditions.course,
        lockstep=conditions.lockstep,
        checked_premise=conditions.premise_rule == "checked",
    )


def test_too_few_latencies_are_named() -> None:
    with pytest.raises(ValueError, match="latencies_ms: 10 do not suffice for 600 frames"):
        core_match("random", 0, conditions(ticks=600), latencies=10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "best"}, "policy must be one of 'planner_best'.*not 'best'"),
        ({"frames": -1}, "frames must be at least 0, not -1"),
        ({"inflight": 0}, "inflight must be at least 1, not 0"),
        ({"lockstep": 0}, "lockstep must be at least 1, not 0"),
        ({"course": "flat"}, "course style must be one of 'original', 'staged', not 'flat'"),
        ({"warm_ms": np.array([])}, "warm_ms must not be empty"),
        ({"warm_ms": np.array([np.nan])}, "warm_ms must be finite and not negative, got nan"),
        ({"latencies_ms": np.array([-1.0])}, "latencies_ms must be finite and not negative"),
        ({"latencies_ms": np.zeros((2, 2))}, "latencies_ms must have one dimension, not 2"),
    ],
)
def test_bad_arguments_of_the_core_are_named(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "policy": "random",
        "latencies_ms": np.zeros(300),
        "warm_ms": np.zeros(1),
        "frames": 60,
    }
    with pytest.raises(ValueError, match=message):
        play_match(0, **(given | arguments))
