import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from sysone.systemone import Choice, CLMClient, Engine, Noul, Score, SystemOneError, local_server

QUESTIONS: dict[str, Any] = {
    "action": Choice({"go": "The light is green", "stop": None}, "What now?"),
    "late": Noul("Is it late?"),
    "hurry": Score(["none", "some", "much"]),
}
VALID = {"state": "s", "questions": {"q": {"type": "choice", "criteria": {"a": None, "b": None}}}}


def post(base_url: str, content: bytes, **headers: str) -> httpx.Response:
    return httpx.post(f"{base_url}/v1/systemone", content=content, headers=headers, timeout=60)


def error_type(reply: httpx.Response) -> str:
    assert reply.headers["content-type"] == "application/json"
    return reply.json()["detail"]["error_type"]


def test_http_and_in_process_give_the_same_bits(base_url: str, engine: Engine) -> None:
    with CLMClient(base_url) as client:
        reply = client.system_one({"light": "green"}, QUESTIONS)
    expected = engine.answer({"light": "green"}, QUESTIONS)
    assert reply.model == expected["model"]
    assert reply.answers["action"].probabilities == expected["answers"]["action"]["probabilities"]
    assert reply.answers["late"].noul == expected["answers"]["late"]["noul"]
    assert reply.answers["hurry"].score == expected["answers"]["hurry"]["score"]
    assert reply.latency_ms > 0


def test_reply_has_exactly_the_contracts_fields(base_url: str) -> None:
    reply = post(
        base_url, json.dumps({**VALID, "x_trace_id": 1}).encode(), Authorization="Bearer x"
    )
    assert reply.status_code == 200
    assert reply.headers["content-type"] == "application/json"
    assert float(reply.headers["x-clm-latency-ms"]) >= 0
    assert reply.headers["x-typesafe-request-id"]
    body = reply.json()
    assert list(body) == ["model", "answers", "usage"]
    assert list(body["answers"]["q"]) == ["type", "choice", "confidence", "probabilities"]
    assert all(isinstance(count, int) for count in body["usage"].values())


def test_models_and_health(base_url: str) -> None:
    with CLMClient(base_url) as client:
        models = client.models()
        health = client.health()
    assert [entry["name"] for entry in models] == ["default", "trex"]
    assert all(set(entry) == {"name", "description", "release_date"} for entry in models)
    assert health["ok"] is True
    assert health["models"] == ["default", "trex"]
    assert health["max_options"] == 4096


DEEP = b"[" * 100_000
BAD_BODIES = {
    "empty": b"",
    "not json": b"{state",
    "not utf-8": b'{"state": "\xff\xfe", "questions": {}}',
    "utf-16": json.dumps(VALID).encode("utf-16"),
    "nan": b'{"state": {"a": NaN}, "questions": {}}',
    "infinity": b'{"state": {"a": -Infinity}, "questions": {}}',
    "too large a float": b'{"state": {"a": 1e999}, "questions": {}}',
    "too large an integer": b'{"state": {"a": ' + b"9" * 5000 + b'}, "questions": {}}',
    "duplicate key": b'{"state": "a", "state": "b", "questions": {}}',
    "duplicate option": b'{"state": "a", "questions": {"q": {"type": "choice", '
    b'"criteria": {"a": null, "a": null}}}}',
    "lone surrogate": b'{"state": "\\ud800", "questions": {}}',
    "nesting bomb": DEEP,
    "nested state": json.dumps(VALID).replace('"s"', "[" * 500 + "]" * 500).encode(),
    "array": b"[]",
    "null": b"null",
    "temperature nan": json.dumps({**VALID, "temperature": 1e308}).encode(),
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_bad_bodies_are_refused_in_the_list_form(base_url: str, name: str) -> None:
    reply = post(base_url, BAD_BODIES[name])
    assert reply.status_code == 422
    detail = reply.json()["detail"]
    assert detail
    for fault in detail:
        assert fault["loc"][0] == "body"
        assert isinstance(fault["msg"], str)
        assert isinstance(fault["type"], str)


def test_other_errors_have_the_object_form(base_url: str) -> None:
    unknown = post(base_url, json.dumps({**VALID, "model": "nope"}).encode())
    assert (unknown.status_code, error_type(unknown)) == (404, "not_found_error")
    assert "default" in unknown.json()["detail"]["message"]
    wrong_method = httpx.get(f"{base_url}/v1/systemone")
    assert (wrong_method.status_code, error_type(wrong_method)) == (405, "method_not_allowed_error")
    nowhere = httpx.get(f"{base_url}/nowhere")
    assert (nowhere.status_code, error_type(nowhere)) == (404, "not_found_error")


def test_a_body_over_the_limit_is_413(base_url: str) -> None:
    def chunks() -> Any:
        for _ in range(33):
            yield b" " * (1 << 20)

    url = f"{base_url}/v1/systemone"
    with httpx.Client(timeout=60) as client:
        try:
            reply = client.post(url, content=chunks())
        except httpx.WriteError:
            pytest.skip("the server closed the connection before the client had sent it all")
        assert (reply.status_code, error_type(reply)) == (413, "request_too_large")


def test_client_errors_are_typed_and_readable(base_url: str) -> None:
    with CLMClient(base_url) as client:
        with pytest.raises(SystemOneError, match=r"body\.questions\.q\.criteria") as caught:
            client.system_one("s", {"q": {"type": "choice"}})
        assert caught.value.status == 422
        with pytest.raises(SystemOneError) as caught:
            client.system_one("s", QUESTIONS, model="nope")
        assert caught.value.status == 404
        assert client.check().latency_ms > 0


def test_unreachable_server_is_a_typed_error() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with CLMClient(url) as client, pytest.raises(SystemOneError) as caught:
            client.check()
    assert caught.value.status is None
    assert url in caught.value.message


def test_a_proxy_does_not_stand_between_us_and_this_machine(
    base_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with CLMClient(base_url) as client:
        assert client.check().latency_ms > 0


def test_a_half_sent_body_blocks_nobody(base_url: str) -> None:
    host, port = base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as slow:
        slow.sendall(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
        with CLMClient(base_url) as client:
            assert client.check().latency_ms > 0


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_gone(pid: int, timeout_s: float = 60) -> bool:
    end = time.monotonic() + timeout_s
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(pid)


def listening_pid(url: str) -> int:
    """The process that listens on a URL's port, from /proc."""
    port = int(url.rsplit(":", 1)[1])
    inode = next(
        fields[9]
        for fields in (line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:])
        if fields[3] == "0A" and int(fields[1].split(":")[1], 16) == port
    )
    for process in Path("/proc").glob("[0-9]*"):
        try:
            for link in (process / "fd").iterdir():
                if str(link.readlink()) == f"socket:[{inode}]":
                    return int(process.name)
        except OSError:
            continue
    raise AssertionError(f"nobody listens on {url}")


def test_local_server_ends_with_its_block() -> None:
    with local_server() as url:
        pid = listening_pid(url)
        with CLMClient(url) as client:
            client.check()
            # The connection is still open and idle: it must not hold the end up.
    assert not alive(pid)


PARENT = """
import sys, time
from sysone.systemone import local_server
with local_server() as url:
    print(url, flush=True)
    time.sleep(600)
"""


def test_local_server_dies_with_a_killed_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        pid = listening_pid(url)
        assert alive(pid)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        assert parent.stdout is not None
        parent.stdout.close()
    assert wait_until_gone(pid)


def test_a_busy_port_is_one_line_and_exit_code_1() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = str(busy.getsockname()[1])
        command = [sys.executable, "-m", "sysone.systemone.cli", "serve", "--port", port]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 1
    assert found.stdout == ""
    assert found.stderr.count("\n") == 1
    assert f"127.0.0.1:{port}" in found.stderr
    assert "in use" in found.stderr
