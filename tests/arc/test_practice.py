"""The practice suite: every level can be won in its baseline, through the official engine."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sysone.arc import toolkit
from sysone.arc.actions import make
from sysone.arc.env import make_env, step_env
from sysone.arc.practice import build
from sysone.arc.practice.levels import HELD_OUT, MECHANICS, find, level
from sysone.arc.practice.rules import Walk
from sysone.arc.practice.search import solve
from sysone.arc.practice.sokoban import MockSokoban, layout, solution_length
from sysone.arc.score import Tally

needs_toolkit = pytest.mark.skipif(
    not toolkit.available(), reason="the ARC toolkit is not installed"
)
GAMES = toolkit.games_on_disk(build.SUITE)


def test_the_suite_covers_every_mechanic_with_and_without_a_hud() -> None:
    assert len(GAMES) == 2 * len(MECHANICS) >= 24
    for name in MECHANICS:
        games = [game for game in GAMES if name in game.metadata.tags]
        assert ["hud" in game.metadata.tags for game in games] == [True, False]
        assert all(len(game.metadata.baseline_actions) >= 4 for game in games)
    assert len(HELD_OUT) == 3
    assert len(build.held_out_ids()) == 6


def test_no_id_can_be_a_public_game() -> None:
    # The public ones are two letters and two digits.
    ids = [game.id for game in GAMES] + [build.random_plan(3, index).name for index in range(20)]
    assert all(not re.fullmatch(r"[a-z]{2}\d{2}", id_) for id_ in ids)


@needs_toolkit
@pytest.mark.parametrize("game", [game.id for game in GAMES])
def test_the_shortest_solutions_win_with_the_full_score(game: str) -> None:
    env = make_env(game)
    plan = next(plan for plan in build.suite_plans() if plan.name == game)
    source = (build.SUITE / game / "v1" / f"{game}.py").read_text()
    attempts = json.loads(re.search(r"attempts=\(([^)]*)\)", source)[1].join("[]"))  # type: ignore[index]
    tally = Tally(env.baseline_actions, env.n_levels)
    frame = env.first()
    for number, mechanics in enumerate(plan.mechanics):
        rules = level(mechanics, number, plan.seed, attempts[number])
        assert rules is not None
        solution = solve(rules)
        assert solution is not None
        assert len(solution) == env.baseline_actions[number]
        width, height = rules.size
        scale = 64 // max(width, height)
        margins = [(64 - side * scale) // 2 for side in (width, height)]
        for id_, cell in solution:
            x, y = cell if cell is not None else (0, 0)
            action = make(id_, margins[0] + x * scale + scale // 2, margins[1] + y * scale)
            frame = step_env(env, action)
            tally.note(action, frame)
    assert frame is not None
    assert frame.state == "WIN"
    assert tally.rhae(tally.best) == pytest.approx(100.0)


@needs_toolkit
def test_animated_actions_show_their_way() -> None:
    env = make_env("pani")
    lengths = []
    for id_ in (1, 2, 3, 4, 1, 3):
        frame = env.step(make(id_))
        assert frame is not None
        lengths.append(len(frame.frame))
    assert max(lengths) > 1


@needs_toolkit
def test_undo_takes_back() -> None:
    env = make_env("pund")
    before = env.first()
    assert before is not None
    for id_ in (1, 2, 3, 4):
        moved = env.step(make(id_))
        assert moved is not None
        back = env.step(make(7))
        assert back is not None
        assert np.array_equal(back.frame[-1], before.frame[-1])


def test_generated_games_hold_no_held_out_mechanic(tmp_path: Path) -> None:
    plans = [build.random_plan(5, index) for index in range(200)]
    used = {name for plan in plans for names in plan.mechanics for name in names}
    assert used == set(MECHANICS) - set(HELD_OUT)
    assert any(len(plan.mechanics[-1]) > 1 for plan in plans)
    first = build.generate(tmp_path / "a", 7, 2)
    again = build.generate(tmp_path / "b", 7, 2)
    for one, other in zip(first, again, strict=True):
        for path in one.iterdir():
            assert path.read_bytes() == (other / path.name).read_bytes()


@needs_toolkit
def test_a_generated_game_plays(tmp_path: Path) -> None:
    (folder,) = build.generate(tmp_path, 7, 1)
    env = make_env(folder.parent.name, tmp_path)
    frame = env.step(make(env.first().available_actions[0], 30, 30))  # type: ignore[union-attr]
    assert frame is not None
    assert frame.frame[-1].shape == (64, 64)


def test_files_of_the_suite_are_what_the_generator_writes(tmp_path: Path) -> None:
    # The push games are left to the command itself: their search takes seconds.
    for plan in build.suite_plans():
        if plan.mechanics[0][0] not in ("push", "undo", "collect"):
            folder = build.write_game(tmp_path, plan)
            for path in folder.iterdir():
                kept = build.SUITE / plan.name / build.VERSION / path.name
                assert kept.read_bytes() == path.read_bytes(), path.name


def test_mechanics_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="flying"):
        find(("flying",), 0, "x")
    with pytest.raises(ValueError, match="toggle cannot be combined"):
        find(("toggle", "maze"), 0, "x")


def test_rules_of_walking() -> None:
    palette = level(("maze",), 0, "x", 0).palette  # type: ignore[union-attr]
    cells = frozenset((x, y) for x in range(5) for y in range(3) if y != 1 or x in (0, 4))
    rules = Walk(5, 3, palette, (1, 1), cells, (3, 1), boxes=frozenset({(2, 1)}))
    start = rules.start()
    pushed = rules.step(start, 4, None)
    assert (pushed.state.player, pushed.state.boxes) == ((2, 1), frozenset({(3, 1)}))
    assert rules.step(pushed.state, 4, None).state == pushed.state  # the box meets the wall
    assert rules.step(start, 1, None).state == start


# -- MockSokoban


def test_mock_levels_are_solvable_and_counted() -> None:
    for seed in range(3):
        game = MockSokoban(seed)
        for number, made in enumerate(game.layouts):
            assert solution_length(made) == made.baseline == game.baseline_actions[number]
            assert not made.boxes & made.pads


def test_mock_takes_every_action_and_ends_over_budget() -> None:
    game = MockSokoban(1)
    frame = game.reset()
    assert frame.full_reset
    assert frame.frame[-1].shape == (64, 64)
    states = []
    for turn in range(game.budgets[0]):
        frame = game.step(5 if turn % 2 else 6, {"x": 20, "y": 20})
        states.append(frame.state)
    assert states[-1] == "GAME_OVER"
    assert set(states[:-1]) == {"NOT_FINISHED"}
    over = game.step(1)
    assert (len(over.frame), over.levels_completed, over.state) == (0, 0, "GAME_OVER")
    again = game.step(0)
    assert not again.full_reset
    assert again.state == "NOT_FINISHED"
    with pytest.raises(ValueError, match="action id is 8"):
        game.step(8)


def test_mock_undo_and_hud() -> None:
    plain, hud = MockSokoban(2), MockSokoban(2, hud=True)
    plain.reset()
    before = hud.reset().frame[-1]
    for id_ in (1, 2, 3, 4):
        plain.step(id_)
        plain.step(7)
    assert np.array_equal(plain.picture(), MockSokoban(2).reset().frame[-1])
    after = hud.step(5).frame[-1]
    assert np.array_equal(before[:-1], after[:-1])
    for _ in range(10):
        after = hud.step(5).frame[-1]
    assert not np.array_equal(before[-1], after[-1])


def test_mock_is_the_same_in_another_process() -> None:
    code = "from sysone.arc.practice.sokoban import layout; print(layout(9, 2))"
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    made = layout(9, 2)
    from sysone.arc.practice.sokoban import Layout

    assert eval(done.stdout, {"Layout": Layout, "frozenset": frozenset}) == made
