"""The pure-Python twin against recorded games, courses and physics."""

import copy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from twin.course import course_spec, phase
from twin.engine import CALLS, Game, jump_step
from twin.golden_rows import KIND_NAMES, frame_row, scenery_row, spec_row, trex
from twin.obstacle import Spec, collides, js_round, make_obstacle, obstacle_step
from twin.planner import after, end_of_frame, enforce, impulse_jump, trex_frame

Golden = Callable[[str, str], Any]


def test_streams(golden: Golden) -> None:
    for key, values in golden("trex", "rng_streams.json")["streams"]:
        stream = Random(key)
        assert [stream.random() for _ in values] == values, key


def test_courses(golden: Golden) -> None:
    for course in golden("trex", "courses.json.gz")["courses"]:
        for index, _, speed, history, asked, used, made, phase_name in course["obstacles"]:
            names = [KIND_NAMES[code] for code in history]
            place = (course["seed"], course["run_index"], index, speed, names)
            spec = course_spec(course["style"], *place)
            assert [*spec_row(spec), spec.source] == asked == used
            assert obstacle_row(make_obstacle(spec, speed)) == made
            assert phase(index, speed)[0] == phase_name


def test_course_specs(golden: Golden) -> None:
    for seed, run, index, speed, history, *wanted in golden("trex", "course_specs.json.gz")[
        "cases"
    ]:
        names = [KIND_NAMES[code] for code in history]
        place = (seed, run, index, speed, names)
        styles = [spec_row(course_spec(style, *place)) for style in ("original", "staged")]
        assert [*styles, phase(index, speed)[0]] == wanted


def test_obstacles(golden: Golden) -> None:
    data = golden("trex", "obstacles.json")
    for kind, size, y, gap, faster, speed, made in data["cases"]:
        spec = Spec(KIND_NAMES[kind], size, y, gap, bool(faster))
        assert obstacle_row(make_obstacle(spec, speed)) == made
    for speed, offset, step in data["obstacle_step"]:
        assert obstacle_step(speed, offset) == step
    for value, rounded in data["js_round"]:
        assert js_round(value) == rounded


def obstacle_row(o: Any) -> list[Any]:
    boxes = [list(box) for box in o.boxes]
    return [o.size, o.width, o.x, o.y, o.offset, o.gap, o.label, boxes]


def test_physics(golden: Golden) -> None:
    data = golden("trex", "physics.json.gz")
    for sequence in data["sequences"]:
        state = trex(sequence["start"])
        for action, *wanted in sequence["frames"]:
            if action == "jump":
                state = impulse_jump(state, sequence["speed"])
            enforced = enforce(state, after(action))
            moved = trex_frame(enforced)
            state = end_of_frame(moved)
            assert [list(enforced), list(moved), list(state)] == wanted
    for y, velocity, drop, ms_per_frame, wanted in data["jump_step"]:
        assert list(jump_step(y, velocity, bool(drop), ms_per_frame)) == wanted


@pytest.mark.parametrize("scenery", [False, True])
def test_games_frame_by_frame(golden: Golden, scenery: bool) -> None:
    for trace in golden("trex", "engine_short.json.gz")["traces"]:
        game = Game(trace["seed"], trace["style"], trace["invincible"], scenery)
        for letter in trace["start_calls"]:
            CALLS[letter](game)
        assert frame_row(game) == trace["state_after_start"]
        events, drawn = [], []
        frames = zip(trace["calls"], trace["frames"], strict=True)
        for frame, (letters, wanted) in enumerate(frames, start=1):
            for letter in letters:
                CALLS[letter](game)
            game.step()
            assert frame_row(game) == wanted, (trace["seed"], trace["policy"], frame)
            if game.events:
                events.append([frame, game.events])
                game.events = []
            if scenery and frame % 30 == 0:
                drawn.append([frame, copy.deepcopy(scenery_row(game))])
        assert drawn == (trace["scenery_every_30"] if scenery else [])
        assert [[frame, names] for frame, names in trace["events"]] == events
        assert (game.deaths, game.high_score) == (trace["deaths"], trace["high_score"])


def test_long_games_by_checksum(golden: Golden) -> None:
    runs = golden("trex", "engine_long.json")["runs"]
    # One run of each mode: hashing byte by byte is what takes time here.
    for run in {run["mode"]: run for run in runs}.values():
        invincible = run["mode"] == "random_inv"
        game = Game(run["seed"], run["style"], invincible)
        for letter in run["start_calls"]:
            CALLS[letter](game)
        calls = dict(run["calls"])
        checksums, digest = [], 0xCBF29CE484222325
        for frame in range(1, 1801):
            for letter in calls.get(frame, ""):
                CALLS[letter](game)
            game.step()
            for byte in game.packed_record():
                digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
            if frame % 60 == 0:
                checksums.append([frame, f"{digest:016x}"])
        assert checksums == run["checksums_every_60"][:30], (run["seed"], run["mode"])


def test_collisions(golden: Golden) -> None:
    data = golden("trex", "collisions.json.gz")
    for kind, size, y, x, trex_x, trex_y, ducking, hit in data["list"]:
        o = make_obstacle(Spec(KIND_NAMES[kind], size, y), 13)
        shape = (y, o.width, o.height, o.boxes)
        assert collides(trex_x, trex_y, bool(ducking), x, *shape) == hit
    for grid in data["grid"]:
        o = make_obstacle(Spec(KIND_NAMES[grid["kind"]], grid["size"], grid["y"]), 13)
        shape = (o.y, o.width, o.height, o.boxes)
        places = range(grid["x_from"], grid["x_to"] + 1)
        # Every third height: the whole table is the compiled core's to check.
        for row in range(0, 188, 3):
            hits = [collides(23, row % 94, row >= 94, x, *shape) for x in places]
            assert "".join("01"[hit] for hit in hits) == grid["rows"][row]
