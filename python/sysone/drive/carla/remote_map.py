"""A map whose lanes and GPS the client in the child process answers."""

from collections.abc import Callable
from typing import Any

from sysone.drive.roadmap import DRIVING, LanePoint, RoadMap

Answer = Callable[[str, str, str, tuple[Any, ...]], Any]
"""Of the map's text and name, the method's name and its arguments."""


class RemoteMap(RoadMap):
    """As `clientmap.ClientMap`, at one question to the child each: this process never imports
    ``carla``."""

    def __init__(
        self,
        text: str,
        name: str,
        answer: Answer,
        source: str,
        gps_model: str,
        built: bool = False,
    ) -> None:
        super().__init__(text, name)
        self.built = built
        """The server has no such town: its world is built from this map."""
        self._answer = answer
        self.source = source
        self.gps_model = gps_model

    def _ask(self, method: str, *arguments: Any) -> Any:
        return self._answer(self.text, self.name, method, arguments)

    def nearest(
        self, x: float, y: float, types: frozenset[str] = DRIVING, z: float | None = None
    ) -> LanePoint:
        """See `RoadMap.nearest`."""
        found: LanePoint = self._ask("nearest", x, y, types, z)
        return found

    def point_at(self, road_id: int, lane_id: int, s: float) -> LanePoint | None:
        """See `RoadMap.point_at`."""
        found: LanePoint | None = self._ask("point_at", road_id, lane_id, s)
        return found

    def next(self, point: LanePoint, distance: float) -> list[LanePoint]:
        """See `RoadMap.next`."""
        found: list[LanePoint] = self._ask("next", point, distance)
        return found

    def topology(self) -> list[tuple[int, int, int, int]]:
        """See `RoadMap.topology`."""
        found: list[tuple[int, int, int, int]] = self._ask("topology")
        return found

    def waypoints(self, distance: float) -> list[LanePoint]:
        """See `RoadMap.waypoints`."""
        found: list[LanePoint] = self._ask("waypoints", distance)
        return found

    def geolocate(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """See `RoadMap.geolocate`."""
        found: tuple[float, float, float] = self._ask("geolocate", x, y, z)
        return found
