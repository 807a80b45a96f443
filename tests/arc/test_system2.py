"""System-2: a parser that nothing breaks, an endpoint that misbehaves, lessons and advice."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysone.arc.actions import RESET, parse
from sysone.arc.config import Hybrid
from sysone.arc.decide import Adviser, Agent
from sysone.arc.env import MockEnv
from sysone.arc.memory import Memory
from sysone.arc.observe import Watcher
from sysone.arc.system2.adviser import KEPT_LESSONS, GameAdviser
from sysone.arc.system2.reply import parse_lesson, parse_report
from sysone.arc.system2.transport import MAX_BYTES, CallError, OpenAIChat

GOOD = {
    "summary": "a maze",
    "entities": [{"name": "player", "colour": "red", "x": 3, "y": 99, "role": "me"}, 7],
    "hypotheses": ["reach the door", "collect all", "push", "a fourth"],
    "actions": [
        {"action": "ACTION3", "why": "left"},
        {"action": "ACTION6", "x": 200, "y": "12"},
        {"action": "RESET"},
        {"action": "ACTION5"},
        "ACTION1",
    ],
    "more": {"unknown": 1},
}


class Endpoint:
    """A chat endpoint on loopback that behaves as it is told."""

    def __init__(self) -> None:
        self.mode = "good"
        self.requests: list[dict[str, Any]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.requests.append(
                    json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                )
                outer.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        mode = self.mode
        if mode == "once 429":
            self.mode = "good"
        if mode == "disconnect":
            handler.connection.close()
            return
        status = {"once 429": 429, "429": 429, "500": 500, "404": 404}.get(mode, 200)
        content = {"noise": "hm, no idea", "none": None}.get(mode, json.dumps(GOOD))
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]})
        if mode == "malformed":
            body = '{"choices": [{"mess'
        elif mode == "other":
            body = "[]"
        elif mode == "oversized":
            body = body + " " * MAX_BYTES
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        raw = body.encode()
        try:
            if mode == "drip":
                for index in range(40):
                    handler.wfile.write(raw[index : index + 1])
                    handler.wfile.flush()
                    time.sleep(0.1)
            else:
                handler.wfile.write(raw)
        except OSError:
            pass  # the other side has given up


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    yield found
    found.server.shutdown()
    found.thread.join()
    found.server.server_close()


def seen() -> Any:
    found = Watcher().observe(MockEnv(0, "competition").first())
    assert found is not None
    return found


MESSAGES = [{"role": "user", "content": "?"}]


def test_a_report_is_read_field_by_field() -> None:
    report = parse_report(json.dumps(GOOD), (1, 3, 6))
    assert [item.action for item in report.actions] == ["ACTION3", "ACTION6 x=63 y=12", "ACTION1"]
    assert report.hypotheses == ("reach the door", "collect all", "push")
    assert [(e.name, e.x, e.y) for e in report.entities] == [("player", 3, 63)]


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ('Sure!\n```json\n{"actions": ["ACTION1"]}\n```\nand ```{"actions": ["ACTION2"]}```', [2]),
        ('I think {"actions": [{"action": "ACTION4"}]} is best', [4]),
        ("Try ACTION2, then action 3; never RESET.", [2, 3]),
        ("Click ACTION6 (12, 40) or ACTION6 x=1 y=2", [6, 6]),
        ("", []),
        ("{" * 5000, []),
        ('{"actions": {"action": "ACTION1"}}', [1]),
        ('{"actions": null, "summary": 5}', []),
    ],
)
def test_what_can_be_read_is_read(text: str, actions: list[int]) -> None:
    report = parse_report(text, (1, 2, 3, 4, 6))
    assert [parse(item.action).id for item in report.actions] == actions


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["actions", "action", "x", "y", "entities", "summary", "name", "z"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=400)
@given(
    st.one_of(
        st.text(max_size=300),
        JSON.map(lambda value: json.dumps(value)),
        JSON.map(lambda value: f"text ```json\n{json.dumps(value)}\n``` ACTION6 x=99999 y=-1"),
        st.text(alphabet='{}[]",:ACTION0123456789xy= RESET`', max_size=200),
    ),
    st.sets(st.integers(1, 7), min_size=1),
)
def test_no_reply_raises_or_brings_an_illegal_action(text: str, available: set[int]) -> None:
    report = parse_report(text, tuple(available))
    for item in report.actions:
        action = parse(item.action)
        assert action.id in available
        assert action is not RESET
    lesson = parse_lesson(text)
    assert all(isinstance(item, str) for item in (*lesson.learned, *lesson.avoid))


def test_an_endpoint_is_asked_as_vllm_serves_it(endpoint: Endpoint) -> None:
    adviser = GameAdviser(OpenAIChat(endpoint.url, "some/model"))
    assert isinstance(adviser, Adviser)
    assert adviser.propose(seen(), Memory())[:1] == ["ACTION3"]
    body = endpoint.requests[0]
    assert body["model"] == "some/model"
    parts = body["messages"][1]["content"]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    assert urls
    assert all(url.startswith("data:image/png;base64,") for url in urls)
    text = parts[-1]["text"]
    assert "qwenjev-state-v1|h=64 w=64" in text
    assert "ACTION1" in text
    assert adviser.lines() == [
        "guess: reach the door",
        f"proposed: {', '.join(adviser_texts(adviser))}",
    ]


def adviser_texts(adviser: GameAdviser) -> list[str]:
    return [item["action"] for item in adviser.report()["actions"]][:4]


@pytest.mark.parametrize(
    ("mode", "words", "requests"),
    [
        ("429", "answered 429", 2),
        ("500", "answered 500", 2),
        ("404", "answered 404", 1),
        ("malformed", "not the form of a chat completion", 1),
        ("other", "not the form of a chat completion", 1),
        ("oversized", "longer than", 1),
        ("disconnect", "failed", 1),
        ("none", "no text", 1),
    ],
)
def test_what_an_endpoint_does_wrong(
    endpoint: Endpoint, mode: str, words: str, requests: int
) -> None:
    endpoint.mode = mode
    waits: list[float] = []
    chat = OpenAIChat(endpoint.url, sleep=waits.append)
    with pytest.raises(CallError, match=words):
        chat(MESSAGES, 100.0)
    assert len(endpoint.requests) == requests
    assert len(waits) == requests - 1


def test_one_retry_gets_over_a_busy_moment(endpoint: Endpoint) -> None:
    endpoint.mode = "once 429"
    chat = OpenAIChat(endpoint.url, sleep=lambda _: None)
    assert json.loads(chat(MESSAGES, 100.0)) == GOOD


def test_a_reply_that_drips_is_cut_off(endpoint: Endpoint) -> None:
    endpoint.mode = "drip"
    with pytest.raises(CallError, match=r"too slowly|in time"):
        OpenAIChat(endpoint.url, sleep=lambda _: None)(MESSAGES, 0.5)


def test_nobody_there_is_an_error() -> None:
    with pytest.raises(CallError, match="failed"):
        OpenAIChat("http://127.0.0.1:9")(MESSAGES, 10.0)


class Scripted:
    """A chat that answers from a list."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.asked = list(replies), []

    def __call__(self, messages: list[dict[str, Any]], left_s: float) -> str:
        self.asked.append(messages)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


def test_lessons_are_merged_and_the_newest_kept() -> None:
    lessons = [json.dumps({"avoid": [f"the {index}th wall"]}) for index in range(30)]
    adviser = GameAdviser(Scripted(*lessons, lessons[-1]))
    for _ in range(32):
        adviser.reflect("game over", seen(), Memory())
    assert len(adviser.lessons) == KEPT_LESSONS
    assert len(set(adviser.lessons)) == KEPT_LESSONS
    assert adviser.lines() == ["lesson: the 29th wall"]


class Even:
    """A System-1 that prefers nothing, and keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def probabilities(self, observation: Any, candidates: Any, instruction: str, chunk: int) -> Any:
        self.told.append(instruction)
        return [1 / len(candidates)] * len(candidates)


@pytest.mark.parametrize(("weight", "chosen"), [(2.0, "ACTION4"), (0.5, "ACTION1")])
def test_a_proposal_weighs_and_reaches_the_instruction(weight: float, chosen: str) -> None:
    chat = Scripted(json.dumps({"hypotheses": ["go right"], "actions": ["ACTION4"]}))
    model = Even()
    env = MockEnv(0, "competition")
    agent = Agent(system1=model, system2=GameAdviser(chat), hybrid=Hybrid(system2_weight=weight))
    agent.begin(env.first())
    action, record = agent.decide()
    assert action.text == chosen
    assert record.report is not None
    assert model.told[0].split("\n")[:2] == ["guess: go right", "proposed: ACTION4"]


def test_noise_opens_the_breaker_and_the_game_goes_on(endpoint: Endpoint) -> None:
    endpoint.mode = "noise"
    env = MockEnv(0, "competition")
    adviser = GameAdviser(OpenAIChat(endpoint.url))
    agent = Agent(system1=Even(), system2=adviser, hybrid=Hybrid(stall_patience=2))
    agent.begin(env.first())
    for _ in range(40):
        action, record = agent.decide()
        assert record.source in ("model", "forced")
        agent.note(action, env.step(action))
    assert agent.errors["system2"] >= 3
    assert len(endpoint.requests) <= 4, "three failures in a row rest it"
    assert not agent.degraded
