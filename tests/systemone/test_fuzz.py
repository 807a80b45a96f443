"""Whatever is sent: no 5xx, no hang, no growth; and what comes back is as documented."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, checks

from sysone.systemone import Engine
from sysone.systemone.openapi import document
from sysone.systemone.questions import MAX_OPTIONS

CHECKS = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
FUZZ = settings(
    max_examples=50, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


@pytest.fixture(scope="module")
def url(serve, engine: Engine) -> str:
    return serve(engine)


@pytest.fixture(scope="module")
def client(url: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=120) as client:
        yield client


SCHEMA = schemathesis.openapi.from_dict(document(MAX_OPTIONS))
OPERATIONS = [
    (method, path, mode)
    for path, item in document(MAX_OPTIONS)["paths"].items()
    for method in item
    for mode in GenerationMode
    # There is nothing to get wrong in a request without a body.
    if not (method == "get" and mode.is_negative)
]


@pytest.mark.parametrize(("method", "path", "mode"), OPERATIONS)
def test_replies_are_as_documented(url: str, method: str, path: str, mode: GenerationMode) -> None:
    operation = SCHEMA[path][method]

    @FUZZ
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case) -> None:
        case.call_and_validate(base_url=url, checks=CHECKS)

    check()


# JSON that is nearly a request.

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("")
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
QUESTION = st.fixed_dictionaries(
    {"type": st.sampled_from(["choice", "score", "noul", "box", "", None])},
    optional={
        "criteria": VALUES
        | st.dictionaries(st.text(), VALUES, max_size=4)
        | st.lists(VALUES, max_size=12),
        "instructions": VALUES,
    },
)
BODY = st.fixed_dictionaries(
    {"state": VALUES, "questions": st.dictionaries(st.text(), QUESTION | VALUES, max_size=3)},
    optional={"model": VALUES, "temperature": VALUES, "assets": VALUES, "seed": VALUES},
)


@settings(FUZZ, max_examples=100)
@given(body=BODY)
def test_nearly_right_requests_are_answered_or_refused(client: httpx.Client, body: Any) -> None:
    raw = json.dumps(body).encode("utf-8", "surrogatepass")  # NaN and Infinity included
    reply = client.post("/v1/systemone", content=raw)
    assert reply.status_code in (200, 404, 422), reply.text
    reply.json()


@settings(FUZZ, max_examples=60)
@given(seed=st.integers(0, 1 << 32))
def test_broken_bytes_are_refused(client: httpx.Client, seed: int) -> None:
    stream = random.Random(seed)
    question = {"type": "choice", "criteria": {"a": "first 🙂", "b": None}}
    raw = bytearray(json.dumps({"state": {"k": [1.5]}, "questions": {"q": question}}).encode())
    for _ in range(stream.randint(1, 6)):
        place = stream.randrange(len(raw))
        raw[place : place + stream.randint(0, 4)] = stream.randbytes(stream.randint(0, 4))
    reply = client.post("/v1/systemone", content=bytes(raw))
    assert reply.status_code in (200, 404, 422), bytes(raw)
    reply.json()


def choice(criteria: Any) -> bytes:
    return json.dumps(
        {"state": "s", "questions": {"q": {"type": "choice", "criteria": criteria}}}
    ).encode()


def score(levels: list[Any]) -> bytes:
    return json.dumps(
        {"state": "s", "questions": {"q": {"type": "score", "criteria": levels}}}
    ).encode()


MEBIBYTE = 1 << 20
EDGES = {
    "32 MiB of state": (json.dumps("x" * (32 * MEBIBYTE - 200)).encode().join(
        [b'{"questions": {"q": {"type": "noul", "instructions": "?"}}, "state": ', b"}"]
    ), 200),
    "more than 32 MiB": (b" " * (32 * MEBIBYTE + 1), 413),
    "32 MiB of brackets": (b"[" * (32 * MEBIBYTE), 422),
    "32 MiB of keys": (b'{"state": {' + b'"": 0, ' * (4 * MEBIBYTE) + b'"a": 0}}', 422),
    "32 MiB of digits": (b'{"state": [' + b"9" * (31 * MEBIBYTE) + b"]}", 422),
    "objects as a bomb": (b'{"a":' * 200_000 + b"1" + b"}" * 200_000, 422),
    "256 options": (choice({str(index): None for index in range(256)}), 200),
    "one option": (choice({"a": None}), 200),
    "no option": (choice({}), 422),
    "more options than the limit": (choice({str(index): None for index in range(4097)}), 422),
    "11 levels": (score([f"level {index}" for index in range(11)]), 422),
    "null levels": (score(["low", None]), 422),
    "one level": (score(["low"]), 200),
    "lone surrogates as option": (b'{"state": "s", "questions": {"q": {"type": "choice", '
        b'"criteria": {"\\udc00": null, "b": null}}}}', 422),
    "raw surrogate bytes": (b'{"state": "\xed\xa0\x80", "questions": {}}', 422),
    "byte order mark": (b"\xef\xbb\xbf" + choice({"a": None}), 422),
    "null bytes in names": (choice({"a\0": None, "\0": None}), 200),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges(client: httpx.Client, name: str) -> None:
    raw, status = EDGES[name]
    reply = client.post("/v1/systemone", content=raw)
    assert reply.status_code == status, reply.text[:500]
    assert isinstance(reply.json(), dict)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_memory_is_flat_under_large_and_broken_bodies(client: httpx.Client) -> None:
    """The server runs in this process: what it kept would show here."""
    bodies = [raw for raw, _ in EDGES.values() if len(raw) > MEBIBYTE]

    def send_all() -> None:
        for raw in bodies:
            client.post("/v1/systemone", content=raw)

    send_all()
    before = resident_bytes()
    for _ in range(3):
        send_all()
    # One kept body would be 32 MiB, times three rounds, times the bodies.
    assert resident_bytes() - before < 96 * MEBIBYTE
