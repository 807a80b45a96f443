"""Faults on purpose, for tests and demonstrations: ``NAME@tick=N`` or ``NAME@m=METRES``."""

import re
from dataclasses import dataclass, replace
from typing import Any, Final

from sysone.drive.agents import AgentGone
from sysone.drive.backend import Control, SimulationCrashed

NAMES: Final = (
    "collide",
    "run_red",
    "run_stop",
    "stall",
    "leave_route",
    "agent_silent",
    "agent_late",
    "agent_garbage",
    "agent_disconnect",
    "agent_abort",
    "server_abort",
    "nan_compass",
    "sensor_gap",
)
HOLD_TICKS: Final = {"collide": 10, "run_red": 160, "run_stop": 160, "nan_compass": 20}
"""How long a fault lasts; the others stay."""
ONCE: Final = ("agent_late", "agent_garbage", "agent_disconnect", "agent_abort", "server_abort")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault and when it begins."""

    name: str
    tick: int | None = None
    metres: float | None = None


def parse_fault(text: str) -> Fault:
    """A fault from its text.

    Raises:
        ValueError: it is not of that form; the text says what is expected.
    """
    match = re.fullmatch(r"([a-z_]+)@(tick|m)=([0-9]+(?:\.[0-9]+)?)", text)
    if match is None or match[1] not in NAMES:
        raise ValueError(
            f"--inject is {text!r}, expected NAME@tick=N or NAME@m=METRES with NAME one of "
            f"{', '.join(NAMES)}"
        )
    if match[2] == "tick":
        if "." in match[3]:
            raise ValueError(f"--inject is {text!r}, expected a whole number of ticks")
        return Fault(match[1], tick=int(match[3]))
    return Fault(match[1], metres=float(match[3]))


class Injector:
    """Which faults are on in this tick, and what they do to the world and the controls."""

    def __init__(self, faults: list[Fault], attempt: int = 0) -> None:
        # What happens once happened in the first attempt.
        self.faults = [f for f in faults if attempt == 0 or f.name not in ONCE]
        self.began: dict[str, int] = {}
        self.obstacle: int | None = None

    def begin_tick(self, tick: int, odometer_m: float, backend: Any) -> None:
        """Before the simulator ticks.

        Raises:
            SimulationCrashed: ``server_abort``.
        """
        for fault in self.faults:
            due = (
                tick >= fault.tick if fault.tick is not None else odometer_m >= (fault.metres or 0)
            )
            if due and fault.name not in self.began:
                self.began[fault.name] = tick
                if fault.name == "collide":
                    self.obstacle = backend.add_obstacle(0.3)
                if fault.name == "run_red":
                    backend.light_plan.forced = "Red"
        if self.on("server_abort", tick):
            raise SimulationCrashed("server_abort was injected")
        if self.obstacle is not None and not self.on("collide", tick):
            backend.remove_obstacle(self.obstacle)
            self.obstacle = None
        backend.fail_sensors = self.on("sensor_gap", tick)
        backend.fail_compass = self.on("nan_compass", tick)

    def on(self, name: str, tick: int) -> bool:
        """Whether a fault lasts in this tick."""
        began = self.began.get(name)
        return began is not None and tick < began + HOLD_TICKS.get(name, 1 << 30)

    def starts(self, name: str, tick: int) -> bool:
        """Whether a fault begins in this tick."""
        return self.began.get(name) == tick

    def before_step(self, tick: int) -> bool:
        """Whether the agent's answer of this tick is to be dropped.

        Raises:
            AgentGone: ``agent_disconnect`` or ``agent_abort``.
        """
        for name in ("agent_disconnect", "agent_abort"):
            if self.starts(name, tick):
                raise AgentGone(f"{name} was injected")
        return (
            self.on("agent_silent", tick)
            or self.starts("agent_late", tick)
            or self.starts("agent_garbage", tick)
        )

    def control(self, control: Control, tick: int) -> Control:
        """What the car is told instead."""
        if self.on("stall", tick):
            return Control(0.0, 1.0, 0.0)
        if self.on("leave_route", tick):
            return Control(0.5, 0.0, 0.12)
        if self.on("run_red", tick) or self.on("run_stop", tick):
            return replace(control, throttle=max(control.throttle, 0.4), brake=0.0)
        return control
