"""A stand-in of SimLingo's agent: the same attributes, no model."""

from collections import deque
from types import SimpleNamespace
from typing import Any

import numpy as np


class PIDController:
    def __init__(self, k_p: float, k_i: float, k_d: float, n: int) -> None:
        self.gains = (k_p, k_i, k_d)
        self.window: deque[float] = deque([0.0] * n, maxlen=n)

    def step(self, error: float) -> float:
        self.window.append(error)
        return self.gains[0] * error + self.gains[1] * sum(self.window) / len(self.window)


class LateralPIDController:
    def __init__(self, inference_mode: bool = True) -> None:
        self.inference_mode = inference_mode
        self.errors: list[float] = []

    def step(self, route: Any, speed: float) -> float:
        self.errors.append(float(np.sum(route)) * 1e-6 + speed * 1e-3)
        return float(np.clip(self.errors[-1], -1, 1))


class StandInAgent:
    def __init__(self, host: str, port: int) -> None:
        self.model = SimpleNamespace(parameters=list, weights=np.ones(10_000))

    def setup(self, config: str) -> None:
        self.config_path = config
        self.config = SimpleNamespace(speed_k_p=1.75, speed_k_i=1.0, speed_k_d=2.0, speed_n=20)
        self.step = -1
        self.initialized = False
        self.DrivingInput: dict[str, Any] = {}
        self.last_command = self.last_command_tmp = -1
        self.stuck_detector = 0
        self.force_move = 0
        self.target_point_prev = [1e5, 1e5, 1e5]
        self.commands = deque([4, 4], maxlen=2)
        self.metric_info: dict[str, Any] = {}
        self.speed_controller = PIDController(1.75, 1.0, 2.0, 20)
        self.turn_controller = LateralPIDController(inference_mode=False)
        self.image_buffer: deque[Any] = deque(maxlen=2)
        self.filter_initialized = False
        self.state_log: deque[Any] = deque(maxlen=5)
        self.ukf = SimpleNamespace(P=np.diag([0.5, 0.5, 1e-6, 1e-6]), x=None)
        self.control = SimpleNamespace(throttle=0.0, brake=0.0, steer=0.0)

    def sensors(self) -> list[dict[str, Any]]:
        return [
            {"type": "sensor.other.gnss", "id": "gps"},
            {"type": "sensor.other.imu", "id": "imu"},
            {"type": "sensor.speedometer", "id": "speed"},
        ]

    def run_step(self, data: dict[str, Any], t: float) -> Any:
        self.step += 1
        self.initialized = True
        gps = np.array(data["gps"][1][:2])
        if not self.filter_initialized:
            self.filtered = gps
            self.filter_initialized = True
        self.filtered = 0.5 * self.filtered + 0.5 * gps
        self.ukf.P = self.ukf.P * 0.99
        self.state_log.append(self.filtered.tolist())
        self.commands.append(3)
        self.last_command = 3
        self.stuck_detector += 1
        self.target_point_prev = self.filtered.tolist()
        self.metric_info[str(self.step)] = t
        self.image_buffer.append(t)
        speed = data["speed"][1]["speed"]
        throttle = self.speed_controller.step(5.0 - speed) / 20
        steer = self.turn_controller.step(self.filtered, speed)
        self.control = SimpleNamespace(
            throttle=float(np.clip(throttle, 0, 1)), brake=speed > 6.0, steer=steer
        )
        return self.control


def get_entry_point() -> str:
    return "StandInAgent"
