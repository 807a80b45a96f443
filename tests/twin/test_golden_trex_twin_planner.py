"""The pure-Python twin against recorded plans, worlds and shield answers."""

from collections.abc import Callable
from typing import Any

import pytest

from twin.golden_rows import plan_row, snapshot
from twin.planner import Planner, World
from twin.shield import protect

Golden = Callable[[str, str], Any]


@pytest.mark.parametrize(
    ("name", "every"),
    [("planner_benchmark.json.gz", 1), ("planner_varied.json.gz", 4), ("planner_extreme.json", 25)],
)
def test_plans(golden: Golden, name: str, every: int) -> None:
    data = golden("trex", name)
    planner = Planner()
    # A part of the plans: the twin is slow, and the compiled core checks them all.
    for row in data["plans"][::every]:
        snap = snapshot(data["snapshots"][row["snap"]])
        plan = planner.plan(snap, tuple(row["first"]), tuple(row["gap"]), row["period"])
        assert plan_row(plan) == row["plan"]
        assert planner.horizon(snap) == row["detail"]["horizon_raw"]


def test_worlds(golden: Golden) -> None:
    for table in golden("trex", "planner_world.json")["tables"]:
        snap = snapshot(table["snap"])
        world = World(snap, table["horizon"])
        frames = range(1, table["horizon"] + 1)
        assert [world.speed[k] for k in frames] == table["speed"]
        assert world.birds == table["birds"]
        assert [list(item) for item in world.passed.items()] == table["passed"]
        for k, wanted in zip(frames, table["first[id,outer_x,inner_boxes_present]"], strict=True):
            first = world.first[k]
            # The recorded x is that of the outer box, one pixel inside the obstacle.
            assert (first and [first[0].id, first[1] + 1]) == (wanted and wanted[:2])
        assert Planner().horizon(snap) == table["planner_horizon"]


def test_shield(golden: Golden) -> None:
    data = golden("trex", "safety.json.gz")
    snapshots = [snapshot(row) for row in data["snapshots"]]
    for index, action, urgent, horizon, wanted in data["cases"][::2]:
        assert protect(snapshots[index], action, urgent, horizon) == wanted
