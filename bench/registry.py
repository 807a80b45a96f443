"""Which function measures which promise.

A world adds a module to this folder with a function for each of its promises:

    @promise("trex.engine")
    def engine() -> Pair:
        return Pair(subject, reference)

The function prepares the data, checks that subject and reference agree, and returns a `Pair`, a
`Direct`, or a plain ``(subject, reference)`` of two calls. Nothing central is edited but
promises.toml.
"""

import importlib
import pkgutil
from collections.abc import Callable

from bench.measure import Call, Direct, Pair

Entry = Callable[[], Pair | Direct | tuple[Call, Call]]

_entries: dict[str, Entry] = {}


class Unavailable(Exception):  # noqa: N818 - no fault: what it needs is not on this machine
    """Raised by a measurement that cannot be made here; the text says what is missing."""


def promise(name: str) -> Callable[[Entry], Entry]:
    """Register a function as the measurement of a promise."""

    def register(entry: Entry) -> Entry:
        if name in _entries:
            raise ValueError(f"two functions measure {name}")
        _entries[name] = entry
        return entry

    return register


def entries() -> dict[str, Entry]:
    """Every registered measurement, after all modules of this folder were imported."""
    package = importlib.import_module("bench")
    for module in pkgutil.iter_modules(package.__path__):
        if not module.name.startswith(("test_", "__")):
            importlib.import_module(f"bench.{module.name}")
    return dict(_entries)
