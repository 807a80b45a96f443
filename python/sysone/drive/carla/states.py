"""What a server's actors say of themselves, as the executor has it: metres, radians, seconds."""

import math
from typing import Any

from sysone.drive.backend import ActorState, EgoState


def ego_state(vehicle: Any, half_length: float, half_width: float) -> EgoState:
    """The car after the last tick."""
    pose, moving = vehicle.get_transform(), vehicle.get_velocity()
    forward = pose.get_forward_vector()
    velocity = (moving.x, moving.y, moving.z)
    turning, pushed = vehicle.get_angular_velocity(), vehicle.get_acceleration()
    return EgoState(
        (pose.location.x, pose.location.y, pose.location.z),
        math.remainder(math.radians(pose.rotation.yaw), 2 * math.pi),
        velocity,
        (pushed.x, pushed.y, pushed.z),
        (turning.x, turning.y, turning.z),
        math.hypot(*velocity),
        moving.x * forward.x + moving.y * forward.y + moving.z * forward.z,
        half_length,
        half_width,
    )


def actor_states(world: Any, but: Any) -> list[ActorState]:
    """Vehicles and walkers of a world but one."""
    found = []
    everybody = world.get_actors()
    for pattern in ("vehicle.*", "walker.pedestrian.*"):
        for actor in everybody.filter(pattern):
            if actor.id == but.id:
                continue
            pose, moving = actor.get_transform(), actor.get_velocity()
            extent = actor.bounding_box.extent
            found.append(
                ActorState(
                    actor.id,
                    actor.type_id,
                    actor.attributes.get("role_name", ""),
                    pose.location.x,
                    pose.location.y,
                    math.remainder(math.radians(pose.rotation.yaw), 2 * math.pi),
                    math.hypot(moving.x, moving.y, moving.z),
                    extent.x,
                    extent.y,
                    2.0 * extent.z,
                )
            )
    return found
