"""Value classes as the ``carla`` package has them, for machines without it: names and behaviour."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, IntFlag
from typing import Any

import numpy as np

from sysone.drive.roadmap import DRIVING, DRIVING_OR_PARKING, LanePoint, RoadMap


def _single(value: float) -> float:
    return float(np.float32(value))


@dataclass
class Vector3D:
    """Kept in single precision, as CARLA does."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0

    def __post_init__(self) -> None:
        self.x, self.y, self.z = _single(self.x), _single(self.y), _single(self.z)


class Location(Vector3D):
    """Metres."""


@dataclass
class Rotation:
    """Degrees."""

    pitch: float = 0.0
    yaw: float = 0.0
    roll: float = 0.0

    def __post_init__(self) -> None:
        self.yaw = _single(self.yaw)


@dataclass
class Transform:
    """A place and a direction; pitch and roll are not turned by."""

    location: Location = field(default_factory=Location)
    rotation: Rotation = field(default_factory=Rotation)

    def transform(self, point: Vector3D) -> Vector3D:
        """Changes what it is given, as CARLA's does."""
        yaw = math.radians(self.rotation.yaw)
        cos, sin = math.cos(yaw), math.sin(yaw)
        x, y = point.x, point.y
        point.x = _single(self.location.x + x * cos - y * sin)
        point.y = _single(self.location.y + x * sin + y * cos)
        point.z = _single(self.location.z + point.z)
        return Vector3D(point.x, point.y, point.z)

    def get_forward_vector(self) -> Vector3D:
        """Where it looks."""
        yaw = math.radians(self.rotation.yaw)
        return Vector3D(math.cos(yaw), math.sin(yaw), 0.0)


@dataclass
class BoundingBox:
    """Middle and half extents."""

    location: Location
    extent: Vector3D


@dataclass
class VehicleControl:
    """What a vehicle is told."""

    throttle: float = 0.0
    steer: float = 0.0
    brake: float = 0.0
    hand_brake: bool = False
    reverse: bool = False


@dataclass
class WeatherParameters:
    """Percent and degrees."""

    cloudiness: float = 0.0
    precipitation: float = 0.0
    precipitation_deposits: float = 0.0
    wind_intensity: float = 0.0
    sun_azimuth_angle: float = 0.0
    sun_altitude_angle: float = 0.0
    fog_density: float = 0.0
    fog_distance: float = 0.0
    wetness: float = 0.0


class TrafficLightState(Enum):
    """Of a light."""

    Red = 0
    Yellow = 1
    Green = 2
    Off = 3
    Unknown = 4

    def __str__(self) -> str:
        return self.name


class LaneType(IntFlag):
    """The two that are asked for."""

    Driving = 2
    Parking = 256

    def __str__(self) -> str:
        return str(self.name)


@dataclass
class GeoLocation:
    """Degrees, degrees, metres."""

    latitude: float
    longitude: float
    altitude: float


class Waypoint:
    """A point of a lane."""

    def __init__(self, road_map: RoadMap, point: LanePoint) -> None:
        self._map, self._point = road_map, point
        self.road_id, self.lane_id, self.s = point.road_id, point.lane_id, point.s
        self.is_junction, self.lane_width = point.is_junction, point.width
        self.lane_type = LaneType.Parking if point.lane_type == "parking" else LaneType.Driving
        self.transform = Transform(
            Location(point.x, point.y, point.z), Rotation(yaw=math.degrees(point.yaw))
        )

    def next(self, distance: float) -> list["Waypoint"]:
        """Further along the lane."""
        return [Waypoint(self._map, point) for point in self._map.next(self._point, distance)]


class Map:
    """A map by the own reader."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text
        self._map = RoadMap(text, name)

    def to_opendrive(self) -> str:
        """Its text."""
        return self._text

    def get_waypoint(
        self,
        location: Location,
        project_to_road: bool = True,
        lane_type: LaneType = LaneType.Driving,
    ) -> Waypoint:
        """The nearest lane of a type."""
        types = DRIVING_OR_PARKING if lane_type & LaneType.Parking else DRIVING
        return Waypoint(self._map, self._map.nearest(location.x, location.y, types, location.z))

    def get_waypoint_xodr(self, road_id: int, lane_id: int, s: float) -> Waypoint | None:
        """A lane's point at s."""
        point = self._map.point_at(road_id, lane_id, s)
        return None if point is None else Waypoint(self._map, point)

    def get_topology(self) -> Iterator[tuple[Any, Any]]:
        """Which lane leads to which."""
        for road, lane, to_road, to_lane in self._map.topology():
            yield _Lane(road, lane), _Lane(to_road, to_lane)

    def generate_waypoints(self, distance: float) -> list[Waypoint]:
        """All lanes, so far apart."""
        return [Waypoint(self._map, point) for point in self._map.waypoints(distance)]

    def get_spawn_points(self) -> list[Transform]:
        """Places outside junctions."""
        return [
            Waypoint(self._map, point).transform
            for point in self._map.waypoints(12.0)
            if not point.is_junction
        ]

    def transform_to_geolocation(self, location: Location) -> GeoLocation:
        """Latitude and longitude."""
        return GeoLocation(*self._map.geolocate(location.x, location.y, location.z))


@dataclass
class _Lane:
    road_id: int
    lane_id: int
