"""A System One endpoint as the game's player: one request, one answer, no second try.

A late answer is worthless in a game that does not wait, so nothing is ever retried; a failed call
counts as an error.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, Final

import httpx

from sysone.systemone.endpoints import ENDPOINTS
from sysone.trex.ask import Questions
from sysone.trex.decide import Reply

TIMEOUT_S: Final = 5.0
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class ApiBackend:
    """Asks one endpoint over one persistent client; threads may share it.

    ``kind`` is ``clm``, ``jev`` or ``local``; ``base_url`` says where it is, which only ``local``
    needs. ``inflight`` is the number of requests at a time. Environment variables as in
    `sysone.systemone.endpoints`.

    Raises:
        ValueError: unknown kind, or a base URL that is not one.
        RuntimeError: the endpoint needs a key, or an address, and there is none.
    """

    def __init__(
        self,
        kind: str,
        inflight: int = 1,
        base_url: str | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        endpoint = ENDPOINTS.get(kind)
        if endpoint is None:
            raise ValueError(f"kind must be one of {', '.join(ENDPOINTS)}, got {kind!r}")
        key = endpoint.api_key()
        address = base_url or endpoint.base_url()
        if address is None:
            raise RuntimeError(f"{endpoint.display_name} needs a base URL")
        self.name = endpoint.display_name
        self.inflight = max(1, inflight)
        self.usd_per_token = endpoint.usd_per_input_token
        self.base_url = address.rstrip("/")
        self.model = self._asked_model = endpoint.model()
        self._timeout_s = timeout_s
        connections = self.inflight + 1
        try:
            self._client = httpx.Client(
                base_url=self.base_url,
                headers={"Authorization": f"Bearer {key}"} if key else None,
                timeout=timeout_s,
                # A proxy of the environment is for the world outside, not for this machine.
                trust_env=httpx.URL(self.base_url).host not in LOOPBACK,
                limits=httpx.Limits(
                    max_connections=connections, max_keepalive_connections=connections
                ),
            )
        except (httpx.InvalidURL, UnicodeEncodeError) as error:
            raise ValueError(
                f"{self.name}: {self.base_url!r} or the key cannot be used: {error}"
            ) from None

    @property
    def detail(self) -> str:
        """Where the model is, its name, and how many requests are in flight if several."""
        text = f"{self.base_url} · {self.model}"
        return f"{text} · {self.inflight} requests in flight" if self.inflight > 1 else text

    def ask(self, state: str, questions: Questions) -> Reply:
        """Ask once.

        Raises:
            RuntimeError: no answer, or a status other than 200.
            ValueError: the reply has another shape; the text names the field.
        """
        body = {"model": self._asked_model, "state": state, "questions": questions}
        started_s = time.perf_counter()
        try:
            response = self._client.post("/v1/systemone", json=body)
        except httpx.TimeoutException:
            raise RuntimeError(
                f"{self.name} at {self.base_url} did not answer within {self._timeout_s:g} s"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RuntimeError(
                f"{self.name} at {self.base_url} cannot be reached: {error}"
            ) from None
        elapsed_ms = (time.perf_counter() - started_s) * 1000
        if response.status_code != 200:
            text = response.content.decode("utf-8", "replace")[:200]
            raise RuntimeError(f"{self.name} HTTP {response.status_code}: {text}")
        return self._read(response.content, elapsed_ms)

    def close(self) -> None:
        """Close every connection."""
        self._client.close()

    def _read(self, content: bytes, elapsed_ms: float) -> Reply:
        try:
            # The lenient reader: NaN is then refused as a probability, by name.
            reply = json.loads(content.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{self.name} reply is not JSON in UTF-8: {error}") from None
        if not isinstance(reply, Mapping):
            raise ValueError(f"{self.name} reply must be an object, got {type(reply).__name__}")
        answers = reply.get("answers")
        if not isinstance(answers, Mapping):
            raise ValueError(f"answers must be an object, got {_shown(answers)}")
        model = reply.get("model")
        if isinstance(model, str) and model:
            self.model = model
        return Reply(answers, self.model, _input_tokens(reply.get("usage")), elapsed_ms)


def _input_tokens(usage: object) -> int:
    if usage is None:
        return 0
    if not isinstance(usage, Mapping):
        raise ValueError(f"usage must be an object, got {_shown(usage)}")
    tokens = usage.get("input_tokens", 0)
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 0:
        raise ValueError(f"usage.input_tokens must be a count, got {_shown(tokens)}")
    return tokens


def _shown(value: Any) -> str:
    return "nothing" if value is None else f"{value!r}"[:60]
