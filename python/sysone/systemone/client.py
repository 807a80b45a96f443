"""The client of ``POST /v1/systemone``, for our server and any other that speaks the contract."""

import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Self, TypeVar

import httpx
import msgspec

from sysone.systemone.answers import SystemOneResponse
from sysone.systemone.questions import Choice, Question, to_wire

DEFAULT_BASE_URL = "http://127.0.0.1:8700"
DEFAULT_MODEL = "clm-latest"
LOOPBACK = ("127.0.0.1", "localhost", "::1")

T = TypeVar("T")


class SystemOneError(RuntimeError):
    """A call that brought no answer. ``status`` is None where no reply came at all."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """Keep status and message apart for callers that decide by them."""
        super().__init__(message if status is None else f"HTTP {status}: {message}")
        self.status = status
        self.message = message


class Check(NamedTuple):
    """A server that answered: the model's name and the round trip in milliseconds."""

    model: str
    latency_ms: float


class CLMClient:
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
        self.base_url = (base_url or os.environ.get("CLM_BASE_URL") or DEFAULT_BASE_URL).rstrip("/")
        self.model = model
        key = api_key or os.environ.get("CLM_API_KEY")
        try:
            self._http = httpx.Client(
                base_url=self.base_url,
                timeout=timeout,
                # A proxy of the environment is for the world outside, not for this machine.
                trust_env=httpx.URL(self.base_url).host not in LOOPBACK,
                headers={"Authorization": f"Bearer {key}"} if key else None,
            )
        except httpx.InvalidURL as error:
            raise SystemOneError(f"invalid base URL {self.base_url!r}: {error}") from None

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
        questions: Mapping[str, Question | Mapping[str, Any]],
        model: str | None = None,
        temperature: float | None = None,
    ) -> SystemOneResponse:
        """Ask questions about a state; raises `SystemOneError`."""
        body: dict[str, Any] = {
            "model": model or self.model,
            "state": state,
            "questions": {name: to_wire(question) for name, question in questions.items()},
        }
        if temperature is not None:
            body["temperature"] = temperature
        started = time.perf_counter()
        raw = self._send("POST", "/v1/systemone", body)
        latency_ms = (time.perf_counter() - started) * 1000
        return msgspec.structs.replace(_decode(raw, SystemOneResponse), latency_ms=latency_ms)

    def models(self) -> list[dict[str, Any]]:
        """The server's model list."""
        return _decode(self._send("GET", "/v1/models"), dict[str, list[dict[str, Any]]])["models"]

    def health(self) -> dict[str, Any]:
        """The server's state of health."""
        return _decode(self._send("GET", "/health"), dict[str, Any])

    def check(self) -> Check:
        """Make one minimal real call; raises `SystemOneError` unless it is answered."""
        reply = self.system_one("ready", {"check": Choice({"yes": None, "no": None})})
        return Check(reply.model, reply.latency_ms)

    def _send(self, method: str, path: str, body: object = None) -> bytes:
        content = None if body is None else msgspec.json.encode(body)
        try:
            reply = self._http.request(
                method, path, content=content, headers={"Content-Type": "application/json"}
            )
        except httpx.TimeoutException:
            raise SystemOneError(f"{self.base_url}{path}: no answer in time") from None
        except httpx.HTTPError as error:
            raise SystemOneError(f"{self.base_url}{path}: {error}") from None
        if reply.status_code != 200:
            raise SystemOneError(error_message(reply.content), reply.status_code)
        return reply.content


def _decode(raw: bytes, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(raw, type=shape)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise SystemOneError(f"the reply breaks the contract: {error}", 200) from None


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
