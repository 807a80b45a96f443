"""Background traffic: the server's own cars, driven by its traffic manager, the same for a seed."""

import math
import random
from collections.abc import Iterator
from typing import Any, Final

BACKGROUND: Final = "background"
"""Role of these cars."""
APART_M: Final = 25.0
"""No car is spawned nearer to ours."""


def spawn_traffic(
    world: Any, library: Any, manager: Any, away_from: tuple[float, float], count: int, seed: int
) -> Iterator[Any]:
    """Spawn up to so many cars at the map's spawn points; each as soon as it is there."""
    x, y = away_from
    manager.set_synchronous_mode(True)
    manager.set_random_device_seed(seed)
    pick = random.Random(f"traffic/{seed}")
    places = [
        place
        for place in world.get_map().get_spawn_points()
        if math.hypot(place.location.x - x, place.location.y - y) > APART_M
    ]
    pick.shuffle(places)
    kinds = sorted(
        (one for one in library.filter("vehicle.*") if _wheels(one) == 4),
        key=lambda one: str(one.id),
    )
    spawned = 0
    for place in places:
        if spawned == count:
            return
        blueprint = pick.choice(kinds)
        blueprint.set_attribute("role_name", BACKGROUND)
        actor = world.try_spawn_actor(blueprint, place)
        if actor is not None:
            actor.set_autopilot(True, manager.get_port())
            spawned += 1
            yield actor


def _wheels(blueprint: Any) -> int:
    has = blueprint.has_attribute("number_of_wheels")
    return int(blueprint.get_attribute("number_of_wheels")) if has else 4
