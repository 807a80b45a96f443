import hashlib
import multiprocessing
import socket
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import pytest

from sysone.systemone import (
    Choice,
    EndpointError,
    Engine,
    Judge,
    Noul,
    Score,
    SystemOneError,
    fit_threshold,
)
from sysone.systemone.answer_cache import AnswerCacheWarning
from sysone.systemone.endpoints import Endpoint
from sysone.systemone.judge import RETRY_STATUS, nearest_rank
from sysone.systemone.models import ModelEntry, Scored
from sysone.systemone.tournament import (
    TooLongError,
    TooManyError,
    blocks_of,
    play,
    stated_limit,
)
from systemone.scripted_server import answer, refusal, scripted_server

QUESTION = {"q": Noul("Is it late?")}


def endpoint(url: str, **more: Any) -> Endpoint:
    return Endpoint("test", "Test", "jev-latest", default_base_url=url, **more)


class Waits(list[float]):
    """A sleep that only takes notes."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


# Retries


@pytest.mark.parametrize("status", [0, 429, 500, 502, 503, 529, 599])
def test_what_may_pass_is_tried_again(status: int) -> None:
    waits = Waits()
    with (
        scripted_server(refusal(status), refusal(status), answer()) as server,
        Judge(endpoint(server.url), sleep=waits) as judge,
    ):
        reply = judge.ask("s", QUESTION)
        stats = judge.stats()["test"]
    assert (reply.attempts, reply.cached) == (3, False)
    assert reply.answers["q"].noul == 0.75
    assert reply.total_ms >= reply.latency_ms > 0
    assert len(waits) == 2
    assert 0.375 <= waits[0] <= 0.5
    assert 0.75 <= waits[1] <= 1
    assert (stats.calls, stats.retries, stats.errors, stats.input_tokens) == (1, 2, 0, 7)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_callers_mistake_is_told_at_once(status: int) -> None:
    waits = Waits()
    with (
        scripted_server(refusal(status, "bad"), answer()) as server,
        Judge(endpoint(server.url), sleep=waits) as judge,
        pytest.raises(SystemOneError, match="bad") as caught,
    ):
        judge.ask("s", QUESTION)
    assert caught.value.status == status
    assert waits == []
    assert judge.stats()["test"].errors == 1
    assert status not in RETRY_STATUS


def test_a_reply_that_breaks_the_contract_is_not_tried_again() -> None:
    with (
        scripted_server((200, {}, {"answers": {}})) as server,
        Judge(endpoint(server.url), sleep=Waits()) as judge,
        pytest.raises(SystemOneError, match="breaks the contract"),
    ):
        judge.ask("s", QUESTION)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"retry_after": "3"}, 3.0),
        ({"retry_after_ms": "250"}, 0.25),
        ({"retry_after": "9", "retry_after_ms": "1"}, 0.001),
        ({"retry_after": "Fri, 01 Jan 1999 00:00:00 GMT"}, 0.0),
    ],
)
def test_the_servers_own_wish_wins(headers: dict[str, str], wait_s: float) -> None:
    waits = Waits()
    with (
        scripted_server(refusal(429, **headers), answer()) as server,
        Judge(endpoint(server.url), sleep=waits) as judge,
    ):
        judge.ask("s", QUESTION)
    assert waits == [wait_s]


def test_tries_and_deadline_bound_a_call() -> None:
    waits = Waits()
    with scripted_server(refusal(503, "busy")) as server:
        with (
            Judge(endpoint(server.url), sleep=waits, tries=5) as judge,
            pytest.raises(SystemOneError, match="busy"),
        ):
            judge.ask("s", QUESTION)
        assert len(server.requests) == 5
        assert len(waits) == 4
        assert 3 <= waits[3] <= 4
        with (
            Judge(endpoint(server.url), sleep=waits, deadline=0.1) as judge,
            pytest.raises(SystemOneError),
        ):
            judge.ask("s", QUESTION)
        assert len(server.requests) == 6, "the first wait would pass the deadline"


def test_nearest_rank() -> None:
    assert nearest_rank([], 50) is None
    assert nearest_rank([1.0], 95) == 1
    assert nearest_rank([1.0, 2.0, 3.0, 4.0], 50) == 2
    assert nearest_rank([float(n) for n in range(1, 21)], 95) == 19
    assert nearest_rank([float(n) for n in range(1, 22)], 95) == 20


def test_patience_for_an_hour_is_not_had() -> None:
    waits = Waits()
    with (
        scripted_server(refusal(429, "later", retry_after="3600")) as server,
        Judge(endpoint(server.url), sleep=waits) as judge,
        pytest.raises(SystemOneError, match="later") as caught,
    ):
        judge.ask("s", QUESTION)
    assert waits == []
    assert caught.value.retry_after_s == 3600


def test_a_deadline_bounds_an_attempt_that_hangs() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with (
            Judge(endpoint(url), deadline=0.2, sleep=Waits()) as judge,
            pytest.raises(SystemOneError, match="no answer in time"),
        ):
            judge.ask("s", QUESTION)


# The cache


def test_a_cached_answer_costs_nothing_and_stays_out_of_the_latencies(tmp_path: Path) -> None:
    with (
        scripted_server(answer()) as server,
        Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge,
    ):
        first = judge.ask({"k": [1]}, QUESTION)
        again = judge.ask({"k": [1]}, QUESTION)
        stats = judge.stats()["test"]
    assert again.answers == first.answers
    assert (again.cached, again.latency_ms, again.total_ms, again.attempts) == (True, 0, 0, 0)
    assert (stats.calls, stats.cached, stats.input_tokens) == (2, 1, 7)
    assert stats.latency_p50_ms == stats.latency_p95_ms == first.latency_ms


def test_latency_is_null_without_a_real_call(tmp_path: Path) -> None:
    with scripted_server(answer()) as server:
        with Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge:
            judge.ask("s", QUESTION)
        with Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge:
            assert judge.ask("s", QUESTION).cached
            assert judge.stats()["test"].latency_p50_ms is None


AB = Choice({"a": None, "b": None})


@pytest.mark.parametrize(
    ("state", "questions", "temperature"),
    [
        ("t", {"q": AB}, None),
        ("s", {"r": AB}, None),
        ("s", {"q": Choice({"b": None, "a": None})}, None),
        ("s", {"q": Choice({"a": "x", "b": None})}, None),
        ("s", {"q": AB}, 2.0),
    ],
)
def test_another_question_is_another_key(tmp_path, state, questions, temperature) -> None:
    with (
        scripted_server(answer()) as server,
        Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge,
    ):
        judge.ask("s", {"q": AB})
        assert judge.ask("s", {"q": AB}).cached
        assert not judge.ask(state, questions, temperature).cached
        assert judge.ask(state, questions, temperature).cached


def test_an_alias_that_means_another_model_is_another_key(tmp_path: Path) -> None:
    script = [answer("m@1"), answer("m@1")]
    with scripted_server(*script) as server:
        with Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge:
            assert judge.ask("s", QUESTION).model == "m@1"
        server.script[:] = [answer("m@2", 0.25)]
        with Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge:
            found = judge.ask("s", QUESTION)
    assert (found.model, found.cached, found.answers["q"].noul) == ("m@2", False, 0.25)


def test_what_is_cached_is_there_without_the_endpoint(tmp_path: Path) -> None:
    with scripted_server(answer()) as server:
        with Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge:
            judge.ask("s", QUESTION)
        target = endpoint(server.url)
    with Judge(target, cache=tmp_path / "a.sqlite", tries=1) as judge:
        assert judge.ask("s", QUESTION).cached
        with pytest.raises(SystemOneError):
            judge.ask("another", QUESTION)


def test_refresh_asks_anew_and_replaces(tmp_path: Path) -> None:
    with (
        scripted_server(answer(), answer(), answer(noul=0.5)) as server,
        Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge,
    ):
        judge.ask("s", QUESTION)
        assert judge.ask("s", QUESTION, refresh=True).answers["q"].noul == 0.5
        found = judge.ask("s", QUESTION)
    assert (found.cached, found.answers["q"].noul) == (True, 0.5)


def test_errors_are_not_stored(tmp_path: Path) -> None:
    with (
        scripted_server(answer(), refusal(422), answer()) as server,
        Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge,
    ):
        with pytest.raises(SystemOneError):
            judge.ask("s", QUESTION)
        assert not judge.ask("s", QUESTION).cached


def test_a_corrupt_file_degrades_to_no_cache_with_one_warning(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"this is no database " * 100)
    with scripted_server(answer()) as server:
        with pytest.warns(AnswerCacheWarning, match=r"a\.sqlite") as caught:
            judge = Judge(endpoint(server.url), cache=tmp_path / "a.sqlite")
        assert len(caught) == 1
        with judge, warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not judge.ask("s", QUESTION).cached
            assert not judge.ask("s", QUESTION).cached


def test_a_locked_file_degrades_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sysone.systemone.answer_cache.BUSY_TIMEOUT_S", 0.01)
    with (
        scripted_server(answer()) as server,
        Judge(endpoint(server.url), cache=tmp_path / "a.sqlite") as judge,
    ):
        judge.ask("before", QUESTION)
        other = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.warns(AnswerCacheWarning, match="locked"):
            assert not judge.ask("s", QUESTION).cached
        other.close()


def write_many(url: str, path: str, first: int) -> None:
    with Judge(endpoint(url), cache=path) as judge:
        for number in range(first, first + 40):
            judge.ask(f"state {number}", QUESTION)


def test_several_processes_share_one_file(tmp_path: Path) -> None:
    path = str(tmp_path / "a.sqlite")
    context = multiprocessing.get_context("spawn")
    with scripted_server(answer()) as server:
        children = [
            context.Process(target=write_many, args=(server.url, path, first))
            for first in (0, 20, 40)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0, 0, 0]
        with Judge(endpoint(server.url), cache=path) as judge:
            assert all(judge.ask(f"state {number}", QUESTION).cached for number in range(80))


# Endpoints


def test_local_is_the_embedded_model_in_a_server_of_its_own() -> None:
    with Judge("local") as judge:
        reply = judge.ask(
            "I was charged twice.",
            {"team": Choice({"billing": "Payments and refunds", "weather": "Rain and wind"})},
        )
    assert reply.model.startswith("default@")
    assert reply.answers["team"].choice == "billing"


def test_endpoints_and_their_keys() -> None:
    with pytest.raises(EndpointError, match="'nope': expected clm, jev, local"):
        Judge("nope")
    with pytest.raises(EndpointError, match="TYPESAFE_API_KEY"):
        Judge("jev", environ={})
    judge = Judge("jev", environ={"JEV_API_KEY": "k", "TYPESAFE_MODEL": "jev-3"})
    assert judge.model == "jev-3"
    with pytest.raises(ValueError, match="tries"):
        Judge("clm", tries=0)


# Tournaments


def planted(winner: str) -> Any:
    """Probabilities as a model gives them that likes one option best and none equally."""

    def ask(names: Any) -> dict[str, float]:
        weights = {
            name: 2.0 if name == winner else hashlib.sha256(name.encode()).digest()[0] / 256
            for name in names
        }
        total = sum(weights.values())
        return {name: weight / total for name, weight in weights.items()}

    return ask


@pytest.mark.parametrize("count", [256, 600])
def test_the_planted_winner_wins_wherever_it_stands(count: int) -> None:
    names = [f"option {index}" for index in range(count)]
    for winner in names:
        found = play(planted(winner), names, 255)
        assert found.choice == winner
        assert found.probabilities[winner] == max(found.probabilities.values())


def test_seventy_thousand_options() -> None:
    names = [f"option {index}" for index in range(70_000)]
    borders = [0, 1, 254, 255, 256, 34_999, 35_000, 69_743, 69_744, 69_998, 69_999]
    for place in borders:
        found = play(planted(names[place]), names, 255)
        assert found.choice == names[place]
    assert [len(item.blocks) for item in found.rounds] == [275, 2, 1]
    assert all(max(item.blocks) <= 255 for item in found.rounds)


def test_rounds_are_fair_and_complete() -> None:
    asked: list[list[str]] = []

    def ask(names: Any) -> dict[str, float]:
        asked.append(list(names))
        return planted("9")(names)

    names = [str(index) for index in range(100)]
    found = play(ask, names, 30, heads=3)
    assert found.choice == "9"
    assert [len(block) for block in asked] == [25, 25, 25, 25, 12]
    assert [name for block in asked[:4] for name in block] == names
    for block in asked[:4]:
        assert len(set(block) & set(asked[4])) == 3
    assert (found.rounds[0].blocks, found.rounds[0].heads) == ([25, 25, 25, 25], 3)
    assert set(found.probabilities) == set(asked[4])


@pytest.mark.parametrize("limit", [2, 3, 7, 255])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 31, 256])
@pytest.mark.parametrize("heads", [1, 2, 50])
def test_no_block_of_one_and_always_an_end(limit: int, count: int, heads: int) -> None:
    sizes = []

    def ask(names: Any) -> dict[str, float]:
        sizes.append(len(names))
        return planted("0")(names)

    names = [str(index) for index in range(count)]
    assert play(ask, names, limit, heads).choice == "0"
    assert max(sizes) <= limit
    assert min(sizes) >= min(2, count)


def test_blocks_are_near_equal() -> None:
    assert [len(block) for block in blocks_of(range(257), 2)] == [129, 128]
    assert [item for block in blocks_of(range(600), 7) for item in block] == list(range(600))


def test_a_limit_found_on_the_way_is_kept_to() -> None:
    def ask(names: Any) -> dict[str, float]:
        if len(names) > 40:
            raise TooManyError(40)
        return planted("77")(names)

    names = [str(index) for index in range(100)]
    for limit in (None, 90):
        assert play(ask, names, limit).choice == "77"


def test_a_block_that_is_too_long_is_split() -> None:
    """By text, not by number: one half of the options is ten times as long."""

    def ask(names: Any) -> dict[str, float]:
        if sum(map(len, names)) > 2000:
            raise TooLongError
        return planted("x 3")(names)

    names = [f"x {index}" for index in range(200)] + ["long " * 60 + str(i) for i in range(20)]
    found = play(ask, names, 255)
    assert found.choice == "x 3"
    with pytest.raises(TooLongError):
        play(ask, ["long " * 300 + str(index) for index in range(3)], 255)


def test_limits_in_messages() -> None:
    assert stated_limit("criteria: expected at most 4096 options, got 9000") == 4096
    assert stated_limit("too many options") == 255
    assert stated_limit("at most 1 option") == 255


class Planted:
    """A model that likes the option of one name best."""

    entry = ModelEntry("planted", "For tests", "2026-01-01")
    version = "planted@1"
    embeddings = None
    waits = False

    def healthy(self) -> bool:
        return True

    def statistics(self) -> dict[str, dict[str, float]]:
        return {}

    def score_all(self, state, questions, *, cached=False, deadline=None):
        return [
            Scored([float(name == state) for name in question.criteria], 0, False)
            for question in questions
        ]


def test_the_servers_limit_is_learnt_over_http(serve) -> None:
    url = serve(Engine([Planted()], max_options=100))
    with Judge(endpoint(url)) as judge:
        found = judge.choose("option 421", "Which?", [f"option {index}" for index in range(600)])
        assert found.choice == "option 421"
        assert [len(item.blocks) for item in found.rounds] == [6, 1]
        assert judge.stats()["test"].errors == 1
        judge.choose("option 1", "Which?", [f"option {index}" for index in range(600)])
        assert judge.stats()["test"].errors == 1, "the limit is known now"
    with Judge(endpoint(url, max_options=50)) as judge:
        described = {f"option {index}": {"is": index} for index in range(120)}
        found = judge.choose("option 119", None, described)
        assert (found.choice, len(found.rounds[0].blocks)) == ("option 119", 3)


def test_an_unlimited_endpoint_takes_all_at_once(serve) -> None:
    with Judge(endpoint(serve(Engine([Planted()])))) as judge:
        found = judge.choose("option 7", None, [f"option {index}" for index in range(1000)])
    assert (found.choice, [item.blocks for item in found.rounds]) == ("option 7", [[1000]])


def test_other_refusals_reach_the_caller(serve) -> None:
    with Judge(endpoint(serve(Engine([Planted()])))) as judge:
        with pytest.raises(SystemOneError, match="temperature"):
            judge.choose("s", None, ["a", "b"], temperature=0)
        for bad in ([], ["a", "a"]):
            with pytest.raises(ValueError, match="options"):
                judge.choose("s", None, bad)


# Thresholds


def test_the_lowest_threshold_that_reaches_the_accuracy() -> None:
    rows = [(0.9, True), (0.8, True), (0.7, False), (0.6, True), (0.5, False), (0.4, False)]
    found = fit_threshold(rows, 0.75)
    assert (found.confidence, found.accuracy, found.coverage) == (0.6, 0.75, 4 / 6)
    assert fit_threshold(rows, 1.0).confidence == 0.8
    assert fit_threshold([(0.9, False), (0.8, True)], 0.9) is None
    # Equal confidences cannot be told apart.
    assert fit_threshold([(0.9, True), (0.9, False)], 0.9) is None


@pytest.mark.parametrize(("rows", "accuracy"), [([], 0.5), ([(0.5, True)], 0), ([(0.5, True)], 2)])
def test_bad_fits_are_refused(rows: Any, accuracy: float) -> None:
    with pytest.raises(ValueError, match=r"rows|accuracy"):
        fit_threshold(rows, accuracy)


def test_the_judge_fits_on_labelled_rows(serve, engine: Engine) -> None:
    team = Choice({"billing": "Payments and refunds", "weather": "Rain and wind"})
    rows: list[tuple[object, Any, Any]] = [
        ("I was charged twice.", team, "billing"),
        ("It rains.", team, "weather"),
        ("It rains.", team, "billing"),
        ("x", Noul("Is it?"), True),
        ("x", Score(["low", "high"]), 0),
    ]
    with Judge(endpoint(serve(engine))) as judge:
        found = judge.fit_threshold(rows, 0.5)
    assert found is not None
    assert found.rows == 5
    assert found.accuracy >= 0.5
