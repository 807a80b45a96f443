"""A small decision is answered without a task; nobody can tell but by the clock."""

import json
import re
import socket
import time
from typing import Any

import httpx
import pytest

from sysone.systemone import Engine
from sysone.systemone.protocol import HELD_S
from sysone.systemone.serving import ServiceSettings, make_service

BODY: dict[str, Any] = {
    "state": "A whole request in one piece.",
    "questions": {"q": {"type": "choice", "criteria": {"a": "one piece", "b": "two pieces"}}},
}


@pytest.fixture(scope="module")
def url(serve: Any, engine: Engine) -> str:
    found: str = serve(engine)
    return found


def raw(content: bytes, *lines: str, version: str = "1.1") -> bytes:
    head = [f"POST /v1/systemone HTTP/{version}", "Host: x", f"Content-Length: {len(content)}"]
    return "\r\n".join([*head, *lines, "", ""]).encode() + content


def exchange(url: str, *pieces: bytes, replies: int = 1) -> list[tuple[bytes, bytes]]:
    """Send the pieces in packets of their own; head and body of each reply."""
    found = []
    parsed = httpx.URL(url)
    with socket.create_connection((parsed.host, parsed.port or 80), timeout=60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            connection.sendall(piece)
            if len(pieces) > 1:
                # So that the server has read this one before the next comes.
                httpx.get(f"{url}/openapi.json", timeout=60)
        with connection.makefile("rb") as stream:
            for _ in range(replies):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = stream.readline()
                    assert line, head
                    head += line
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                found.append((head, stream.read(length)))
    return found


def without_figures(head: bytes) -> bytes:
    return re.sub(rb"(latency-ms|request-id): [^\r]*", rb"\1", head)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (json.dumps(BODY).encode(), b"200"),
        (json.dumps({**BODY, "state": 3}).encode(), b"422"),
        (json.dumps({**BODY, "model": "nobody"}).encode(), b"404"),
        (b'{"state": "a", "state": "b"', b"422"),
        (b"", b"422"),
    ],
)
def test_in_one_piece_and_in_several_the_reply_is_the_same(
    url: str, content: bytes, status: bytes
) -> None:
    request = raw(content)
    exchange(url, request)  # now the caches hold the texts
    [whole] = exchange(url, request)
    [pieces] = exchange(url, request[:30], request[30:90], request[90:])
    assert whole[0].split()[1] == status
    assert without_figures(whole[0]) == without_figures(pieces[0])
    assert whole[1] == pieces[1]


def test_only_what_is_cached_is_answered_at_once(serve: Any, engine: Engine) -> None:
    asked: list[bool] = []

    class Watched(Engine):
        def decide(self, request: Any, *, cached: bool = False, **more: Any) -> Any:
            asked.append(cached)
            return engine.decide(request, cached=cached, **more)

    base_url = serve(Watched())
    body = {**BODY, "state": "Never seen before this test."}
    # Head and body in one packet, as an ordinary client's body may come in its own.
    content = json.dumps(body).encode()
    first, second = (json.loads(exchange(base_url, raw(content))[0][1]) for _ in range(2))
    assert first["answers"] == second["answers"]
    # Not in the caches, which are asked once; then a thread encodes. Then: in the caches.
    assert asked == [True, False, True]


def test_pipelined_requests_are_answered_in_their_order(url: str) -> None:
    """Whichever way each of them goes: known, unknown, refused, another route."""
    known = json.dumps(BODY).encode()
    exchange(url, raw(known))
    unknown = [
        json.dumps({**BODY, "state": f"Pipelined and unseen, number {index}."}).encode()
        for index in range(3)
    ]
    requests = [
        raw(known),
        raw(unknown[0]),
        raw(known),
        raw(b"{"),
        b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n",
        raw(unknown[1]),
        raw(unknown[2]),
        raw(known),
    ]
    found = exchange(url, b"".join(requests), replies=len(requests))
    alone = [exchange(url, request)[0] for request in requests]
    for got, expected in zip(found, alone, strict=True):
        assert got[0].split()[1] == expected[0].split()[1]
        one, two = json.loads(got[1]), json.loads(expected[1])
        for reply in (one, two):
            reply.pop("usage", None)
        assert one == two


def test_keys_and_closing_are_minded(serve: Any, engine: Engine, url: str) -> None:
    content = json.dumps(BODY).encode()
    locked = serve(engine, keys=("right",))
    assert exchange(locked, raw(content))[0][0].split()[1] == b"401"
    assert exchange(locked, raw(content, "Authorization: Bearer no"))[0][0].split()[1] == b"401"
    opened = exchange(locked, raw(content, "Authorization: Bearer right"))
    assert opened[0][0].split()[1] == b"200"
    for request in (raw(content, "Connection: close"), raw(content, version="1.0")):
        parsed = httpx.URL(url)
        with socket.create_connection((parsed.host, parsed.port or 80), timeout=60) as connection:
            connection.sendall(request)
            reply = b""
            while piece := connection.recv(1 << 16):
                reply += piece
        assert reply.split()[1] == b"200"
        assert b"connection: close" in reply.lower()


def test_what_follows_a_broken_request_is_not_answered(url: str) -> None:
    content = json.dumps(BODY).encode()
    exchange(url, raw(content))
    found = exchange(url, raw(content) + b"nonsense\r\n\r\n", replies=2)
    assert [head.split()[1] for head, _ in found] == [b"200", b"400"]


def test_what_needs_a_thread_or_a_middleware_is_declined(engine: Engine) -> None:
    content = json.dumps(BODY).encode()
    engine.answer(BODY["state"], BODY["questions"])
    service = make_service(engine, ServiceSettings())
    path = "/v1/systemone"
    response = service.at_once(path, [], content)
    assert response is not None
    assert response.startswith(b"HTTP/1.1 200 OK\r\n")
    unseen = json.dumps({**BODY, "state": "Unseen until now."}).encode()
    large = json.dumps({**BODY, "state": "x" * 70_000}).encode()
    for body in (unseen, large):
        assert service.at_once(path, [], body) is None
    assert service.at_once("/v1/rank", [], content) is None
    assert service.at_once(path, [(b"content-encoding", b"gzip")], content) is None
    browsers = make_service(engine, ServiceSettings(cors=True))
    assert browsers.at_once(path, [], content) is None


def test_a_request_that_lingers_is_handed_over_and_answered(url: str) -> None:
    request = raw(json.dumps(BODY).encode())
    parsed = httpx.URL(url)
    with socket.create_connection((parsed.host, parsed.port or 80), timeout=60) as connection:
        connection.sendall(request[:-5])
        time.sleep(3 * HELD_S)
        connection.sendall(request[-5:])
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        connection.sendall(request)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
