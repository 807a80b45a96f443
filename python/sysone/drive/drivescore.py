"""A whole drive's score under a profile: what it is given besides the ticks, and how it ended."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from sysone.drive.score import Event, RouteScore, score_route, with_failure
from sysone.drive.ticks import TickStore

PER_TICK_EVENTS: Final = ("stop_infraction", "yield_emergency", "scenario_timeout")
"""The only events that profile per_tick is given: its ticks hold the others."""
ENDED_BY: Final = {"route_deviation": "route_dev", "blocked": "vehicle_blocked"}


def scored_profiles(profile: str) -> list[str]:
    """The profiles under which every drive is scored: the run's own, then both fixed ones."""
    return list(dict.fromkeys([profile, "bench2drive", "per_tick"]))


def score_drive(
    profile: str,
    route_id: int | str,
    store: TickStore,
    length: float,
    road_ids: Collection[int] | None,
    timed_out: bool,
    events: Sequence[Event],
    end: str | None,
    failure: str | None,
) -> RouteScore:
    """One profile's score of a drive; it gets the events that its ticks do not hold.

    Args:
        profile: a name of `sysone.drive.score.PROFILES`.
        route_id: of the route.
        store: the drive's ticks.
        length: of the route, in metres.
        road_ids: of the route; only profile per_tick asks for them.
        timed_out: whether the route's time was up.
        events: all of the drive, in order.
        end: what ended it, as `sysone.drive.criteria.Criteria.end`.
        failure: the reason outside the rules, if there was one.
    """
    given = events_for(profile, events)
    roads = road_ids if profile == "per_tick" else None

    def score(some: list[Event]) -> RouteScore:
        return score_route(route_id, store, length, roads, timed_out, some, profile)

    found = score(given)
    ending = ENDED_BY.get(end or "")
    if ending is not None and ending not in found.infractions:
        found = score([*given, *[event for event in events if event.type == ending][:1]])
    return found if failure is None else with_failure(found, failure)


def without_score(score: RouteScore) -> RouteScore:
    """Of a drive whose simulation crashed in every attempt: 0, whatever it had reached."""
    return replace(
        score,
        status="Failed - Simulation crashed",
        success=False,
        score_route=0.0,
        score_composed=0.0,
    )


def events_for(profile: str, events: Sequence[Event]) -> list[Event]:
    """The events that a profile folds besides what it finds in the ticks."""
    if profile == "per_tick":
        return [event for event in events if event.type in PER_TICK_EVENTS]
    ends = set(ENDED_BY.values())
    return [event for event in events if event.type not in ends]
