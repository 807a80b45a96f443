from collections.abc import Callable
from typing import Any

import pytest

from drive.golden_ticks import ticks_of
from sysone.drive.aggregate import aggregate
from sysone.drive.score import score_route


def test_every_group(golden: Callable[[str, str], Any]) -> None:
    cases = {c["id"]: c for c in golden("drive", "scoring_ticks.json.gz")["cases"]}
    groups = golden("drive", "aggregates.json")["groups"]
    assert len(groups) == 40
    for group in groups:
        scores = [
            score_route(
                case["id"],
                ticks_of(case),
                case["route_length"],
                case["route_road_ids"],
                case["timeout"],
                profile="per_tick",
                strict=False,
            )
            for case in (cases[i] for i in group["case_ids"])
        ]
        found = aggregate(scores)
        for name, value in group["expected"].items():
            if isinstance(value, str):
                assert found[name] == value
            else:
                assert found[name] == pytest.approx(value, abs=1e-6), (name, group["case_ids"])


def test_missing_drives_count_nothing() -> None:
    tick = {"tick": 1, "sim_time": 0.05, "ego_speed": 1.0, "route_completion": 100.0}
    scores = [score_route(i, [tick], 100.0) for i in range(3)]
    found = aggregate(scores, expected=4)
    assert (found["score_composed"], found["missing"]) == (75.0, 1)
    assert found["sr_bench2drive"] == found["sr_completed"] == found["sr_full"] == 75.0
