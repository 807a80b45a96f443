"""The failure matrix: what fails costs a decision's quality, never the run, and is counted.

Its rows, and where each is: System-2 down, slow or malformed, System-1 that raises or gives no
numbers, out of memory, illegal actions of any layer, a silent game, a full disk are here; a
checkpoint that is missing or refused, and the share below which a model is degraded, are in
test_models.py; a plugged-in agent's illegal actions in test_evaluate.py; eight threads that share
the engine's actions in test_framework.py.
"""

import errno
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysone.arc import decide
from sysone.arc.actions import RESET, Action, simple
from sysone.arc.collect import TraceWriter, record_game
from sysone.arc.config import Hybrid
from sysone.arc.decide import FAILURES_IN_A_ROW, Agent
from sysone.arc.env import MockEnv
from sysone.arc.frame import NOT_FINISHED, Frame
from sysone.arc.play import Limits, play_game
from sysone.arc.wake import Breaker


def mock() -> MockEnv:
    return MockEnv(0, "competition")


class Model:
    """A System-1 that does as it is told at each call: "ok", or what goes wrong."""

    def __init__(self, script: Sequence[str], then: str = "ok") -> None:
        self.script, self.then = list(script), then
        self.chunks: list[int] = []

    def probabilities(
        self, observation: Any, candidates: Sequence[Action], instruction: str, chunk: int
    ) -> Sequence[float]:
        self.chunks.append(chunk)
        what = self.script.pop(0) if self.script else self.then
        if what == "raise":
            raise RuntimeError("the model broke")
        if what == "memory":
            raise MemoryError
        n = len(candidates)
        return {
            "ok": [1.0] + [0.5] * (n - 1),
            "nan": [math.nan] * n,
            "negative": [-1.0] * n,
            "zero": [0.0] * n,
            "short": [1.0] * (n - 1),
            "infinite": [math.inf] * n,
        }[what]


def sources(model: Model, steps: int = 10) -> tuple[list[str], Agent]:
    agent = Agent(system1=model)
    found: list[str] = []

    def note(action: Action, record: decide.StepRecord, frame: Frame | None) -> None:
        found.append(record.source)

    play_game(mock(), agent, Limits(steps), on_step=note)
    return found, agent


@pytest.mark.parametrize("what", ["raise", "nan", "negative", "zero", "short", "infinite"])
def test_a_failing_system1_costs_that_step(what: str) -> None:
    found, agent = sources(Model(["ok", what, "ok", what, "ok"]))
    assert found[:5] == ["model", "heuristic", "model", "heuristic", "model"]
    assert agent.errors["system1"] == 2
    assert len(found) == 10


@pytest.mark.parametrize("what", ["raise", "nan"])
def test_three_failures_in_a_row_end_system1_for_the_game(what: str) -> None:
    model = Model(["ok"], then=what)
    found, agent = sources(model)
    assert found == ["model"] + ["heuristic"] * 9
    assert len(model.chunks) == 1 + FAILURES_IN_A_ROW
    assert agent.degraded


def test_a_model_that_decides_is_not_degraded() -> None:
    found, agent = sources(Model([]), 20)
    assert set(found) == {"model"}
    assert not agent.degraded


def test_forced_decisions_are_left_out_of_a_models_share() -> None:
    agent = Agent(system1=Model([]))
    agent.decisions.update({"model": 9, "heuristic": 1, "forced": 90})
    assert not agent.degraded
    agent.decisions["fallback"] += 1
    assert agent.degraded


def test_no_model_is_not_degraded() -> None:
    agent = Agent()
    play_game(mock(), agent, Limits(5))
    assert not agent.degraded


def test_out_of_memory_halves_the_chunk_and_tries_once_more() -> None:
    model = Model(["memory", "ok"])
    found, agent = sources(model, 2)
    assert found == ["model", "model"]
    assert model.chunks == [64, 32, 32]
    assert agent.errors["memory"] == 1


def test_out_of_memory_twice_is_the_explorers_turn() -> None:
    model = Model(["memory", "memory", "ok"])
    found, _ = sources(model, 2)
    assert found == ["heuristic", "model"]
    assert model.chunks == [64, 32, 16]


def test_known_no_ops_weigh_little_unless_the_policy_is_raw() -> None:
    for raw, expected in ((False, 2), (True, 1)):
        agent = Agent(system1=Model([]), raw_policy=raw)
        picture = np.full((64, 64), 5, np.int8)
        frame = Frame("g", [picture], NOT_FINISHED, 0, 3, [1, 2])
        agent.begin(frame)
        assert agent.decide()[0] is simple(1)
        agent.note(simple(1), frame)
        assert agent.decide()[0] is simple(expected)


class Adviser:
    """A System-2 that fails, or proposes the texts it is given."""

    def __init__(self, texts: Sequence[Any] | None) -> None:
        self.texts, self.calls = texts, 0

    def propose(self, observation: Any, memory: Any) -> Sequence[str]:
        self.calls += 1
        if self.texts is None:
            raise TimeoutError("slow")
        return self.texts


def test_a_failing_system2_is_skipped_and_counted() -> None:
    adviser = Adviser(None)
    agent = Agent(system2=adviser)
    played = play_game(mock(), agent, Limits(15))
    assert played.steps == 15
    assert agent.errors["system2"] == adviser.calls >= 1


def test_a_system2_that_is_down_is_left_alone_after_three_calls() -> None:
    adviser = Adviser(None)
    agent = Agent(system2=adviser, hybrid=Hybrid(stall_patience=1))
    play_game(mock(), agent, Limits(150))
    assert adviser.calls == Breaker.IN_A_ROW
    assert agent.errors["system2"] == 3
    assert agent.waker.calls["failed"] == 3


def test_a_system2_is_not_called_without_time_for_it() -> None:
    adviser = Adviser(["ACTION1"])
    agent = Agent(system2=adviser, hybrid=Hybrid(game_time_limit_s=0.0))
    assert play_game(mock(), agent, Limits(20)).steps == 20
    assert adviser.calls == 0


def test_a_proposal_weighs_double_until_it_was_tried_here() -> None:
    picture = np.full((64, 64), 5, np.uint8)
    frame = Frame("g", [picture], NOT_FINISHED, 0, 3, [1, 2, 3])

    class Flat(Model):
        def probabilities(
            self, observation: Any, candidates: Sequence[Action], instruction: str, chunk: int
        ) -> Sequence[float]:
            return [0.4 if action is simple(1) else 0.3 for action in candidates]

    for raw, first in ((False, 3), (True, 1)):
        agent = Agent(system1=Flat([]), system2=Adviser(["ACTION3"]), raw_policy=raw)
        agent.begin(frame)
        assert agent.decide()[0] is simple(first)
    agent = Agent(system1=Flat([]), system2=Adviser(["ACTION3"]))
    agent.begin(frame)
    agent.decide()
    agent.note(simple(3), frame)
    assert agent.decide()[0] is simple(1)


def test_malformed_and_illegal_proposals_are_dropped() -> None:
    agent = Agent(system1=Model([]), system2=Adviser(["ACTION99", 7, None, "RESET", "ACTION3"]))
    picture = np.full((64, 64), 5, np.int8)
    agent.begin(Frame("g", [picture], NOT_FINISHED, 0, 3, [1, 3]))
    assert agent.decide()[0] is simple(1) or agent.decide()[0] is simple(3)
    assert agent.errors["system2_malformed"] >= 3


def test_the_breaker_rests_after_three_failures_and_ends_after_ten() -> None:
    breaker = Breaker()
    for _ in range(3):
        assert breaker.closed(0.0)
        breaker.note(True, 0.0)
    assert not breaker.closed(59.0)
    assert breaker.closed(60.0)
    breaker.note(False, 60.0)
    for _ in range(7):
        breaker.note(True, 100.0)
    assert not breaker.closed(1e9)


class Broken:
    """A policy that raises, or returns what is not on offer."""

    name = "broken"

    def __init__(self, action: Action | None) -> None:
        self.action = action

    def choose(self, *args: Any) -> Action:
        if self.action is None:
            raise RuntimeError("the policy broke")
        return self.action

    def learn(self, *args: Any) -> None:
        raise RuntimeError("the policy cannot learn")


@pytest.mark.parametrize("action", [None, simple(5), RESET])
def test_an_illegal_action_becomes_a_legal_untried_one(action: Action | None) -> None:
    agent = Agent(Broken(action))
    picture = np.full((64, 64), 5, np.int8)
    agent.begin(Frame("g", [picture], NOT_FINISHED, 0, 3, [2, 3]))
    first, record = agent.decide()
    assert (first, record.source) == (simple(2), decide.FALLBACK)
    agent.note(first, Frame("g", [picture], NOT_FINISHED, 0, 3, [2, 3]))
    # Once something was done in the level, a RESET is allowed.
    assert agent.decide()[0] is (RESET if action is RESET else simple(3))
    assert agent.errors["policy"] >= 1


class Silent(MockEnv):
    """A game that answers nothing from some step on."""

    def __init__(self, from_step: int, how: str) -> None:
        super().__init__(0, "competition")
        self.from_step, self.how, self.steps = from_step, how, 0

    def step(self, action: Action) -> Frame | None:
        self.steps += 1
        if self.steps <= self.from_step:
            return super().step(action)
        if self.how == "raise":
            raise RuntimeError("the game broke")
        return None if self.how == "none" else Frame(state=NOT_FINISHED)


@pytest.mark.parametrize("how", ["none", "raise", "empty"])
def test_a_silent_game_is_reset_once_and_then_ended_with_its_results(how: str) -> None:
    agent = Agent()
    played = play_game(Silent(5, how), agent, Limits(500))
    assert played.steps == 5 + 7  # three silent answers, a reset, three more
    assert played.broken == "given up"
    assert played.row()["actions"] == 5


def test_a_game_that_is_silent_for_a_moment_goes_on() -> None:
    class Hiccup(MockEnv):
        turn = 0

        def step(self, action: Action) -> Frame | None:
            self.turn += 1
            return None if self.turn % 3 == 0 else super().step(action)

    played = play_game(Hiccup(0, "competition"), Agent(), Limits(60))
    assert played.steps == 60


def test_pictures_out_of_range_are_repaired_and_counted() -> None:
    class Odd(MockEnv):
        def step(self, action: Action) -> Frame | None:
            frame = super().step(action)
            frame.frame = [np.full((70, 64), 31)]  # type: ignore[union-attr]
            return frame

    agent = Agent()
    row = play_game(Odd(0, "competition"), agent, Limits(10)).row()
    assert row["repaired_frames"] == 10


def test_a_full_disk_does_not_end_the_game(tmp_path: Path, monkeypatch: Any) -> None:
    writer = TraceWriter(tmp_path / "ep0.jsonl", "mock0", 0)
    written = writer._file.write

    class Full:
        lines = 0

        def write(self, data: bytes) -> int:
            self.lines += 1
            if self.lines > 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return int(written(data) or 0)

    file, writer._file = writer._file, Full()  # type: ignore[assignment]
    row, failures = record_game(mock(), Agent(), Limits(20), writer)
    file.close()
    assert row["actions"] == 20
    assert failures > 0
    assert row["errors"]["recording"] > 0


def test_time_and_action_limits_and_the_human_cutoff_end_a_game() -> None:
    now = iter(range(1000))
    played = play_game(mock(), Agent(), Limits(500, 10.0), clock=lambda: float(next(now)))
    assert played.broken == "time"
    assert played.steps < 12
    assert play_game(mock(), Agent(), Limits(7)).steps == 7
    played = play_game(mock(), Agent(), Limits(500, human_cutoff=2.0))
    assert played.broken == "human cutoff"
    assert played.tally.play.level_actions[0] == 2 * played.tally.baselines[0]


class Stubborn:
    """A System-1 that always prefers the same candidates in the same order."""

    def probabilities(
        self, observation: Any, candidates: Any, instruction: str, chunk: int
    ) -> list[float]:
        weights = [0.7**place for place in range(len(candidates))]
        return [weight / sum(weights) for weight in weights]


def test_a_stubborn_model_walks_in_no_circle() -> None:
    """What led to a state that was seen often weighs less, but for ``raw_policy``."""
    visited = []
    for raw in (False, True):
        agent = Agent(system1=Stubborn(), max_candidates=8, raw_policy=raw)
        play_game(MockEnv(0, "competition"), agent, Limits(60))
        visited.append(len(agent.memory.graph))
    assert visited[0] > 3 * visited[1]


def test_an_explorer_beside_a_model_plays_as_it_does_alone() -> None:
    """A model that reads few candidates takes none from the explorer."""

    def played(agent: Agent) -> list[str]:
        env = MockEnv(0, "competition")
        agent.begin(env.first())
        actions = []
        for _ in range(60):
            action, record = agent.decide()
            assert agent.system1 is None or record.n_candidates <= 3
            actions.append(action.text)
            agent.note(action, env.step(action))
        return actions

    beside = Agent(system1=Stubborn(), max_candidates=2, explorer_weight=1e9)
    assert played(beside) == played(Agent())


def test_a_drawn_candidate_is_the_same_for_a_seed() -> None:
    def played(seed: int) -> list[str]:
        agent = Agent(system1=Stubborn(), max_candidates=8, raw_policy=True, sample=True, seed=seed)
        env = MockEnv(0, "competition")
        agent.begin(env.first())
        actions = []
        for _ in range(30):
            action, _ = agent.decide()
            actions.append(action.text)
            agent.note(action, env.step(action))
        return actions

    assert played(1) == played(1)
    assert played(1) != played(2)
    assert len(set(played(1))) > 1
