"""A bounded cache of vectors: one allocation at the start, least recently used goes first."""

import threading
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

# Long texts are remembered by their digest, so that the keys are bounded like the rows.
LONGEST_PLAIN_KEY = 256

# From this many texts on, finding them one by one costs more than comparing the list.
SMALLEST_BLOCK = 64


_NOTHING = np.empty((0, 0), np.float32)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()


class VectorCache:
    """Text to vector, with one flag a row. Thread-safe; reads hand out copies.

    ``budget_bytes`` is divided into float32 rows of ``width``; 0 switches the cache off.
    """

    def __init__(self, width: int, budget_bytes: int) -> None:
        """Allocate every row now."""
        self.capacity = max(0, budget_bytes) // (4 * width)
        self._rows = np.empty((self.capacity, width), np.float32)
        self._flags = np.zeros(self.capacity, np.bool_)
        # Insertion order is the order of use, oldest first.
        self._places: dict[str | bytes, int] = {}
        # Long lists of texts with their rows side by side, by the list; a quarter more at most.
        self._blocks: dict[tuple[str, ...], tuple[npt.NDArray[np.float32], list[bool]]] = {}
        self._block_rows = self.capacity // 4
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0
        self.evictions = 0

    def get(
        self, texts: Sequence[str], *, all_or_none: bool = False
    ) -> tuple[npt.NDArray[np.float32], list[bool], list[int]]:
        """Rows [n, width], flags [n], and the indices of the texts that are not here.

        The rows of missing texts hold no meaning until the caller fills them. With
        ``all_or_none`` a text that is missing ends the search: neither rows nor figures are of
        use then, and nothing is counted.
        """
        if len(texts) >= SMALLEST_BLOCK:
            return self._get_block(tuple(texts), all_or_none)
        return self._get_each(texts, all_or_none)

    def _get_block(
        self, texts: tuple[str, ...], all_or_none: bool
    ) -> tuple[npt.NDArray[np.float32], list[bool], list[int]]:
        """A long list that was asked for before is one copy in one piece."""
        with self._lock:
            block = self._blocks.pop(texts, None)
            if block is not None:
                self._blocks[texts] = block
                self.hits += len(texts)
                return *block, []
        rows, flags, missing = self._get_each(texts, all_or_none)
        if not missing and len(rows) <= self._block_rows:
            rows.flags.writeable = False
            with self._lock:
                self._blocks[texts] = rows, flags
                while sum(map(len, self._blocks)) > self._block_rows:
                    del self._blocks[next(iter(self._blocks))]
        return rows, flags, missing

    def _get_each(
        self, texts: Sequence[str], all_or_none: bool
    ) -> tuple[npt.NDArray[np.float32], list[bool], list[int]]:
        keys = [text if len(text) <= LONGEST_PLAIN_KEY else _digest(text) for text in texts]
        missing = []
        places = []
        with self._lock:
            known = self._places
            for index, key in enumerate(keys):
                place = known.pop(key, None)
                if place is None:
                    missing.append(index)
                    places.append(0)
                    if all_or_none:
                        return _NOTHING, [], missing
                else:
                    known[key] = place
                    places.append(place)
            self.hits += len(keys) - len(missing)
            self.misses += len(missing)
            if not self.capacity:
                empty = np.empty((len(keys), self._rows.shape[1]), np.float32)
                return empty, [False] * len(keys), missing
            return self._rows[places], self._flags[places].tolist(), missing

    def put(self, text: str, vector: npt.NDArray[np.float32], flag: bool = False) -> None:
        """Remember one vector; the least recently used makes room."""
        if not self.capacity:
            return
        key = text if len(text) <= LONGEST_PLAIN_KEY else _digest(text)
        with self._lock:
            place = self._places.pop(key, None)
            if place is None:
                place = len(self._places)
                if place == self.capacity:
                    place = self._places.pop(next(iter(self._places)))
                    self.evictions += 1
            self._rows[place] = vector
            self._flags[place] = flag
            self._places[key] = place

    def statistics(self) -> dict[str, float]:
        """Capacity and use in rows, and how often a text was here."""
        with self._lock:
            asked = self.hits + self.misses
            return {
                "capacity": self.capacity,
                "used": len(self._places),
                "hits": self.hits,
                "misses": self.misses,
                "evictions": self.evictions,
                "hit_rate": self.hits / asked if asked else 0.0,
            }
