"""All 340 tick sequences: the earlier harness's scores, and the official rules on them."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from drive.golden_ticks import plain, ticks_of
from sysone.drive.profiles import FAILURES, LIST_OF, PROFILES
from sysone.drive.score import Event, score_route
from sysone.drive.ticks import BadTick, TickRecord, TickStore

FILE = "scoring_ticks.json.gz"


def test_per_tick_profile(golden: Callable[[str, str], Any]) -> None:
    cases = golden("drive", FILE)["cases"]
    assert len(cases) == 340
    for case in cases:
        score = score_route(
            case["id"],
            ticks_of(case),
            case["route_length"],
            case["route_road_ids"],
            case["timeout"],
            profile="per_tick",
            strict=False,
        )
        want = case["reference"]
        assert json.dumps(score.score_route) == json.dumps(plain(want["score_route"])), case["name"]
        assert score.score_penalty == pytest.approx(want["score_penalty"], abs=1e-6), case["name"]
        assert score.score_composed == pytest.approx(
            plain(want["score_composed"]), abs=1e-6, nan_ok=True
        ), case["name"]
        for name in ("status", "num_infractions", "success", "duration_game"):
            assert json.dumps(getattr(score, name)) == json.dumps(plain(want[name])), case["name"]
        places = {
            name: [(item.type, item.tick, item.sim_time) for item in items]
            for name, items in score.infractions.items()
        }
        assert json.dumps(places) == json.dumps(
            {
                name: [(i["type"], i["tick"], plain(i["sim_time"])) for i in items]
                for name, items in sorted(
                    want["infractions"].items(), key=lambda item: list(places).index(item[0])
                )
            }
        ), case["name"]


def test_official_rules_on_the_same_ticks(golden: Callable[[str, str], Any]) -> None:
    """Collisions and blocking anew from the ticks; red lights as they were found; no roads."""
    checked = 0
    for case in golden("drive", FILE)["cases"]:
        want = case.get("official_rules")
        if want is None:
            continue
        ticks = ticks_of(case)
        end = want["ended_at_tick"]
        kept = {"red_light"}
        events = [
            Event(item["type"], item["tick"], item["sim_time"])
            for items in case["reference"]["infractions"].values()
            for item in items
            if item["type"] in kept and (end is None or item["tick"] <= end)
        ]
        for tick in ticks:
            # what the official route criterion does: two digits, and the end reached within 10 m
            completion = round(tick.get("route_completion", 0.0), 2)
            tick["route_completion"] = 100.0 if completion > 99 else completion
        timeout = case["timeout"] and end is None
        score = score_route(case["id"], ticks, case["route_length"], None, timeout, events)
        counts = Counter(
            {f"collision_{kind.split('_')[1].lower()}": n for kind, n in want["collisions"].items()}
        )
        found = Counter(
            item.type
            for items in score.infractions.values()
            for item in items
            if item.type.startswith("collision")
        )
        assert found == counts, case["name"]
        assert len(score.infractions.get("vehicle_blocked", [])) == want["blocked"], case["name"]
        for name, value in want["scores"].items():
            assert getattr(score, name) == pytest.approx(value, abs=1e-6), (case["name"], name)
        assert score.status == want["status"], case["name"]
        assert score.num_infractions == want["num_infractions"], case["name"]
        checked += 1
    assert checked == 326


def test_same_events_to_the_official_fold(golden: Callable[[str, str], Any]) -> None:
    """The reference's events as events of the official profile, on one tick of that completion."""
    for case in golden("drive", FILE)["cases"]:
        want = case.get("official_same_events")
        if want is None:
            continue
        reference = case["reference"]
        tick = {
            "tick": 1,
            "sim_time": reference["duration_game"],
            "ego_speed": 8.0,
            "route_completion": reference["score_route"],
        }
        events = [
            Event(item["type"])
            for items in reference["infractions"].values()
            for item in items
            if item["type"] != "route_timeout"
        ]
        score = score_route(0, [tick], case["route_length"], None, case["timeout"], events)
        assert score.score_penalty == pytest.approx(want["scores"]["score_penalty"], abs=1e-6)
        assert score.score_composed == pytest.approx(want["scores"]["score_composed"], abs=1e-6)
        assert score.status == want["status"], case["name"]
        assert score.num_infractions == want["num_infractions"], case["name"]


def test_strict_refuses_what_is_not_finite(golden: Callable[[str, str], Any]) -> None:
    cases = [c for c in golden("drive", FILE)["cases"] if "nonfinite" in c["tags"]]
    assert len(cases) == 14
    for case in cases:
        for profile in PROFILES:
            with pytest.raises(BadTick, match=r"tick \d+: \w+ is .*(nan|inf)"):
                score_route(0, ticks_of(case), 100.0, profile=profile)


def test_dictionaries_records_and_columns_score_the_same(
    golden: Callable[[str, str], Any],
) -> None:
    for case in golden("drive", FILE)["cases"][:330:7]:
        if "missing_keys" in case["tags"] or "nonfinite" in case["tags"]:
            continue
        ticks = ticks_of(case)
        for profile in PROFILES:
            first, second, third = (
                score_route(0, given, 100.0, case["route_road_ids"], profile=profile)
                for given in (ticks, [TickRecord(**tick) for tick in ticks], TickStore(ticks))
            )
            assert asdict(first) == asdict(second) == asdict(third)


def test_every_failure_has_a_list() -> None:
    assert set(FAILURES) <= set(LIST_OF)
