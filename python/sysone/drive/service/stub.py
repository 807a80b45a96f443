"""A stub that drives without a model: it follows the plan and sees neither lights nor signs."""

import math
from typing import Any, Final

from sysone.drive.gps import DEFAULT_MODEL, gps_to_carla

CRUISE: Final = 8.0
"""m/s."""
CURVE: Final = 4.0
"""m/s where the plan bends."""
WHEELBASE_M: Final = 2.87
MAX_WHEEL: Final = math.radians(40.0)
BEND: Final = math.radians(12.0)
LOOK_M: Final = 14.0
"""How far ahead a bend slows it down."""
STEER_SMOOTHING: Final = 0.3
"""Share of the last steer that is kept: state on purpose, so that a reset that forgets shows."""


class StubAgent:
    """Pure pursuit on the dense plan (R. C. Coulter, 1992)."""

    def __init__(self) -> None:
        self.route_model, self.route_reference = DEFAULT_MODEL, (0.0, 0.0)
        self.plan: list[tuple[float, float]] = []
        self.reset()

    def reset(self) -> None:
        """Forget the last route."""
        self.index = 0
        self.steer = 0.0
        self.steps = 0

    def drive(self, x: float, y: float, yaw: float, speed: float) -> dict[str, float]:
        """Throttle, brake and steer."""
        self.steps += 1
        self._advance(x, y)
        ahead = max(3.0, 0.55 * speed + 1.0)
        tx, ty = self._point(self.index, ahead)
        dx, dy = tx - x, ty - y
        # the rear axle is what pure pursuit steers
        across = dy * math.cos(yaw) - dx * math.sin(yaw)
        along = dx * math.cos(yaw) + dy * math.sin(yaw) + WHEELBASE_M / 2
        wheel = math.atan2(2 * WHEELBASE_M * across, along * along + across * across)
        wanted = max(-1.0, min(1.0, wheel / MAX_WHEEL))
        self.steer = STEER_SMOOTHING * self.steer + (1 - STEER_SMOOTHING) * wanted
        error = self._target_speed() - speed
        throttle = max(0.0, min(0.75, 0.4 * error + 0.1)) if error > -0.5 else 0.0
        brake = max(0.0, min(1.0, -0.3 * (error + 0.5))) if error < -0.5 else 0.0
        return {"throttle": throttle, "brake": brake, "steer": self.steer}

    def _advance(self, x: float, y: float) -> None:
        best = math.inf
        for j in range(self.index, min(self.index + 8, len(self.plan))):
            distance = math.dist(self.plan[j], (x, y))
            if distance < best:
                best, self.index = distance, j

    def _point(self, index: int, ahead: float) -> tuple[float, float]:
        left = ahead
        for j in range(index, len(self.plan) - 1):
            a, b = self.plan[j], self.plan[j + 1]
            step = math.dist(a, b)
            if step >= left:
                share = left / step if step else 0.0
                return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
            left -= step
        if len(self.plan) > 1:
            a, b = self.plan[-2], self.plan[-1]
            step = math.dist(a, b) or 1.0
            return b[0] + left * (b[0] - a[0]) / step, b[1] + left * (b[1] - a[1]) / step
        return self.plan[-1]

    def _target_speed(self) -> float:
        def heading(j: int) -> float:
            a, b = self.plan[j], self.plan[j + 1]
            return math.atan2(b[1] - a[1], b[0] - a[0])

        last = min(self.index + int(LOOK_M), len(self.plan) - 2)
        if last <= self.index:
            return CRUISE
        first = heading(self.index)
        turn = max(
            abs(math.remainder(heading(j) - first, 2 * math.pi))
            for j in range(self.index, last + 1)
        )
        return CURVE if turn > BEND else CRUISE


class StubAdapter:
    """The stub behind the interface of every model."""

    dense_plan = True
    binary_brake = False

    def load(self, config: dict[str, Any]) -> StubAgent:
        """A new stub."""
        return StubAgent()

    def soft_reset(self, agent: StubAgent) -> None:
        """Forget the last route."""
        agent.reset()

    def start_route(self, agent: StubAgent, message: dict[str, Any]) -> None:
        """Take the conversion that the readings will follow."""
        agent.route_model = message.get("gps_model") or DEFAULT_MODEL
        lat, lon = message.get("gps_ref") or (0.0, 0.0)
        agent.route_reference = (lat, lon)

    def set_plan(self, agent: StubAgent, gps_plan: list[Any], world_plan: list[Any]) -> None:
        """The plan, in the plane that the readings are turned into."""
        agent.plan = [
            gps_to_carla(
                point["lat"], point["lon"], *agent.route_reference, model=agent.route_model
            )
            for point, _ in gps_plan
        ]

    def sensors(self, agent: StubAgent) -> list[dict[str, Any]]:
        """SimLingo's sensors, so that the whole wire is used."""
        return [
            {
                "type": "sensor.camera.rgb",
                "x": -1.5,
                "y": 0.0,
                "z": 2.0,
                "roll": 0.0,
                "pitch": 0.0,
                "yaw": 0.0,
                "width": 1024,
                "height": 512,
                "fov": 110,
                "id": "rgb_0",
            },
            {"type": "sensor.other.imu", "id": "imu"},
            {"type": "sensor.other.gnss", "id": "gps"},
            {"type": "sensor.speedometer", "id": "speed"},
        ]

    def step(self, agent: StubAgent, input_data: dict[str, Any], t: float) -> dict[str, float]:
        """Controls from GNSS, compass and speedometer; the picture is only looked at."""
        lat, lon = input_data["gps"][1][:2]
        x, y = gps_to_carla(lat, lon, *agent.route_reference, model=agent.route_model)
        yaw = input_data["imu"][1][6] - math.pi / 2
        return agent.drive(x, y, yaw, input_data["speed"][1]["speed"])
