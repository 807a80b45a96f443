"""What the commands' options mean, and how their errors are shown."""

import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from sysone.runs.errors import RunError
from sysone.systemone.endpoints import EndpointError
from sysone.systemone.local import LocalServerError
from sysone.trex.interrupt import RunInterrupted

if TYPE_CHECKING:
    from sysone.trex.latency import Latency

INTERRUPTED: Final = 130
"""Exit code of a process that was interrupted from the keyboard (128 + SIGINT)."""
MOST_INFLIGHT: Final = 8
LONGEST_MS: Final = 5000


class Model(StrEnum):
    """Who plays."""

    local = "local"
    clm = "clm"
    jev = "jev"


class CourseStyle(StrEnum):
    """Which obstacles come."""

    original = "original"
    staged = "staged"


class Prompt(StrEnum):
    """How the planner's proof is worded."""

    labeled = "labeled"
    guided = "guided"


class Clock(StrEnum):
    """What time is."""

    real = "real"
    virtual = "virtual"


class Premise(StrEnum):
    """Which answers questions reckon with."""

    reference = "reference"
    checked = "checked"


@dataclass(frozen=True, slots=True)
class Place:
    """What differs between the installed command and the script in the examples."""

    results: Path = Path("results")
    """Folder of the results file unless ``--out`` names one."""
    env: Path = Path(".env")
    """Its KEY=VALUE lines are exported unless already set."""
    model_required: bool = False


def whole(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number.") from None


def count(text: str) -> int:
    """A whole number of at least 1."""
    value = whole(text)
    if value < 1:
        raise typer.BadParameter(f"{value} is not a whole number of at least 1.")
    return value


def inflight_count(text: str) -> int:
    """Requests at a time."""
    value = whole(text)
    if not 1 <= value <= MOST_INFLIGHT:
        raise typer.BadParameter(f"--inflight takes 1 to {MOST_INFLIGHT}, got {value}.")
    return value


def seconds(text: str) -> float:
    """How long a seed is; a frame is the least that can be played."""
    value = _number(text)
    if not math.isfinite(value) or value * 60 < 1:
        raise typer.BadParameter(f"{text!r} is not a number of seconds of at least 1/60.")
    return value


def latency_source(text: str) -> "Latency":
    """A source of latencies."""
    from sysone.trex.latency import LatencyError, parse_latency

    try:
        return parse_latency(text)
    except LatencyError as error:
        raise typer.BadParameter(f"{error}.", param_hint="--latency") from None


def steps_ms(text: str, option: str) -> list[float]:
    """Milliseconds: ``FIRST:LAST:STEP``, or numbers with commas between them."""
    parts = text.split(":")
    try:
        if len(parts) == 3:
            first, last, step = (_milliseconds(part) for part in parts)
            if step <= 0 or last < first:
                raise ValueError("no numbers from the first to the last in such steps")
            return [first + step * index for index in range(int((last - first) / step + 1e-9) + 1)]
        return [_milliseconds(part) for part in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r}: {error}; expected FIRST:LAST:STEP or numbers with commas, in ms.",
            param_hint=option,
        ) from None


def inflight_counts(text: str) -> list[int]:
    """Requests at a time: ``1-8``, or numbers with commas between them."""
    first, dash, last = text.partition("-")
    if dash:
        counts = list(range(inflight_count(first), inflight_count(last) + 1))
        if not counts:
            raise typer.BadParameter(f"{text!r} is empty.", param_hint="--inflight")
        return counts
    return [inflight_count(part) for part in text.split(",")]


def check_writable(out: Path, option: str) -> None:
    """A file that cannot be written is found before the first seed is played, not after it."""
    if out.is_dir():
        raise typer.BadParameter(f"{out} is a folder, expected a file.", param_hint=option)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise typer.BadParameter(
            f"{out} cannot be written: {error.strerror}.", param_hint=option
        ) from None


@contextmanager
def one_line_errors() -> Iterator[None]:
    """A user's mistake or interrupt is one line on stderr and an exit code."""
    try:
        yield
    except (KeyboardInterrupt, RunInterrupted) as error:
        typer.echo(f"sysone trex: {str(error) or 'interrupted'}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (EndpointError, LocalServerError, RunError) as error:
        typer.echo(f"sysone trex: {error}", err=True)
        raise typer.Exit(1) from None


def _milliseconds(text: str) -> float:
    value = _number(text)
    if not 0 <= value <= LONGEST_MS:
        raise ValueError(f"{text!r} is not a number from 0 to {LONGEST_MS:g}")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
