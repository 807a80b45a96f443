"""105 scripted drives: every event with its tick, the completion, the end and the final record."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sysone.drive.clientmap import open_map
from sysone.drive.criteria import Criteria
from sysone.drive.profiles import PROFILES
from sysone.drive.records import route_record
from sysone.drive.roadmap import RoadMap
from sysone.drive.routeline import Moment, RouteLine, RoutePoint, TriggerBox
from sysone.drive.score import Event, score_route
from sysone.drive.ticks import TickRecord, TickStore

HALF_LENGTH = 2.44
TYPES = {
    "TRAFFIC_LIGHT_INFRACTION": "red_light",
    "STOP_INFRACTION": "stop_infraction",
    "OUTSIDE_ROUTE_LANES_INFRACTION": "outside_route_lanes",
    "MIN_SPEED_INFRACTION": "min_speed",
    "ROUTE_DEVIATION": "route_dev",
    "VEHICLE_BLOCKED": "vehicle_blocked",
    "COLLISION_VEHICLE": "collision_vehicle",
    "COLLISION_STATIC": "collision_static",
    "COLLISION_PEDESTRIAN": "collision_pedestrian",
}


def drive(
    case: dict[str, Any], road_map: RoadMap
) -> tuple[Criteria, TickStore, list[float], list[Event]]:
    """Run the criteria over a scripted drive, as the executor does."""
    route = RouteLine([RoutePoint(x, y, z, math.radians(yaw)) for x, y, z, yaw in case["route"]])
    boxes = [
        TriggerBox(
            light["id"],
            "light" if "light" in light["kind"] else "stop",
            light["x"],
            light["y"],
            0.0,
            math.radians(light["yaw"]),
            light["extent"][0],
            light["extent"][1],
        )
        for light in case["lights"]
    ]
    criteria = Criteria(
        route, road_map, boxes, PROFILES["bench2drive"], half_length=HALF_LENGTH, tick_cap=10**9
    )
    reds = {int(key): spans for key, spans in case["light_red_intervals"].items()}
    contacts: dict[int, list[Any]] = {}
    for contact in case["contacts"]:
        contacts.setdefault(contact["tick"], []).append(contact)
    store = TickStore()
    percents: list[float] = []
    last: Moment | None = None
    path = case["trajectory"]
    for i, t in enumerate(path["t"]):
        tick, x, y, yaw = i + 1, path["x"][i], path["y"][i], math.radians(path["yaw"][i])
        lights = {
            light: "Red" if any(a <= t and (b is None or t < b) for a, b in spans) else "Green"
            for light, spans in reds.items()
        }
        lane = road_map.nearest(x, y)
        speed = path["speed"][i]
        last = Moment(tick, t, x, y, 0.0, yaw, speed, speed, lane, lights)
        criteria.update(last)
        percents.append(criteria.completion.percent)
        here = contacts.get(tick)
        store.append(
            TickRecord(
                tick,
                t,
                t,
                (x, y, 0.0),
                (speed * math.cos(yaw), speed * math.sin(yaw), 0.0),
                speed,
                (0.0, 0.0, 0.0),
                collision_impulse=100.0 if here else None,
                collision_actor=here[0]["type_id"] if here else None,
                collision_actor_id=here[0]["actor_id"] if here else None,
                contacts=[(c["actor_id"], c["type_id"], 100.0) for c in here] if here else None,
                route_completion=criteria.completion.percent,
            )
        )
        if criteria.end is not None:
            break
    events = criteria.events
    if criteria.end is None and last is not None:
        events += criteria.close(last)
    return criteria, store, percents, events


@pytest.fixture(scope="module")
def mini_grid(map_reader: str) -> RoadMap:
    path = Path(__file__).parent.parent / "data" / "drive" / "mini_grid.xodr"
    return open_map(path, map_reader)


def test_every_drive(golden: Callable[[str, str], Any], mini_grid: RoadMap) -> None:
    cases = golden("drive", "criteria.json.gz")["cases"]
    assert len(cases) == 105
    wrong = []
    for case in cases:
        want = case["expected"]
        criteria, store, percents, events = drive(case, mini_grid)
        score = score_route(
            0,
            store,
            criteria.route.length,
            timeout=criteria.timed_out,
            events=[event for event in events if event.type != "vehicle_blocked"],
        )
        found = sorted(
            (item.type, item.tick, item.detail)
            for items in score.infractions.values()
            for item in items
            if item.type != "route_timeout"
        )
        expected = sorted((TYPES[e["type"]], e["frame"], e["message"]) for e in want["events"])
        record = route_record(
            score,
            route_name=want["record"]["route_id"],
            town="MiniGrid",
            save_name=want["record"]["save_name"],
            duration_system_s=score.duration_game,
        )
        # The file's route points have 4 decimals: a share of the route is exact to 1e-7 only.
        scores, wanted = record["scores"], want["record"]["scores"]
        for name in ("score_penalty", "score_composed"):
            assert scores[name] == pytest.approx(wanted[name], abs=5e-6)
            scores[name] = wanted[name]
        checks = {
            "end": (criteria.end or "trajectory_end", want["end"]),
            "end_tick": (len(store), want["end_tick"]),
            "events": (found, expected),
            "percents": (percents[::20], want["completion_every_20"]),
            "timeout": (criteria.timeout.limit_s, pytest.approx(want["timeout_value"], abs=1e-3)),
            "record": (record, want["record"]),
        }
        wrong += [(case["name"], name, a, b) for name, (a, b) in checks.items() if a != b]
    assert [(w[0], w[1]) for w in wrong] == [], wrong[0]
