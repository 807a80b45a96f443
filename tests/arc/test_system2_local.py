"""System-2 in this process and served over HTTP, with a tiny Qwen3-VL of random weights."""

import base64
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from arc.tiny_qwen import make_tiny_qwen  # noqa: E402
from sysone.arc.config import Hybrid  # noqa: E402
from sysone.arc.decide import Agent  # noqa: E402
from sysone.arc.env import MockEnv  # noqa: E402
from sysone.arc.memory import Memory  # noqa: E402
from sysone.arc.observe import Watcher  # noqa: E402
from sysone.arc.play import Limits, play_game  # noqa: E402
from sysone.arc.policy import Explorer  # noqa: E402
from sysone.arc.system1 import room  # noqa: E402
from sysone.arc.system2 import local, prompts  # noqa: E402
from sysone.arc.system2.adviser import GameAdviser, chat_at, make_adviser  # noqa: E402
from sysone.arc.system2.transport import CallError, OpenAIChat  # noqa: E402
from sysone.arc.vision import to_png  # noqa: E402
from sysone.runs.errors import RunError  # noqa: E402

pytestmark = pytest.mark.learn


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return make_tiny_qwen(tmp_path_factory.mktemp("qwen"))


@pytest.fixture(scope="module")
def chat(base: Path) -> local.TransformersChat:
    return local.TransformersChat(str(base), new_tokens=8)


def seen() -> Any:
    found = Watcher().observe(MockEnv(0, "competition").first())
    assert found is not None
    return found


def picture() -> dict[str, Any]:
    url = "data:image/png;base64," + base64.b64encode(to_png(seen().grid, 4)).decode()
    return {"type": "image_url", "image_url": {"url": url}}


def test_a_model_in_process_answers_a_question_with_a_picture(chat: local.TransformersChat) -> None:
    messages = prompts.perceive(seen(), Memory(), [])
    kinds = [part["type"] for part in messages[-1]["content"]]
    assert "image_url" in kinds
    first = chat(messages, 60.0)
    assert isinstance(first, str)
    assert chat(messages, 60.0) == first, "greedy answers are equal"


def test_a_picture_stands_where_the_text_is_cut() -> None:
    parts = [{"type": "text", "text": "before"}, picture(), {"type": "text", "text": "after"}]
    pictures, texts = local.flatten([{"role": "user", "content": parts}])
    assert [found.size for found in pictures] == [(256, 256)]
    assert texts[0].endswith("user\nbefore")
    assert texts[1].startswith("after<|im_end|>")


def test_an_answer_ends_with_its_time(chat: local.TransformersChat) -> None:
    made = chat._backend.generate([], ["<|im_start|>user\nhi"], 4000, time.monotonic())
    assert len(made) < 100  # of the 4,000 tokens hardly one was made


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"content": "no role"}], "has no role"),
        ([{"role": "user", "content": [{"type": "audio"}]}], "is 'audio', expected text or image"),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "http://x"}}],
                }
            ],
            "no data URL",
        ),
    ],
)
def test_messages_that_are_none(
    chat: local.TransformersChat, messages: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(CallError, match=words):
        chat(messages, 10.0)


def test_noise_of_a_random_model_costs_a_game_nothing(chat: local.TransformersChat) -> None:
    rules = Hybrid(system2_max_calls_per_game=3, stall_patience=4)
    agent = Agent(Explorer(0), system2=GameAdviser(chat), hybrid=rules)
    played = play_game(MockEnv(0, "competition"), agent, Limits(30))
    assert played.row()["actions"] == 30
    calls = agent.waker.calls
    assert 1 <= calls["novel"] + calls["level"] + calls["stall"] <= 3
    assert agent.errors["policy"] == 0


def test_the_address_of_a_model_in_process(base: Path) -> None:
    adviser = make_adviser(f"transformers:{base}")
    assert isinstance(adviser, GameAdviser)
    again = make_adviser(f"transformers:{base}")
    assert again._chat is adviser._chat, "one model for a process"
    with pytest.raises(RunError, match="expected transformers:MODEL"):
        make_adviser("transformers:")
    with pytest.raises(RunError, match="cannot be loaded"):
        make_adviser("transformers:/nosuch/model")


def test_a_model_that_cannot_fit_is_refused_unless_forced(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from typer.testing import CliRunner

    from sysone.arc.cli import app

    monkeypatch.setattr(room, "free_gb", {"cuda": None, "cpu": 0.1}.__getitem__)
    words = "needs about 0.5 GB of memory on cpu, and 0.1 GB are free; --force loads it"
    done = CliRunner().invoke(app, ["serve-system2", "--model", str(base), "--device", "cpu"])
    assert done.exit_code == 1
    assert f"System-2 {base} {words}" in done.stderr
    chat_at.cache_clear()
    with pytest.raises(RunError, match=words):
        make_adviser(f"transformers:{base}")
    assert make_adviser(f"transformers:{base}", force=True).lessons == []


@pytest.fixture(scope="module")
def served(base: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "sysone.arc", "serve-system2", "--model", str(base)]
    process = subprocess.Popen(
        [*command, "--port", "0", "--device", "cpu"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    try:
        assert process.stderr is not None
        # transformers tells of its own progress before.
        said = iter(process.stderr.readline, "")
        found = next(filter(None, map(re.compile(r"http://127\.0\.0\.1:\d+").search, said)), None)
        assert found, "the server ended without saying where it listens"
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


def test_an_endpoint_of_a_local_model_over_http(served: str, base: Path) -> None:
    with httpx.Client(base_url=served, timeout=120.0) as client:
        assert client.get("/health").json() == {"status": "ok"}
        listed = client.get("/v1/models").json()["data"]
        assert [entry["id"] for entry in listed] == [base.name]
        parts = [{"type": "text", "text": "what is this?"}, picture()]
        asked = {"messages": [{"role": "user", "content": parts}], "max_tokens": 4}
        found = client.post("/v1/chat/completions", json=asked)
        assert found.status_code == 200
        body = found.json()
        assert body["object"] == "chat.completion"
        assert body["choices"][0]["message"]["role"] == "assistant"
        bad: list[tuple[Any, str]] = [
            ({}, "messages is missing"),
            ({**asked, "stream": True}, "stream is not offered"),
            ({**asked, "max_tokens": 0}, "max_tokens is 0"),
            ({"messages": [{"role": "user", "content": [{"type": "x"}]}]}, "is 'x'"),
        ]
        for request, words in bad:
            refused = client.post("/v1/chat/completions", json=request)
            assert refused.status_code == 400
            assert words in refused.json()["error"]["message"]
        refused = client.post("/v1/chat/completions", content=b"no json")
        assert refused.json()["error"]["message"] == "the body is no JSON"


def test_an_agent_asks_the_served_model(served: str) -> None:
    chat = OpenAIChat(served)
    text = chat(prompts.perceive(seen(), Memory(), []), 120.0)
    assert isinstance(text, str)
    rules = Hybrid(system2_max_calls_per_game=1)
    agent = Agent(Explorer(0), system2=GameAdviser(chat), hybrid=rules)
    played = play_game(MockEnv(0, "competition"), agent, Limits(12))
    chat.close()
    assert played.row()["actions"] == 12
    assert sum(agent.waker.calls[name] for name in ("novel", "level", "stall")) == 1


def test_a_model_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from sysone.arc.cli import app

    done = CliRunner().invoke(app, ["serve-system2", "--model", str(tmp_path)])
    assert done.exit_code == 1
    assert "cannot be loaded" in done.stderr
    assert json.dumps(done.stderr).count("Traceback") == 0
