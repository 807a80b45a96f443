"""The example agent: a typed question decides the tactic, the stub's controls carry it out."""

import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sysone.drive.latency import summed, text
from sysone.drive.service.adapters import AdapterError, load_adapter
from sysone.drive.tactical import (
    FORGET_STEPS,
    PATIENCE_STEPS,
    QUESTION,
    TACTICS,
    TacticalAdapter,
    TacticalAgent,
    lamp_ahead,
)
from sysone.systemone.answers import ChoiceAnswer
from sysone.systemone.client import SystemOneError
from sysone.systemone.local import local_server


class Endpoint:
    """Answers as it is told, without a network."""

    def __init__(self) -> None:
        self.answer: str | None = "keep"
        self.error = "no answer in time"
        self.asked: list[Any] = []

    def system_one(self, state: Any, questions: Any) -> Any:
        assert questions == {"tactic": QUESTION}
        self.asked.append(state)
        if self.answer is None:
            raise SystemOneError(self.error)
        rest = dict.fromkeys(TACTICS, 0.0) | {self.answer: 1.0}
        return SimpleNamespace(
            answers={"tactic": ChoiceAnswer(choice=self.answer, probabilities=rest, confidence=1.0)}
        )


@pytest.fixture
def endpoint() -> Endpoint:
    return Endpoint()


@pytest.fixture
def agent(endpoint: Endpoint) -> TacticalAgent:
    made = TacticalAgent(endpoint, 60_000.0, 1)  # type: ignore[arg-type]
    made.plan = [(float(x), 0.0) for x in range(200)]
    return made


def picture(*lamps: tuple[tuple[int, int, int], int]) -> Any:
    found = np.full((512, 1024, 3), (200, 180, 160), dtype=np.uint8)
    at = 300
    for colour, size in lamps:
        found[100 : 100 + size, at : at + size] = colour
        at += 100
    return found


def test_lamps_are_seen_by_their_colour_and_size() -> None:
    assert lamp_ahead(picture()) == "none"
    assert lamp_ahead(picture(((40, 40, 220), 6))) == "red"
    assert lamp_ahead(picture(((40, 200, 230), 6))) == "yellow"
    assert lamp_ahead(picture(((70, 200, 60), 6))) == "green"
    assert lamp_ahead(picture(((40, 40, 220), 3))) == "none"
    assert lamp_ahead(picture(((40, 40, 220), 6), ((70, 200, 60), 9))) == "green"


@pytest.mark.parametrize("tactic", TACTICS)
def test_each_tactic_changes_the_controls(
    tactic: str, agent: TacticalAgent, endpoint: Endpoint
) -> None:
    endpoint.answer = tactic
    agent.decide(agent.situation(6.0, "none"))
    found = agent.drive(10.0, 0.0, 0.0, 6.0)
    assert (found["throttle"] > 0.0) == (tactic not in ("slow", "stop"))
    assert (found["brake"] > 0.0) == (tactic in ("slow", "stop"))
    assert {"left": found["steer"] < 0.0, "right": found["steer"] > 0.0}.get(
        tactic, abs(found["steer"]) < 1e-9
    )
    if tactic == "stop":
        assert agent.drive(10.0, 0.0, 0.0, 0.4) == {"throttle": 0.0, "brake": 1.0, "steer": 0.0}


def test_without_an_answer_the_last_decision_holds_and_then_slows(
    agent: TacticalAgent, endpoint: Endpoint
) -> None:
    agent.decide({})
    endpoint.answer = None
    for _ in range(FORGET_STEPS):
        agent.decide({})
        agent.drive(0.0, 0.0, 0.0, 6.0)
        assert agent.tactic == "keep"
    agent.drive(0.0, 0.0, 0.0, 6.0)
    assert (agent.tactic, agent.timeouts, agent.errors) == ("slow", FORGET_STEPS, 0)
    endpoint.error = "HTTP 500"
    agent.decide({})
    assert agent.errors == 1
    endpoint.answer = "stop"
    agent.decide({})
    endpoint.answer = None
    for _ in range(2 * FORGET_STEPS):
        agent.drive(0.0, 0.0, 0.0, 0.0)
    assert agent.tactic == "stop"  # a stop is not forgotten


def test_an_answer_over_the_budget_is_dropped(agent: TacticalAgent, endpoint: Endpoint) -> None:
    endpoint.answer = "stop"
    agent.budget_ms = 0.0
    agent.decide({})
    assert (agent.tactic, agent.timeouts) == ("keep", 1)


def test_what_stays_red_is_a_stop_sign(agent: TacticalAgent, endpoint: Endpoint) -> None:
    endpoint.answer = "stop"
    agent.decide({})
    for _ in range(PATIENCE_STEPS):
        assert agent.heeded("red") == "red"
        agent.drive(0.0, 0.0, 0.0, 0.0)
    agent.drive(0.0, 0.0, 0.0, 0.0)
    assert agent.heeded("red") == "none"
    agent.drive(0.0, 0.0, 0.0, 2.0)
    assert agent.heeded("red") == "none"
    assert agent.heeded("none") == "none"
    assert agent.heeded("red") == "red"


def test_the_bend_counts_where_there_is_no_light(agent: TacticalAgent) -> None:
    agent.plan = [(float(x), 0.0) for x in range(10)] + [(9.0, float(y)) for y in range(1, 40)]
    assert agent.situation(5.0, "none")["road"] == "road bends"
    assert agent.situation(0.0, "red") == {"traffic light": "red light", "speed": "standing"}


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"url": "x"}, "config has url, expected endpoint"),
        ({"budget_ms": 0}, "budget_ms is 0, expected 1 to 10000"),
        ({"every": 0.5}, "every is 0.5, expected a whole number"),
        ({"endpoint": "ftp://x"}, "endpoint: invalid base URL 'ftp://x'"),
    ],
)
def test_configuration_mistakes(config: dict[str, Any], message: str) -> None:
    with pytest.raises(AdapterError, match=re.escape(message)):
        TacticalAdapter().load(config)


def test_a_drive_with_the_embedded_model(tmp_path: Path) -> None:
    """Executor, model service and System One server, three processes; the report says the cost."""
    assert isinstance(load_adapter("sysone.drive.tactical:TacticalAdapter"), TacticalAdapter)
    points = "".join(f'<position x="{-140 + 2 * i}" y="1.8" z="0"/>' for i in range(20))
    routes = tmp_path / "routes.xml"
    routes.write_text(
        f'<routes><route id="7" town="MiniGrid"><waypoints>{points}</waypoints></route></routes>'
    )
    out = tmp_path / "run"
    with local_server() as url:
        config = tmp_path / "config.json"
        config.write_text(json.dumps({"endpoint": url, "budget_ms": 10_000}))
        executor = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive", "run", "--routes", str(routes)),
                *("--agent-bind", "127.0.0.1:0", "--out", str(out), "--lights", "green"),
                *("--step-timeout", "60", "--agent-wait", "240"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert executor.stdout is not None
        port = executor.stdout.readline().partition("=")[2].strip()
        model = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive", "serve", "--config", str(config)),
                *("--adapter", "sysone.drive.tactical:TacticalAdapter"),
                *("--connect", f"127.0.0.1:{port}"),
            ]
        )
        printed, _ = executor.communicate(timeout=280)
        model.wait()
    assert executor.returncode == 0
    found = json.loads((out / "summary.json").read_bytes())
    assert found["num_completed"] == 1
    questions = found["latency"]["questions"]
    assert questions["count"] > 20
    assert sum(questions["tactics"].values()) == questions["count"]
    assert questions["errors"] == 0
    assert "decisions: " in printed
    assert "timeouts" in printed


def test_the_report_adds_drives_up() -> None:
    one = {"infer_ms": [1.0, 3.0], "held": 1, "asked_ms": [2.0], "unanswered": {}, "tactics": {}}
    two = {**one, "unanswered": {"timeout": 2, "error": 1}, "tactics": {"stop": 4}}
    found = summed([one, two])
    assert found["steps"] == {"count": 4, "p50_ms": 3.0, "p95_ms": 3.0, "max_ms": 3.0}
    assert (found["held_steps"], found["questions"]["timeouts"]) == (2, 2)
    assert text(found)[1].endswith("2 timeouts, 1 errors; stop 4")
    assert text(summed([])) == []
