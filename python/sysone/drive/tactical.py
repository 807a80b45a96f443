"""An example agent: a System One model decides keep, slow, stop, left or right, the stub steers.

``sysone drive serve --adapter sysone.drive.tactical:TacticalAdapter --config FILE`` with
``{"endpoint": "http://127.0.0.1:8700", "model": "clm-latest", "budget_ms": 150, "every": 4}``,
all of them optional. Each ``every`` ticks the situation goes out as one typed question to
``POST /v1/systemone``. What has not come within the budget is dropped, and the last decision holds;
after a second without any, the car slows down. The step itself never waits longer.
"""

import math
import time
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone.drive.service.adapters import AdapterError
from sysone.drive.service.stub import StubAdapter, StubAgent
from sysone.systemone.answers import ChoiceAnswer
from sysone.systemone.client import DEFAULT_MODEL, CLMClient, SystemOneError
from sysone.systemone.questions import Choice

TACTICS: Final[dict[str, str]] = {
    "keep": "The traffic light is green, or there is no traffic light: go on.",
    "slow": "The road bends: go slowly.",
    "stop": "The traffic light is red or yellow: stop the car.",
    "left": "Something stands at the right edge of the lane: keep to the left.",
    "right": "Something stands at the left edge of the lane: keep to the right.",
}
QUESTION: Final = Choice(dict(TACTICS), "What should the car do now?")
CAPS_MPS: Final = {"slow": 3.5, "stop": 0.0}
"""Of the target speed; the others leave it to the stub."""
SIDE_M: Final = {"left": -0.7, "right": 0.7}
"""How far from the middle of a lane of 3.5 m a car of 1.84 m may go and stay inside."""
BUDGET_MS: Final = 150.0
EVERY: Final = 4
"""Ticks of 50 ms: five decisions a second."""
FORGET_STEPS: Final = 20
LOOK_M: Final = 25
STANDING_MPS: Final = 0.3
BEND: Final = math.radians(12.0)
LEAST_PIXELS: Final = 12
PATIENCE_STEPS: Final = 400
"""What is still red after 20 s of standing is no light but a stop sign: go on past it."""


def lamp_ahead(picture: NDArray[np.uint8]) -> str:
    """Colour of the largest lamp above the horizon of a BGR picture: red, yellow, green or none.

    A threshold on saturated colours; a real camera needs a real detector.
    """
    sky = picture[: picture.shape[0] // 2].astype(np.int16)
    blue, green, red = sky[..., 0], sky[..., 1], sky[..., 2]
    found = {
        "red": (red > 110) & (red > 3 * green) & (red > 3 * blue),
        "yellow": (red > 110) & (green > 100) & (red > 3 * blue),
        "green": (green > 100) & (green > 2 * red) & (green > 2 * blue),
    }
    counts = {name: int(np.count_nonzero(mask)) for name, mask in found.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] >= LEAST_PIXELS else "none"


class TacticalAgent(StubAgent):
    """The stub with a tactic above it."""

    def __init__(self, client: CLMClient, budget_ms: float, every: int) -> None:
        self.client = client
        self.budget_ms = budget_ms
        self.every = every
        super().__init__()

    def reset(self) -> None:
        """Forget the last route."""
        super().reset()
        self.tactic = "keep"
        self.since = self.standing = 0
        self.passing = False
        self.asked = self.timeouts = self.errors = 0

    def heeded(self, lamp: str) -> str:
        """The lamp, or none while the car goes past what turned out to be a stop sign."""
        if lamp != "red":
            self.passing = False
        elif self.standing > PATIENCE_STEPS:
            self.passing = True
        return "none" if self.passing else lamp

    def situation(self, speed: float, lamp: str) -> dict[str, Any]:
        """What the model is told."""
        found = {
            "traffic light": "no light" if lamp == "none" else f"{lamp} light",
            "speed": "standing" if speed < STANDING_MPS else f"{speed:.0f} m/s",
        }
        if lamp == "none":  # at a light only the light counts: the stub slows for bends anyway
            bends = abs(self._turn()) >= BEND
            found["road"] = "road bends" if bends else "straight road"
        return found

    def _turn(self) -> float:
        last = min(self.index + LOOK_M, len(self.plan) - 2)
        if last <= self.index:
            return 0.0

        def heading(j: int) -> float:
            a, b = self.plan[j], self.plan[j + 1]
            return math.atan2(b[1] - a[1], b[0] - a[0])

        return math.remainder(heading(last) - heading(self.index), 2 * math.pi)

    def decide(self, situation: dict[str, Any]) -> float:
        """Ask; how long it took in ms. Without an answer the last decision holds, then slows."""
        began = time.perf_counter()
        self.asked += 1
        try:
            answer = self.client.system_one(situation, {"tactic": QUESTION}).answers["tactic"]
        except SystemOneError as error:
            timed_out = error.status is None and "no answer in time" in error.message
            self.timeouts += timed_out
            self.errors += not timed_out
            answer = None
        took = 1000 * (time.perf_counter() - began)
        if answer is not None and took > self.budget_ms:
            # the client's limit is for each wait on the network, and a reply may come in pieces
            self.timeouts += 1
            answer = None
        if isinstance(answer, ChoiceAnswer) and answer.choice in TACTICS:
            self.tactic, self.since = answer.choice, 0
        return took

    def drive(self, x: float, y: float, yaw: float, speed: float) -> dict[str, float]:
        """As the stub, below the tactic."""
        self.since += 1
        self.standing = self.standing + 1 if speed < STANDING_MPS else 0
        if self.since > FORGET_STEPS and self.tactic != "stop":
            self.tactic = "slow"
        found = super().drive(x, y, yaw, speed)
        if self.tactic == "stop" and speed < 1.0:
            return {**found, "throttle": 0.0, "brake": 1.0}
        return found

    def _target_speed(self) -> float:
        return min(super()._target_speed(), CAPS_MPS.get(self.tactic, math.inf))

    def _point(self, index: int, ahead: float) -> tuple[float, float]:
        x, y = super()._point(index, ahead)
        side = SIDE_M.get(self.tactic)
        if side is None or index + 1 >= len(self.plan):
            return x, y
        a, b = self.plan[index], self.plan[index + 1]
        step = math.dist(a, b) or 1.0
        return x - side * (b[1] - a[1]) / step, y + side * (b[0] - a[0]) / step


class TacticalAdapter(StubAdapter):
    """The example behind the interface of every model."""

    def load(self, config: dict[str, Any]) -> TacticalAgent:
        """Connect; the endpoint is asked once, so that a wrong one is told here.

        Raises:
            AdapterError: the configuration is none, or the endpoint does not answer.
        """
        unknown = sorted(set(config) - {"endpoint", "model", "budget_ms", "every"})
        if unknown:
            raise AdapterError(
                f"config has {', '.join(unknown)}, expected endpoint, model, budget_ms, every"
            )
        budget, every = config.get("budget_ms", BUDGET_MS), config.get("every", EVERY)
        if not isinstance(budget, int | float) or not 1 <= budget <= 10_000:
            raise AdapterError(f"budget_ms is {budget!r}, expected 1 to 10000")
        if not isinstance(every, int) or every < 1:
            raise AdapterError(f"every is {every!r}, expected a whole number of at least 1")
        model = config.get("model", DEFAULT_MODEL)
        try:
            with CLMClient(config.get("endpoint"), timeout=30.0, model=model) as patient:
                patient.check()
            client = CLMClient(config.get("endpoint"), timeout=budget / 1000, model=model)
        except SystemOneError as error:
            raise AdapterError(f"endpoint: {error}") from error
        return TacticalAgent(client, float(budget), every)

    def step(self, agent: StubAgent, input_data: dict[str, Any], t: float) -> dict[str, Any]:
        """Controls, and in ``info`` the tactic with what its question cost."""
        assert isinstance(agent, TacticalAgent)
        info: dict[str, Any] = {}
        if agent.steps % agent.every == 0:
            lamp = agent.heeded(lamp_ahead(input_data["rgb_0"][1]))
            speed = input_data["speed"][1]["speed"]
            before = agent.timeouts, agent.errors
            info["asked_ms"] = round(agent.decide(agent.situation(speed, lamp)), 3)
            info["lamp"] = lamp
            if (agent.timeouts, agent.errors) != before:
                info["unanswered"] = "timeout" if agent.timeouts > before[0] else "error"
        controls = super().step(agent, input_data, t)
        return {**controls, "info": {"tactic": agent.tactic, **info}}
