"""What is promised: the entries of promises.toml."""

from pathlib import Path
from typing import Literal

import msgspec

FILE = Path(__file__).parent / "promises.toml"


def shown(number: float) -> str:
    """Three digits, as much as the machine's noise leaves."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


class Goal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bound on one statistic in the promise's unit. Shown, never gated: it is no ratio."""

    statistic: Literal["value", "p50", "p95", "p99", "max"]
    at_most: float | None = None
    at_least: float | None = None

    def met(self, number: float) -> bool:
        return (self.at_most is None or number <= self.at_most) and (
            self.at_least is None or number >= self.at_least
        )

    def __str__(self) -> str:
        bounds = [f"≤ {shown(self.at_most)}"] if self.at_most is not None else []
        bounds += [f"≥ {shown(self.at_least)}"] if self.at_least is not None else []
        return f"{self.statistic} {' and '.join(bounds)}"


class Promise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One promise. The ratio says how many times better than the reference the value is."""

    name: str
    """World, a dot, and what is measured: ``trex.engine``."""
    what: str
    """What is measured, in one line."""
    reference: str
    """What it is compared with, in one line."""
    unit: str
    """A time (ns, µs, ms, s), work per second (frames/s), or any other word."""
    target: float
    """The ratio that we want."""
    gate: float
    """The ratio below which a change is refused."""
    better: Literal["lower", "higher"] = "lower"
    """Which way the value is better; work per second is always better when higher."""
    goal: Goal | None = None


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    promise: list[Promise]


def load(path: Path = FILE) -> list[Promise]:
    """The promises of a file, in its order.

    Raises:
        ValueError: the file is not as `Promise` says; the text names the place.
    """
    try:
        promises = msgspec.toml.decode(path.read_bytes(), type=File).promise
    except msgspec.DecodeError as error:
        raise ValueError(f"{path.name}: {error}") from error
    names = [promise.name for promise in promises]
    for promise in promises:
        if names.count(promise.name) > 1:
            raise ValueError(f"{path.name}: {promise.name} is there twice")
        if "." not in promise.name:
            raise ValueError(f"{path.name}: the name {promise.name!r} does not begin with a world")
        if not 0 < promise.gate <= promise.target:
            raise ValueError(
                f"{path.name}: {promise.name} has gate {promise.gate:g} and target "
                f"{promise.target:g}; expected 0 < gate <= target"
            )
    return promises
