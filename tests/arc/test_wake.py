"""System-2 is woken by something new, a gained level or a stall, and never beyond its budget."""

from types import SimpleNamespace
from typing import Any

import pytest

from sysone.arc.config import Hybrid
from sysone.arc.decide import Agent
from sysone.arc.env import MockEnv
from sysone.arc.play import Limits, play_game
from sysone.arc.wake import LEVEL, NOVEL, STALL, Waker


def seen(masked: int, level: int = 0, raw: int = 0) -> Any:
    return SimpleNamespace(masked_hash=masked, frame_hash=raw or masked, levels_completed=level)


def wakes(states: list[Any], rules: Hybrid | None = None, left_s: float = 800.0) -> dict[int, str]:
    waker = Waker(rules)
    found = {}
    for turn, state in enumerate(states):
        waker.observe(state)
        reason = waker.reason(state, 0.0, left_s)
        if reason is not None:
            found[turn] = reason
            waker.woken(reason, state, 1.0)
    return found


def test_the_first_observation_wakes_and_new_states_after_a_pause() -> None:
    assert wakes([seen(i) for i in range(20)]) == {0: NOVEL, 8: NOVEL, 16: NOVEL}


def test_a_stall_wakes_and_the_count_starts_again() -> None:
    assert wakes([seen(1)] * 30) == {0: NOVEL, 12: STALL, 24: STALL}
    assert wakes([seen(1)] * 12, Hybrid(stall_patience=5)) == {0: NOVEL, 5: STALL, 10: STALL}


def test_a_gained_level_wakes_at_once() -> None:
    assert wakes([seen(1), seen(2), seen(1, 1), seen(1, 1)]) == {0: NOVEL, 2: LEVEL}


def test_a_state_of_the_level_before_is_new_in_this_one() -> None:
    states = [seen(1), seen(2), seen(3, 1), *[seen(3, 1)] * 8, seen(1, 1)]
    assert wakes(states)[11] == NOVEL


def test_the_earlier_rule_counts_raw_frames_and_has_no_pause() -> None:
    states = [seen(1, raw=10 + i) for i in range(4)]
    assert wakes(states, Hybrid(novelty="raw")) == dict.fromkeys(range(4), NOVEL)
    assert wakes(states) == {0: NOVEL}


def test_calls_are_counted_and_end_with_the_budget() -> None:
    found = wakes([seen(1)] * 400, Hybrid(system2_max_calls_per_game=3))
    assert list(found.values()) == [NOVEL, STALL, STALL]


@pytest.mark.parametrize(("left_s", "n"), [(2.5, 2), (2.0, 1), (0.0, 0)])
def test_no_call_is_made_that_the_time_left_does_not_bear(left_s: float, n: int) -> None:
    """Twice the median call time, here 1 s, must be left."""
    assert len(wakes([seen(1)] * 13, left_s=left_s)) == n


class Adviser:
    def __init__(self) -> None:
        self.calls = 0

    def propose(self, observation: Any, memory: Any) -> list[str]:
        self.calls += 1
        return ["ACTION2"]


def test_a_game_counts_the_calls_by_reason() -> None:
    adviser = Adviser()
    played = play_game(MockEnv(0, "competition"), Agent(system2=adviser), Limits(60))
    counted = played.row()["system2_calls"]
    assert set(counted) == {"novel", "level", "stall", "failed"}
    assert counted["novel"] >= 1
    assert counted["failed"] == 0
    assert sum(counted.values()) == adviser.calls


class Sure:
    """A System-1 whose top probability is what it is told."""

    def __init__(self, surest: float, escalation: float | None) -> None:
        self.surest, self.escalation = surest, escalation

    def probabilities(
        self, observation: Any, candidates: Any, instruction: str, chunk: int
    ) -> list[float]:
        rest = (1 - self.surest) / (len(candidates) - 1)
        return [self.surest, *[rest] * (len(candidates) - 1)]


@pytest.mark.parametrize(
    ("surest", "escalation", "woken"),
    [(0.95, 0.9, False), (0.85, 0.9, True), (0.9, 0.9, False), (0.95, None, True)],
)
def test_something_new_wakes_below_the_threshold_alone(
    surest: float, escalation: float | None, woken: bool
) -> None:
    adviser = Adviser()
    rules = Hybrid(stall_patience=1000)
    agent = Agent(
        system1=Sure(surest, escalation), system2=adviser, max_candidates=12, hybrid=rules
    )
    play_game(MockEnv(0, "competition"), agent, Limits(30))
    assert agent.waker.calls["level"] == 0
    assert bool(agent.waker.calls["novel"]) == woken
    assert bool(adviser.calls) == woken


def test_a_stall_wakes_whoever_is_sure() -> None:
    adviser = Adviser()
    rules = Hybrid(stall_patience=5)
    # Without the prior it stays at the wall that its one candidate leads to.
    sure = Sure(0.99, 0.5)
    agent = Agent(system1=sure, system2=adviser, raw_policy=True, max_candidates=12, hybrid=rules)
    play_game(MockEnv(0, "competition"), agent, Limits(40))
    assert agent.waker.calls["novel"] == 0
    assert agent.waker.calls["stall"] >= 1
