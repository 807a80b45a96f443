"""The search that says what would be best in a practice game, and what traces keep of it."""

import json
from pathlib import Path

import pytest

pytest.importorskip("arcengine")

from sysone.arc.actions import parse, simple
from sysone.arc.candidates import build_candidates
from sysone.arc.collect import SOLVER, Settings, collect, read_trace
from sysone.arc.env import MockEnv, make_env
from sysone.arc.observe import Watcher
from sysone.arc.practice.build import SUITE, generate, held_out_plan
from sysone.arc.practice.guide import distances, guide_of
from sysone.arc.practice.levels import HELD_OUT
from sysone.runs.progress import Progress


@pytest.mark.parametrize("game", ["pmaz", "hkey", "ptog", "hund", "pcyc"])
def test_a_guide_solves_a_level_in_the_fewest_actions(game: str) -> None:
    env = make_env(game)
    guide = guide_of(env, {})
    assert guide is not None
    watcher, action, taken = Watcher(), None, 0
    frame = env.first()
    while frame is not None and frame.levels_completed == 0:
        seen = watcher.observe(frame, action)
        assert seen is not None
        best = guide.best(build_candidates(seen))
        assert best
        action = best[0]
        frame, taken = env.step(action), taken + 1
    assert taken == env.baseline_actions[0]


def test_distances_fall_by_one_on_the_way() -> None:
    env = make_env("pmaz")
    guide = guide_of(env, {})
    assert guide is not None
    rules = guide.game.position.rules
    table = distances(rules)
    assert table[rules.start()] == env.baseline_actions[0]
    for state, left in list(table.items())[:200]:
        ways = [rules.step(state, *move) for move in rules.moves(state)]
        assert min(0 if way.verdict == "won" else table.get(way.state, 99) for way in ways) == (
            left - 1
        )


def test_other_games_have_no_guide() -> None:
    assert guide_of(MockEnv(0, "competition"), {}) is None


def test_a_solvers_traces_say_what_was_best(tmp_path: Path) -> None:
    settings = Settings(["pmaz", "mock0"], 2, 40, 0.3, 5, SOLVER)
    with Progress() as progress:
        summary = collect(settings, tmp_path, SUITE, progress)
    assert summary["games"]["pmaz"]["levels"] >= 2
    steps = [line for line in read_trace(tmp_path / "pmaz" / "ep0.jsonl") if "step" in line]
    led = [line for line in steps if line["source"] == SOLVER]
    assert led
    assert all(line["action"] in line["best"] for line in led)
    assert {parse(text) for line in steps for text in line["best"]} <= set(map(simple, range(1, 5)))
    assert all("best" not in line for line in read_trace(tmp_path / "mock0" / "ep0.jsonl"))


def test_games_to_measure_with_hold_out_mechanics_alone(tmp_path: Path) -> None:
    assert [held_out_plan(3, index).mechanics[0][0] for index in range(3)] == list(HELD_OUT)
    for folder in generate(tmp_path, 3, 2, held_out=True):
        tags = set(json.loads((folder / "metadata.json").read_text())["tags"])
        assert tags & set(HELD_OUT)
        assert tags <= {*HELD_OUT, "practice", "hud"}
