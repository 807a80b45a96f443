"""A chat endpoint over HTTP: bounded in time and size, asked again once where that may help."""

import time
from collections.abc import Callable
from typing import Any, Final, Protocol

import httpx
import msgspec

from sysone.runs.errors import RunError

TIMEOUT_S: Final = 30.0
"""To connect, and between two bytes; a whole call may take twice that."""
MAX_BYTES: Final = 256 << 10
MAX_TOKENS: Final = 1024
BACKOFF_S: Final = 1.0
DEFAULT_MODEL: Final = "Qwen/Qwen3.5-9B"


class CallError(Exception):
    """A call that brought nothing; the text says why."""


class Chat(Protocol):
    """Answers messages of the chat form with a text."""

    def __call__(self, messages: list[dict[str, Any]], left_s: float) -> str:
        """The reply's text, within ``left_s`` seconds.

        Raises:
            CallError: there is none.
        """


class _Reply(msgspec.Struct):
    choices: list["_Choice"]


class _Message(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message


class OpenAIChat:
    """``POST <url>/v1/chat/completions`` as vLLM serves it."""

    def __init__(
        self,
        url: str,
        model: str = "",
        *,
        timeout_s: float = TIMEOUT_S,
        backoff_s: float = BACKOFF_S,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """An address may name the server alone, or end in /v1.

        Raises:
            RunError: it is none.
        """
        try:
            parsed = httpx.URL(url)
        except httpx.InvalidURL as error:
            raise RunError(f"--system2 is {url!r}: {error}") from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise RunError(f"--system2 is {url!r}, expected http://HOST:PORT or transformers:MODEL")
        base = url.rstrip("/")
        self.address = f"{base if base.endswith('/v1') else base + '/v1'}/chat/completions"
        self.model = model or DEFAULT_MODEL
        self.timeout_s, self.backoff_s, self._sleep = timeout_s, backoff_s, sleep
        self._client = httpx.Client(timeout=timeout_s, trust_env=False)

    def __call__(self, messages: list[dict[str, Any]], left_s: float) -> str:
        """The text of the first choice."""
        ends_s = time.monotonic() + min(left_s, 2 * self.timeout_s)
        body = {
            "model": self.model,
            "messages": messages,
            "max_tokens": MAX_TOKENS,
            "temperature": 0.0,
        }
        for attempt in range(2):
            try:
                return self._once(body, ends_s)
            except _MayRecoverError as error:
                wait_s = self.backoff_s * 2**attempt
                if attempt or time.monotonic() + wait_s >= ends_s:
                    raise CallError(str(error)) from None
                self._sleep(wait_s)
        raise AssertionError("two attempts end in a reply or an error")

    def _once(self, body: dict[str, Any], ends_s: float) -> str:
        received = bytearray()
        try:
            timeout = max(0.05, min(self.timeout_s, ends_s - time.monotonic()))
            with self._client.stream("POST", self.address, json=body, timeout=timeout) as reply:
                if reply.status_code == 429 or reply.status_code >= 500:
                    raise _MayRecoverError(f"the endpoint answered {reply.status_code}")
                if reply.status_code != 200:
                    raise CallError(f"the endpoint answered {reply.status_code}")
                for piece in reply.iter_raw():
                    received += piece
                    if len(received) > MAX_BYTES:
                        raise CallError(f"the reply is longer than {MAX_BYTES} bytes")
                    if time.monotonic() > ends_s:
                        raise CallError("the reply came too slowly")
        except httpx.TimeoutException:
            raise _MayRecoverError("the endpoint did not answer in time") from None
        except httpx.HTTPError as error:
            raise CallError(f"the endpoint failed: {error or type(error).__name__}") from None
        try:
            found = msgspec.json.decode(bytes(received), type=_Reply)
        except msgspec.MsgspecError as error:
            raise CallError(f"the reply has not the form of a chat completion: {error}") from None
        if not found.choices or found.choices[0].message.content is None:
            raise CallError("the reply has no text")
        return found.choices[0].message.content

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class _MayRecoverError(Exception):
    """What a second try may get over."""
