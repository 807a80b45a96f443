"""A bounded cache of vectors: one allocation at the start, least recently used goes first."""

import threading
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

# Long texts are remembered by their digest, so that the keys are bounded like the rows.
LONGEST_PLAIN_KEY = 256


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
        self._lock = threading.Lock()
        self.hits = 0
        self.misses = 0
        self.evictions = 0

    @staticmethod
    def _key(text: str) -> str | bytes:
        if len(text) <= LONGEST_PLAIN_KEY:
            return text
        return blake2b(text.encode(), digest_size=16).digest()

    def get(self, texts: Sequence[str]) -> tuple[npt.NDArray[np.float32], list[bool], list[int]]:
        """Rows [n, width], flags [n], and the indices of the texts that are not here.

        The rows of missing texts hold no meaning until the caller fills them.
        """
        keys = [self._key(text) for text in texts]
        missing = []
        places = []
        with self._lock:
            for index, key in enumerate(keys):
                place = self._places.pop(key, None)
                if place is None:
                    missing.append(index)
                    places.append(0)
                else:
                    self._places[key] = place
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
        key = self._key(text)
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
