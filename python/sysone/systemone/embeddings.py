"""Texts to vectors through a bounded cache, each text encoded once however many ask for it."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np

from sysone.systemone.cache import VectorCache
from sysone.systemone.encoder import Encoded, Encoder, Keep, Vector

Item = tuple[str, Keep]
KEEPS: tuple[Keep, Keep] = ("tail", "head")


class Rows(NamedTuple):
    """Vectors [n, width] of n texts, the tokens spent on them, and which were cut [n]."""

    rows: Vector
    tokens: int
    truncated: list[bool]


class Embeddings:
    """An encoder behind one cache a side (state tails, candidate heads). Thread-safe.

    A text that another thread is encoding is waited for, not encoded again.
    """

    def __init__(self, encoder: Encoder, cache_bytes: int) -> None:
        """``cache_bytes`` are shared out evenly between the two sides."""
        self.encoder = encoder
        self._cache_bytes = cache_bytes
        self._caches: dict[Keep, VectorCache] | None = None
        self._lock = threading.Lock()
        self._running: dict[Item, Future[Encoded]] = {}
        if encoder.width:
            self._allocate(encoder.width)

    def _allocate(self, width: int) -> dict[Keep, VectorCache]:
        with self._lock:
            if self._caches is None:
                self._caches = {keep: VectorCache(width, self._cache_bytes // 2) for keep in KEEPS}
            return self._caches

    def get(
        self,
        texts: Sequence[str],
        keep: Keep,
        *,
        cached: bool = False,
        deadline: float | None = None,
    ) -> Rows | None:
        """Vectors of texts; with ``cached`` None unless every one is at hand.

        ``deadline`` is a time of `time.monotonic`; raises `DeadlineError` beyond it and what the
        encoder raises.
        """
        found = self._lookup(texts, keep, all_or_none=cached)
        if found is not None:
            rows, flags, missing = found
            if not missing:
                return Rows(rows, 0, flags)
        else:
            rows, flags, missing = None, [False] * len(texts), list(range(len(texts)))
        if cached:
            return None
        wanted = list(dict.fromkeys(texts[index] for index in missing))
        encoded, tokens = self._encode([(text, keep) for text in wanted], deadline)
        if rows is None:
            rows = np.empty((len(texts), len(encoded[0].vector)), np.float32)
        by_text = dict(zip(wanted, encoded, strict=True))
        for index in missing:
            item = by_text[texts[index]]
            rows[index] = item.vector
            flags[index] = item.truncated
        return Rows(rows, tokens, flags)

    def _lookup(
        self, texts: Sequence[str], keep: Keep, *, all_or_none: bool
    ) -> tuple[Vector, list[bool], list[int]] | None:
        if self._caches is None:
            return None
        return self._caches[keep].get(texts, all_or_none=all_or_none)

    def _encode(self, items: Sequence[Item], deadline: float | None) -> tuple[list[Encoded], int]:
        """Encode what nobody else is encoding, then wait for the rest; the tokens are of ours."""
        mine: list[Item] = []
        with self._lock:
            futures = []
            for item in items:
                future = self._running.get(item)
                if future is None:
                    future = self._running[item] = Future()
                    mine.append(item)
                futures.append(future)
        tokens = self._encode_mine(mine, deadline) if mine else 0
        encoded = []
        for item, future in zip(items, futures, strict=True):
            if item not in mine and future.exception() is not None:
                # The other thread's limit or fault is not ours: try it here.
                found, spent = self._encode([item], deadline)
                encoded += found
                tokens += spent
            else:
                encoded.append(future.result())
        return encoded, tokens

    def _encode_mine(self, items: Sequence[Item], deadline: float | None) -> int:
        tokens = 0
        waiting = dict.fromkeys(items)
        try:
            for item, encoded in zip(items, self.encoder.encode_many(items, deadline), strict=True):
                tokens += encoded.tokens
                self._allocate(len(encoded.vector))[item[1]].put(
                    item[0], encoded.vector, encoded.truncated
                )
                del waiting[item]
                self._finish(item).set_result(encoded)
        except BaseException as error:
            for item in waiting:
                self._finish(item).set_exception(error)
            raise
        return tokens

    def _finish(self, item: Item) -> Future[Encoded]:
        with self._lock:
            return self._running.pop(item)

    def statistics(self) -> dict[str, dict[str, float]]:
        """The caches' figures by role."""
        if self._caches is None:
            return {}
        return {
            "state_embeddings": self._caches["tail"].statistics(),
            "action_embeddings": self._caches["head"].statistics(),
        }
