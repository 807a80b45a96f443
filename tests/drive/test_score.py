"""Scoring beyond the golden data: folds against their twin, files of ticks, plain mistakes."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysone.drive.aggregate import paired_bootstrap
from sysone.drive.profiles import INFRACTION_NAMES, PENALTY_VALUE_DICT, PROFILES
from sysone.drive.score import Event, score_route
from sysone.drive.ticks import BadTick, TickStore, read_ticks
from sysone.runs.errors import RunError
from sysone_core import driving_score
from twin import driving_score as twin

OFFICIAL_RULES: dict[str, Any] = {
    "debounced": True,
    "red_from_ticks": False,
    "deviation_from_ticks": False,
    "blocked_speed": 0.1,
    "blocked_s": 60.0,
    "blocked_strict": True,
    "blocked_ends": True,
    "reached_percent": 100.0,
}

tick_choices = st.fixed_dictionaries(
    {
        "ego_speed": st.sampled_from([0.0, 0.04, 0.05, 0.09, 0.1, 1.0, 1.01, 8.0, float("nan")]),
        "collision_impulse": st.sampled_from([None, None, None, 0.0, 350.0]),
        "collision_actor": st.sampled_from(
            [None, "vehicle.tesla.model3", "walker.pedestrian.1", "static.sidewalk", "Vehicle.x"]
        ),
        "collision_actor_id": st.sampled_from([None, 0, 7, 8]),
        "traffic_light_state": st.sampled_from([None, "Red", "Red", "Green"]),
        "is_junction": st.booleans(),
        "road_id": st.sampled_from([None, 0, 3, 8]),
        "route_completion": st.sampled_from([0.0, 50.0, 99.0, 100.0]),
    }
)


def drive(parts: list[tuple[dict[str, Any], int]], dt: float) -> list[dict[str, Any]]:
    ticks: list[dict[str, Any]] = []
    for part, count in parts:
        for _ in range(count):
            number = len(ticks) + 1
            place = [0.7 * number % 40, 0.0, 0.0]
            ticks.append({"tick": number, "sim_time": number * dt, "ego_location": place, **part})
    return ticks


@given(
    parts=st.lists(st.tuples(tick_choices, st.integers(1, 60)), max_size=12),
    dt=st.sampled_from([0.05, 0.5, 2.0]),
    roads=st.sampled_from([None, [], [8], [3, 8]]),
    official=st.booleans(),
)
def test_folds_equal_their_twin(
    parts: list[tuple[dict[str, Any], int]], dt: float, roads: list[int] | None, official: bool
) -> None:
    ticks = drive(parts, dt)
    rules = OFFICIAL_RULES if official else {}
    want = twin.fold_dicts(ticks, roads, **rules)
    assert driving_score.fold_dicts(ticks, roads, **rules) == want
    columns = TickStore(ticks).scoring_columns()
    classify = driving_score.official_class if official else driving_score.per_tick_class
    found = driving_score.fold_columns(
        columns.sim_time,
        columns.speed,
        columns.completion,
        columns.location,
        columns.red,
        columns.junction,
        columns.road,
        columns.road_known,
        [(index, contact[0], classify(contact[1])) for index, contact in columns.contacts],
        roads,
        **rules,
    )
    assert found == want


def test_classes_equal_their_twin() -> None:
    for actor in (None, "", "static.x", "traffic.light", "static.sidewalk", "walker.1", "VEHICLE"):
        assert driving_score.official_class(actor) == twin.official_class(actor)
        assert driving_score.per_tick_class(actor) == twin.per_tick_class(actor)


def test_the_fold_checks_what_it_is_given() -> None:
    none = np.zeros(0)
    flags = np.zeros(0, dtype=np.uint8)
    with pytest.raises(ValueError, match="columns of 0 and 1 ticks"):
        driving_score.fold_columns(
            none, np.zeros(1), none, np.zeros((0, 3)), flags, flags, flags.astype("i8"), flags, []
        )
    with pytest.raises(ValueError, match="contact at tick 5 of 0"):
        driving_score.fold_columns(
            none,
            none,
            none,
            np.zeros((0, 3)),
            flags,
            flags,
            flags.astype("i8"),
            flags,
            [(5, 0, 0)],
        )


def test_the_official_table() -> None:
    """As published with the CARLA leaderboard, by name."""
    assert dict(PENALTY_VALUE_DICT) == {
        "collision_pedestrian": 0.5,
        "collision_vehicle": 0.6,
        "collision_static": 0.65,
        "red_light": 0.7,
        "stop_infraction": 0.8,
        "scenario_timeout": 0.7,
        "yield_emergency": 0.7,
    }
    with pytest.raises(TypeError):
        PENALTY_VALUE_DICT["red_light"] = 1.0  # type: ignore[index]
    assert INFRACTION_NAMES == (
        "collisions_layout",
        "collisions_pedestrian",
        "collisions_vehicle",
        "red_light",
        "stop_infraction",
        "outside_route_lanes",
        "min_speed_infractions",
        "yield_emergency_vehicle_infractions",
        "scenario_timeouts",
        "route_dev",
        "vehicle_blocked",
        "route_timeout",
    )


def one_tick(**more: Any) -> dict[str, Any]:
    return {"tick": 1, "sim_time": 1.0, "ego_speed": 8.0, "route_completion": 100.0, **more}


def test_a_long_contact_is_one_collision_officially() -> None:
    ticks = [
        one_tick(
            tick=i + 1,
            sim_time=0.05 * i,
            collision_impulse=200.0 if 10 <= i < 50 else None,
            collision_actor="vehicle.tesla.model3",
            collision_actor_id=7,
        )
        for i in range(60)
    ]
    assert score_route(0, ticks, 100.0).score_penalty == 0.6
    assert score_route(0, ticks, 100.0, profile="per_tick").score_penalty == 0.0


def test_min_speed_counts_in_the_leaderboard_alone() -> None:
    events = [Event("min_speed", percentage=50.0)]
    assert score_route(0, [one_tick()], 1.0, events=events).score_penalty == 1.0
    score = score_route(0, [one_tick()], 1.0, events=events, profile="leaderboard2")
    assert score.score_penalty == pytest.approx(0.85)


def test_several_contacts_of_one_tick() -> None:
    tick = one_tick(
        collision_impulse=900.0,
        collision_actor="vehicle.a",
        collision_actor_id=3,
        contacts=[[3, "vehicle.a", 900.0], [4, "walker.b", 10.0]],
    )
    for profile in PROFILES:
        found = score_route(0, [tick], 1.0, profile=profile).infractions
        assert list(found) == ["collisions_vehicle"]  # the second is within 5 m of the first


def test_mistakes_are_named() -> None:
    with pytest.raises(BadTick, match="tick 1: sim_time is None, expected a number"):
        score_route(0, [{"tick": 1}], 1.0)
    with pytest.raises(BadTick, match=r"tick 2: sim_time is 0\.5, expected at least"):
        score_route(0, [one_tick(), one_tick(tick=2, sim_time=0.5)], 1.0)
    with pytest.raises(BadTick, match="tick 1: ego_speed is 'fast', expected a value of its type"):
        score_route(0, [one_tick(ego_speed="fast")], 1.0)
    with pytest.raises(ValueError, match="profile is 'x', expected one of per_tick"):
        score_route(0, [], 1.0, profile="x")
    with pytest.raises(ValueError, match="event type is 'x', expected one of collision_static"):
        score_route(0, [], 1.0, events=[Event("x")])


def random_ticks(count: int, seed: int) -> list[dict[str, Any]]:
    pick = random.Random(seed)
    return [
        one_tick(
            tick=i + 1,
            timestamp=1.7e9 + i / 3,
            sim_time=i * 0.05,
            ego_location=[pick.uniform(-99, 99), pick.random(), 0.0],
            collision_impulse=pick.choice([None, None, pick.random()]),
            collision_actor=pick.choice([None, "vehicle.é"]),
            road_id=pick.choice([None, 8, -3]),
            is_junction=pick.random() < 0.5,
            control={"throttle": pick.random(), "brake": 0.0, "steer": -0.5},
            events=[{"type": "red_light", "tick": i}] if i % 9 == 0 else None,
            forward_vector=[1.0, 0.0, 0.0],
            control_source="agent",
        )
        for i in range(count)
    ]


def test_ticks_survive_the_file(tmp_path: Path) -> None:
    store = TickStore(random_ticks(300, 4))
    written = store.write(tmp_path / "ticks.jsonl.gz", {"dt": 0.05})
    assert written == store.write(tmp_path / "again.jsonl.gz", {"dt": 0.05})
    back, header = read_ticks(tmp_path / "ticks.jsonl.gz")
    assert header["dt"] == 0.05
    assert list(back) == list(store)
    assert back.dumps({"dt": 0.05}) == store.dumps({"dt": 0.05})
    assert score_route(0, back, 9.0) == score_route(0, store, 9.0)


def test_what_is_not_finite_survives_the_file(tmp_path: Path) -> None:
    ticks = [one_tick(ego_speed=float("inf"), ego_location=[float("nan"), 0.0, 0.0])]
    TickStore(ticks).write(tmp_path / "t.jsonl.gz")
    text = gzip.decompress((tmp_path / "t.jsonl.gz").read_bytes()).decode()
    assert '"NaN"' in text
    back, _ = read_ticks(tmp_path / "t.jsonl.gz")
    assert back[0]["ego_speed"] == float("inf")
    assert str(back[0]["ego_location"][0]) == "nan"


def test_older_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps([one_tick(), one_tick(tick=2, sim_time=2.0)]))
    store, header = read_ticks(tmp_path / "old.json")
    assert (len(store), header) == (2, {})


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"schema": 9}\n', "no header of ticks with schema 2"),
        ("b.json", b"[1]", "expected a JSON array of ticks"),
        ("c.jsonl.gz", b"no gzip", "is not a whole gzip file"),
        ("d.jsonl", b'{"schema":2,"fields":["tick"]}\n[1,2]\n', "line 2: expected an array of 1"),
        ("e.jsonl", b"{", "is not a file of ticks"),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RunError, match=message):
        read_ticks(tmp_path / name)
    with pytest.raises(RunError, match="cannot read"):
        read_ticks(tmp_path / "absent.json")


def test_paired_bootstrap() -> None:
    pick = random.Random(1)
    theirs = {i: pick.uniform(0, 100) for i in range(40)}
    ours = {i: value + pick.uniform(4, 6) for i, value in theirs.items()}
    found = paired_bootstrap(ours, theirs)
    assert found == paired_bootstrap(ours, theirs)
    assert found.low < found.mean < found.high
    assert found.low > 4.5
    assert found.high < 5.5
    assert found.pairs == 40
    with pytest.raises(ValueError, match="share no drive"):
        paired_bootstrap({1: 0.0}, {2: 0.0})
