"""Scripted evaluation over an endpoint: retries, an answer cache, statistics, tournaments.

    with Judge("local", cache="answers.sqlite") as judge:
        reply = judge.ask(state, {"team": Choice({"billing": "Payments", "other": None})})

Not for real-time players: an answer that was retried is late, and a late answer is worthless.
"""

import math
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, Self

import msgspec

from sysone.systemone.answer_cache import AnswerCache, key_of
from sysone.systemone.answers import Answer, ChoiceAnswer, SystemOneResponse, Usage
from sysone.systemone.client import CLMClient, Questions, SystemOneError
from sysone.systemone.endpoints import ENDPOINTS, Endpoint, EndpointError
from sysone.systemone.local import local_server
from sysone.systemone.questions import Choice, Question, to_wire
from sysone.systemone.thresholds import Threshold, confidence_of, fit_threshold, is_right
from sysone.systemone.tournament import (
    Chosen,
    TooLongError,
    TooManyError,
    play,
    stated_limit,
)

__all__ = ["ENDPOINTS", "RETRY_STATUS", "Judge", "JudgeReply", "JudgeStats"]

RETRY_STATUS = frozenset({429, *range(500, 600)})
"""Besides these, a call that brought no reply at all is tried again."""

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 8.0
DEADLINE_S = 120.0
"""A server may ask for an hour's patience; nobody who waits for a script has it."""
JITTER = 0.25
"""Up to this share of a wait is left out at random, so that callers do not come back together."""

# General questions: the endpoint's own default is for T-Rex.
LOCAL_MODEL = "default"


class JudgeReply(msgspec.Struct, frozen=True):
    """A reply and what it took."""

    model: str
    answers: dict[str, Answer]
    usage: Usage
    latency_ms: float
    """Client's wall clock of the attempt that succeeded; 0 from the cache."""
    total_ms: float
    """The same with every attempt and wait before it."""
    cached: bool
    attempts: int


class JudgeStats(msgspec.Struct, frozen=True):
    """What an endpoint was asked and how long it took."""

    calls: int
    cached: int
    errors: int
    """Calls that brought no answer in the end."""
    retries: int
    input_tokens: int
    latency_p50_ms: float | None
    """Over calls that were really made; None without any."""
    latency_p95_ms: float | None


class Judge:
    """Asks one endpoint. Thread-safe.

    ``endpoint`` is a name of `ENDPOINTS` or an `Endpoint`; ``local`` starts a server of ours on
    the first question. ``cache`` is a sqlite file. ``tries`` bounds the attempts of one call, and
    ``deadline`` its seconds, waits included: none is begun that would end later. It is
    `DEADLINE_S` if None; given, it bounds each attempt's own waits on the network, too.
    """

    def __init__(
        self,
        endpoint: str | Endpoint = "local",
        *,
        cache: str | os.PathLike[str] | None = None,
        tries: int = 5,
        deadline: float | None = None,
        model: str | None = None,
        timeout_s: float = 300.0,
        environ: Mapping[str, str] = os.environ,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Raises `EndpointError` for an unknown endpoint or one whose key is not set."""
        if isinstance(endpoint, str):
            if endpoint not in ENDPOINTS:
                raise EndpointError(
                    f"unknown endpoint {endpoint!r}: expected {', '.join(ENDPOINTS)}"
                )
            endpoint = ENDPOINTS[endpoint]
        if tries < 1:
            raise ValueError(f"tries: expected 1 or more, got {tries}")
        self.endpoint = endpoint
        self._tries = tries
        self._deadline = DEADLINE_S if deadline is None else deadline
        self._timeout_s = timeout_s if deadline is None else min(timeout_s, deadline)
        self._sleep = sleep
        self._key = endpoint.api_key(environ)
        self._base_url = endpoint.base_url(environ)
        chosen = LOCAL_MODEL if self._base_url is None else endpoint.model(environ)
        self.model = model or chosen
        self._limit = endpoint.max_options
        self._stack = ExitStack()
        self._client: CLMClient | None = None
        self._cache = AnswerCache(cache) if cache is not None else None
        self._resolved: str | None = None
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._counts = dict.fromkeys(("calls", "cached", "errors", "retries", "input_tokens"), 0)
        self._latencies: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End connections, the cache and a server that was started."""
        self._stack.close()
        if self._cache is not None:
            self._cache.close()

    def ask(
        self,
        state: object,
        questions: Questions,
        temperature: float | None = None,
        *,
        refresh: bool = False,
    ) -> JudgeReply:
        """Ask questions about a state; ``refresh`` asks anew and replaces what is cached.

        Raises `SystemOneError` when every attempt failed, and at once for a caller's mistake.
        """
        wire = {name: to_wire(question) for name, question in questions.items()}
        asked = (temperature, state, wire)
        if self._cache is not None and not refresh:
            stored = self._cache.get(self._cache_key(*asked))
            if stored is not None:
                return self._from_cache(stored)
        started = time.monotonic()
        reply, attempts = self._attempts(state, wire, temperature, started)
        total_ms = (time.monotonic() - started) * 1000
        self._count(calls=1, input_tokens=reply.usage.input_tokens)
        with self._lock:
            self._latencies.append(reply.latency_ms)
        if self._cache is not None:
            # What answered may have changed since it was asked for its name.
            self._remember_model(reply.model)
            key = self._cache_key(*asked)
            self._cache.put(key, reply.model, msgspec.json.encode(reply))
        return JudgeReply(
            reply.model, reply.answers, reply.usage, reply.latency_ms, total_ms, False, attempts
        )

    def choose(
        self,
        state: object,
        instructions: Any,
        options: Mapping[str, Any] | Sequence[str],
        *,
        heads: int = 1,
        temperature: float | None = None,
    ) -> Chosen:
        """The best of any number of options, in rounds where the endpoint takes fewer at once.

        ``options`` are names, or names with descriptions. ``heads`` of every block go on to the
        next round. Raises `SystemOneError` and, for less than one option, `ValueError`.
        """
        if isinstance(options, Mapping):
            criteria = dict(options)
        else:
            criteria = dict.fromkeys(options)
            if len(criteria) != len(options):
                raise ValueError("options: a name is there twice")
        if not criteria:
            raise ValueError("options: expected at least one")
        if heads < 1:
            raise ValueError(f"heads: expected 1 or more, got {heads}")

        def ask(names: Sequence[str]) -> dict[str, float]:
            question = Choice({name: criteria[name] for name in names}, instructions)
            try:
                answer = self.ask(state, {"choose": question}, temperature).answers["choose"]
            except SystemOneError as error:
                self._reword(error, len(names))
                raise
            assert isinstance(answer, ChoiceAnswer)
            return answer.probabilities

        try:
            return play(ask, list(criteria), self._limit, heads)
        except (TooManyError, TooLongError) as failed:
            # What the endpoint said, in its own words.
            raise failed.__cause__ or failed from None

    def _reword(self, error: SystemOneError, asked: int) -> None:
        """Turn a refusal of size into what the tournament understands."""
        message = error.message.lower()
        if error.status == 413 or (error.status == 422 and "token" in message):
            raise TooLongError(error.message) from error
        if error.status == 422 and "option" in message and ("most" in message or "many" in message):
            limit = stated_limit(error.message)
            if limit < asked:
                self._limit = limit
                raise TooManyError(limit) from error

    def fit_threshold(
        self, rows: Iterable[tuple[object, Question, str | int | bool]], accuracy: float
    ) -> Threshold | None:
        """The confidence from which on answers are right with ``accuracy``; None if none is.

        ``rows`` are states, questions and right answers (option, level index, yes or no); each
        is asked, or read from the cache.
        """
        pairs = []
        for state, question, label in rows:
            answer = self.ask(state, {"row": question}).answers["row"]
            pairs.append((confidence_of(answer), is_right(answer, label)))
        return fit_threshold(pairs, accuracy)

    def stats(self) -> dict[str, JudgeStats]:
        """Figures by endpoint name."""
        with self._lock:
            latencies = sorted(self._latencies)
            return {
                self.endpoint.name: JudgeStats(
                    **self._counts,
                    latency_p50_ms=nearest_rank(latencies, 50),
                    latency_p95_ms=nearest_rank(latencies, 95),
                )
            }

    def _count(self, **counts: int) -> None:
        with self._lock:
            for name, count in counts.items():
                self._counts[name] += count

    def _connect(self) -> CLMClient:
        with self._starting:
            if self._client is None:
                url = self._base_url or self._stack.enter_context(local_server())
                client = CLMClient(url, self._key, timeout=self._timeout_s, model=self.model)
                self._client = self._stack.enter_context(client)
            return self._client

    def _attempts(
        self,
        state: object,
        questions: Questions,
        temperature: float | None,
        started: float,
    ) -> tuple[SystemOneResponse, int]:
        attempt = 1
        while True:
            try:
                client = self._connect()
                return client.system_one(state, questions, temperature=temperature), attempt
            except SystemOneError as error:
                if error.status is not None and error.status not in RETRY_STATUS:
                    self._count(calls=1, errors=1)
                    raise
                wait_s = self._wait_s(error, attempt)
                spent_s = time.monotonic() - started
                late = spent_s + wait_s >= self._deadline
                if attempt >= self._tries or late:
                    self._count(calls=1, errors=1)
                    raise
            self._count(retries=1)
            self._sleep(wait_s)
            attempt += 1

    def _wait_s(self, error: SystemOneError, attempt: int) -> float:
        if error.retry_after_s is not None:
            return error.retry_after_s
        doublings = min(attempt - 1, 32)
        wait_s: float = min(FIRST_WAIT_S * 2**doublings, LONGEST_WAIT_S)
        return wait_s * (1 - JITTER * random.random())

    def _alias_key(self) -> bytes:
        return key_of(self.endpoint.name, self._base_url, self.model)

    def _remember_model(self, model: str) -> None:
        if model != self._resolved and self._cache is not None:
            self._resolved = model
            self._cache.put_model(self._alias_key(), model)

    def _resolve(self) -> str:
        """The name behind the alias: an answer of one model must not be read as another's."""
        assert self._cache is not None
        if self._resolved is None:
            try:
                self._remember_model(self._connect().check().model)
            except SystemOneError:
                # Without the endpoint, what it last said has to do; the question itself will
                # tell what is wrong.
                return self._cache.model(self._alias_key()) or self.model
        return self._resolved or self.model

    def _cache_key(self, temperature: float | None, state: object, wire: Any) -> bytes:
        # Lists of pairs: the order of options is a part of the question.
        questions = [(name, list(question.items())) for name, question in wire.items()]
        name, base_url = self.endpoint.name, self._base_url
        return key_of(name, base_url, self._resolve(), temperature, state, questions)

    def _from_cache(self, stored: bytes) -> JudgeReply:
        reply = msgspec.json.decode(stored, type=SystemOneResponse)
        self._count(calls=1, cached=1)
        return JudgeReply(reply.model, reply.answers, reply.usage, 0.0, 0.0, True, 0)


def nearest_rank(ordered: Sequence[float], percent: int) -> float | None:
    """The smallest value that is not below ``percent`` of the values; None without any."""
    return ordered[max(1, math.ceil(percent * len(ordered) / 100)) - 1] if ordered else None
