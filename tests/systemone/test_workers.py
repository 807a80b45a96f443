"""Several worker processes: one is killed under load, the others answer on."""

import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from systemone.served import Served

BODY = {"state": "s", "questions": {"q": {"type": "choice", "criteria": {"a": None, "b": None}}}}


def until(found, what: str, timeout_s: float = 120) -> None:
    end = time.monotonic() + timeout_s
    while not found():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def answers(url: str) -> bool:
    try:
        return httpx.post(f"{url}/v1/systemone", json=BODY).status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture
def served() -> Iterator[Served]:
    server = Served("--workers", "2")
    yield server
    server.stop()


def test_a_killed_worker_is_replaced_and_the_others_answer_on(served: Served) -> None:
    url = served.url
    until(lambda: answers(url), "the first answer")
    until(lambda: len(served.workers()) == 2, "both workers")
    done = threading.Event()
    failures: list[str] = []
    answered = [0] * 4

    def load(index: int) -> None:
        # A connection of a killed worker breaks; a new one must reach another at once.
        while not done.is_set():
            with httpx.Client(base_url=url, timeout=60) as client:
                try:
                    while not done.is_set():
                        reply = client.post("/v1/systemone", json=BODY)
                        if reply.status_code != 200:
                            failures.append(reply.text)
                        answered[index] += 1
                except httpx.TransportError:
                    pass

    threads = [threading.Thread(target=load, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    try:
        until(lambda: all(answered), "every client's first answer")
        before = served.workers()
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        seen = list(answered)
        until(
            lambda: all(now > then + 20 for now, then in zip(answered, seen, strict=True)),
            "every client to go on",
        )
        until(
            lambda: victim not in served.workers() and len(served.workers()) == 2, "a replacement"
        )
        survivor = (before - {victim}).pop()
        assert survivor in served.workers(), "the other worker was left alone"
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert failures == []
    # The survivor's cache is what it was: it still reports hits, and the figures add up.
    text = httpx.get(f"{url}/metrics").text
    labels = f'cache="action_embeddings",figure="hits",model="default",pid="{survivor}"'
    found = re.search(rf"systemone_cache{{{labels}}} (\S+)", text)
    assert found, text
    assert float(found[1]) > 0
    total = re.search(r'systemone_requests_total{route="/v1/systemone",status="200"} (\S+)', text)
    assert total
    assert float(total[1]) >= sum(answered)


def test_workers_end_with_their_parent_in_order() -> None:
    server = Served("--workers", "2")
    until(lambda: answers(server.url), "the first answer")
    until(lambda: len(server.workers()) == 2, "both workers")
    workers = server.workers()
    assert server.stop() == 0
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "the workers' end", 30)


def test_a_request_under_way_is_answered_before_the_end() -> None:
    server = Served("--action-cache", "0")
    try:
        until(lambda: answers(server.url), "the first answer")
        criteria = {f"an option that takes time {index}": None for index in range(100)}
        body = {"state": "s", "questions": {"q": {"type": "choice", "criteria": criteria}}}
        replies: list[int] = []
        asked = threading.Thread(
            target=lambda: replies.append(
                httpx.post(f"{server.url}/v1/systemone", json=body, timeout=120).status_code
            )
        )
        asked.start()
        # The request has been read when its texts are being encoded; a little later is soon enough.
        time.sleep(0.3)
    finally:
        server.stop()
    asked.join()
    assert replies == [200]
