"""How late answers come on the simulated clock: sources of latencies, named on the command line.

* ``fixed:MS``: always the same.
* ``normal:MS,SD``: normally distributed, below zero counting as zero.
* ``recorded:RESULT.json``: as in the results of a run. A seed has the log-normal distribution that
  goes through its row's median and 95th percentile; a seed without a row has the medians of all.
* a file: measured times, one number of milliseconds a line, or a recording made with ``--record``.
  They come in the file's order, round and round, from a place that depends on the seed, so that
  slow answers stay together as they were measured.

A latency runs from the question to the moment its answer comes; it lands with the next frame.
Times in results and recordings end at the landing, so half a frame is taken off, which is what an
answer waits for its frame on average. Everything is a pure function of the source and the seed.
"""

import math
import random
import statistics
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from sysone.runs.errors import RunError, unreadable
from sysone.trex.backend import TIMEOUT_S
from sysone.trex.report import read_results
from sysone_core.trex import FRAME_MS

LONGEST_MS: Final = 1000 * TIMEOUT_S
"""In real time a later answer is none."""
NORMAL_95: Final = statistics.NormalDist().inv_cdf(0.95)
EXPECTED: Final = "expected fixed:MS, normal:MS,SD, recorded:RESULT.json or a file of milliseconds"


class LatencyError(ValueError):
    """The text names no source of latencies; the message says what was expected."""


class Latency(Protocol):
    """A source of latencies."""

    @property
    def name(self) -> str:
        """What it is, for reports; the same text gives the same source."""

    def stream(self, seed: int) -> Iterator[float]:
        """Latencies of a seed's questions in milliseconds, in the order in which they are asked."""

    def typical_ms(self, seed: int) -> Sequence[float]:
        """What a warm-up before the game would have measured."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always the same."""

    ms: float

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"fixed:{self.ms:g}"

    def stream(self, seed: int) -> Iterator[float]:
        """The one latency, without end."""
        while True:
            yield self.ms

    def typical_ms(self, seed: int) -> Sequence[float]:
        """The one latency."""
        return [self.ms]


class Drawn(ABC):
    """Independent draws."""

    @abstractmethod
    def draw(self, seed: int, generator: random.Random) -> float:
        """One latency of a seed, in milliseconds; a bound is put on it."""

    def stream(self, seed: int) -> Iterator[float]:
        """Draws without end."""
        generator = random.Random(f"latency-{seed}")
        while True:
            yield _bounded(self.draw(seed, generator))

    def typical_ms(self, seed: int) -> Sequence[float]:
        """Four draws from a stream of their own, as the warm-up asks four times."""
        generator = random.Random(f"latency-warm-{seed}")
        return [_bounded(self.draw(seed, generator)) for _ in range(4)]


@dataclass(frozen=True)
class Normal(Drawn):
    """Normally distributed."""

    mean_ms: float
    deviation_ms: float

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"normal:{self.mean_ms:g},{self.deviation_ms:g}"

    def draw(self, seed: int, generator: random.Random) -> float:
        """One latency; the same for every seed's distribution."""
        return generator.normalvariate(self.mean_ms, self.deviation_ms)


@dataclass(frozen=True)
class Recorded(Drawn):
    """Log-normally distributed about the median and 95th percentile of each seed."""

    name: str
    seeds: dict[int, tuple[float, float]]
    """Of the landings, in milliseconds."""
    others: tuple[float, float]
    """Of a seed that is not there."""

    def draw(self, seed: int, generator: random.Random) -> float:
        """One latency, half a frame before its landing."""
        p50, p95 = self.seeds.get(seed, self.others)
        spread = math.log(max(1.0, p95 / p50)) / NORMAL_95
        return p50 * math.exp(spread * generator.normalvariate(0, 1)) - FRAME_MS / 2


@dataclass(frozen=True, slots=True)
class Measured:
    """Times in the order in which they were measured."""

    name: str
    times_ms: tuple[float, ...]

    def stream(self, seed: int) -> Iterator[float]:
        """Round and round, from the seed's place."""
        count = len(self.times_ms)
        index = random.Random(f"latency-{seed}").randrange(count)
        while True:
            yield self.times_ms[index]
            index = (index + 1) % count

    def typical_ms(self, seed: int) -> Sequence[float]:
        """The first four."""
        return [ms for ms, _ in zip(self.stream(seed), range(4), strict=False)]


def parse_latency(text: str) -> Latency:
    """The source that a text names; see the module.

    Raises:
        LatencyError: the text names none.
        RunError: its file cannot be read or holds something else.
    """
    kind, colon, rest = text.partition(":")
    if colon and kind == "fixed":
        return Fixed(_number(text, rest))
    if colon and kind == "normal":
        mean, comma, deviation = rest.partition(",")
        if not comma:
            raise LatencyError(f"{text!r} lacks the standard deviation: expected normal:MS,SD")
        return normal(_number(text, mean), _number(text, deviation))
    if colon and kind == "recorded":
        return recorded(Path(rest))
    path = Path(text)
    if not path.exists():
        raise LatencyError(f"{text!r} is neither a source of latencies nor a file: {EXPECTED}")
    return Measured(path.name, tuple(_read_times(path)))


def landing(median_ms: float) -> Latency:
    """Fixed latencies that land as late as a run's typically did."""
    return Fixed(max(0.0, median_ms - FRAME_MS / 2))


def normal(mean_ms: float, deviation_ms: float) -> Latency:
    """Normally distributed latencies, or a fixed one where the deviation is zero."""
    if deviation_ms == 0:
        return Fixed(mean_ms)
    return Normal(mean_ms, deviation_ms)


def recorded(path: Path) -> Latency:
    """Latencies as in the results of a run."""
    pairs = {
        row.seed: (row.latency_ms_p50, row.latency_ms_p95)
        for row in read_results(path).results
        if row.latency_ms_p50 and row.latency_ms_p95
    }
    if not pairs:
        raise RunError(f"{path} has no latency in any row: no answer was applied")
    medians = tuple(statistics.median(pair[place] for pair in pairs.values()) for place in (0, 1))
    return Recorded(f"recorded:{path.name}", pairs, (medians[0], medians[1]))


def _read_times(path: Path) -> list[float]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError as error:
        raise RunError(f"{path} is not a text file: {error.reason}") from error
    if lines and lines[0].startswith("{"):
        from sysone.trex.recording import landed_ms

        times = [ms - FRAME_MS / 2 for ms in landed_ms(path)]
    else:
        times = []
        for number, line in enumerate(lines, start=1):
            text = line.strip()
            if text and not text.startswith("#"):
                try:
                    times.append(_number(text, text))
                except LatencyError as error:
                    raise RunError(f"{path}, line {number}: {error}") from None
    if not times:
        raise RunError(f"{path} holds no latency")
    return [_bounded(ms) for ms in times]


def _bounded(ms: float) -> float:
    return min(LONGEST_MS, max(0.0, ms))


def _number(text: str, part: str) -> float:
    try:
        value = float(part)
    except ValueError:
        value = math.nan
    if not 0 <= value <= LONGEST_MS:
        raise LatencyError(
            f"{part!r} in {text!r} is not a number of milliseconds from 0 to {LONGEST_MS:g}"
        )
    return value
