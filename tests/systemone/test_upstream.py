"""Another System One endpoint behind ours, held to the contract."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from sysone.systemone import Choice, Engine, Noul, Score
from sysone.systemone.encoder import EncoderError
from sysone.systemone.questions import RequestError
from sysone.systemone.sources import EngineSettings, make_engine
from systemone.scripted_server import ScriptedServer, refusal, scripted_server

QUESTIONS = {
    "team 🙂": Choice({"a": None, "b": {"x": 1}}, "Which?"),
    "late": Noul("Is it late?"),
    "level": Score(["low", "mid", "high"]),
}


def test_answers_are_the_upstreams_and_ids_stay_here(serve, engine: Engine) -> None:
    url = serve(engine, keys=("up",))
    settings = EngineSettings(upstreams={"far": f"{url}#trex"}, upstream_key="up", embedded=False)
    with make_engine(settings) as ours:
        reply = ours.answer({"s": [1]}, QUESTIONS, "far")
        assert ours.healthy()
    expected = engine.answer({"s": [1]}, QUESTIONS, "trex")
    assert reply["model"] == f"far@{expected['model']}"
    for name, found in reply["answers"].items():
        wanted = expected["answers"][name]
        assert found["type"] == wanted["type"]
        if found["type"] == "noul":
            assert found["noul"] == pytest.approx(wanted["noul"], abs=1e-12)
        else:
            assert found["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-12)
            assert found["confidence"] == pytest.approx(wanted["confidence"], abs=1e-12)


def test_a_temperature_is_what_it_would_be_there(serve, engine: Engine) -> None:
    settings = EngineSettings(upstreams={"far": serve(engine)}, embedded=False)
    with make_engine(settings) as ours:
        found = ours.answer("s", QUESTIONS, "far", temperature=3)["answers"]["level"]
    wanted = engine.answer("s", QUESTIONS, temperature=3)["answers"]["level"]
    assert found["probabilities"] == pytest.approx(wanted["probabilities"], abs=1e-9)


@pytest.fixture
def scripted() -> Iterator[tuple[ScriptedServer, Engine]]:
    with scripted_server(refusal(500)) as server:
        settings = EngineSettings(upstreams={"far": server.url}, embedded=False)
        with make_engine(settings) as ours:
            yield server, ours


def replies(answer: dict[str, Any] | None, **more: Any) -> tuple[int, dict[str, str], Any]:
    answers = {} if answer is None else {"q0": answer}
    usage = {"input_tokens": 3, "output_tokens": 0}
    return 200, {}, {"model": "m@1", "answers": answers, "usage": usage, **more}


def choice(**change: Any) -> dict[str, Any]:
    good = {
        "type": "choice",
        "choice": "a",
        "confidence": 0.5,
        "probabilities": {"a": 0.75, "b": 0.25},
    }
    return {**good, **change}


BROKEN = {
    "no answer": replies(None),
    "another id": (200, {}, {"model": "m", "answers": {"q1": choice()}, "usage": {}}),
    "another type": replies({"type": "noul", "noul": 0.5}),
    "no such option": replies(choice(choice="c")),
    "not the best": replies(choice(choice="b")),
    "a probability missing": replies(choice(probabilities={"a": 1.0})),
    "a probability too many": replies(choice(probabilities={"a": 0.5, "b": 0.4, "c": 0.1})),
    "above one": replies(choice(probabilities={"a": 1.5, "b": -0.5})),
    "no distribution": replies(choice(probabilities={"a": 0.4, "b": 0.2})),
    "text for a number": replies(choice(probabilities={"a": "0.75", "b": 0.25})),
    "tokens as a float": replies(choice(), usage={"input_tokens": 1.5}),
    "not JSON": (200, {}, b"<html>"),
    "not finite": (200, {}, b'{"model": "m", "answers": {"q0": {"type": "noul", "noul": 1e999}}}'),
    "server error": refusal(500),
    "wrong key": refusal(401),
    "unknown route": refusal(404),
    "overload": refusal(529),
    "hung up": refusal(0),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_reply_is_the_upstreams_fault(scripted, name: str) -> None:
    server, ours = scripted
    server.script[:] = [BROKEN[name]]
    with pytest.raises(EncoderError, match="far"):
        ours.answer("s", {"mine": Choice({"a": None, "b": None})}, "far")


def test_small_rounding_is_taken_and_made_good(scripted) -> None:
    server, ours = scripted
    server.script[:] = [replies(choice(probabilities={"a": 0.75, "b": 0.23}, x_more=1))]
    reply = ours.answer("s", {"mine": Choice({"a": None, "b": None})}, "far")
    assert sum(reply["answers"]["mine"]["probabilities"].values()) == pytest.approx(1, abs=1e-12)
    assert list(server.requests[0]["questions"]) == ["q0"]
    assert reply["usage"]["input_tokens"] == 3


def test_certainty_stays_finite(scripted) -> None:
    server, ours = scripted
    server.script[:] = [replies(choice(probabilities={"a": 1, "b": 0}))]
    reply = ours.answer("s", {"mine": Choice({"a": None, "b": None})}, "far", temperature=100)
    assert reply["answers"]["mine"]["choice"] == "a"


@pytest.mark.parametrize("status", [413, 422])
def test_what_the_upstream_blames_on_the_request_is_the_callers(serve, scripted, status) -> None:
    server, ours = scripted
    server.script[:] = [refusal(status, "at most 2 options")]
    with pytest.raises(RequestError, match="far: at most 2 options"):
        ours.answer("s", {"mine": Choice(dict.fromkeys("abc"))}, "far")
    body = {"model": "far", "state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}
    url = serve(ours)
    reply = httpx.post(f"{url}/v1/systemone", json=body)
    assert reply.status_code == 422
    server.script[:] = [refusal(503)]
    assert httpx.post(f"{url}/v1/systemone", json=body).status_code == 502


def test_a_request_that_breaks_the_contract_never_gets_there(scripted) -> None:
    server, ours = scripted
    with pytest.raises(RequestError):
        ours.answer("s", {"q": {"type": "choice", "criteria": {"a": 1}}}, "far")
    assert server.requests == []
