"""The model service: connect, load once, answer ticks until the executor closes."""

import contextlib
import math
import socket
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sysone.drive.service.adapters import Adapter
from sysone.drive.service.forge import Forge, SensorMissing, differences
from sysone.drive.service.plan import Plan
from sysone.drive.service.wire import (
    MAX_TO_MODEL,
    Channel,
    WireError,
    agreed_version,
    check_fields,
    dumps,
    parse_message,
)

AGENT_FAILED: Final = 14
MAX_FAILURES: Final = 3
CONNECT_TIMEOUT_S: Final = 120.0
COMPARED: Final = {"sensor.camera.rgb": "rgb", "sensor.lidar.ray_cast": "lidar"}
"""Sensors whose pose and shape must be the model's own, and their names in ``route_start``."""


@dataclass
class Service:
    """One model behind one connection at a time."""

    adapter: Adapter
    name: str
    config: dict[str, Any] = field(default_factory=dict)
    allow_sensor_mismatch: bool = False
    max_message_bytes: int = MAX_TO_MODEL
    brake_mode: str | None = None
    """``binary`` or ``float``; the adapter's own where absent."""
    highest: str = "0.3"
    agent: Any = None
    forge: Forge | None = None
    failures: int = 0
    proto: str = "0.2"

    def serve(self, connection: socket.socket) -> int:
        """Answer until the peer closes; an exit code."""
        channel = Channel(connection, self.max_message_bytes)
        try:
            while True:
                line = channel.receive()
                if line is None:
                    return 0
                answer = self.answer(line)
                channel.send(dumps(answer))
                if self.failures >= MAX_FAILURES:
                    return AGENT_FAILED
        except WireError as error:  # too_large, truncated: the stream cannot go on
            with contextlib.suppress(OSError):
                channel.send(dumps(_error(error)), timeout_s=1.0)
            return 0
        except OSError:
            return 0
        finally:
            channel.close()

    def answer(self, line: Any) -> dict[str, Any]:
        """The answer to one line."""
        try:
            message = parse_message(line)
            if message["type"] == "heartbeat":
                return {"alive": True}
            check_fields(message)
            if message["type"] == "route_start":
                return self._start(message)
            if message["type"] == "route_end":
                return {"type": "bye"}
            return self._tick(message)
        except WireError as error:
            return _error(error)

    def _start(self, message: dict[str, Any]) -> dict[str, Any]:
        self.proto = agreed_version(message.get("proto"), self.highest)
        self.forge = None
        try:
            if self.agent is None:
                self.agent = self.adapter.load(self.config)
            else:
                self.adapter.soft_reset(self.agent)
            begin = getattr(self.adapter, "start_route", None)
            if begin is not None:
                begin(self.agent, message)
            plan = Plan.of(message)
            dense = bool(getattr(self.adapter, "dense_plan", False))
            self.adapter.set_plan(self.agent, *plan.for_agent(dense))
            sensors = self.adapter.sensors(self.agent)
            self._check_sensors(sensors, message)
            self.forge = Forge(sensors, lidar=self.proto == "0.3")
        except SensorMissing as error:
            wants_lidar = error.sensor and self.proto != "0.3"
            raise WireError("version" if wants_lidar else "sensors", str(error)) from None
        except WireError:
            raise
        except Exception as error:
            raise WireError("agent", _last_line(error)) from error
        self.failures = 0
        return {"type": "ready", "proto": self.proto, "agent": self.name}

    def _check_sensors(self, sensors: list[dict[str, Any]], message: dict[str, Any]) -> None:
        if self.allow_sensor_mismatch:
            return
        mounted = message.get("sensors") or {}
        for sensor in sensors:
            kind = COMPARED.get(sensor.get("type", ""))
            if kind is None or mounted.get(kind) is None:
                continue
            found = differences(sensor, mounted[kind])
            if found:
                name = "camera" if kind == "rgb" else kind
                raise WireError("sensors", f"{name} {sensor.get('id')}: {'; '.join(found)}")

    def _tick(self, message: dict[str, Any]) -> dict[str, Any]:
        tick = message["tick"]
        if self.forge is None:
            raise WireError("bad_field", "a tick before any route_start", tick)
        data = self.forge.build(message)
        t = message.get("sim_time")
        began = time.perf_counter()
        try:
            control = self.adapter.step(
                self.agent, data, float(t if t is not None else message.get("rgb_frame", tick))
            )
            answer = self._reply(control)
        except Exception as error:
            self.failures += 1
            traceback.print_exc()
            raise WireError("agent", _last_line(error), tick) from error
        self.failures = 0
        answer["tick"] = tick
        answer["infer_ms"] = round(1000 * (time.perf_counter() - began), 3)
        return answer

    def _reply(self, control: Any) -> dict[str, Any]:
        def value(name: str) -> float:
            found = control.get(name, 0.0) if isinstance(control, dict) else getattr(control, name)
            number = float(found)
            if not math.isfinite(number):
                raise ValueError(f"{name} is {number}")
            return number

        binary = getattr(self.adapter, "binary_brake", False)
        if self.brake_mode is not None:
            binary = self.brake_mode == "binary"
        brake = value("brake")
        answer: dict[str, Any] = {
            "throttle": value("throttle"),
            "brake": (1.0 if brake else 0.0) if binary else brake,
            "steer": value("steer"),
        }
        info = control.get("info") if isinstance(control, dict) else None
        if info is not None:
            answer["info"] = info
        return answer


def _error(error: WireError) -> dict[str, Any]:
    answer: dict[str, Any] = {"type": "error", "code": error.code, "message": error.message[:500]}
    if type(error.tick) is int:
        answer["tick"] = error.tick
    return answer


def _last_line(error: Exception) -> str:
    return traceback.format_exception_only(type(error), error)[-1].strip()[:500]


def connect(host: str, port: int, timeout_s: float = CONNECT_TIMEOUT_S) -> socket.socket:
    """A connection to the executor, tried again from 0.5 s apart up to 5 s.

    Raises:
        OSError: none came in time.
    """
    deadline = time.monotonic() + timeout_s
    pause = 0.5
    while True:
        try:
            return socket.create_connection((host, port), timeout=min(5.0, timeout_s))
        except OSError:
            if time.monotonic() + pause > deadline:
                raise
            time.sleep(pause)
            pause = min(2 * pause, 5.0)


def run(service: Service, host: str, port: int, *, connect_timeout_s: float, forever: bool) -> int:
    """Serve one executor, or with ``forever`` whichever comes next; an exit code."""
    while True:
        try:
            connection = connect(host, port, connect_timeout_s)
        except OSError as error:
            print(
                f"no executor at {host}:{port} within {connect_timeout_s:g} s: {error}", flush=True
            )
            return 0 if service.agent is not None else 13
        code = service.serve(connection)
        if code != 0 or not forever:
            return code


def read_config(path: str | None) -> dict[str, Any]:
    """An adapter's settings from a JSON file.

    Raises:
        ValueError: it is not a JSON object.
        OSError: it cannot be read.
    """
    if path is None:
        return {}
    import json

    found = json.loads(Path(path).read_text(encoding="utf-8"))
    if not isinstance(found, dict):
        raise ValueError(f"{path} is not a JSON object")
    return found
