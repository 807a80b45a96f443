"""Traffic lights and signs of a CARLA world: their boxes, and the light to heed until the end."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sysone.drive.backend import Vector
from sysone.drive.routeline import TriggerBox

APPROACH_M: Final = 30.0
"""A light that the car has left behind without a junction is forgotten after so many metres."""


@dataclass(frozen=True, slots=True)
class SceneLight:
    """One light of the world."""

    id: int
    """Its OpenDRIVE id where that is a number, so that it stays the same over loads of a town;
    else the actor's."""
    actor: Any
    box: TriggerBox

    @property
    def state(self) -> str:
        """``Red``, ``Yellow``, ``Green``, ``Off`` or ``Unknown``."""
        return str(self.actor.get_state()).rsplit(".", 1)[-1]


def box_of(carla: Any, actor: Any, number: int, kind: str) -> TriggerBox:
    """Where an actor's trigger volume lies in the world."""
    pose, volume = actor.get_transform(), actor.trigger_volume
    # transform() changes what it is given
    corner = carla.Location(x=volume.location.x, y=volume.location.y, z=volume.location.z)
    middle = pose.transform(corner)
    return TriggerBox(
        number,
        kind,
        middle.x,
        middle.y,
        middle.z,
        math.radians(pose.rotation.yaw),
        volume.extent.x,
        volume.extent.y,
    )


def find_lights(carla: Any, actors: Any) -> list[SceneLight]:
    """The lights among the actors."""
    found = []
    for actor in actors.filter("traffic.traffic_light*"):
        try:
            number = int(actor.get_opendrive_id())
        except (ValueError, RuntimeError):
            number = actor.id
        found.append(SceneLight(number, actor, box_of(carla, actor, number, "light")))
    if len({light.id for light in found}) < len(found):
        found = [
            SceneLight(one.actor.id, one.actor, box_of(carla, one.actor, one.actor.id, "light"))
            for one in found
        ]
    return found


def find_stops(carla: Any, actors: Any) -> list[TriggerBox]:
    """The trigger boxes of the stop signs among the actors."""
    return [box_of(carla, actor, actor.id, "stop") for actor in actors.filter("traffic.stop*")]


class Latch:
    """The light that the car must heed, kept until the junction is left.

    ``get_traffic_light()`` answers inside the trigger box alone, which ends before the junction: a
    rule that needs "Red and in the junction" in one tick would never see both.
    """

    def __init__(self) -> None:
        self.light: int | None = None
        self.at_entry: str | None = None
        self._inside = False
        self._seen_at: Vector = (0.0, 0.0, 0.0)

    def update(
        self,
        answered: int | None,
        place: Vector,
        in_junction: bool,
        tail_in_junction: Callable[[], bool],
        states: Mapping[int, str],
    ) -> None:
        """After a tick: the light that the simulator names, where the car is."""
        if answered is not None:
            if answered != self.light:
                self.light, self.at_entry, self._inside = answered, None, False
            self._seen_at = place
        if self.light is None:
            return
        if in_junction:
            self._inside = True
        elif self._inside or math.dist(place, self._seen_at) > APPROACH_M:
            if answered is None:
                self.light, self.at_entry, self._inside = None, None, False
                return
            self._inside = False
        if self._inside and self.at_entry is None and tail_in_junction():
            self.at_entry = states.get(self.light)
