"""The endpoint as a player: what is sent, what is read, what is refused and how it is said."""

from collections.abc import Iterator
from typing import Any

import pytest

from sysone.systemone.endpoints import ENDPOINTS
from sysone.trex.backend import ApiBackend
from sysone.trex.decide import read
from trex.fake_endpoint import CutError, FakeEndpoint, Script, SilentError, reply

STATE = "Dino runner game. Nothing ahead."
QUESTIONS = {"action": {"type": "choice", "instructions": "?", "criteria": {"run": "a"}}}
VARIABLES = (
    "CLM_BASE_URL",
    "CLM_API_KEY",
    "TYPESAFE_BASE_URL",
    "TYPESAFE_API_KEY",
    "TYPESAFE_MODEL",
    "JEV_API_KEY",
)


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint() as server:
        yield server


def test_request_and_reply(endpoint: FakeEndpoint) -> None:
    backend = ApiBackend("clm", inflight=6, base_url=endpoint.url + "/")
    assert backend.detail == f"{endpoint.url} · clm-latest · 6 requests in flight"
    answer = backend.ask(STATE, QUESTIONS)
    backend.close()
    assert endpoint.requests == [{"model": "clm-latest", "state": STATE, "questions": QUESTIONS}]
    assert "authorization" not in endpoint.headers[0]
    assert read(answer) == {"jump": 0.2, "duck": 0.1, "run": 0.7}
    assert answer.input_tokens == 30
    assert answer.elapsed_ms > 0
    assert backend.model == "fake-1"
    assert backend.detail == f"{endpoint.url} · fake-1 · 6 requests in flight"


def test_one_request_in_flight_is_not_mentioned(endpoint: FakeEndpoint) -> None:
    backend = ApiBackend("local", base_url=endpoint.url)
    assert backend.detail == f"{endpoint.url} · trex"
    backend.close()


def test_the_model_asked_for_stays_the_alias(endpoint: FakeEndpoint) -> None:
    backend = ApiBackend("clm", base_url=endpoint.url)
    backend.ask(STATE, QUESTIONS)
    backend.ask(STATE, QUESTIONS)
    backend.close()
    assert [request["model"] for request in endpoint.requests] == ["clm-latest"] * 2


def test_key_and_model_come_from_the_environment(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYPESAFE_BASE_URL", endpoint.url)
    monkeypatch.setenv("TYPESAFE_API_KEY", "")
    monkeypatch.setenv("JEV_API_KEY", "secret")
    monkeypatch.setenv("TYPESAFE_MODEL", "jev-7")
    backend = ApiBackend("jev")
    backend.ask(STATE, QUESTIONS)
    backend.close()
    assert endpoint.headers[0]["authorization"] == "Bearer secret"
    assert endpoint.requests[0]["model"] == "jev-7"
    assert backend.usd_per_token == pytest.approx(0.042e-6)


def test_a_proxy_is_not_asked_for_this_machine(
    endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    backend = ApiBackend("clm", base_url=endpoint.url)
    assert read(backend.ask(STATE, QUESTIONS))["run"] == 0.7
    backend.close()


def test_missing_key_is_named() -> None:
    with pytest.raises(RuntimeError) as refused:
        ApiBackend("jev")
    assert str(refused.value) == (
        "Jev needs TYPESAFE_API_KEY (or JEV_API_KEY), e.g. in <repo>/.env"
    )


def test_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=f"one of {', '.join(ENDPOINTS)}, got 'gpt'"):
        ApiBackend("gpt")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (lambda n, r: (500, b"\xff boom" + b"x" * 300), "CLM HTTP 500: \ufffd boomxxx"),
        (lambda n, r: (200, b'{"answers": "\xff\xfe"}'), "not JSON in UTF-8"),
        (lambda n, r: (200, b"<html>"), "not JSON in UTF-8"),
        (lambda n, r: (200, b"[" * 100_000), "not JSON in UTF-8"),
        (lambda n, r: (200, b"[]"), "must be an object, got list"),
        (lambda n, r: (200, b"{}"), "answers must be an object, got nothing"),
        (lambda n, r: reply(answers=7), "answers must be an object, got 7"),
        (lambda n, r: reply(answers={}), "answers.action must be an object"),
        (lambda n, r: reply(answers={"action": {}}), "answers.action.probabilities is missing"),
        (lambda n, r: reply([0.1, 0.2]), "probabilities must be an object of numbers"),
        (lambda n, r: reply({"jump": float("nan")}), "invalid probability: {'jump': nan}"),
        (lambda n, r: reply({"jump": float("inf")}), "invalid probability: {'jump': inf}"),
        (lambda n, r: reply({"run": -0.25}), "invalid probability: {'run': -0.25}"),
        (lambda n, r: reply({"duck": "often"}), "invalid probability: {'duck': 'often'}"),
        (lambda n, r: reply({"duck": None}), "invalid probability: {'duck': None}"),
        (lambda n, r: reply({"duck": 10**400}), "invalid probability"),
        (lambda n, r: reply(usage={"input_tokens": "many"}), "usage.input_tokens must be a count"),
        (lambda n, r: reply(usage=[]), "usage must be an object"),
    ],
)
def test_what_is_wrong_is_said(script: Script, message: str) -> None:
    with FakeEndpoint(script) as endpoint:
        backend = ApiBackend("clm", base_url=endpoint.url)
        with pytest.raises((RuntimeError, ValueError)) as refused:
            read(backend.ask(STATE, QUESTIONS))
        backend.close()
    assert message in str(refused.value)
    assert len(endpoint.requests) == 1  # never a second try


def test_a_missing_probability_is_zero() -> None:
    with FakeEndpoint(lambda n, r: reply({"jump": 1, "other": -5}, usage=None)) as endpoint:
        backend = ApiBackend("clm", base_url=endpoint.url)
        answer = backend.ask(STATE, QUESTIONS)
        backend.close()
    assert read(answer) == {"jump": 1.0, "duck": 0.0, "run": 0.0}
    assert answer.input_tokens == 0


def _raise(error: type[Exception]) -> Script:
    def script(number: int, request: dict[str, Any]) -> tuple[int, bytes]:
        raise error

    return script


def test_silence_is_not_waited_for() -> None:
    with FakeEndpoint(_raise(SilentError)) as endpoint:
        backend = ApiBackend("clm", base_url=endpoint.url, timeout_s=0.1)
        with pytest.raises(RuntimeError, match=r"CLM at .* did not answer within 0.1 s"):
            backend.ask(STATE, QUESTIONS)
        backend.close()


def test_a_cut_connection_and_a_closed_port() -> None:
    with FakeEndpoint(_raise(CutError)) as endpoint:
        backend = ApiBackend("clm", base_url=endpoint.url)
        with pytest.raises(RuntimeError, match="cannot be reached"):
            backend.ask(STATE, QUESTIONS)
    with pytest.raises(RuntimeError, match=f"CLM at {endpoint.url} cannot be reached"):
        backend.ask(STATE, QUESTIONS)
    backend.close()


@pytest.mark.parametrize("url", ["nonsense", "ftp://127.0.0.1", "http://[", "http://a:b"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises((ValueError, RuntimeError), match="CLM"):
        ApiBackend("clm", base_url=url).ask(STATE, QUESTIONS)
