"""The published conformance suite and the official client, unchanged, against our server."""

import asyncio
import subprocess
import sys

import msgspec
import pytest
from typesafe_sdk import AsyncTypeSafeClient, Choice, Noul, Score, TypeSafeClient
from typesafe_sdk import TypeSafeAPIError as ApiError

from sysone.systemone import Engine

KEY = "a key of the tests"


@pytest.fixture(scope="module")
def open_url(serve, engine: Engine) -> str:
    return serve(engine)


@pytest.fixture(scope="module")
def locked_url(serve, engine: Engine) -> str:
    return serve(engine, keys=("another", KEY.replace(" ", "-")))


def conformance(tmp_path, url: str, *options: str) -> dict:
    report = tmp_path / "report.json"
    command = [sys.executable, "-m", "jevcompat.cli", "test", url, "--json", str(report), *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return msgspec.json.decode(report.read_bytes())["summary"]


def counts(summary: dict) -> tuple[str, int, int, int, int]:
    must, should = summary["MUST"], summary["SHOULD"]
    return (
        summary["verdict"],
        must["passed"],
        must["tested"],
        should["passed"],
        should["tested"],
    )


def test_conformant_without_a_key(tmp_path, open_url: str) -> None:
    assert counts(conformance(tmp_path, open_url)) == ("conformant", 32, 32, 13, 13)


def test_conformant_with_a_key(tmp_path, locked_url: str) -> None:
    found = conformance(tmp_path, locked_url, "--key", KEY.replace(" ", "-"))
    assert counts(found) == ("conformant", 32, 32, 15, 15)


QUESTIONS = {
    "갈까? 🙂": Noul(instructions={"ask": ["Is the light green?"]}, criteria={"true": "It is"}),
    "many": Choice(criteria={f"옵션 {index}": None for index in range(255)}),
    "tone": Choice(criteria={"calm": {"is": ["calm"]}, " angry ": None}, instructions="The tone?"),
    "level": Score(criteria=[f"level {index}" for index in range(9)] + [{"the": "top"}]),
}


def check(reply) -> None:
    assert 0 <= reply.nouls["갈까? 🙂"].noul <= 1
    assert list(reply.choices["many"].probabilities) == [f"옵션 {index}" for index in range(255)]
    assert set(reply.choices["tone"].probabilities) == {"calm", " angry "}
    assert 0 <= reply.scores["level"].score <= 9
    assert reply.usage.output_tokens == 0


def test_official_client(open_url: str) -> None:
    with TypeSafeClient(base_url=open_url, api_key="any") as client:
        check(client.system_one(state={"light": ["green"]}, questions=QUESTIONS))
        assert [model.name for model in client.models.list().models] == ["default", "trex"]


def test_official_async_client(locked_url: str) -> None:
    async def ask() -> None:
        key = KEY.replace(" ", "-")
        async with AsyncTypeSafeClient(base_url=locked_url, api_key=key) as client:
            replies = await asyncio.gather(
                *(client.system_one(state="green", questions=QUESTIONS) for _ in range(4))
            )
            for reply in replies:
                check(reply)

    asyncio.run(ask())


def test_official_client_shows_our_errors(locked_url: str) -> None:
    with TypeSafeClient(base_url=locked_url, api_key="wrong") as client:
        with pytest.raises(ApiError, match="wrong key") as caught:
            client.system_one(state="s", questions={"q": Noul(instructions="?")})
        assert caught.value.status == 401
        assert caught.value.request_id
