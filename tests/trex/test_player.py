"""The player's process: start, answers in parallel, faults in the middle of a game, its end."""

import functools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sysone.trex.arena import Arena
from sysone.trex.backend import ApiBackend
from sysone.trex.decide import Timing
from sysone.trex.pilot import Pilot
from sysone.trex.player import PlayerError, RemoteBrain
from sysone.trex.workers import Workers
from sysone_core.trex import Game, snapshot
from trex.fake_endpoint import CutError, FakeEndpoint, Script, SilentError, after, good, reply

GENEROUS_S = 60.0
"""For what takes milliseconds on an idle machine."""
INFLIGHT = 2
WARM_CALLS = INFLIGHT + 4
NOW = Timing((1, 2), (1, 2), None)


@contextmanager
def brain_of(endpoint: FakeEndpoint, timeout_s: float = GENEROUS_S) -> Iterator[RemoteBrain]:
    brain = RemoteBrain(
        "clm",
        INFLIGHT,
        endpoint.url,
        backend=functools.partial(ApiBackend, timeout_s=timeout_s),
    )
    try:
        yield brain
    finally:
        endpoint.released.set()
        brain.close()


@contextmanager
def match_of(brain: RemoteBrain) -> Iterator[tuple[Arena, Pilot]]:
    pilot = Pilot(brain, clock=time.perf_counter)
    pilot.times.start_from(brain.warm(pilot.moment(), "labeled"))
    arena = Arena([pilot], time.perf_counter)
    workers = Workers(pilot, brain)
    try:
        arena.start()
        yield arena, pilot
    finally:
        workers.close()
        brain.close()
        workers.join(GENEROUS_S)


def play_until(arena: Arena, reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + GENEROUS_S
    while not reached():
        assert time.monotonic() < deadline_s, arena.report()
        arena.advance()
        time.sleep(0.002)


def raising(error: type[Exception]) -> Script:
    def script(number: int, request: dict[str, Any]) -> tuple[int, bytes]:
        raise error

    return script


def test_warm_up_opens_every_connection_first() -> None:
    together = threading.Barrier(INFLIGHT)

    def script(number: int, request: dict[str, Any]) -> tuple[int, bytes]:
        if number <= INFLIGHT:
            together.wait(GENEROUS_S)  # breaks unless they come at the same time
        return good(number, request)

    with FakeEndpoint(script) as endpoint, brain_of(endpoint) as brain:
        assert (brain.name, brain.model) == ("CLM", "clm-latest")
        samples_ms = brain.warm(snapshot(Game(0)), "labeled")
        assert len(samples_ms) == 4
        assert min(samples_ms) > 0
        assert brain.model == "fake-1"
        assert brain.detail == f"{endpoint.url} · fake-1 · {INFLIGHT} requests in flight"
    assert len(endpoint.requests) == WARM_CALLS
    assert endpoint.requests[0] == {
        "model": "clm-latest",
        "state": "Dino runner game. Nothing ahead.",
        "questions": {
            "action": {
                "type": "choice",
                "instructions": "Choose the best safe action for the dinosaur.",
                "criteria": {
                    "jump": "Safe. Jumps for no reason.",
                    "duck": "Safe. Crouches; no benefit.",
                    "run": "Safe. Keeps running. Best.",
                },
            }
        },
    }


def test_answers_go_to_whoever_asked() -> None:
    second_is_there = threading.Event()

    def script(number: int, request: dict[str, Any]) -> tuple[int, bytes]:
        # The first question is answered after the second.
        if "Recommended" in request["state"]:
            second_is_there.set()
            return reply({"jump": 1.0})
        second_is_there.wait(GENEROUS_S)
        return reply({"run": 1.0})

    with FakeEndpoint(script) as endpoint, brain_of(endpoint) as brain:
        answers = {}

        def ask(prompt: str) -> None:
            answers[prompt] = brain.think(snapshot(Game(0)), NOW, prompt, True)

        threads = [threading.Thread(target=ask, args=(name,)) for name in ("labeled", "guided")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(GENEROUS_S)
        assert answers["labeled"].proposed == "run"
        assert answers["guided"].proposed == "jump"
        assert answers["guided"].input_tokens == 30


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (lambda n, r: reply({"jump": float("nan")}), "invalid probability: {'jump': nan}"),
        (lambda n, r: reply({"jump": -1}), "invalid probability: {'jump': -1}"),
        (lambda n, r: reply({"jump": "high"}), "invalid probability: {'jump': 'high'}"),
        (lambda n, r: reply(answers={}), "answers.action must be an object"),
        (lambda n, r: (200, b"\xff\xfe"), "not JSON in UTF-8"),
        (lambda n, r: (500, b"boom"), "CLM HTTP 500: boom"),
        (raising(CutError), "cannot be reached"),
        (raising(SilentError), "did not answer within 2 s"),
    ],
)
def test_faults_in_the_middle_of_a_game(script: Script, message: str) -> None:
    timeout_s = 2.0 if "did not answer" in message else GENEROUS_S
    faulty = after(WARM_CALLS + 3, script)
    with FakeEndpoint(faulty) as endpoint, brain_of(endpoint, timeout_s) as brain:
        with match_of(brain) as (arena, pilot):
            play_until(arena, lambda: pilot.stats.errors >= INFLIGHT)
            frame = arena.frame
            play_until(arena, lambda: arena.frame > frame)  # the game does not wait
        stats = pilot.stats
        assert message in (stats.last_error or "")
        assert len(stats.last_error or "") <= 200
        # A failed answer counts as discarded, too.
        assert stats.discarded >= stats.errors
        assert stats.input_tokens == 30 * (len(stats.latency_ms) + stats.discarded - stats.errors)


def test_an_endpoint_that_dies_in_the_middle_of_a_game() -> None:
    endpoint = FakeEndpoint()
    with brain_of(endpoint) as brain, match_of(brain) as (arena, pilot):
        play_until(arena, lambda: len(pilot.stats.latency_ms) >= 3)
        endpoint.close()
        play_until(arena, lambda: pilot.stats.errors >= 3)
        assert "cannot be reached" in (pilot.stats.last_error or "")


def test_an_answer_after_the_end_reaches_nobody() -> None:
    with FakeEndpoint(after(WARM_CALLS, raising(SilentError))) as endpoint:
        brain = RemoteBrain("clm", INFLIGHT, endpoint.url)
        with match_of(brain) as (arena, pilot):
            play_until(arena, lambda: len(pilot.active) == INFLIGHT)
        endpoint.released.set()
        assert pilot.stats.latency_ms == []
        with pytest.raises(PlayerError, match="The player process stopped"):
            brain.think(snapshot(Game(0)), NOW, "labeled", True)


def test_a_killed_process_fails_every_call_and_the_game_goes_on() -> None:
    with FakeEndpoint() as endpoint, brain_of(endpoint) as brain, match_of(brain) as match:
        arena, pilot = match
        play_until(arena, lambda: len(pilot.stats.latency_ms) >= 3)
        assert brain.pid is not None
        os.kill(brain.pid, signal.SIGKILL)
        play_until(arena, lambda: pilot.stats.errors >= 3)
        assert pilot.stats.last_error == "The player process stopped"
        assert pilot.game.playing or pilot.game.crashed


def test_a_call_under_way_fails_when_the_process_is_killed() -> None:
    asked = threading.Event()

    def script(number: int, request: dict[str, Any]) -> tuple[int, bytes]:
        asked.set()
        raise SilentError

    with FakeEndpoint(script) as endpoint, brain_of(endpoint) as brain:

        def kill() -> None:
            asked.wait(GENEROUS_S)
            assert brain.pid is not None
            os.kill(brain.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(PlayerError, match="The player process stopped"):
            brain.think(snapshot(Game(0)), NOW, "labeled", True)
        killer.join(GENEROUS_S)


def test_the_reason_for_no_player(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("TYPESAFE_API_KEY", "JEV_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(PlayerError, match="Jev needs TYPESAFE_API_KEY"):
        RemoteBrain("jev")


def test_close_twice() -> None:
    with FakeEndpoint() as endpoint, brain_of(endpoint) as brain:
        brain.close()
