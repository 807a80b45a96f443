"""Traces: complete lines, restart, determinism."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from sysone.arc.collect import (
    MOST_SHARES,
    EpsilonAgent,
    Settings,
    TraceWriter,
    collect,
    is_finished,
    read_trace,
    record_game,
)
from sysone.arc.env import MockEnv
from sysone.arc.observe import Watcher
from sysone.arc.play import Limits
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress
from sysone_core import grids

SETTINGS = Settings(games=["mock0", "mock1"], episodes=2, max_actions=30, seed=13)


def gather(out: Path, settings: Settings = SETTINGS) -> dict[str, Any]:
    return collect(settings, out, out, Progress(plain=True))


def without_ms(path: Path) -> list[dict[str, Any]]:
    lines = list(read_trace(path))
    for line in lines:
        line.pop("ms", None)
        for key in ("seconds", "steps_per_s", "first_action_ms", "p50_ms", "p95_ms"):
            line.get("end", {}).pop(key, None)
    return lines


def test_a_trace_says_everything_about_a_step(tmp_path: Path) -> None:
    summary = gather(tmp_path)
    assert summary["episodes"] == 4
    assert summary["finished"]
    first, *steps, last = list(read_trace(tmp_path / "mock1" / "ep0.jsonl"))
    assert set(first) == {"v", "game_id", "episode", "before", "state", "levels", "available"}
    assert len(steps) == 30
    assert last["end"]["actions"] == 30
    previous = grids.text_to_grid(first["before"])
    for number, line in enumerate(steps):
        assert line["step"] == number
        assert line["action"].startswith(("ACTION", "RESET"))
        if line["frames_after"]:
            grid = grids.text_to_grid(line["frames_after"][-1])
            assert line["changed"] == int((grid != previous).sum())
            assert line["hash_after"][0] == f"{grids.frame_hash(grid):016x}"
            previous = grid
    assert {line["source"] for line in steps} == {"heuristic", "epsilon"}
    assert Watcher().observe(None) is None


def test_the_same_seed_gives_the_same_traces(tmp_path: Path) -> None:
    gather(tmp_path / "a")
    gather(tmp_path / "b")
    for path in sorted((tmp_path / "a").rglob("*.jsonl")):
        assert without_ms(path) == without_ms(tmp_path / "b" / path.relative_to(tmp_path / "a"))


def test_finished_episodes_are_not_played_again(tmp_path: Path) -> None:
    gather(tmp_path)
    kept = tmp_path / "mock0" / "ep0.jsonl"
    before = kept.read_bytes()
    cut = tmp_path / "mock0" / "ep1.jsonl"
    cut.write_bytes(cut.read_bytes()[:-40])
    assert not is_finished(cut)
    summary = gather(tmp_path)
    assert (summary["skipped"], summary["episodes"]) == (3, 1)
    assert kept.read_bytes() == before
    assert is_finished(cut)


def test_a_cut_last_line_is_dropped_and_a_broken_one_named(tmp_path: Path) -> None:
    path = tmp_path / "ep.jsonl"
    path.write_text('{"a": 1}\n{"a": 2}\n{"a": ')
    assert list(read_trace(path)) == [{"a": 1}, {"a": 2}]
    path.write_text('{"a": 1}\n{"a"\n{"a": 2}\n')
    with pytest.raises(RunError, match=r"ep.jsonl:2"):
        list(read_trace(path))


def test_a_time_limit_stops_between_episodes(tmp_path: Path) -> None:
    limited = Settings(["mock0"], episodes=5, max_actions=5, time_limit_s=1e-9)
    summary = gather(tmp_path, limited)
    assert not summary["finished"]
    assert json.loads((tmp_path / "summary.json").read_text())["finished"] is False


class Rising:
    """A System-1 that likes the last candidate most."""

    def probabilities(self, observation: Any, candidates: Any, instruction: str, chunk: int) -> Any:
        return [1 + index for index in range(len(candidates))]


class Proposer:
    """A System-2 that says one thing, and fails where it is told to."""

    left_s = math.inf

    def __init__(self, fails: bool) -> None:
        self.fails = fails

    def propose(self, observation: Any, memory: Any) -> list[str]:
        if self.fails:
            raise RuntimeError("no answer")
        return ["ACTION4"]

    def report(self) -> dict[str, Any]:
        return {"summary": "a maze"}

    def lines(self) -> list[str]:
        return []

    def reflect(self, reason: str, observation: Any, memory: Any) -> None: ...

    def gained(self, observation: Any, memory: Any) -> None: ...


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize("fails", [False, True])
def test_a_trace_says_what_the_models_said(tmp_path: Path, epsilon: float, fails: bool) -> None:
    path = tmp_path / "ep0.jsonl"
    env = MockEnv(0, "competition")
    agent = EpsilonAgent("hybrid", 5, epsilon, Rising(), Proposer(fails))
    writer = TraceWriter(path, env.game_id, 0)
    record_game(env, agent, Limits(30), writer)
    writer.close()
    steps = [line for line in read_trace(path) if "step" in line]
    woken = [line for line in steps if "wake" in line]
    assert {line["wake"] for line in woken} <= {"novel", "level", "stall"}
    assert len(woken) == sum(agent.waker.calls[name] for name in ("novel", "level", "stall")) > 0
    assert all(("report" in line) == (not fails) for line in woken)
    for line in steps:
        if line["source"] == "forced":
            continue
        assert line["source"] == ("epsilon" if epsilon else "model")
        shares = line["probabilities"]
        assert list(shares.values()) == sorted(shares.values(), reverse=True)
        assert len(shares) == MOST_SHARES
        assert 0 < sum(shares.values()) < 1
        if not epsilon:
            x_y = [f"{key}={value}" for key, value in line["data"].items()]
            assert shares[" ".join([line["action"], *x_y])] == pytest.approx(line["p"], abs=1e-6)
