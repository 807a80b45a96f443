"""A column of a tick store: one growing typed array a field, and which of its values are absent."""

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Floats:
    """Floats, or None."""

    __slots__ = ("absent", "values")

    def __init__(self) -> None:
        self.values: Any = array("d")
        self.absent: dict[int, None] = {}

    def append(self, value: Any) -> None:
        """Add the next tick's value."""
        if value is None:
            self.absent[len(self.values)] = None
            value = 0.0
        self.values.append(value)

    def get(self, index: int) -> Any:
        """The value of a tick, by its index."""
        return None if index in self.absent else self.values[index]

    def tolist(self) -> list[Any]:
        """All values, None where there is none."""
        found: list[Any] = self.values.tolist()
        for index in self.absent:
            found[index] = None
        return found

    def numpy(self) -> NDArray[Any]:
        """All values as an array."""
        return np.array(self.values)

    def known(self) -> NDArray[np.uint8]:
        """1 where there is a value, else 0: uint8 [ticks]."""
        return _known(len(self.values), self.absent)


class Integers(Floats):
    """Integers, or None."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.values = array("q")

    def append(self, value: Any) -> None:
        """Add the next tick's value."""
        if value is None:
            self.absent[len(self.values)] = None
            value = 0
        self.values.append(value)


class Flags(Floats):
    """Yes or no."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__()
        self.values = array("B")

    def append(self, value: Any) -> None:
        """Add the next tick's value."""
        self.values.append(1 if value else 0)

    def get(self, index: int) -> bool:
        """The value of a tick, by its index."""
        return bool(self.values[index])

    def tolist(self) -> list[Any]:
        """All values, None where there is none."""
        return [value == 1 for value in self.values]


class Vectors:
    """Three floats, or None."""

    __slots__ = ("absent", "values")

    def __init__(self) -> None:
        self.values = array("d")
        self.absent: dict[int, None] = {}

    def append(self, value: Any) -> None:
        """Add the next tick's value."""
        if value is None:
            self.absent[len(self.values) // 3] = None
            value = (0.0, 0.0, 0.0)
        self.values.extend(value)

    def get(self, index: int) -> Any:
        """The value of a tick, by its index."""
        return None if index in self.absent else list(self.values[3 * index : 3 * index + 3])

    def tolist(self) -> list[Any]:
        """All values, None where there is none."""
        found: list[Any] = self.numpy().tolist()
        for index in self.absent:
            found[index] = None
        return found

    def numpy(self) -> NDArray[np.float64]:
        """All values as an array."""
        return np.array(self.values).reshape(-1, 3)


class Words:
    """Texts of few different values, or None."""

    __slots__ = ("codes", "numbers", "words")

    def __init__(self) -> None:
        self.codes = array("i")
        self.words: list[str | None] = []
        self.numbers: dict[str | None, int] = {}

    def append(self, value: str | None) -> None:
        """Add the next tick's value."""
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.words)
            self.words.append(value)
        self.codes.append(number)

    def get(self, index: int) -> str | None:
        """The value of a tick, by its index."""
        return self.words[self.codes[index]]

    def tolist(self) -> list[Any]:
        """All values, None where there is none."""
        return [self.words[code] for code in self.codes]

    def equal(self, word: str) -> NDArray[np.uint8]:
        """1 where the word is this one, else 0: uint8 [ticks]."""
        number = self.numbers.get(word, -1)
        same: NDArray[np.uint8] = (np.array(self.codes) == number).view(np.uint8)
        return same


def _nothing() -> None:
    """What is not there; by name, as columns are pickled."""


class Objects:
    """Anything, mostly the default."""

    __slots__ = ("count", "default", "values")

    def __init__(self, default: Callable[[], Any] = _nothing) -> None:
        self.values: dict[int, Any] = {}
        self.default = default
        self.count = 0

    def append(self, value: Any) -> None:
        """Add the next tick's value."""
        if value is not None and value != {}:
            self.values[self.count] = value
        self.count += 1

    def get(self, index: int) -> Any:
        """The value of a tick, by its index."""
        return self.values.get(index) if index in self.values else self.default()

    def tolist(self) -> list[Any]:
        """All values, None where there is none."""
        default = self.default()
        found = [default] * self.count
        for index, value in self.values.items():
            found[index] = value
        return found


def _known(count: int, absent: Iterable[int]) -> NDArray[np.uint8]:
    known = np.ones(count, dtype=np.uint8)
    places = list(absent)
    if places:
        known[places] = 0
    return known


Column = Floats | Vectors | Words | Objects
