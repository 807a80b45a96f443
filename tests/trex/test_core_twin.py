"""The compiled core against its pure-Python twin on random games, moments and timings.

SYSONE_CASES multiplies how many cases are tried: 1 for every day, 20 for a long look.
"""

import os
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sysone_core import trex as core
from twin import course, engine, obstacle, planner, shield
from twin.golden_rows import scenery_row
from twin.strategies import (
    actions,
    core_moment,
    held_keys,
    moments,
    plain,
    plan_fields,
    plays,
    seeds,
    speeds,
    styles,
    timings,
    trexes,
    twin_moment,
)

FACTOR = float(os.environ.get("SYSONE_CASES", "1"))
KINDS = list(obstacle.KINDS)


def cases(count: int) -> Any:
    # A busy machine is no failure: there is no deadline, nor a check of how long drawing takes.
    return settings(
        max_examples=max(1, int(count * FACTOR)),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@cases(300)
@given(st.text(max_size=400) | st.from_regex(r"course-\d{1,20}-\d{1,3}-\d{1,4}", fullmatch=True))
def test_streams_are_those_of_the_standard_library(text: str) -> None:
    stream, reference = core.RandomStream(text), Random(text)
    # More than one generation of the twister's 624 words.
    assert [stream.random() for _ in range(320)] == [reference.random() for _ in range(320)]


@cases(600)
@given(
    styles,
    seeds,
    st.integers(0, 50),
    st.integers(0, 500),
    speeds,
    st.lists(st.sampled_from(KINDS), max_size=2),
)
def test_courses(
    style: Any, seed: int, run: int, index: int, speed: float, history: list[Any]
) -> None:
    ours = core.course_spec(style, seed, run, index, speed, history)
    twin = course.course_spec(style, seed, run, index, speed, history)
    assert (ours.kind, ours.size, ours.y, ours.gap, ours.faster, ours.source) == tuple(twin)
    assert core.phase_name(index, speed) == course.phase(index, speed)[0]
    made, wanted = core.Obstacle(ours, speed), obstacle.make_obstacle(twin, speed)
    for name in ("kind", "label", "bird", "x", "y", "size", "width", "height", "gap"):
        assert getattr(made, name) == getattr(wanted, name)
    assert made.speed_offset == wanted.offset
    assert made.boxes == list(wanted.boxes)


@cases(250)
@given(seeds, styles, st.booleans(), st.booleans(), plays)
def test_games_agree_after_every_frame(
    seed: int, style: Any, invincible: bool, scenery: bool, play: list[tuple[str, int]]
) -> None:
    ours = core.Game(seed, style, invincible=invincible, scenery=scenery)
    twin = engine.Game(seed, style, invincible, scenery)
    calls = {"J": ours.press_jump, "D": ours.press_duck, "U": ours.release_duck, "R": ours.restart}
    for letters, frames in [("J", 235), *play]:
        for letter in letters:
            calls[letter]()
            engine.CALLS[letter](twin)
        assert ours.packed_record() == twin.packed_record()
        for _ in range(frames):
            ours.step()
            twin.step()
            assert ours.packed_record() == twin.packed_record()
        if scenery:
            assert drawn(ours) == scenery_row(twin)
    events, twin.events = twin.events, []
    assert ours.drain_events() == events
    for name in (
        "deaths",
        "high_score",
        "run_index",
        "obstacle_index",
        "history",
        "shown_score",
        "score_visible",
        "achievement",
        "inverted",
        "intro_ms",
        "paused",
    ):
        assert getattr(ours, name) == getattr(twin, name), name
    # Once a game goes on, what the last crash's clock shows is nobody's business.
    assert not ours.crashed or ours.crash_ms == twin.crash_ms
    for held in ("run", "duck"):
        assert twin_moment(core.snapshot(ours, held)) == planner.snapshot(twin, held)


def drawn(game: core.Game) -> Any:
    state = {key: plain(value) for key, value in game.scenery.items()}
    del state["restart_frame"]
    return state


@cases(100)
@given(seeds, styles, st.integers(0, 3000) | st.integers(3500, 6000), plays)
def test_many_frames_at_once_are_single_frames_by_day_and_night(
    seed: int, style: Any, start: int, play: list[tuple[str, int]]
) -> None:
    # The night begins at 700 points, some 3,600 frames after the start.
    ours = core.Game(seed, style, invincible=True)
    twin = engine.Game(seed, style, invincible=True, scenery=True)
    calls = {"J": ours.press_jump, "D": ours.press_duck, "U": ours.release_duck, "R": ours.restart}
    for letters, frames in [("J", start), *play]:
        for letter in letters:
            calls[letter]()
            engine.CALLS[letter](twin)
        ours.step(frames)
        for _ in range(frames):
            twin.step()
        assert ours.packed_record() == twin.packed_record()
        assert drawn(ours) == scenery_row(twin)


@cases(600)
@given(speeds.flatmap(lambda speed: st.tuples(st.just(speed), trexes(speed))), held_keys)
def test_transitions(speed_and_state: tuple[float, planner.Trex], held: Any) -> None:
    speed, state = speed_and_state
    ours = core.TrexState(*state)
    for step in ("trex_frame", "end_of_frame"):
        assert getattr(core, step)(ours).astuple() == tuple(getattr(planner, step)(state))
    assert core.enforce(ours, held).astuple() == tuple(planner.enforce(state, held))
    assert core.impulse_jump(ours, speed).astuple() == tuple(planner.impulse_jump(state, speed))


@cases(500)
@given(moments(), st.integers(1, 320))
def test_worlds(snap: planner.Snapshot, horizon: int) -> None:
    ours, twin = core.World(core_moment(snap), horizon), planner.World(snap, horizon)
    assert (ours.horizon, ours.birds, ours.passed) == (horizon, twin.birds, twin.passed)
    for k in range(1, horizon + 1):
        first = twin.first[k]
        assert ours.speed(k) == twin.speed[k]
        assert ours.first(k) == (first and (first[0].id, first[1]))
        for y, ducking in ((93, False), (93, True), (60, False), (20 + k % 70, k % 2 == 0)):
            assert ours.hit(k, y, ducking) == twin.hit(k, y, ducking)


@cases(600)
@given(moments(), timings(), st.sampled_from([150, 150, 60, 12]))
def test_plans_agree_in_every_field(
    snap: planner.Snapshot, timing: tuple[Any, Any, Any], max_horizon: int
) -> None:
    ours, twin = core.Planner(max_horizon), planner.Planner(max_horizon)
    moment = core_moment(snap)
    assert ours.horizon(moment) == twin.horizon(snap)
    assert plan_fields(ours.plan(moment, *timing)) == plan_fields(twin.plan(snap, *timing))


@cases(300)
@given(
    moments().filter(lambda snap: snap.obstacles),
    st.tuples(st.integers(0, 8), st.integers(0, 4)),
    st.none() | st.integers(1, 8),
    st.lists(
        st.tuples(
            actions,
            held_keys,
            st.integers(0, 30),
            st.integers(0, 6),
            st.integers(0, 6),
            st.none() | st.tuples(st.sampled_from(["jump", "duck"]), st.integers(0, 60)),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_searches_answer_and_remember_alike(
    snap: planner.Snapshot,
    gap: tuple[int, int],
    period: int | None,
    questions: list[tuple[Any, Any, int, int, int, Any]],
) -> None:
    horizon = planner.Planner().horizon(snap)
    gap = (gap[0], max(1, gap[0] + gap[1]))
    world, twin_world = core.World(core_moment(snap), horizon), planner.World(snap, horizon)
    ours: core.Search
    twin: planner.Search
    if period is None:
        ours = core.Search(world, gap, horizon)
        twin = planner.Search(twin_world, gap, horizon)
    else:
        ours = core.StaggeredSearch(world, gap, horizon, period)
        twin = planner.StaggeredSearch(twin_world, gap, horizon, period)
    state, twin_state = core.TrexState(*snap.trex), snap.trex
    for action, held, t, low, more, lock in questions:
        args = (action, t, low, low + more, lock)
        assert ours.lands(state, held, *args) == twin.lands(twin_state, held, *args)
        # One memo serves all questions of a search, so its size tells of every one of them.
        assert ours.states == len(twin.memo)
        assert ours.press(state, action, t).astuple() == tuple(twin.press(twin_state, action, t))
        after = ours.run_frames(state, held, t, more)
        twin_after = twin.run_frames(twin_state, held, t, more)
        assert (after and after.astuple()) == (twin_after and tuple(twin_after))


@cases(2000)
@given(moments(), actions, st.integers(0, 30), st.integers(0, 60))
def test_the_shield_answers_alike(
    snap: planner.Snapshot, action: Any, urgent: int, horizon: int
) -> None:
    moment = core_moment(snap)
    assert core.protect(moment, action) == shield.protect(snap, action)
    horizon += urgent + 1
    ours = core.protect(moment, action, urgent, horizon)
    assert ours == shield.protect(snap, action, urgent, horizon)


@cases(30)
@given(seeds, styles, st.integers(0, 2**32), timings())
def test_a_shielded_game_meets_the_same_plans(
    seed: int, style: Any, fingers_seed: int, timing: tuple[Any, Any, Any]
) -> None:
    """Moments as they come in play: keys at random, guarded, and a plan now and then."""
    fingers = Random(fingers_seed)
    game = core.Game(seed, style, scenery=False)
    game.press_jump()
    held: Any = "run"
    for frame in range(900):
        snap = core.snapshot(game, held)
        twin = twin_moment(snap)
        wish = fingers.choice(planner.ACTIONS) if fingers.random() < 0.1 else held
        action = core.protect(snap, wish)
        assert action == shield.protect(twin, wish)
        if frame % 60 == 0:
            plan = core.Planner().plan(snap, *timing)
            assert plan_fields(plan) == plan_fields(planner.Planner().plan(twin, *timing))
        if action == "jump":
            if game.ducking:
                game.release_duck()
            game.press_jump()
        held = planner.after(action)
        if held == "duck" and not (game.speed_drop if game.jumping else game.ducking):
            game.press_duck()
        if held == "run" and (game.speed_drop or (game.ducking and not game.jumping)):
            game.release_duck()
        game.step()
        if game.crashed:
            game.restart()
