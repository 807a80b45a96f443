"""Scoring rules as data: factors, list names and the three named profiles.

The values are the official ones of the CARLA leaderboard and of Bench2Drive; `per_tick` are the
rules of an earlier harness, which counts every tick of a contact.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Literal

ProfileName = Literal["per_tick", "bench2drive", "leaderboard2"]

PENALTY_VALUE_DICT: Final = MappingProxyType(
    {
        "collision_pedestrian": 0.5,
        "collision_vehicle": 0.6,
        "collision_static": 0.65,
        "red_light": 0.7,
        "stop_infraction": 0.8,
        "scenario_timeout": 0.7,
        "yield_emergency": 0.7,
    }
)
"""Factor of one event, by its type."""

INFRACTION_NAMES: Final[tuple[str, ...]] = (
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
"""The twelve lists of a record, in the order in which files have them."""

LIST_OF: Final = MappingProxyType(
    {
        "collision_static": "collisions_layout",
        "collision_pedestrian": "collisions_pedestrian",
        "collision_vehicle": "collisions_vehicle",
        "red_light": "red_light",
        "stop_infraction": "stop_infraction",
        "outside_route_lanes": "outside_route_lanes",
        "min_speed": "min_speed_infractions",
        "yield_emergency": "yield_emergency_vehicle_infractions",
        "scenario_timeout": "scenario_timeouts",
        "route_dev": "route_dev",
        "vehicle_blocked": "vehicle_blocked",
        "route_timeout": "route_timeout",
    }
)
"""The list that an event of a type goes to."""

FAILURES: Final = MappingProxyType(
    {
        "route_timeout": "Agent timed out",
        "route_dev": "Agent deviated from the route",
        "vehicle_blocked": "Agent got blocked",
    }
)


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to score; results name it."""

    name: ProfileName
    reached_percent: float
    """Route completion from which the route counts as reached."""
    debounced: bool
    """Collisions are debounced as the official criterion does; otherwise each tick counts."""
    red_from_ticks: bool
    deviation_from_ticks: bool
    blocked_speed: float
    """m/s; below it the car stands."""
    blocked_s: float
    blocked_strict: bool
    """Longer than `blocked_s`; otherwise that long is enough."""
    blocked_ends: bool
    timeout_factor: float
    min_speed_weight: float
    """Factor of a min-speed event is 1 - weight x (1 - percentage / 100)."""
    failure_order: tuple[str, ...]
    """Of several reasons the first one here is named."""
    live_blocked_s: float
    """Standing for longer ends the drive."""
    min_speed_parts: int
    """Equal parts of a route, each with one min-speed event."""


_BENCH2DRIVE: Final = Profile(
    name="bench2drive",
    reached_percent=100.0,
    debounced=True,
    red_from_ticks=False,
    deviation_from_ticks=False,
    blocked_speed=0.1,
    blocked_s=60.0,
    blocked_strict=True,
    blocked_ends=True,
    timeout_factor=1.0,
    min_speed_weight=0.0,
    failure_order=("vehicle_blocked", "route_dev", "route_timeout"),
    live_blocked_s=60.0,
    min_speed_parts=20,
)
_LEADERBOARD2: Final = replace(
    _BENCH2DRIVE,
    name="leaderboard2",
    blocked_s=180.0,
    live_blocked_s=180.0,
    min_speed_weight=0.3,
    min_speed_parts=4,
)
_PER_TICK: Final = replace(
    _BENCH2DRIVE,
    name="per_tick",
    reached_percent=99.0,
    debounced=False,
    red_from_ticks=True,
    deviation_from_ticks=True,
    blocked_speed=0.05,
    blocked_s=30.0,
    blocked_strict=False,
    blocked_ends=False,
    timeout_factor=PENALTY_VALUE_DICT["scenario_timeout"],
    failure_order=("route_timeout", "vehicle_blocked", "route_dev"),
)

PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {profile.name: profile for profile in (_PER_TICK, _BENCH2DRIVE, _LEADERBOARD2)}
)
"""By name; two are written as what they have other than bench2drive."""


def profile_named(name: str) -> Profile:
    """The profile of this name.

    Raises:
        ValueError: there is none; the text lists them.
    """
    if name not in PROFILES:
        raise ValueError(f"profile is {name!r}, expected one of {', '.join(PROFILES)}")
    return PROFILES[name]
