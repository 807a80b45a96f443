"""Clients of ``POST /v1/systemone``, for our server and any other that speaks the contract."""

import os
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, Self, TypeVar

import httpx
import msgspec

from sysone.systemone.answers import SystemOneResponse
from sysone.systemone.questions import Choice, Question, to_wire

DEFAULT_BASE_URL = "http://127.0.0.1:8700"
DEFAULT_MODEL = "clm-latest"
LOOPBACK = ("127.0.0.1", "localhost", "::1")

JSON_HEADERS = {"Content-Type": "application/json"}

Questions = Mapping[str, Question | Mapping[str, Any]]

T = TypeVar("T")


def is_loopback(url: str) -> bool:
    """Whether a URL means this machine; raises `httpx.InvalidURL`.

    A proxy of the environment is for the world outside, not for this machine.
    """
    return httpx.URL(url).host in LOOPBACK


class SystemOneError(RuntimeError):
    """A call that brought no answer. ``status`` is None where no reply came at all."""

    def __init__(
        self, message: str, status: int | None = None, retry_after_s: float | None = None
    ) -> None:
        """Keep apart what callers decide by; ``retry_after_s`` is the server's own wish."""
        super().__init__(message if status is None else f"HTTP {status}: {message}")
        self.status = status
        self.message = message
        self.retry_after_s = retry_after_s


CLMError = SystemOneError
"""The name that CLM's client has for it."""


class Check(NamedTuple):
    """A server that answered: the model's name and the round trip in milliseconds."""

    model: str
    latency_ms: float


class _Face:
    """What both clients are made of: where to send, what to send, how to read what comes."""

    def __init__(self, base_url: str | None, api_key: str | None, model: str) -> None:
        self.base_url = (base_url or os.environ.get("CLM_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
        self.model = model
        self._key = api_key or os.environ.get("CLM_API_KEY")

    def _options(self, timeout: float) -> dict[str, Any]:
        """Of the HTTP client."""
        try:
            url = httpx.URL(self.base_url)
            trust_env = not is_loopback(self.base_url)
        except httpx.InvalidURL as error:
            raise SystemOneError(f"invalid base URL {self.base_url!r}: {error}") from None
        if url.scheme not in ("http", "https") or not url.host:
            raise SystemOneError(f"invalid base URL {self.base_url!r}: expected http://HOST:PORT")
        return {
            "base_url": self.base_url,
            "timeout": timeout,
            "trust_env": trust_env,
            "headers": {"Authorization": f"Bearer {self._key}"} if self._key else None,
        }

    def _question_body(
        self,
        state: object,
        questions: Questions,
        model: str | None,
        temperature: float | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": model or self.model,
            "state": state,
            "questions": {name: to_wire(question) for name, question in questions.items()},
        }
        return body if temperature is None else {**body, "temperature": temperature}

    def _rank_body(
        self,
        context: object,
        question: object,
        answers: Sequence[str],
        model: str | None,
        temperature: float | None,
    ) -> dict[str, Any]:
        body = {
            "model": model or self.model,
            "context": context,
            "question": question,
            "answers": list(answers),
        }
        return body if temperature is None else {**body, "temperature": temperature}

    def _read(self, reply: httpx.Response) -> bytes:
        if reply.status_code != 200:
            raise SystemOneError(
                error_message(reply.content), reply.status_code, retry_after_s(reply.headers)
            )
        return reply.content

    def _failure(self, path: str, error: httpx.HTTPError) -> SystemOneError:
        if isinstance(error, httpx.TimeoutException):
            return SystemOneError(f"{self.base_url}{path}: no answer in time")
        return SystemOneError(f"{self.base_url}{path}: {error}")


def _encoded(body: object) -> bytes | None:
    if body is None:
        return None
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise SystemOneError(f"the request cannot be written as JSON: {error}") from None


CHECK_STATE = "ready"
CHECK_QUESTION = {"check": Choice({"yes": None, "no": None})}


class CLMClient(_Face):
    """Synchronous client; usable from several threads, connections are kept and reused.

    ``base_url`` and ``api_key`` fall back to ``CLM_BASE_URL`` and ``CLM_API_KEY``; an empty
    variable counts as unset. There are no retries: `Judge` is for those.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 300.0,
        model: str = DEFAULT_MODEL,
    ) -> None:
        """``timeout`` in seconds, for each wait on the network."""
        super().__init__(base_url, api_key, model)
        self._http = httpx.Client(**self._options(timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def system_one(
        self,
        state: object,
        questions: Questions,
        model: str | None = None,
        temperature: float | None = None,
    ) -> SystemOneResponse:
        """Ask questions about a state; raises `SystemOneError`."""
        body = self._question_body(state, questions, model, temperature)
        started = time.perf_counter()
        raw = self._send("POST", "/v1/systemone", body)
        latency_ms = (time.perf_counter() - started) * 1000
        return msgspec.structs.replace(_decode(raw, SystemOneResponse), latency_ms=latency_ms)

    def rank(
        self,
        context: object,
        question: object,
        answers: Sequence[str],
        model: str | None = None,
        temperature: float | None = None,
    ) -> list[dict[str, Any]]:
        """Rank answers, best first: ``rank``, ``candidate``, ``prob``; raises `SystemOneError`."""
        body = self._rank_body(context, question, answers, model, temperature)
        return _ranked(self._send("POST", "/v1/rank", body))

    def models(self) -> list[dict[str, Any]]:
        """The server's model list."""
        return _models(self._send("GET", "/v1/models"))

    def health(self) -> dict[str, Any]:
        """The server's state of health; empty, which is false, if it cannot be had."""
        try:
            return _decode(self._send("GET", "/health"), dict[str, Any])
        except SystemOneError:
            return {}

    def check(self) -> Check:
        """Make one minimal real call; raises `SystemOneError` unless it is answered."""
        reply = self.system_one(CHECK_STATE, CHECK_QUESTION)
        return Check(reply.model, reply.latency_ms)

    def _send(self, method: str, path: str, body: object = None) -> bytes:
        content = _encoded(body)
        try:
            reply = self._http.request(method, path, content=content, headers=JSON_HEADERS)
        except httpx.HTTPError as error:
            raise self._failure(path, error) from None
        return self._read(reply)


class AsyncCLMClient(_Face):
    """The same calls as coroutines, for one event loop."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 300.0,
        model: str = DEFAULT_MODEL,
    ) -> None:
        """As `CLMClient`."""
        super().__init__(base_url, api_key, model)
        self._http = httpx.AsyncClient(**self._options(timeout))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def system_one(
        self,
        state: object,
        questions: Questions,
        model: str | None = None,
        temperature: float | None = None,
    ) -> SystemOneResponse:
        """Ask questions about a state; raises `SystemOneError`."""
        body = self._question_body(state, questions, model, temperature)
        started = time.perf_counter()
        raw = await self._send("POST", "/v1/systemone", body)
        latency_ms = (time.perf_counter() - started) * 1000
        return msgspec.structs.replace(_decode(raw, SystemOneResponse), latency_ms=latency_ms)

    async def rank(
        self,
        context: object,
        question: object,
        answers: Sequence[str],
        model: str | None = None,
        temperature: float | None = None,
    ) -> list[dict[str, Any]]:
        """Rank answers, best first: ``rank``, ``candidate``, ``prob``; raises `SystemOneError`."""
        body = self._rank_body(context, question, answers, model, temperature)
        return _ranked(await self._send("POST", "/v1/rank", body))

    async def models(self) -> list[dict[str, Any]]:
        """The server's model list."""
        return _models(await self._send("GET", "/v1/models"))

    async def health(self) -> dict[str, Any]:
        """The server's state of health; empty, which is false, if it cannot be had."""
        try:
            return _decode(await self._send("GET", "/health"), dict[str, Any])
        except SystemOneError:
            return {}

    async def check(self) -> Check:
        """Make one minimal real call; raises `SystemOneError` unless it is answered."""
        reply = await self.system_one(CHECK_STATE, CHECK_QUESTION)
        return Check(reply.model, reply.latency_ms)

    async def _send(self, method: str, path: str, body: object = None) -> bytes:
        content = _encoded(body)
        try:
            reply = await self._http.request(method, path, content=content, headers=JSON_HEADERS)
        except httpx.HTTPError as error:
            raise self._failure(path, error) from None
        return self._read(reply)


def _ranked(raw: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _member(raw, "ranked")
    return found


def _models(raw: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _member(raw, "models")
    return found


def _member(raw: bytes, name: str) -> Any:
    body = _decode(raw, dict[str, Any])
    if not isinstance(body.get(name), list):
        raise SystemOneError(f"the reply breaks the contract: it has no list {name}", 200)
    return body[name]


def _decode(raw: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SystemOneError(f"the reply breaks the contract: {error}", 200) from None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """When to come back, in seconds: ``retry-after-ms``, or ``retry-after`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) / unit
        except ValueError:
            try:
                seconds = parsedate_to_datetime(value).timestamp() - time.time()
            except ValueError:
                continue
        if seconds == seconds:  # not a NaN
            return max(0.0, seconds)
    return None


def error_message(raw: bytes, limit: int = 200) -> str:
    """The readable part of an error body, in the order in which the public SDK looks for it."""
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return raw.decode("utf-8", "replace")[:limit]
    if not isinstance(body, dict):
        return str(body)[:limit]
    for key in ("error", "message", "detail"):
        found = body.get(key)
        if isinstance(found, dict):
            found = found.get("message")
        if isinstance(found, list):
            found = "; ".join(_fault(item) for item in found if isinstance(item, dict))
        if isinstance(found, str) and found:
            return found
    return raw.decode("utf-8", "replace")[:limit]


def _fault(item: dict[str, Any]) -> str:
    return f"{'.'.join(str(part) for part in item.get('loc', ()))}: {item.get('msg', '')}"
