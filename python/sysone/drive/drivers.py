"""Who drives a route: a model behind the socket, the autopilot, or the stub in this process."""

import math
import time
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sysone.drive.agents import (
    HEARTBEAT_TICKS,
    WARMUP_TICKS,
    AgentGone,
    AgentSocketServer,
)
from sysone.drive.autopilot import Autopilot
from sysone.drive.backend import Backend, Control, EgoState, Frame, Setup
from sysone.drive.gps import gps_to_carla
from sysone.drive.planning import DensePlan
from sysone.drive.protocol import (
    LegacyTick,
    RouteEnd,
    RouteStart,
    TickEncoder,
    TickHead,
    legacy_line,
    line_of,
)
from sysone.drive.score import RouteScore
from sysone.drive.service.stub import StubAgent
from sysone.runs.errors import RunError

MAX_TIMEOUTS: Final = 3
LEGACY_POINTS: Final = (5.0, 10.0)


class AgentCrashed(RuntimeError):  # noqa: N818 - the status that it becomes
    """Too many steps without an answer."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the car is told next, and by whom."""

    control: Control
    source: str
    """agent, hold, brake or autopilot."""
    infer_ms: float | None = None
    info: dict[str, Any] | None = None


class Driver(Protocol):
    """Decides tick by tick."""

    name: str

    def begin(self, start: RouteStart, plan: DensePlan, backend: Backend, setup: Setup) -> None:
        """A route begins."""

    def decide(self, tick: int, frame: Frame, ego: EgoState, drop: bool) -> Decision:
        """Controls for the next tick; with ``drop`` the answer is asked for and thrown away."""

    def finish(self, score: RouteScore) -> None:
        """A route has ended and is scored."""


class AutopilotDriver:
    """Needs no sensors."""

    name = "autopilot"

    def begin(self, start: RouteStart, plan: DensePlan, backend: Backend, setup: Setup) -> None:
        """A route begins."""
        self.pilot = Autopilot(plan, backend)

    def decide(self, tick: int, frame: Frame, ego: EgoState, drop: bool) -> Decision:
        """From the backend's own state."""
        return Decision(self.pilot.control(frame, ego), "autopilot")

    def finish(self, score: RouteScore) -> None:
        """Nothing is left."""


class StubDriver:
    """The stub in this process, on the same readings as over the socket."""

    name = "stub"

    def begin(self, start: RouteStart, plan: DensePlan, backend: Backend, setup: Setup) -> None:
        """A route begins."""
        self.agent = StubAgent()
        self.model, self.reference = start.gps_model, (start.gps_ref[0], start.gps_ref[1])
        self.agent.plan = [
            gps_to_carla(lat, lon, *self.reference, model=self.model)
            for lat, lon, _ in start.gps_plan
        ]

    def decide(self, tick: int, frame: Frame, ego: EgoState, drop: bool) -> Decision:
        """From GNSS, compass and speedometer."""
        lat, lon, _ = frame.sensors["gps"][1]
        x, y = gps_to_carla(lat, lon, *self.reference, model=self.model)
        yaw = frame.sensors["imu"][1][6] - math.pi / 2
        speed = frame.sensors["speed"][1]
        return Decision(Control(**self.agent.drive(x, y, yaw, speed)), "agent")

    def finish(self, score: RouteScore) -> None:
        """Nothing is left."""


class SocketDriver:
    """A model behind the agent socket."""

    def __init__(
        self,
        server: AgentSocketServer,
        *,
        on_timeout: str = "hold",
        max_timeouts: int = MAX_TIMEOUTS,
        expected: str | None = None,
    ) -> None:
        self.server = server
        self.on_timeout = on_timeout
        self.max_timeouts = max_timeouts
        self.expected = expected
        self.encoder = TickEncoder()
        self.name = "socket"

    def begin(self, start: RouteStart, plan: DensePlan, backend: Backend, setup: Setup) -> None:
        """Send the plan and wait until the model is ready.

        Raises:
            AgentGone, AgentRefused: it is not.
            RunError: it has another name than the model that made this run's drives so far.
        """
        self.offered = start.proto
        self.plan = plan
        self.route_id = start.route_id
        self.last = Control()
        self.last_compass = 0.0
        self.timeouts = 0
        self.index = 0
        if start.proto == "0.1":
            self.server.proto = "0.1"
            return
        self.server.start_route(line_of(start, "route_start"), start.proto)
        self.name = self.server.name or "socket"
        if self.expected not in (None, "socket", self.name):
            raise RunError(
                f"this run's drives are of {self.expected}, and the model says that it is "
                f"{self.name}: --out another folder, or serve {self.expected}"
            )

    def decide(self, tick: int, frame: Frame, ego: EgoState, drop: bool) -> Decision:
        """Send the readings, wait for the answer.

        Raises:
            AgentGone: the connection broke.
            AgentCrashed: too many steps in a row had no answer.
        """
        if self.server.proto == "0.1":
            payload: bytes | memoryview = self._legacy(tick, ego)
            if tick % HEARTBEAT_TICKS == 0:
                self.server.heartbeat()
        else:
            payload = self._payload(tick, frame)
        reply = self.server.ask(payload, tick, warmup=tick <= WARMUP_TICKS)
        if reply is None or drop:
            self.timeouts += 1
            if self.timeouts >= self.max_timeouts:
                raise AgentCrashed(
                    f"{self.timeouts} steps in a row without an answer"
                    + (f" ({self.server.last_error})" if self.server.last_error else "")
                )
            if self.on_timeout == "brake":
                return Decision(Control(0.0, 1.0, self.last.steer), "brake")
            return Decision(self.last, "hold")
        self.timeouts = 0
        self.last = Control(reply.throttle, reply.brake, reply.steer)
        return Decision(self.last, "agent", reply.infer_ms, reply.info)

    def finish(self, score: RouteScore) -> None:
        """Tell the model."""
        if self.server.proto == "0.1" or not self.server.connected:
            return
        end = RouteEnd(self.route_id, score.status, score.score_composed)
        self.server.end_route(line_of(end, "route_end"))

    def _payload(self, tick: int, frame: Frame) -> memoryview:
        sensors = frame.sensors
        compass = sensors["imu"][1][6]
        # CARLA's IMU has sent NaN: the last finite one, else 0
        if math.isfinite(compass):
            self.last_compass = compass
        rgb = sensors.get("rgb")
        lidar = sensors.get("lidar") if self.server.proto == "0.3" else None
        head = TickHead(
            tick=tick,
            speed=sensors["speed"][1],
            timestamp=time.time(),
            sim_time=frame.sim_time,
            gps=list(sensors["gps"][1]),
            compass=self.last_compass,
            rgb_shape=None if rgb is None else list(rgb[1].shape),
            rgb_frame=None if rgb is None else rgb[0],
            lidar_n=None if lidar is None else len(lidar[1]),
        )
        return self.encoder.encode(
            head, None if rgb is None else rgb[1], None if lidar is None else lidar[1]
        )

    def _legacy(self, tick: int, ego: EgoState) -> bytes:
        x, y, _ = ego.location
        points = self.plan.points
        while self.index < len(points) - 1 and math.dist(
            (points[self.index + 1].x, points[self.index + 1].y), (x, y)
        ) < math.dist((points[self.index].x, points[self.index].y), (x, y)):
            self.index += 1
        cos, sin = math.cos(ego.yaw), math.sin(ego.yaw)
        targets = []
        for ahead in LEGACY_POINTS:
            point = points[min(self.index + int(ahead), len(points) - 1)]
            dx, dy = point.x - x, point.y - y
            targets.append([dx * cos + dy * sin, dy * cos - dx * sin])
        return legacy_line(LegacyTick(tick, ego.forward_speed, targets, time.time()))


__all__ = ["AgentCrashed", "AgentGone", "AutopilotDriver", "Decision", "SocketDriver", "StubDriver"]
