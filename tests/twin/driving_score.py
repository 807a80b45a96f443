"""Penalty folding over a list of tick dictionaries, in plain Python: twin of the compiled folds.

Written the straightforward way, one rule after another over dictionaries; the compiled kernels
are held to it on random ticks, and the golden data hold both.
"""

from collections.abc import Sequence
from typing import Any

STATIC, PEDESTRIAN, VEHICLE, RED, BLOCKED, DEVIATION = range(6)
FACTORS = (0.65, 0.5, 0.6, 0.7, 1.0, 1.0)
NO_EVENT = 255


def per_tick_class(actor: str | None) -> int:
    if actor is None:
        return STATIC
    lowered = actor.lower()
    if "pedestrian" in lowered or "walker" in lowered:
        return PEDESTRIAN
    return VEHICLE if "vehicle" in lowered else STATIC


def official_class(actor: str | None) -> int:
    name = actor or "static"
    if ("static" in name or "traffic" in name) and "sidewalk" not in name:
        return STATIC
    if "vehicle" in name:
        return VEHICLE
    return PEDESTRIAN if "walker" in name else NO_EVENT


def fold_dicts(
    ticks: Sequence[dict[str, Any]],
    road_ids: Sequence[int] | None = None,
    *,
    debounced: bool = False,
    red_from_ticks: bool = True,
    deviation_from_ticks: bool = True,
    blocked_speed: float = 0.05,
    blocked_s: float = 30.0,
    blocked_strict: bool = False,
    blocked_ends: bool = False,
    reached_percent: float = 99.0,
) -> tuple[float, int, list[tuple[int, int, int]]]:
    """Penalty, number of ticks that count, and events as (kind, index, length)."""
    blocked, last = find_blocked(
        ticks, blocked_speed, blocked_s, blocked_strict, blocked_ends, reached_percent
    )
    if last < len(ticks):
        ticks = ticks[:last]
    events = debounced_contacts(ticks) if debounced else every_contact(ticks)
    if red_from_ticks:
        events += red_lights(ticks)
    events += blocked
    if deviation_from_ticks and road_ids:
        events += deviations(ticks, set(road_ids))
    penalty = 1.0
    for kind, _, _ in events:
        penalty *= FACTORS[kind]
    return penalty, last, events


def every_contact(ticks: Sequence[dict[str, Any]]) -> list[tuple[int, int, int]]:
    return [
        (per_tick_class(tick.get("collision_actor")), index, 1)
        for index, tick in enumerate(ticks)
        if tick.get("collision_impulse") is not None
    ]


def debounced_contacts(ticks: Sequence[dict[str, Any]]) -> list[tuple[int, int, int]]:
    events: list[tuple[int, int, int]] = []
    counted_id: int | None = None
    counted_s = 0.0
    place: tuple[float, float, float] | None = None
    for index, tick in enumerate(ticks):
        now: tuple[float, float, float] = tuple(tick.get("ego_location") or (0.0, 0.0, 0.0))
        if tick.get("collision_impulse") is not None:
            actor_id = tick.get("collision_actor_id") or 0
            near = place is not None and distance(now, place) <= 5.0
            if actor_id != counted_id and not near and not (tick.get("ego_speed") or 0.0) < 0.1:
                kind = official_class(tick.get("collision_actor"))
                if kind != NO_EVENT:
                    events.append((kind, index, 1))
                place = now
                if actor_id != 0:
                    counted_id, counted_s = actor_id, tick["sim_time"]
        # both memories are let go at the end of a tick, after its contacts
        if counted_id is not None and tick["sim_time"] - counted_s > 5.0:
            counted_id = None
        if place is not None and distance(now, place) > 5.0:
            place = None
    return events


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    x, y, z = a[0] - b[0], a[1] - b[1], a[2] - b[2]
    return float((x * x + y * y + z * z) ** 0.5)


def red_lights(ticks: Sequence[dict[str, Any]]) -> list[tuple[int, int, int]]:
    events = []
    index = 0
    while index < len(ticks):
        tick = ticks[index]
        if (
            tick.get("traffic_light_state") == "Red"
            and (tick.get("ego_speed") or 0.0) > 1.0
            and tick.get("is_junction")
            and all((later.get("ego_speed") or 0.0) > 1.0 for later in ticks[index + 1 : index + 4])
        ):
            events.append((RED, index, 1))
            while index < len(ticks) and ticks[index].get("traffic_light_state") == "Red":
                index += 1
        else:
            index += 1
    return events


def find_blocked(
    ticks: Sequence[dict[str, Any]],
    speed: float,
    seconds: float,
    strict: bool,
    ends: bool,
    reached_percent: float,
) -> tuple[list[tuple[int, int, int]], int]:
    events: list[tuple[int, int, int]] = []
    first = -1
    if ends:
        moved_s = 0.0
        for index, tick in enumerate(ticks):
            if not (tick.get("ego_speed") or 0.0) < speed:
                moved_s = tick["sim_time"]
            elif tick["sim_time"] - moved_s > seconds:
                return [(BLOCKED, index, 1)], index + 1
        return events, len(ticks)
    index = 0
    while index < len(ticks):
        tick = ticks[index]
        if (tick.get("ego_speed") or 0.0) < speed and (
            tick.get("route_completion") or 0.0
        ) < reached_percent:
            first = index
            while index + 1 < len(ticks) and (ticks[index + 1].get("ego_speed") or 0.0) < speed:
                index += 1
            stood = ticks[index]["sim_time"] - ticks[first]["sim_time"]
            if stood > seconds or (not strict and stood == seconds):
                events.append((BLOCKED, first, index - first + 1))
        index += 1
    return events, len(ticks)


def deviations(ticks: Sequence[dict[str, Any]], roads: set[int]) -> list[tuple[int, int, int]]:
    events = []
    run = 0
    for index, tick in enumerate([*ticks, {"road_id": next(iter(roads))}]):
        if tick.get("road_id") not in roads:
            run += 1
            continue
        if run >= 5:
            events.append((DEVIATION, index - run, run))
        run = 0
    return events
