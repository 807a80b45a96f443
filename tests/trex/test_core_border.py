"""The border of the compiled core: stubs, bad input, values, threads."""

import math
import pickle
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sysone_core import trex

ALLOWED = Path(__file__).with_name("stubtest_allow.txt")


def cactus(x=200, **changes):
    fields = {
        "id": 1,
        "label": "large cactus",
        "bird": False,
        "x": x,
        "y": 90,
        "width": 25,
        "height": 50,
        "offset": 0.0,
        "boxes": [(0, 12, 7, 38), (8, 0, 7, 49), (13, 10, 10, 38)],
    }
    return trex.ObstacleView(**{**fields, **changes})


def moment(speed=8.0, obstacles=None, **changes):
    return trex.Snapshot(
        trex.TrexState(), 23, speed, [cactus()] if obstacles is None else obstacles, **changes
    )


def test_stub_matches_the_module():
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy.stubtest",
            "sysone_core._trex",
            "--allowlist",
            str(ALLOWED),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: trex.Game(0, "hard"), ["course style", "'original', 'staged'", "'hard'"]),
        (lambda: trex.Spec("tree"), ["kind", "'cactusSmall'", "'tree'"]),
        (lambda: trex.Spec("cactusSmall", 4), ["size", "1 to 3", "4"]),
        (lambda: trex.Spec("cactusSmall", gap=math.nan), ["gap", "0 and 1", "nan"]),
        (lambda: trex.course_spec("original", 0, 0, -1, 6.0), ["index", "at least 0", "-1"]),
        (lambda: trex.course_spec("original", 0, 0, 0, -6.0), ["speed", "-6.0"]),
        (lambda: trex.course_spec("original", 0, 0, 0, math.inf), ["speed", "finite", "inf"]),
        (lambda: trex.Game().step(-1), ["frames", "at least 0", "-1"]),
        (lambda: trex.Game().advance_checksum({1: "X"}, 10, 1), ["J, D, U and R", "'X'"]),
        (lambda: trex.Game().advance_checksum({}, 10, 0), ["every", "at least 1"]),
        (lambda: trex.TrexState(y=100_000), ["y must be within", "100000"]),
        (lambda: trex.TrexState(velocity=math.nan), ["velocity", "nan"]),
        (lambda: trex.TrexState(status="fly"), ["status", "'run', 'jump', 'duck'", "'fly'"]),
        (lambda: cactus(x=10**9 - 1), ["obstacle x"]),
        (lambda: cactus(boxes=[(0, 0, 1, 1)] * 9), ["boxes", "at most 8", "9"]),
        (lambda: moment(speed=math.nan), ["speed", "nan"]),
        (lambda: moment(held="jump"), ["held", "'run', 'duck'", "'jump'"]),
        (lambda: moment(pending="stop"), ["action", "'stop'"]),
        (lambda: trex.Planner(0), ["max_horizon", "0"]),
        (lambda: trex.Planner().plan(moment(), (0, math.nan), (1, 1)), ["timing", "nan"]),
        (lambda: trex.Planner().plan(moment(), (0, 1), (1, 1e9)), ["timing", "600"]),
        (lambda: trex.Planner().plan(moment(), (0, 1), (1, 1), math.inf), ["timing", "inf"]),
        (lambda: trex.protect(moment(), "fly"), ["action", "'fly'"]),
        (lambda: trex.protect(moment(), "run", -1), ["urgent", "-1"]),
        (lambda: trex.World(moment(), -1), ["horizon", "-1"]),
        (lambda: trex.Search(trex.World(moment(), 5), (-1, 1), 5), ["gap", "-1"]),
        (lambda: trex.StaggeredSearch(trex.World(moment(), 5), (1, 1), 5, 0), ["period", "0"]),
    ],
)
def test_bad_input_names_field_value_and_expectation(call, words):
    with pytest.raises(ValueError, match=r".+") as caught:
        call()
    for word in words:
        assert word in str(caught.value)


def test_frame_beyond_the_world_is_an_index_error():
    world = trex.World(moment(), 5)
    with pytest.raises(IndexError, match="within 1 and 5, not 6"):
        world.speed(6)
    with pytest.raises(IndexError, match="not 0"):
        world.first(0)
    assert world.hit(6, 93, False) is False


def test_wrong_types_are_type_errors():
    with pytest.raises(TypeError):
        trex.protect(moment(), 1)
    with pytest.raises(TypeError):
        trex.Game("zero")


def test_values_compare_and_pickle():
    snap = moment(pending="jump", held="duck")
    again = pickle.loads(pickle.dumps(snap))
    assert again == snap
    assert again.with_pending(None) != snap
    assert pickle.loads(pickle.dumps(snap.trex)) == snap.trex
    assert hash(pickle.loads(pickle.dumps(snap.trex))) == hash(snap.trex)
    assert snap != object()
    assert "large cactus" in repr(snap)
    planner = trex.Planner()
    assert planner.plan(snap, (1, 3), (1, 3)) == planner.plan(again, (1, 3), (1, 3))


def test_a_list_of_obstacles_outlives_the_step_that_replaces_it():
    game = trex.Game(0, invincible=True)
    game.press_jump()
    while not game.obstacles:
        game.step()
    kept = game.obstacles
    before = [(o.id, o.x, o.boxes) for o in kept]
    game.step(2000)
    assert [(o.id, o.x, o.boxes) for o in kept] == before


def test_many_steps_equal_single_ones():
    one, many = trex.Game(3), trex.Game(3)
    one.press_jump()
    many.press_jump()
    for _ in range(1000):
        one.step()
    many.step(1000)
    assert one.packed_record() == many.packed_record()


def test_the_longest_timing_allowed_is_answered():
    """A horizon of 1,802 frames: deep recursion must not break the stack."""
    planner = trex.Planner()
    for period in (None, 1, 600):
        plan = planner.plan(moment(), (0, 600), (0, 600), period)
        assert set(plan.safe) == set(trex.ACTIONS)
    plan = planner.plan(moment(), (600, 600), (0, 1), 1)
    assert plan.states >= 0


def test_an_empty_landing_window_on_a_dead_arrival():
    """Latest before earliest: no delay is tested, so everything is safe, on a dead dinosaur."""
    state = trex.TrexState(93, -10.6, True, False, False, False, "jump")
    boxes = [(0, 7, 5, 27), (4, 0, 6, 34), (10, 4, 7, 14)]
    tree = cactus(x=0, y=105, width=17, height=35, boxes=boxes)
    snap = trex.Snapshot(state, 0, 6.0, [tree])
    plan = trex.Planner().plan(snap, (1, -2), (1, -2))
    assert plan.safe_actions == ["jump", "duck", "run"]
    assert plan.best == "duck"


def random_moment(rng):
    game = trex.Game(rng.randrange(1000), rng.choice(["original", "staged"]), invincible=True)
    game.press_jump()
    game.step(rng.randrange(240, 3600))
    return trex.snapshot(game, rng.choice(["run", "duck"]), rng.choice([None, *trex.ACTIONS]))


def test_planning_in_threads_equals_planning_alone():
    rng = random.Random(7)
    jobs = [
        (random_moment(rng), (rng.randrange(5), rng.randrange(5, 9)), (1, 6), rng.choice([None, 3]))
        for _ in range(200)
    ]
    planner = trex.Planner()
    alone = [planner.plan(*job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda job: planner.plan(*job), jobs * 4))
    assert together == alone * 4


def test_one_game_looked_at_from_other_threads_stays_whole():
    game = trex.Game(1, invincible=True)
    game.press_jump()
    with ThreadPoolExecutor(4) as pool:
        playing = pool.submit(game.step, 200_000)
        looks = [pool.submit(lambda: len(game.obstacles) + game.score) for _ in range(2000)]
        assert all(look.result() >= 0 for look in looks)
        playing.result()
    assert game.score > 5000
