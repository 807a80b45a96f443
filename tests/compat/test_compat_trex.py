"""A foreign harness keeps its behaviour when its engine, planner and shield become ours."""

import dataclasses
import subprocess
import sys
from types import SimpleNamespace

import pytest

from sysone_core.compat import trex as compat
from twin import engine, planner, shield

# The names that other harnesses import, by module of the reference.
NAMES = {
    "engine": [
        "FPS",
        "FRAME_MS",
        "RESTART_DELAY_MS",
        "Game",
        "RandomCourse",
        "StagedCourse",
        "jump_step",
        "check_collision",
        "WIDTH",
        "GROUND_Y",
        "MAX_SPEED",
        "TREX_WIDTH",
    ],
    "planner": [
        "ACTIONS",
        "DUCK_LEAD_FRAMES",
        "Planner",
        "Plan",
        "Search",
        "StaggeredSearch",
        "World",
        "snapshot",
    ],
    "safety": ["protect"],
    "backends": ["ApiBackend", "build_question", "decide"],
    "brain": ["RemoteBrain", "serve", "warm"],
    "pilot": ["Pilot", "Pacer"],
}

pure = SimpleNamespace(
    Game=engine.Game,
    snapshot=planner.snapshot,
    Planner=planner.Planner,
    protect=shield.protect,
    replace=lambda snap, **changes: snap._replace(**changes),
    dinosaur=lambda game: game.dino,
)
ours = SimpleNamespace(
    Game=compat.Game,
    snapshot=compat.snapshot,
    Planner=compat.Planner,
    protect=compat.protect,
    replace=dataclasses.replace,
    dinosaur=lambda game: game.trex,
)


def harness(parts, seed, style, frames, timing):
    """Somebody's loop: a plan every few frames, a pending answer now and then, a shield."""
    game, pilot = parts.Game(seed, style), parts.Planner()
    game.press_jump()
    held, log = "run", []
    for frame in range(frames):
        dino = parts.dinosaur(game)
        if game.crashed:
            if game.crash_ms >= compat.RESTART_DELAY_MS:
                game.restart()
                held = "run"
            else:
                game.step()
            continue
        if frame % 7 == 0:
            snap = parts.snapshot(game, held)
            if frame % 21 == 0:
                snap = parts.replace(snap, pending="run")
            plan = pilot.plan(snap, *timing)
            action = plan.best if frame % 63 else plan.safe_actions[-1:] or "jump"
            action = action[0] if isinstance(action, list) else action
            executed = parts.protect(snap, action)
            log.append(
                (frame, plan.best, plan.safe, plan.notes, plan.states, plan.robust, executed)
            )
            if executed == "jump":
                if not dino.jumping:
                    game.release_duck()
                    game.press_jump()
                held = "run"
            else:
                held = executed
        if held == "duck" and not dino.ducking and not dino.speed_drop:
            game.press_duck()
        elif held == "run" and (dino.ducking or dino.speed_drop):
            game.release_duck()
        game.step()
        log.append((dino.x, dino.y, dino.velocity, dino.status, game.score, game.speed))
    return log, game.deaths


@pytest.mark.parametrize("style", ["original", "staged"])
@pytest.mark.parametrize("timing", [((1, 3), (1, 3)), ((2, 4), (1, 5), 3), ((12, 16), (12, 16), 6)])
def test_a_foreign_loop_plays_the_same_game(style, timing):
    assert harness(ours, 4, style, 900, timing) == harness(pure, 4, style, 900, timing)


@pytest.mark.parametrize("name", [name for names in NAMES.values() for name in names])
def test_every_name_is_there(name):
    assert getattr(compat, name) is not None
    assert name in compat.__all__


def test_all_names_resolve():
    for name in compat.__all__:
        assert getattr(compat, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Gamer'"):
        compat.Gamer  # noqa: B018


def test_the_core_names_load_no_layer():
    """The upper layers are loaded when they are asked for, not by importing the doorway."""
    code = (
        "import sys, sysone_core.compat.trex as t; t.Planner; "
        "assert not [m for m in sys.modules if m.startswith('sysone.')], sys.modules.keys(); "
        "t.build_question; assert 'sysone.trex.ask' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_values_answer_dataclass_functions():
    game = compat.Game(0, invincible=True)
    game.press_jump()
    game.step(300)
    snap = compat.snapshot(game, "run")
    assert dataclasses.replace(snap, pending="jump").pending == "jump"
    assert dataclasses.replace(snap, held="duck").held == "duck"
    plan = compat.Planner().plan(snap, (1, 3), (1, 3))
    fields = dataclasses.asdict(plan)
    assert list(fields)[:2] == ["safe", "best"]
    assert fields["states"] == plan.states
    assert dataclasses.asdict(snap)["trex"]["y"] == snap.trex.y
    with pytest.raises(TypeError):
        dataclasses.replace(snap, colour="red")


def test_recommend_and_collision():
    game = compat.Game(0)
    game.press_jump()
    while not game.crashed:
        snap = compat.snapshot(game, "run")
        assert compat.Planner().recommend(snap, (1, 3), (1, 3)) in compat.ACTIONS
        game.step()
    assert compat.check_collision(game.trex, game.obstacles[0])
    assert compat.Planner().max_horizon == 150


def test_courses_are_taken():
    style = compat.Game(5, compat.StagedCourse(5))
    name = compat.Game(5, "staged")
    for game in (style, name):
        game.press_jump()
        game.step(900)
    assert style.packed_record() == name.packed_record()
    spec = compat.RandomCourse(3).spec(style, 2, "rule")
    assert spec.source == "rule"
