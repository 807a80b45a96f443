"""The stub with faults of its own: it raises, and answers with what is no number."""

import os
from pathlib import Path
from typing import Any

from sysone.drive.service.stub import StubAdapter

EVERY = 41


class ChaosAdapter(StubAdapter):
    def __init__(self) -> None:
        self.steps = 0

    def step(self, agent: Any, input_data: dict[str, Any], t: float) -> dict[str, float]:
        self.steps += 1
        kind = self.steps // EVERY % 2 if self.steps % EVERY == 0 else None
        if kind is not None:
            with Path(os.environ["CHAOS_LOG"]).open("a") as log:
                log.write(f"{kind}\n")
        if kind == 0:
            raise RuntimeError("a fault on purpose")
        controls = super().step(agent, input_data, t)
        return {**controls, "steer": float("nan")} if kind == 1 else controls
