from collections.abc import Callable
from typing import Any

from sysone.drive.aggregate import LABELS, success_rates
from sysone.drive.records import (
    entry_status,
    global_record,
    result_file,
    route_record,
    success_bench2drive,
    values_of,
)
from sysone.drive.score import Event, score_route, with_failure


def test_every_record(golden: Callable[[str, str], Any]) -> None:
    cases = golden("drive", "official_records.json.gz")["cases"]
    assert len(cases) == 160
    for case in cases:
        events = [
            Event(
                event["type"],
                message=event["message"],
                percentage=event.get("percentage"),
                distance=event.get("distance"),
            )
            for event in case["events"]
        ]
        tick = {
            "tick": 1,
            "sim_time": case["duration_game"],
            "ego_speed": 8.0,
            "route_completion": case["route_completed"],
        }
        score = score_route(
            0, [tick], case["route_length"], timeout=case["route_timeout"], events=events
        )
        if case["failure_message"]:
            score = with_failure(score, case["failure_message"])
        want = case["record"]
        record = route_record(
            score,
            route_name=want["route_id"],
            town=want["town_name"],
            save_name=want["save_name"],
            duration_system_s=case["duration_game"],
            index=want["index"],
        )
        assert record == want, case["id"]
        assert list(record) == list(want)
        assert success_bench2drive(record) == case["success_bench2drive"]


def test_every_group(golden: Callable[[str, str], Any]) -> None:
    data = golden("drive", "official_records.json.gz")
    records = {case["id"]: case["record"] for case in data["cases"]}
    assert len(data["groups"]) == 30
    for group in data["groups"]:
        named = [
            {**records[i], "index": k, "route_id": f"RouteScenario_{k}_rep0"}
            for k, i in enumerate(group["case_ids"])
        ]
        total = group["total_routes"]
        overall = global_record(named, total)
        assert overall == group["global_record"]
        assert values_of(overall) == group["values"]
        assert [label for label, _ in LABELS] == group["labels"]
        assert entry_status(named, total, True) == (group["entry_status"], group["eligible"])
        share = sum(map(success_bench2drive, named)) / len(named)  # of those at hand
        assert abs(share - group["bench2drive_sr_over_n"]) < 1e-12
        completed = sum(r["status"] in ("Completed", "Perfect") for r in named)
        assert round(100 * completed / len(named), 2) == group["seed_sr_percent"]
        file = result_file(named, total, sensors=[], finished=True)
        assert file["_checkpoint"]["global_record"] == group["global_record"]


def test_three_rates_have_three_meanings() -> None:
    def drive(events: list[Event], completion: float = 100.0) -> Any:
        tick = {"tick": 1, "sim_time": 1.0, "ego_speed": 8.0, "route_completion": completion}
        return score_route(0, [tick], 100.0, events=events)

    scores = [
        drive([]),
        drive([Event("min_speed", percentage=50.0)]),
        drive([Event("red_light")]),
        drive([], 50.0),
    ]
    assert success_rates(scores, 4) == {
        "sr_completed": 75.0,
        "sr_bench2drive": 50.0,
        "sr_full": 50.0,
    }
