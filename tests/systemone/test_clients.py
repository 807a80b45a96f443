"""Our clients, sync and async, and what CLM's client sends and reads."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from sysone.systemone import (
    AsyncCLMClient,
    Choice,
    CLMClient,
    CLMError,
    Engine,
    Noul,
    Score,
    SystemOneError,
)
from systemone.scripted_server import answer, refusal, scripted_server

STATE = {"light": "green"}
QUESTIONS: dict[str, Any] = {
    "action": Choice({"go": "The light is green", "stop": None}, "What now?"),
    "late": Noul("Is it late?"),
    "hurry": {"type": "score", "criteria": ["none", "much"]},
}


@pytest.fixture(scope="module")
def url(serve, engine: Engine) -> str:
    return serve(engine, keys=("k",))


def test_both_clients_give_the_same_answers(url: str) -> None:
    async def ask() -> tuple[Any, ...]:
        async with AsyncCLMClient(url, "k") as client:
            return (
                (await client.system_one(STATE, QUESTIONS, temperature=2)).answers,
                await client.rank("c", "which?", ["a", "b"], temperature=2),
                await client.models(),
                (await client.health())["ok"],
                (await client.check()).model,
            )

    with CLMClient(url, "k") as client:
        expected = (
            client.system_one(STATE, QUESTIONS, temperature=2).answers,
            client.rank("c", "which?", ["a", "b"], temperature=2),
            client.models(),
            client.health()["ok"],
            client.check().model,
        )
    assert asyncio.run(ask()) == expected


def test_many_coroutines_share_one_client(url: str) -> None:
    async def ask() -> list[float]:
        async with AsyncCLMClient(url, "k") as client:
            replies = await asyncio.gather(
                *(client.system_one(f"state {i % 5}", QUESTIONS) for i in range(40))
            )
        return [reply.answers["late"].noul for reply in replies]

    found = asyncio.run(ask())
    assert found[:5] * 8 == found


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_errors_are_typed_in_both(url: str, kind: str) -> None:
    def fail(base_url: str, key: str, questions: Any) -> SystemOneError:
        def ask_at_once() -> None:
            with CLMClient(base_url, key, timeout=5) as client:
                client.system_one("s", questions)

        async def ask() -> None:
            async with AsyncCLMClient(base_url, key, timeout=5) as client:
                await client.system_one("s", questions)

        with pytest.raises(SystemOneError) as caught:
            ask_at_once() if kind == "sync" else asyncio.run(ask())
        return caught.value

    wrong_key = fail(url, "wrong", QUESTIONS)
    assert (wrong_key.status, wrong_key.message) == (401, "wrong key")
    bad = fail(url, "k", {"q": {"type": "choice", "criteria": {}}})
    assert bad.status == 422
    assert "body.questions.q.criteria" in bad.message
    assert fail("http://127.0.0.1:9", "k", QUESTIONS).status is None
    assert "http://HOST:PORT" in fail("ftp://x", "k", QUESTIONS).message
    assert "JSON" in fail(url, "k", {"q": {"type": "noul", "instructions": {1: object()}}}).message
    with scripted_server(refusal(529, "later", retry_after="2")) as server:
        busy = fail(server.url, "k", QUESTIONS)
    assert (busy.status, busy.retry_after_s) == (529, 2.0)
    assert isinstance(busy, CLMError)


def test_health_of_nothing_is_false() -> None:
    with CLMClient("http://127.0.0.1:9", timeout=5) as client:
        assert not client.health()


def test_environment_and_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLM_API_KEY", "from the environment")
    with scripted_server(answer()) as server:
        monkeypatch.setenv("CLM_BASE_URL", f"{server.url}/")
        with CLMClient(model="mine") as client:
            assert client.base_url == server.url
            client.system_one("s", {"q": Noul("?")})
    assert server.requests[0]["model"] == "mine"


# What CLM's own client puts on the wire, and what it looks for in the reply.

DATA = Path(__file__).parents[1] / "data" / "systemone"

CLM_FIELDS = {
    "noul": {"noul"},
    "choice": {"choice", "confidence", "probabilities"},
    "score": {"score", "confidence", "probabilities", "legend"},
}

CLM_BODY = {
    "state": STATE,
    "model": "clm-latest",
    "questions": {
        "urgency": {"type": "noul", "instructions": "Is this urgent?"},
        "bare": {"type": "noul", "instructions": None, "criteria": {"true": "yes"}},
        "team": {"type": "choice", "instructions": None, "criteria": {"a": None, "b": "x"}},
        "level": {"type": "score", "instructions": "How?", "criteria": ["Calm", "Angry"]},
    },
}


def test_clms_wire_form_is_answered(url: str) -> None:
    headers = {"Authorization": "Bearer k"}
    reply = httpx.post(f"{url}/v1/systemone", json=CLM_BODY, headers=headers)
    body = reply.json()
    assert float(reply.headers["X-CLM-Latency-Ms"]) >= 0
    answers = body["answers"]
    assert 0 <= answers["urgency"]["noul"] <= 1
    assert {"choice", "confidence", "probabilities"} <= set(answers["team"])
    assert answers["level"]["legend"] == {"0": "Calm", "1": "Angry"}
    assert body["usage"]["billing_units"] == 4
    rank = {"context": "c", "question": None, "answers": ["x", "y"], "model": "clm-latest"}
    ranked = httpx.post(f"{url}/v1/rank", json=rank, headers=headers).json()["ranked"]
    assert [set(item) for item in ranked] == [{"rank", "candidate", "prob"}] * 2


def test_the_calls_of_clms_own_client_are_answered(url: str) -> None:
    """As recorded from it (tools/clm/record_calls.py), header by header, on one connection."""
    recorded = json.loads((DATA / "clm_client_calls.json").read_text())["calls"]
    assert [call["path"] for call in recorded] == [
        *["/v1/systemone"] * 3,
        *["/v1/rank"] * 2,
        "/v1/models",
        "/health",
    ]
    replies = []
    with httpx.Client(base_url=url, timeout=60) as client:
        for call in recorded:
            reply = client.request(
                call["method"],
                call["path"],
                headers=[tuple(item) for item in call["headers"]],
                content=call["body"].encode() or None,
            )
            assert reply.status_code == 200, (call, reply.text)
            replies.append(reply)
    # What that client takes from a reply; a field that is missing there is its exception.
    for call, reply in zip(recorded[:3], replies[:3], strict=True):
        body = reply.json()
        assert float(reply.headers["X-CLM-Latency-Ms"]) >= 0
        questions = json.loads(call["body"])["questions"]
        assert list(body["answers"]) == list(questions)
        assert set(body["usage"]) == {"billing_units", "input_tokens", "output_tokens"}
        assert body["usage"]["billing_units"] == len(questions)
        for name, given in body["answers"].items():
            assert given["type"] == questions[name]["type"]
            assert set(given) == {"type", *CLM_FIELDS[given["type"]]}
    ranked = [reply.json()["ranked"] for reply in replies[3:5]]
    assert [[item["rank"] for item in items] for items in ranked] == [[1, 2]] * 2
    assert all(set(item) == {"rank", "candidate", "prob"} for items in ranked for item in items)
    assert [entry["name"] for entry in replies[5].json()["models"]] == ["default", "trex"]
    assert replies[6].json()["ok"] is True


def test_clms_own_client_where_it_is_installed(url: str) -> None:
    clm = pytest.importorskip("clm", reason="contrastive-lm is no dependency: it brings vLLM")
    client = clm.CLMClient(base_url=url, api_key="k")
    reply = client.system_one(
        STATE,
        {
            "late": clm.Noul("Is it late?"),
            "go": clm.Choice({"go": None, "stop": "Red"}, "What now?"),
            "hurry": clm.Score(["none", "much"], "How?"),
        },
        temperature=2.0,
    )
    assert 0 <= reply.answers["late"].noul <= 1
    assert reply.answers["go"].choice in {"go", "stop"}
    assert set(reply.answers["hurry"].legend) == {"0", "1"}
    assert reply.usage.billing_units == 3
    assert reply.latency_ms >= 0
    assert [item["rank"] for item in client.rank("c", "which?", ["a", "b"])] == [1, 2]
    assert client.models()[0]["name"] == "default"
    assert client.health() is True
    with pytest.raises(clm.CLMError, match="422"):
        client.system_one("s", {"q": {"type": "box"}})


def test_names_are_as_in_clm() -> None:
    reply = Score(["a", "b"], "How?")
    assert (reply.criteria, reply.instructions) == (["a", "b"], "How?")
    with scripted_server(answer()) as server, CLMClient(server.url) as client:
        found = client.system_one("s", {"q": Noul("?")})
    assert found.answers["q"].type == "noul"
    assert found.answers["q"].probabilities == {"true": 0.75, "false": 0.25}
    assert json.loads(json.dumps(server.requests[0]["questions"])) == {
        "q": {"type": "noul", "instructions": "?"}
    }
