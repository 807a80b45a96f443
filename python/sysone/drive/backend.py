"""What a simulator is to the executor: one interface, and only plain data across it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from sysone.drive.roadmap import LanePoint, RoadMap
from sysone.drive.routeline import RoutePoint, TriggerBox

Vector = tuple[float, float, float]


class SimulationCrashed(RuntimeError):  # noqa: N818 - the status that it becomes
    """The simulator is gone, or a sensor stopped sending; the attempt fails."""


class ServerLost(SimulationCrashed):
    """There is no usable server; ``kind`` is refused, timeout, version, import or town."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Info:
    """Who simulates."""

    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Control:
    """What the car is told: throttle and brake 0 to 1, steer -1 to 1."""

    throttle: float = 0.0
    brake: float = 0.0
    steer: float = 0.0


@dataclass(frozen=True, slots=True)
class EgoState:
    """The car. World frame; m, m/s, m/s², radians; angular velocity in degrees a second."""

    location: Vector
    yaw: float
    velocity: Vector
    acceleration: Vector
    angular_velocity: Vector
    speed: float
    forward_speed: float
    half_length: float
    half_width: float


@dataclass(frozen=True, slots=True)
class ActorState:
    """Another road user or thing."""

    id: int
    type: str
    role: str
    x: float
    y: float
    yaw: float
    speed: float
    half_length: float
    half_width: float
    height: float


@dataclass(frozen=True, slots=True)
class Frame:
    """What one tick brought."""

    number: int
    sim_time: float
    """Seconds since the start of the route."""
    sensors: Mapping[str, tuple[int, Any]]
    """By name: (frame number, data)."""
    contacts: Sequence[tuple[int, str, float]]
    """(actor id, type, impulse), the strongest first."""
    lights: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class SensorSpec:
    """Which sensors to mount, and with which noise."""

    camera: str = "ground"
    """``ground``, ``blank``, ``pattern``, ``replay`` or ``none``."""
    width: int = 1024
    height: int = 512
    fov: float = 110.0
    """Degrees."""
    position: Vector = (-1.5, 0.0, 2.0)
    lidar: bool = False
    lidar_channels: int = 16
    gnss_noise_deg: float = 0.0
    imu_noise: float = 0.0

    def wire(self) -> dict[str, Any]:
        """The ``sensors`` of a ``route_start``."""
        found: dict[str, Any] = {}
        if self.camera != "none":
            x, y, z = self.position
            found["rgb"] = {
                "width": self.width,
                "height": self.height,
                "fov": self.fov,
                "x": x,
                "y": y,
                "z": z,
                "roll": 0.0,
                "pitch": 0.0,
                "yaw": 0.0,
                "order": "BGR",
            }
        if self.lidar:
            found["lidar"] = {"x": 0.0, "y": 0.0, "z": 2.5, "yaw": -90.0}
            found["lidar"]["channels"] = self.lidar_channels
        return found


@dataclass(frozen=True, slots=True)
class Setup:
    """What a route needs of the world."""

    road_map: RoadMap
    dt: float
    seed: int
    weather: dict[str, float] = field(default_factory=dict)
    gps_model: str = "carla_mercator"
    lights: str = "cycle"
    """``cycle``, ``green``, ``red`` or a script file."""
    light_script: list[dict[str, Any]] = field(default_factory=list)
    traffic: int = 0
    actors: list[dict[str, Any]] = field(default_factory=list)


class Backend(Protocol):
    """A simulator."""

    def open(self) -> Info:
        """Start, or connect; where that is done already, only say who simulates.

        Raises:
            ServerLost: there is no server, or none that this client can speak with.
        """

    def load(self, setup: Setup, route: Sequence[RoutePoint]) -> None:
        """Load the town and everything that stands or moves on the route."""

    def spawn_ego(self, x: float, y: float, z: float, yaw: float) -> None:
        """Put the car there, at rest."""

    def attach(self, spec: SensorSpec) -> None:
        """Mount the sensors."""

    def warmup(self, ticks: int = 10) -> Vector:
        """Tick and drop the data; the clock of the route starts afterwards.

        Returns the GNSS sensor's last reading: latitude, longitude (degrees) and altitude.
        """

    def tick(self) -> Frame:
        """One step of the simulation.

        Raises:
            SimulationCrashed: it is gone, or a sensor stopped sending.
        """

    def ego(self) -> EgoState:
        """The car after the last tick."""

    def lane(self, x: float, y: float) -> LanePoint:
        """The nearest driving lane."""

    def affecting_light(self) -> tuple[str | None, int | None, str | None]:
        """State and id of the light to heed until the junction is left, and its state at entry.

        At entry is when the rear passes the stop line.
        """

    def forecast(self, seconds: float) -> Mapping[int, str]:
        """State of each light so many seconds from now, where the backend knows; else as now."""

    def boxes(self) -> Sequence[TriggerBox]:
        """Where lights and stop signs take effect."""

    def actors(self) -> Sequence[ActorState]:
        """Everybody else."""

    def weather(self, values: Mapping[str, float]) -> None:
        """Set the weather, by CARLA's names; what the backend cannot show it leaves."""

    def scenario_events(self, ended: bool) -> Sequence[tuple[str, str]]:
        """(type, message) of what the scenario scripts saw in the last tick.

        Types are ``scenario_timeout`` and, once the drive has ``ended``, ``yield_emergency``.
        """

    def apply(self, control: Control) -> None:
        """Acts from the next tick."""

    def geolocate(self, x: float, y: float, z: float) -> Vector:
        """Latitude, longitude and altitude."""

    def destroy(self) -> str:
        """Take car, sensors and actors away; what went wrong at it, empty where nothing did."""

    def close(self) -> None:
        """Stop, or disconnect."""
