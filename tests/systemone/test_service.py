"""The server's own rules: keys, limits, encodings, ranking, embeddings, figures."""

import asyncio
import base64
import gzip
import http.client
import json
import re
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from backports import zstd

from sysone.systemone import Choice, Engine
from sysone.systemone.body import BodyError, BodyReader
from sysone.systemone.encoder import DeadlineError
from sysone.systemone.engine import embedded_models
from sysone.systemone.models import ModelEntry, Scored
from sysone.systemone.server import Limits

VALID = {"state": "s", "questions": {"q": {"type": "choice", "criteria": {"a": None, "b": None}}}}
BODY = json.dumps(VALID).encode()


# A new client would read the certificates of the world each time.
CLIENT = httpx.Client(timeout=60)


@pytest.fixture(scope="module", autouse=True)
def close_client() -> Iterator[None]:
    yield
    CLIENT.close()


def post(url: str, content: bytes, path: str = "/v1/systemone", **headers: str) -> httpx.Response:
    return CLIENT.post(f"{url}{path}", content=content, headers=headers)


@pytest.fixture(scope="module")
def url(serve, engine: Engine) -> str:
    return serve(engine, cors=True, ui=True)


class Stuck:
    """A model that answers when it is told to."""

    entry = ModelEntry("stuck", "Waits", "2026-01-01")
    version = "stuck@1"
    embeddings = None
    waits = False

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = threading.Semaphore(0)
        self.deadline: float | None = None

    def healthy(self) -> bool:
        return True

    def statistics(self) -> dict[str, dict[str, float]]:
        return {}

    def score_all(self, state, questions, *, cached=False, deadline=None):
        if cached:
            return None
        self.deadline = deadline
        self.asked.release()
        if not self.go.wait(60):
            raise DeadlineError("never told to")
        return [Scored([0.0] * len(question.criteria), 0, False) for question in questions]


# Keys


@pytest.mark.parametrize("path", ["/v1/systemone", "/v1/rank", "/v1/embeddings", "/v1/models"])
def test_a_key_opens_v1_and_nothing_else_does(serve, engine: Engine, path: str) -> None:
    url = serve(engine, keys=("right", "spare"))
    method = "GET" if path == "/v1/models" else "POST"
    for given in (None, "Bearer wrong", "Bearer righ", "Bearer", "Basic right", "right"):
        headers = {"Authorization": given} if given else {}
        reply = httpx.request(method, url + path, content=BODY, headers=headers)
        assert reply.status_code == 401, given
        assert reply.json()["detail"]["error_type"] == "authentication_error"
        assert reply.headers["www-authenticate"] == "Bearer"
    for given in ("Bearer right", "bearer  spare"):
        reply = httpx.request(method, url + path, content=BODY, headers={"Authorization": given})
        assert reply.status_code in (200, 422), given
    assert httpx.get(f"{url}/health").status_code == 200
    assert httpx.get(f"{url}/metrics").status_code == 200


# Bodies


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstd.compress)],
)
def test_compressed_bodies_are_read_within_the_limits(serve, engine, encoding, pack) -> None:
    url = serve(engine, limits=Limits(body_bytes=1 << 20))
    assert post(url, pack(BODY), **{"Content-Encoding": encoding}).status_code == 200
    bomb = post(url, pack(b" " * (64 << 20)), **{"Content-Encoding": encoding})
    assert bomb.status_code == 413
    for broken in (pack(BODY)[:-5], BODY, b""):
        reply = post(url, broken, **{"Content-Encoding": encoding})
        assert reply.status_code == 422
        assert reply.json()["detail"][0]["loc"] == ["body"]


def test_an_unknown_encoding_names_the_known_ones(url: str) -> None:
    reply = post(url, BODY, **{"Content-Encoding": "br"})
    assert reply.status_code == 415
    assert "zstd" in reply.json()["detail"]["message"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_413(serve, engine: Engine, chunked: bool) -> None:
    url = serve(engine, limits=Limits(body_bytes=1000))
    large = b" " * 1001

    def chunks() -> Any:
        yield large

    reply = httpx.post(f"{url}/v1/systemone", content=chunks() if chunked else large)
    assert reply.status_code == 413
    assert reply.json()["detail"]["error_type"] == "request_too_large"
    assert "1000 bytes" in reply.json()["detail"]["message"]
    assert post(url, BODY).status_code == 200


def test_large_bodies_together_are_bounded_and_let_go() -> None:
    """The reader alone, told message by message what arrives."""
    size = 1 << 20
    large = b" " * (size - 1)

    async def whole(*chunks: bytes) -> Any:
        for chunk in chunks:
            yield {"type": "http.request", "body": chunk, "more_body": chunk is not chunks[-1]}

    async def check() -> None:
        reader = BodyReader(size, timeout_s=60, held_limit=0)  # two bodies' worth at least
        scope: dict[str, Any] = {"headers": []}

        def read(*chunks: bytes, headers: Any = ()) -> Any:
            scope = {"headers": list(headers)}
            return reader.read(scope, aiter(whole(*chunks)).__anext__)

        never = asyncio.Event()

        async def begins() -> dict[str, Any]:
            if reader_waits.locked():
                await never.wait()
            await reader_waits.acquire()
            return {"type": "http.request", "body": large, "more_body": True}

        reader_waits = asyncio.Lock()
        slow = asyncio.create_task(reader.read(scope, begins))
        while not reader_waits.locked():
            await asyncio.sleep(0)
        first = await read(large[: size // 2], large[size // 2 :])
        assert first == large
        for chunks in ((large,), (large[:9], large[9:])):
            with pytest.raises(BodyError) as caught:
                await read(*chunks)
            assert caught.value.status == 529
        assert await read(b"small") == b"small", "small ones go on"
        zstd_headers = [(b"content-encoding", b"zstd")]
        with pytest.raises(BodyError):
            await read(zstd.compress(large), headers=zstd_headers)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        reader.release(first)
        for _ in range(5):
            body = await read(zstd.compress(large), headers=zstd_headers)
            assert body == large
            reader.release(body)
        with pytest.raises(BodyError, match="larger than"):
            await read(large, b"xx", b"more")
        assert len([await read(large) for _ in range(2)]) == 2

    asyncio.run(check())


def test_a_body_that_does_not_arrive_is_408_and_others_go_on(serve, engine: Engine) -> None:
    url = serve(engine, limits=Limits(body_timeout_s=0.5))
    host, port = url.removeprefix("http://").split(":")
    slow = http.client.HTTPConnection(host, int(port), timeout=60)
    slow.putrequest("POST", "/v1/systemone")
    slow.putheader("Content-Length", "100")
    slow.endheaders(b"{")
    assert post(url, BODY).status_code == 200
    reply = slow.getresponse()
    assert reply.status == 408
    assert json.loads(reply.read())["detail"]["error_type"] == "timeout_error"
    slow.close()


def test_many_slow_clients_block_nobody(url: str) -> None:
    host, port = url.removeprefix("http://").split(":")
    slow = [socket.create_connection((host, int(port))) for _ in range(100)]
    try:
        for index, client in enumerate(slow):
            client.sendall(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n")
            client.sendall(b"\r\n{" if index % 2 else b"X-Slow: ")
        assert post(url, BODY).status_code == 200
    finally:
        for client in slow:
            client.close()
    assert post(url, BODY).status_code == 200


@pytest.mark.parametrize(
    "raw",
    [
        b"not http at all\r\n\r\n",
        b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: many\r\n\r\n",
        b"POST /v1/systemone HTTP/9.9\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # the beginning of TLS
    ],
)
def test_what_is_no_http_is_refused_in_json(url: str, raw: bytes) -> None:
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as client:
        client.sendall(raw)
        reply = b""
        while more := client.recv(1 << 16):
            reply += more
    head, _, body = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"content-type: application/json" in head
    assert json.loads(body)["detail"]["error_type"] == "invalid_request_error"
    assert post(url, BODY).status_code == 200


# Time and load


def test_more_than_may_wait_is_529_with_retry_after(serve) -> None:
    model = Stuck()
    url = serve(Engine([model]), limits=Limits(max_waiting=1), threads=1)
    replies = []
    waiting = threading.Thread(target=lambda: replies.append(post(url, BODY)))
    waiting.start()
    model.asked.acquire()
    reply = post(url, BODY)
    assert reply.status_code == 529
    assert reply.json()["detail"]["error_type"] == "overloaded_error"
    assert int(reply.headers["retry-after"]) >= 1
    model.go.set()
    waiting.join()
    assert replies[0].status_code == 200


def test_the_engine_is_told_the_time_limit_and_its_end_is_413(serve) -> None:
    class Late(Stuck):
        def score_all(self, state, questions, *, cached=False, deadline=None):
            if cached:
                return
            raise DeadlineError(f"{deadline - time.monotonic() <= 7}")

    reply = post(serve(Engine([Late()]), limits=Limits(time_limit_s=7)), BODY)
    assert reply.status_code == 413
    assert "within 7 s: True" in reply.json()["detail"]["message"]


def test_a_request_too_large_for_its_time_ends(serve) -> None:
    url = serve(Engine(embedded_models(cache_bytes=1 << 20)), limits=Limits(time_limit_s=0.05))
    criteria = {f"never seen {index} " * 40: None for index in range(200)}
    body = {"state": "s", "questions": {"q": {"type": "choice", "criteria": criteria}}}
    reply = post(url, json.dumps(body).encode())
    assert reply.status_code == 413
    assert "of 200 unseen texts" in reply.json()["detail"]["message"]


def test_a_fault_of_ours_is_a_typed_500_and_the_server_lives(serve) -> None:
    class Broken(Stuck):
        def score_all(self, *_, **__):
            raise ZeroDivisionError

    url = serve(Engine([Broken()]), log_level="critical")
    for _ in range(2):
        reply = post(url, BODY)
        assert reply.status_code == 500
        assert reply.json()["detail"]["error_type"] == "internal_error"


def test_numbers_that_are_not_finite_never_leave(serve) -> None:
    class Nan(Stuck):
        def score_all(self, *_, **__):
            return [Scored([float("nan"), 0.0], 0, False)]

    assert post(serve(Engine([Nan()])), BODY).status_code == 502


def test_strict_length_refuses_what_would_be_cut(serve) -> None:
    url = serve(Engine(embedded_models(cache_bytes=1 << 20), strict_length=True))
    long = {**VALID, "state": "word " * 600}
    reply = post(url, json.dumps(long).encode())
    assert reply.status_code == 422
    assert reply.json()["detail"][0]["loc"] == ["body", "questions", "q"]
    assert post(url, BODY).status_code == 200


# Routes


def test_rank_is_the_choice_best_first(url: str, engine: Engine) -> None:
    answers = ["Rain and wind", "Payments and refunds", "Rain and wind", "Parcels"]
    body = {"context": "I was charged twice.", "question": "Which team?", "answers": answers}
    reply = post(url, json.dumps(body).encode(), "/v1/rank")
    assert reply.status_code == 200
    assert "x-clm-latency-ms" in reply.headers
    found = reply.json()
    expected = engine.answer(
        body["context"],
        {"q": Choice({str(i): text for i, text in enumerate(answers)}, body["question"])},
    )
    probabilities = expected["answers"]["q"]["probabilities"]
    assert found["model"] == expected["model"]
    assert [item["rank"] for item in found["ranked"]] == [1, 2, 3, 4]
    assert found["ranked"][0]["candidate"] == "Payments and refunds"
    assert sorted(item["prob"] for item in found["ranked"]) == sorted(probabilities.values())
    assert found["ranked"] == engine.rank(body["context"], answers, body["question"])


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"answers": []}, ["body", "answers"]),
        ({"answers": None}, ["body", "answers"]),
        ({"answers": {"a": 1}}, ["body", "answers"]),
        ({"answers": ["a", ""]}, ["body", "answers", 1]),
        ({"answers": ["a"] * 4097}, ["body", "answers"]),
        ({"context": 3}, ["body", "context"]),
        ({"question": 3}, ["body", "question"]),
        ({"temperature": "1"}, ["body", "temperature"]),
    ],
)
def test_a_bad_rank_request_names_its_place(url: str, change: dict, loc: list) -> None:
    body = {"context": "c", "question": None, "answers": ["a", "b"], **change}
    reply = post(url, json.dumps(body).encode(), "/v1/rank")
    assert reply.status_code == 422
    assert reply.json()["detail"][0]["loc"] == loc


def test_embeddings_in_both_formats(url: str, engine: Engine) -> None:
    texts = ["one", "two", "one"]
    plain, packed = (
        post(
            url,
            json.dumps({"input": texts, "encoding_format": form}).encode(),
            "/v1/embeddings",
        ).json()
        for form in ("float", "base64")
    )
    rows = np.array([item["embedding"] for item in plain["data"]], np.float32)
    assert [item["index"] for item in packed["data"]] == [0, 1, 2]
    for row, item in zip(rows, packed["data"], strict=True):
        assert np.frombuffer(base64.b64decode(item["embedding"]), "<f4").tobytes() == row.tobytes()
    _, embeddings = engine.embeddings(None)
    expected = embeddings.get(["one", "two"], "head").rows
    assert rows.tobytes() == expected[[0, 1, 0]].tobytes()
    assert plain["model"].startswith("all-MiniLM-L6-v2-int8@")


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"model": "default"}, 200),
        ({"model": "all-MiniLM-L6-v2-int8"}, 200),
        ({"model": "nope"}, 404),
        ({"truncate_prompt_tokens": 2048, "truncation_side": "left"}, 200),
        ({"truncate_prompt_tokens": -1}, 200),
        ({"truncate_prompt_tokens": 8}, 422),
        ({"truncation_side": "middle"}, 422),
        ({"encoding_format": "int8"}, 422),
        ({"input": []}, 422),
        ({"input": ["a", 1]}, 422),
        ({"input": [[1, 2]]}, 422),
        ({"input": "alone"}, 200),
    ],
)
def test_embedding_requests_are_checked(url: str, change: dict, status: int) -> None:
    body = {"input": ["a"], **change}
    reply = post(url, json.dumps(body).encode(), "/v1/embeddings")
    assert reply.status_code == status, reply.text


def test_metrics_count_requests_errors_tokens_and_hits(serve) -> None:
    url = serve(Engine(embedded_models(cache_bytes=1 << 20)))
    for _ in range(2):
        assert post(url, BODY).status_code == 200
    post(url, b"{")
    httpx.get(f"{url}/no-such-page")
    text = httpx.get(f"{url}/metrics").text

    def figure(name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
        assert found, f"{name} is not in\n{text}"
        return float(found[1])

    route = 'route="/v1/systemone"'
    assert figure(f'systemone_requests_total{{{route},status="200"}}') == 2
    assert figure(f'systemone_requests_total{{{route},status="422"}}') == 1
    assert figure('systemone_requests_total{route="other",status="404"}') == 1
    assert figure(f'systemone_errors_total{{{route},type="invalid_request_error"}}') == 1
    assert figure(f"systemone_request_seconds_count{{{route}}}") == 3
    assert figure("systemone_input_tokens_total") == 9
    labels = 'cache="action_embeddings",figure="{}",model="default"'
    assert figure(f"systemone_cache{{{labels.format('hits')}}}") == 2
    assert figure(f"systemone_cache{{{labels.format('misses')}}}") == 2
    assert figure(f"systemone_cache{{{labels.format('hit_rate')}}}") == 0.5


def test_every_reply_has_a_request_id_of_its_own(url: str) -> None:
    replies = [post(url, BODY), post(url, b"{"), httpx.get(f"{url}/health"), httpx.get(f"{url}/x")]
    assert len({reply.headers["x-typesafe-request-id"] for reply in replies}) == 4


def test_browsers_may_ask_only_when_told_so(serve, engine: Engine, url: str) -> None:
    origin = {"Origin": "http://a.example"}
    reply = post(url, BODY, **origin)
    assert reply.headers["access-control-allow-origin"] == "*"
    assert "x-clm-latency-ms" in reply.headers["access-control-expose-headers"]
    closed = serve(engine)
    assert "access-control-allow-origin" not in post(closed, BODY, **origin).headers
    assert httpx.get(f"{url}/").headers["content-type"].startswith("text/html")
    assert httpx.get(f"{closed}/").status_code == 404
