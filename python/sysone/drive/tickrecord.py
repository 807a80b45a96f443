"""One tick as it is recorded: what was seen, decided and judged in it."""

import math
from typing import Any

from sysone.drive.backend import (
    Backend,
)
from sysone.drive.criteria import Criteria
from sysone.drive.drivers import Decision
from sysone.drive.score import Event
from sysone.drive.ticks import TickRecord
from sysone.runs.sums import in_order


def background_speed(backend: Backend) -> float | None:
    """Mean speed of the background traffic in m/s; None without any."""
    speeds = [actor.speed for actor in backend.actors() if actor.role == "background"]
    return in_order(speeds) / len(speeds) if speeds else None


def record_tick(
    tick: int,
    now_s: float,
    frame: Any,
    ego: Any,
    lane: Any,
    backend: Backend,
    criteria: Criteria,
    applied: Decision,
    new: list[Event],
    moving: float | None,
) -> TickRecord:
    """The record of a tick: ``applied`` was in force in it, ``new`` are the events it made."""
    strongest = frame.contacts[0] if frame.contacts else None
    state, light, at_entry = backend.affecting_light()
    cos, sin = math.cos(ego.yaw), math.sin(ego.yaw)
    control = applied.control
    return TickRecord(
        tick=tick,
        timestamp=now_s,
        sim_time=frame.sim_time,
        ego_location=ego.location,
        ego_velocity=ego.velocity,
        ego_speed=ego.speed,
        ego_acceleration=ego.acceleration,
        collision_impulse=strongest[2] if strongest else None,
        collision_actor=strongest[1] if strongest else None,
        traffic_light_state=state,
        traffic_light_id=light,
        lane_id=lane.lane_id,
        road_id=lane.road_id,
        is_junction=lane.junction_id >= 0,
        route_completion=criteria.completion.percent,
        control={
            "throttle": control.throttle,
            "brake": control.brake,
            "steer": control.steer,
        },
        frame=frame.number,
        collision_actor_id=strongest[0] if strongest else None,
        contacts=list(frame.contacts) if frame.contacts else None,
        ego_yaw=ego.yaw,
        angular_velocity=ego.angular_velocity,
        forward_vector=(cos, sin, 0.0),
        right_vector=(-sin, cos, 0.0),
        speed_limit=lane.speed_limit,
        odometer_m=criteria.odometer.metres,
        light_at_entry=at_entry,
        control_source=applied.source,
        infer_ms=applied.infer_ms,
        events=[_event_dict(event) for event in new] if new else None,
        background_speed=moving,
        info=applied.info,
    )


def _event_dict(event: Event) -> dict[str, Any]:
    found: dict[str, Any] = {"type": event.type, "tick": event.tick, "message": event.message}
    if event.percentage is not None:
        found["percentage"] = event.percentage
    return found
