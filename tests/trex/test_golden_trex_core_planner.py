"""The compiled planner and shield against the reference's plans, worlds and shield results."""

import pytest

from sysone_core import trex


def snapshot_of(raw):
    """A snapshot from the golden files' layout."""
    return trex.Snapshot(
        trex.TrexState(*raw["trex"]),
        raw["trex_x"],
        raw["speed"],
        [
            trex.ObstacleView(*fields, [tuple(box) for box in boxes])
            for *fields, boxes in raw["obstacles"]
        ],
        raw["held"],
        raw["playing"],
        raw["pending"],
    )


def plan_row(plan):
    return {
        "safe": [int(plan.safe[a]) for a in trex.ACTIONS],
        "best": plan.best,
        "airborne": plan.airborne,
        "threat": plan.threat,
        "ahead": plan.ahead,
        "distance": plan.distance,
        "eta_ms": plan.eta_ms,
        "notes": [plan.notes[a] for a in trex.ACTIONS],
        "states": plan.states,
        "robust": plan.robust,
        "subjects": list(plan.subjects),
    }


@pytest.mark.parametrize(
    "name", ["planner_benchmark.json.gz", "planner_varied.json.gz", "planner_extreme.json"]
)
def test_plans(golden, name):
    data = golden("trex", name)
    snapshots = [snapshot_of(raw) for raw in data["snapshots"]]
    planner = trex.Planner()
    for number, row in enumerate(data["plans"]):
        snap = snapshots[row["snap"]]
        plan = planner.plan(snap, tuple(row["first"]), tuple(row["gap"]), row["period"])
        assert plan_row(plan) == row["plan"], (number, row["detail"])
        assert plan.safe_actions == [a for a in trex.ACTIONS if plan.safe[a]]
        if snap.obstacles:
            assert planner.horizon(snap) == row["detail"]["horizon_raw"]


def test_worlds(golden):
    for table in golden("trex", "planner_world.json")["tables"]:
        snap = snapshot_of(table["snap"])
        world = trex.World(snap, table["horizon"])
        frames = range(1, table["horizon"] + 1)
        assert [world.speed(k) for k in frames] == table["speed"]
        assert world.birds == table["birds"]
        assert [list(item) for item in world.passed.items()] == table["passed"]
        for k, expected in zip(frames, table["first[id,outer_x,inner_boxes_present]"], strict=True):
            first = world.first(k)
            if expected is None:
                assert first is None
                continue
            # the reference keeps the outer box, one pixel inside
            assert first == (expected[0], expected[1] - 1)


def test_shield(golden):
    data = golden("trex", "safety.json.gz")
    snapshots = [snapshot_of(raw) for raw in data["snapshots"]]
    for index, action, urgent, horizon, expected in data["cases"]:
        assert trex.protect(snapshots[index], action, urgent, horizon) == expected
