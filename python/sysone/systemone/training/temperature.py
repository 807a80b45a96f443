"""Temperatures: one a type and option count, fitted on questions that training never saw."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysone.systemone.answers import softmax
from sysone.systemone.heads import bucket
from sysone.systemone.models import DecisionModel
from sysone.systemone.training.examples import Example

# From a hundredth to a hundred times the logits as they are.
GRID = np.logspace(-2, 2, 401)

# Below this many questions a bucket takes the temperature of its whole type.
FEWEST = 30


@dataclass(frozen=True)
class Row:
    """One question's logits and the index of the right one."""

    logits: list[float]
    target: int


@dataclass(frozen=True)
class Fitted:
    """A temperature, and what it was fitted on."""

    temperature: float
    questions: int
    nll_before: float
    nll: float


def nll(rows: Sequence[Row], temperature: float) -> float:
    """Mean negative log-likelihood in nats."""
    return math.fsum(
        -math.log(max(softmax(row.logits, temperature)[row.target], 1e-300)) for row in rows
    ) / len(rows)


def fit(rows: Sequence[Row]) -> Fitted:
    """The temperature of least negative log-likelihood on a fine grid."""
    losses = _losses(rows)
    best = float(f"{GRID[int(np.argmin(losses))]:.4g}")
    return Fitted(best, len(rows), nll(rows, 1.0), nll(rows, best))


def _losses(rows: Sequence[Row]) -> npt.NDArray[np.float64]:
    total = np.zeros(len(GRID))
    for row in rows:
        scaled = (np.array(row.logits) - row.logits[row.target])[:, None] / GRID
        total += np.logaddexp.reduce(scaled, axis=0)
    return total


def fit_all(model: DecisionModel, examples: Iterable[Example]) -> dict[str, Fitted]:
    """A temperature for every bucket that the examples touch, and for every type as a whole.

    ``model`` must have no temperatures of its own. A bucket with few questions gets its type's.
    """
    buckets: dict[str, list[Row]] = defaultdict(list)
    for example in examples:
        scored = model.score(example.state, example.question)
        assert scored is not None
        buckets[bucket(example.question)].append(Row(scored.logits, example.target))
    kinds: dict[str, list[Row]] = defaultdict(list)
    for name, rows in buckets.items():
        kinds[_kind(name)] += rows
    found = {name: fit(rows) for name, rows in kinds.items()}
    for name, rows in buckets.items():
        found[name] = fit(rows) if len(rows) >= FEWEST else found[_kind(name)]
    return found


def _kind(name: str) -> str:
    return name.partition("-")[0]
