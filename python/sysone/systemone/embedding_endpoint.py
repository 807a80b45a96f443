"""Vectors from an OpenAI-style ``/v1/embeddings``, such as vLLM's with ``--runner pooling``."""

import base64
import binascii
import threading
import time
from collections.abc import Iterator, Sequence
from itertools import groupby

import httpx
import msgspec
import numpy as np

from sysone.systemone.client import error_message, is_loopback
from sysone.systemone.encoder import DeadlineError, Encoded, EncoderError, Keep, Vector

DEFAULT_URL = "http://127.0.0.1:8090/v1/embeddings"
DEFAULT_MODEL = "qwen3-8b"
DEFAULT_MAX_TOKENS = 2048

BATCH = 32
TIMEOUT_S = 300.0
PROBE_TIMEOUT_S = 2.0
PROBE_EVERY_S = 5.0

# Room for the special tokens that a tokenizer adds.
SPECIAL_TOKENS = 8

Item = tuple[str, Keep]


class _Embedding(msgspec.Struct):
    index: int
    embedding: str | list[float]


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0


class _Reply(msgspec.Struct):
    data: list[_Embedding]
    usage: _Usage | None = None


class EndpointEncoder:
    """An encoder behind HTTP. Thread-safe.

    A text of fewer bytes than ``max_tokens`` cannot be cut, because a token is at least a byte:
    such texts go in batches, whichever end would be kept. A longer one goes alone, so that the
    token count of the reply tells whether it was cut.
    """

    def __init__(
        self,
        url: str = DEFAULT_URL,
        model: str = DEFAULT_MODEL,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        api_key: str | None = None,
        width: int = 0,
    ) -> None:
        """``width`` is what the heads need; 0 takes the first reply's. Connects when used."""
        self.url = url
        self.model = model
        self._max_tokens = max_tokens
        self._width = width
        self._lock = threading.Lock()
        self._probed: tuple[float, bool] | None = None
        try:
            self._http = httpx.Client(
                timeout=TIMEOUT_S,
                trust_env=not is_loopback(url),
                headers={"Authorization": f"Bearer {api_key}"} if api_key else None,
                limits=httpx.Limits(max_connections=64, max_keepalive_connections=64),
            )
            if not httpx.URL(url).host:
                raise httpx.InvalidURL("it names no host")
        except httpx.InvalidURL as error:
            raise ValueError(f"invalid embeddings URL {url!r}: {error}") from None

    @property
    def identity(self) -> str:
        """The model's name there; the weights behind it are not ours to hash."""
        return self.model

    @property
    def width(self) -> int:
        """Components of a vector; 0 before the first reply."""
        return self._width

    @property
    def waits(self) -> bool:
        """It waits for the network."""
        return True

    @property
    def max_tokens(self) -> int:
        """Where texts are cut."""
        return self._max_tokens

    def healthy(self) -> bool:
        """Whether its model list answers; asked at most every `PROBE_EVERY_S`."""
        now = time.monotonic()
        if self._probed is None or now - self._probed[0] > PROBE_EVERY_S:
            host = self.url.rsplit("/v1/", 1)[0]
            try:
                found = self._http.get(f"{host}/v1/models", timeout=PROBE_TIMEOUT_S)
                self._probed = now, found.status_code == 200
            except httpx.HTTPError:
                self._probed = now, False
        return self._probed[1]

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def encode(self, text: str, keep: Keep) -> Encoded:
        """The L2-normalised vector of one text."""
        return next(iter(self.encode_many([(text, keep)], None)))

    def encode_many(self, items: Sequence[Item], deadline: float | None) -> Iterator[Encoded]:
        """Vectors in the items' order; raises `EncoderError` and `DeadlineError`."""
        # Consecutive items that may share a request do; the order is kept.
        for long, group in groupby(items, key=self._may_be_cut):
            some = list(group)
            size = 1 if long else BATCH
            for start in range(0, len(some), size):
                yield from self._request(some[start : start + size], long, deadline)

    def _may_be_cut(self, item: Item) -> bool:
        return len(item[0].encode()) + SPECIAL_TOKENS > self._max_tokens

    def _request(self, items: list[Item], long: bool, deadline: float | None) -> list[Encoded]:
        body = {
            "model": self.model,
            "input": [text for text, _ in items],
            "encoding_format": "base64",
            "truncate_prompt_tokens": self._max_tokens,
            "truncation_side": "left" if items[0][1] == "tail" else "right",
        }
        timeout_s = TIMEOUT_S
        if deadline is not None:
            timeout_s = min(timeout_s, deadline - time.monotonic())
            if timeout_s <= 0:
                raise DeadlineError("the embedding endpoint took the time")
        try:
            reply = self._http.post(
                self.url,
                content=msgspec.json.encode(body),
                headers={"Content-Type": "application/json"},
                timeout=timeout_s,
            )
        except httpx.TimeoutException:
            raise EncoderError(f"{self.url}: no answer within {timeout_s:.0f} s") from None
        except httpx.HTTPError as error:
            raise EncoderError(f"{self.url}: cannot be reached: {error}") from None
        if reply.status_code != 200:
            raise EncoderError(
                f"{self.url}: HTTP {reply.status_code}: {error_message(reply.content)}"
            )
        vectors, tokens = self._read(reply.content, len(items))
        cut = long and tokens >= self._max_tokens
        # Only the sum is known; the first of a batch carries it.
        return [Encoded(row, 0 if i else tokens, cut) for i, row in enumerate(vectors)]

    def _read(self, raw: bytes, count: int) -> tuple[list[Vector], int]:
        try:
            reply = msgspec.json.decode(raw, type=_Reply)
            rows = {item.index: _vector(item.embedding) for item in reply.data}
        except (msgspec.MsgspecError, UnicodeDecodeError, binascii.Error, ValueError) as error:
            raise EncoderError(f"{self.url}: the reply breaks the contract: {error}") from None
        if len(reply.data) != count or set(rows) != set(range(count)):
            raise EncoderError(f"{self.url}: {len(reply.data)} vectors for {count} texts")
        for row in rows.values():
            self._check(row)
        tokens = reply.usage.prompt_tokens if reply.usage else 0
        return [_normalised(rows[index]) for index in range(count)], max(0, tokens)

    def _check(self, row: Vector) -> None:
        if not np.isfinite(row).all() or not row.any():
            raise EncoderError(f"{self.url}: a vector is zero or not finite")
        with self._lock:
            self._width = self._width or len(row)
        if len(row) != self._width:
            raise EncoderError(
                f"{self.url}: {self.model} makes vectors of width {len(row)}, "
                f"expected {self._width}"
            )


def _vector(embedding: str | list[float]) -> Vector:
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float32)
    return np.array(embedding, np.float32)


def _normalised(row: Vector) -> Vector:
    # In double precision: a large vector's squares would overflow.
    length = np.sqrt(np.sum(row.astype(np.float64) ** 2))
    normalised: Vector = (row / length).astype(np.float32)
    return normalised
