"""Map queries and GPS through an installed ``carla`` client package, else the own reader.

`carla.Map` needs no server. It answers where lanes are and how places become latitudes and
longitudes; what the world and the planner need beside that (links, sections, signals) is read from
the same text by `roadmap`. The package is imported here alone, and only when a map is opened.
"""

import importlib
import math
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

from sysone.drive.gps import MODELS, TOLERANCE_M
from sysone.drive.roadmap import DRIVING, DRIVING_OR_PARKING, LanePoint, RoadMap, map_text
from sysone.runs.errors import RunError

READERS: Final = ("auto", "carla", "own")
_PROBE: Final = (1200.0, -3400.0)
"""A place at which no two conversions agree."""
_NEAR_END_M: Final = 1e-3
"""The client has no waypoint at the very end of a road."""


def client() -> Any | None:
    """The ``carla`` module, or None where it is not installed or cannot be loaded."""
    try:
        return importlib.import_module("carla")
    except ImportError:
        return None


def client_versions() -> list[str]:
    """Name and version of every installed distribution that brings a ``carla`` module."""
    found = []
    for distribution in metadata.distributions():
        files = distribution.files or []
        if any(file.parts[0].split(".")[0] == "carla" for file in files if file.parts):
            found.append(f"{distribution.name} {distribution.version}")
    return sorted(found)


def open_map(path: Path, reader: str = "auto") -> RoadMap:
    """The map in a file: through the client where there is one, or as ``reader`` says.

    Raises:
        RunError: it cannot be read, is not OpenDRIVE, or ``carla`` was asked for and is not there.
    """
    if reader not in READERS:
        raise RunError(f"map reader is {reader!r}, expected one of {', '.join(READERS)}")
    text, name = map_text(path), path.stem
    module = None if reader == "own" else client()
    if module is not None:
        return ClientMap(text, name, module)
    if reader == "carla":
        raise RunError("map reader is carla, but no carla client is installed: see drive doctor")
    return RoadMap(text, name)


class ClientMap(RoadMap):
    """A map whose lanes and GPS are the client's own.

    Raises:
        RunError: the text is not OpenDRIVE, to the own reader or to the client.
    """

    def __init__(self, text: str, name: str, carla: Any) -> None:
        super().__init__(text, name)
        try:
            self._map = carla.Map(name, text)
        except RuntimeError as error:
            raise RunError(f"{name} is no map to the carla client: {error}") from error
        self._location = carla.Location
        lanes = carla.LaneType
        self._types = {
            DRIVING: lanes.Driving,
            DRIVING_OR_PARKING: lanes.Driving | lanes.Parking,
        }
        self.source = ", ".join(client_versions()) or "carla"
        self.gps_model = self._fitting()

    def nearest(
        self, x: float, y: float, types: frozenset[str] = DRIVING, z: float | None = None
    ) -> LanePoint:
        """See `RoadMap.nearest`."""
        if z is None:
            z = 0.0 if self.flat else super().nearest(x, y, types).z
        where = self._location(x, y, z)
        found = self._map.get_waypoint(where, True, self._types[types])
        point = self._point(found)
        return point._replace(distance=math.hypot(point.x - x, point.y - y))

    def point_at(self, road_id: int, lane_id: int, s: float) -> LanePoint | None:
        """See `RoadMap.point_at`."""
        road = self.roads.get(road_id)
        if road is not None and _NEAR_END_M < s < road.length - _NEAR_END_M:
            found = self._map.get_waypoint_xodr(road_id, lane_id, s)
            return None if found is None else self._point(found)
        return super().point_at(road_id, lane_id, s)

    def next(self, point: LanePoint, distance: float) -> list[LanePoint]:
        """See `RoadMap.next`."""
        # The client takes s in single precision. Rounded ahead, the end of a lane is the beginning
        # of the next one, as it is along a chain of the client's own waypoints.
        ahead = np.float32(math.inf if point.lane_id < 0 else -math.inf)
        s = float(np.nextafter(np.float32(point.s), ahead))
        found = self._map.get_waypoint_xodr(point.road_id, point.lane_id, s)
        if found is None:
            return super().next(point, distance)
        return [self._point(one) for one in found.next(distance)]

    def topology(self) -> list[tuple[int, int, int, int]]:
        """See `RoadMap.topology`."""
        edges = {(a.road_id, a.lane_id, b.road_id, b.lane_id) for a, b in self._map.get_topology()}
        return sorted(edge for edge in edges if edge[0] != edge[2])

    def waypoints(self, distance: float) -> list[LanePoint]:
        """See `RoadMap.waypoints`."""
        found = [self._point(one) for one in self._map.generate_waypoints(distance)]
        # the client's own order differs from one process to the next
        return sorted(found, key=lambda p: (p.road_id, p.lane_id, p.s))

    def geolocate(self, x: float, y: float, z: float) -> tuple[float, float, float]:
        """See `RoadMap.geolocate`; the client keeps places in single precision."""
        found = self._map.transform_to_geolocation(self._location(x, y, z))
        return found.latitude, found.longitude, found.altitude

    def _point(self, found: Any) -> LanePoint:
        transform = found.transform
        place, road = transform.location, self.roads[found.road_id]
        return LanePoint(
            road.id,
            found.lane_id,
            found.s,
            place.x,
            place.y,
            math.radians(transform.rotation.yaw),
            found.lane_width,
            road.junction,
            0.0,
            str(found.lane_type).rsplit(".", 1)[-1].lower(),
            road.speed_limit,
            place.z,
        )

    def _fitting(self) -> str:
        """The known conversion that the client's is; the default where none is (a check tells)."""
        lat, lon, _ = self.geolocate(*_PROBE, 0.0)
        for name, model in MODELS.items():
            if math.dist(model.inverse(lat, lon, *self.reference), _PROBE) <= TOLERANCE_M:
                return name
        return RoadMap.gps_model
