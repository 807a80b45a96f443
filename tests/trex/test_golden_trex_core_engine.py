"""The compiled engine against the reference's streams, courses, collisions and whole runs."""

from itertools import pairwise

import pytest

from sysone_core import trex
from twin.golden_rows import KIND_NAMES as KINDS

STATUS = ("waiting", "running", "jumping", "ducking", "crashed")
CALLS = {"J": "press_jump", "D": "press_duck", "U": "release_duck", "R": "restart"}


def press(game, letters):
    for letter in letters:
        getattr(game, CALLS[letter])()


def flags(*bits):
    return sum(bool(bit) << place for place, bit in enumerate(bits))


def frame_row(game):
    """The state in the columns of the golden file's ``frame_fields``."""
    return [
        game.trex_x,
        game.trex_y,
        game.velocity,
        flags(game.jumping, game.ducking, game.speed_drop, game.reached_min_height),
        STATUS.index(game.status),
        game.jump_count,
        game.speed,
        game.distance,
        game.running_time,
        game.score,
        game.shown_score,
        flags(
            game.playing,
            game.crashed,
            game.activated,
            game.playing_intro,
            game.inverted,
            game.achievement,
            game.score_visible,
            game.paused,
        ),
        [
            [
                o.id,
                KINDS.index(o.kind),
                o.x,
                o.size,
                o.width,
                o.y,
                o.speed_offset,
                o.gap,
                o.frame,
                int(o.following_created),
            ]
            for o in game.obstacles
        ],
    ]


def spec_row(spec):
    return [KINDS.index(spec.kind), spec.size, spec.y, spec.gap, int(spec.faster)]


def boxes(obstacle):
    return [list(box) for box in obstacle.boxes]


def test_random_streams(golden):
    for text, expected in golden("trex", "rng_streams.json")["streams"]:
        stream = trex.RandomStream(text)
        assert [stream.random() for _ in expected] == expected, text


def test_course_specs(golden):
    for case in golden("trex", "course_specs.json.gz")["cases"]:
        seed, run, index, speed, history, original, staged, phase = case
        past = [KINDS[kind] for kind in history]
        place = (seed, run, index, speed, past)
        assert spec_row(trex.course_spec("original", *place)) == original
        assert spec_row(trex.course_spec("staged", *place)) == staged
        assert trex.phase_name(index, speed) == phase


def test_obstacles(golden):
    data = golden("trex", "obstacles.json")
    for kind, size, y, gap, faster, speed, expected in data["cases"]:
        o = trex.Obstacle(trex.Spec(KINDS[kind], size, y, gap, bool(faster)), speed)
        assert obstacle_row(o) == expected[-8:]
    for speed, offset, expected in data["obstacle_step"]:
        assert trex.obstacle_step(speed, offset) == expected
    for value, expected in data["js_round"]:
        assert trex.js_round(value) == expected


def course_rows(style, seed, count):
    """Obstacles of an invincible game without keys, in the golden file's columns."""
    game = trex.Game(seed, style, invincible=True)
    game.press_jump()
    rows, frame = [], 0
    while len(rows) < count:
        before = (game.speed, [KINDS.index(kind) for kind in game.history])
        index = game.obstacle_index
        game.step()
        frame += 1
        if game.obstacle_index > index:
            rows.append((index, frame, *before, obstacle_row(game.obstacles[-1])))
    return rows


def obstacle_row(o):
    return [o.size, o.width, o.x, o.y, o.speed_offset, o.gap, o.label, boxes(o)]


def test_courses(golden):
    for course in golden("trex", "courses.json.gz")["courses"]:
        if course["run_index"] == 0:
            rows = course_rows(course["style"], course["seed"], len(course["obstacles"]))
            for row, expected in zip(rows, course["obstacles"], strict=True):
                assert row == (*expected[:4], expected[6][-8:])
        for index, _, speed, history, spec, used, _, phase in course["obstacles"]:
            past = [KINDS[kind] for kind in history]
            place = (course["seed"], course["run_index"], index, speed, past)
            found = trex.course_spec(course["style"], *place)
            assert [*spec_row(found), found.source] == spec
            assert used == spec
            assert trex.phase_name(index, speed) == phase


@pytest.mark.parametrize("scenery", [True, False])
def test_short_traces(golden, scenery):
    for trace in golden("trex", "engine_short.json.gz")["traces"]:
        game = trex.Game(
            trace["seed"], trace["style"], invincible=trace["invincible"], scenery=scenery
        )
        press(game, trace["start_calls"])
        assert frame_row(game) == trace["state_after_start"]
        events = []
        for frame, (calls, expected) in enumerate(
            zip(trace["calls"], trace["frames"], strict=True), 1
        ):
            press(game, calls)
            game.step()
            assert frame_row(game) == expected, (trace["seed"], trace["policy"], frame)
            events.append([frame, game.drain_events()])
        assert [event for event in events if event[1]] == trace["events"]
        assert (game.deaths, game.high_score) == (trace["deaths"], trace["high_score"])


def scenery_row(game):
    state = dict(game.scenery)
    opacity, moon_x, phase, draw_stars, stars = state.pop("night")
    state.pop("restart_frame")
    state["night"] = [opacity, moon_x, phase, int(draw_stars), [list(star) for star in stars]]
    state["clouds"] = [list(cloud) for cloud in state["clouds"]]
    state["horizon_x"] = list(state["horizon_x"])
    state["horizon_source"] = list(state["horizon_source"])
    state["blink"] = list(state["blink"])
    return state


def test_scenery(golden):
    for trace in golden("trex", "engine_short.json.gz")["traces"]:
        game = trex.Game(trace["seed"], trace["style"], invincible=trace["invincible"])
        press(game, trace["start_calls"])
        expected = dict(trace["scenery_every_30"])
        for frame, calls in enumerate(trace["calls"], 1):
            press(game, calls)
            game.step()
            if frame in expected:
                assert scenery_row(game) == expected[frame], (trace["policy"], frame)


@pytest.mark.parametrize("scenery", [True, False])
def test_long_runs(golden, scenery):
    for run in golden("trex", "engine_long.json")["runs"]:
        game = trex.Game(
            run["seed"], run["style"], invincible=run["mode"] == "random_inv", scenery=scenery
        )
        press(game, run["start_calls"])
        calls = dict(run["calls"])
        sums = game.advance_checksum(calls, run["frames"], 60)
        expected = [int(text, 16) for _, text in run["checksums_every_60"]]
        assert sums == expected, (run["seed"], run["mode"])
        assert frame_row(game)[: len(run["final"])] == run["final"]
        assert (game.deaths, game.high_score) == (run["deaths"], run["high_score"])


def test_long_run_states_and_crashes(golden):
    for run in golden("trex", "engine_long.json")["runs"]:
        game = trex.Game(run["seed"], run["style"], invincible=run["mode"] == "random_inv")
        press(game, run["start_calls"])
        calls = dict(run["calls"])
        states = dict(run["states_every_300"])
        crashes = []
        for frame in range(1, run["frames"] + 1):
            press(game, calls.get(frame, ""))
            deaths = game.deaths
            game.step()
            if game.deaths > deaths:
                crashes.append([frame, game.score])
            if frame in states:
                assert frame_row(game) == states[frame]
        assert crashes == run["crashes[frame,score]"]


def test_collisions(golden):
    data = golden("trex", "collisions.json.gz")
    for kind, size, y, x, trex_x, trex_y, ducking, hit in data["list"]:
        o = obstacle_at(kind, size, y, x)
        assert trex.check_collision(trex_x, trex_y, bool(ducking), o) == bool(hit)
    for grid in data["grid"]:
        for row_index, row in enumerate(grid["rows"]):
            ducking, trex_y = divmod(row_index, 94)
            for x, digit in enumerate(row, grid["x_from"]):
                o = obstacle_at(grid["kind"], grid["size"], grid["y"], x)
                hit = trex.check_collision(23, trex_y, bool(ducking), o)
                assert hit == (digit == "1"), (grid["kind"], grid["size"], x, trex_y, ducking)


_shapes = {}


def obstacle_at(kind, size, y, x):
    """A view of one shape at x; shapes are made once at a speed that allows groups."""
    key = (kind, size, y, x)
    if key not in _shapes:
        made = trex.Obstacle(trex.Spec(KINDS[kind], size, y), 13.0)
        _shapes[key] = trex.ObstacleView(
            1,
            made.label,
            made.bird,
            x,
            made.y,
            made.width,
            made.height,
            made.speed_offset,
            made.boxes,
        )
    return _shapes[key]


def test_dinosaur_physics(golden):
    data = golden("trex", "physics.json.gz")
    for sequence in data["sequences"]:
        state = trex.TrexState(*sequence["start"])
        for action, enforced, moved, settled in sequence["frames"]:
            if action == "jump":
                state = trex.impulse_jump(state, sequence["speed"])
            state = trex.enforce(state, "duck" if action == "duck" else "run")
            assert list(state.astuple()) == enforced
            state = trex.trex_frame(state)
            assert list(state.astuple()) == moved
            state = trex.end_of_frame(state)
            assert list(state.astuple()) == settled
    for y, velocity, drop, ms_per_frame, expected in data["jump_step"]:
        new_y, new_velocity, reached, ended = trex.jump_step(y, velocity, bool(drop), ms_per_frame)
        assert [new_y, new_velocity, int(reached), int(ended)] == expected


def test_an_undisturbed_minute_scores_697(golden):
    """Speed and distance do not depend on seed or keys."""
    for style in ("original", "staged"):
        for seed in range(5):
            game = trex.Game(seed, style, invincible=True)
            game.press_jump()
            scores = []
            for _ in range(3600):
                game.step()
                scores.append(game.score)
            assert scores[-1] == 697
            assert all(a <= b for a, b in pairwise(scores))
