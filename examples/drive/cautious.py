"""An agent of your own in forty lines: the stub, slower, and it says what it thinks.

sysone drive run --agent socket --lights green
PYTHONPATH=examples/drive sysone drive serve --adapter cautious:CautiousAdapter
"""

from typing import Any

from sysone.drive.service.stub import StubAdapter, StubAgent

TOP_SPEED = 6.0
"""m/s."""


class CautiousAdapter(StubAdapter):
    """Brakes above 6 m/s; everything else is the stub's."""

    def load(self, config: dict[str, Any]) -> StubAgent:
        """Called once; a real agent reads its weights here."""
        self.top_speed = float(config.get("top_speed", TOP_SPEED))
        return super().load(config)

    def step(self, agent: StubAgent, input_data: dict[str, Any], t: float) -> dict[str, Any]:
        """Called each tick. ``info`` is stored with the tick, up to 4 KiB."""
        picture = input_data["rgb_0"][1]  # uint8 (512, 1024, 3), BGR
        speed = input_data["speed"][1]["speed"]  # m/s
        control: dict[str, Any] = dict(super().step(agent, input_data, t))
        if speed > self.top_speed:
            control["throttle"] = 0.0
            control["brake"] = min(1.0, 0.2 * (speed - self.top_speed))
        control["info"] = {"brightness": round(float(picture[::16, ::16].mean()), 1)}
        return control
