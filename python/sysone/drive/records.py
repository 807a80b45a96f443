"""The leaderboard's result file: a record for each drive, the global record, values and labels."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sysone.drive.aggregate import LABELS, infractions_per_km
from sysone.drive.score import RouteScore
from sysone.runs.sums import in_order

REJECTED: Final = "Agent's sensors were invalid"
CRASHED: Final = "Simulation crashed"
_SUCCESS: Final = ("Completed", "Perfect")


def route_record(
    score: RouteScore,
    *,
    route_name: str,
    town: str,
    scenario: str = "none",
    weather_id: int = 0,
    save_name: str,
    duration_system_s: float,
    index: int = 0,
    extra: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """One drive as the leaderboard's file has it; ``extra`` goes under ``x_drive``."""
    record: dict[str, Any] = {
        "index": index,
        "route_id": route_name,
        "scenario_name": scenario,
        "weather_id": weather_id,
        "save_name": save_name,
        "status": score.status,
        "num_infractions": score.num_infractions,
        "infractions": score.texts(),
        "scores": {
            "score_route": score.score_route,
            "score_penalty": score.score_penalty,
            "score_composed": score.score_composed,
        },
        "meta": {
            "route_length": round(score.route_length, 3),
            "duration_game": round(score.duration_game, 3),
            "duration_system": round(duration_system_s, 3),
        },
        "town_name": town,
    }
    if extra is not None:
        record["x_drive"] = dict(extra)
    return record


def success_bench2drive(record: Mapping[str, Any]) -> bool:
    """Completed or Perfect, and no infraction but min speed."""
    return record["status"] in _SUCCESS and not any(
        texts for name, texts in record["infractions"].items() if name != "min_speed_infractions"
    )


def global_record(records: Sequence[Mapping[str, Any]], total_routes: int) -> dict[str, Any]:
    """The record over all drives.

    Missing ones count 0 in the means and are left out of the deviations' sums (not of their n).
    """
    count = max(total_routes, len(records))
    means, deviations = {}, {}
    for name in ("score_composed", "score_route", "score_penalty"):
        values = [float(record["scores"][name]) for record in records]
        # divided before it is summed, as the official code does, for the last digit's sake
        mean = in_order(value / count for value in values)
        means[name] = round(mean, 6)
        squares = in_order((value - mean) ** 2 for value in values)
        deviations[name] = round(math.sqrt(squares / (count - 1)), 3) if count > 1 else 0.0
    statuses = [record["status"] for record in records]
    exceptions = [
        [record["route_id"], record["index"], record["status"]]
        for record in records
        if record["status"] not in (*_SUCCESS, "Started")
    ]
    metas = [record["meta"] for record in records]
    status = "Failed" if exceptions else "Completed"
    if statuses and all(one == "Perfect" for one in statuses):
        status = "Perfect"
    return {
        "index": -1,
        "route_id": -1,
        "status": status,
        "infractions": infractions_per_km(
            [record["infractions"] for record in records],
            [meta["route_length"] for meta in metas],
            [record["scores"]["score_route"] for record in records],
        ),
        "scores_mean": means,
        "scores_std_dev": deviations,
        "meta": {
            "total_length": in_order(meta["route_length"] for meta in metas),
            "duration_game": in_order(meta["duration_game"] for meta in metas),
            "duration_system": in_order(meta["duration_system"] for meta in metas),
            "exceptions": exceptions,
        },
    }


def values_of(record: Mapping[str, Any]) -> list[str]:
    """The global record's numbers as texts, in the order of the labels."""
    return [
        str(record["scores_mean"][key] if key.startswith("score") else record["infractions"][key])
        for _, key in LABELS
    ]


def entry_status(
    records: Sequence[Mapping[str, Any]], expected: int, finished: bool
) -> tuple[str, bool]:
    """The file's status, and whether it is eligible."""
    statuses = [record["status"] for record in records]
    if any(REJECTED in status for status in statuses):
        return "Rejected", False
    if any(CRASHED in status for status in statuses):
        return "Crashed", False
    names = [record["route_id"] for record in records]
    if len(set(names)) != len(names) or len(records) > expected:
        return "Invalid", False
    return ("Finished", True) if finished else ("Started", False)


def result_file(
    records: Sequence[Mapping[str, Any]],
    expected: int,
    *,
    sensors: Sequence[str],
    finished: bool,
) -> dict[str, Any]:
    """``leaderboard/result.json``: what merge, efficiency and ability tools read."""
    numbered = [{**record, "index": index} for index, record in enumerate(records)]
    status, eligible = entry_status(numbered, expected, finished)
    overall = global_record(numbered, expected) if numbered else {}
    return {
        "_checkpoint": {
            "global_record": overall,
            "progress": [len(numbered), expected],
            "records": numbered,
        },
        "entry_status": status,
        "eligible": eligible,
        "sensors": list(sensors),
        "values": values_of(overall) if overall else [],
        "labels": [label for label, _ in LABELS] if overall else [],
    }
