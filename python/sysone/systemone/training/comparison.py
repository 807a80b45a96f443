"""Two models on the same questions: is one of them better, or was it luck?"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from sysone.systemone.models import DecisionModel
from sysone.systemone.training.examples import Example

RESAMPLES = 10_000
COVERED = 0.95
SEED = 0


class Gain(msgspec.Struct, frozen=True):
    """What one model answers right that another does not, over one group of questions."""

    questions: int
    before: float
    """Accuracy of the one."""
    after: float
    """Accuracy of the other."""
    low: float
    """Lower end of the difference's 95 % interval."""
    high: float
    gained: int
    """Questions that only the other answers right."""
    lost: int
    p: float
    """Two-sided sign test: how probable so uneven a split of gained and lost is by chance."""


def compare(
    before: DecisionModel, after: DecisionModel, examples: Iterable[Example]
) -> dict[str, Gain]:
    """By group; the interval is a percentile bootstrap over states.

    Questions about one state are drawn together, since they tend to be right or wrong together
    (Field and Welsh, "Bootstrapping clustered data", 2007).
    """
    rows: dict[str, dict[bytes, list[tuple[bool, bool]]]] = defaultdict(lambda: defaultdict(list))
    for example in examples:
        state = msgspec.json.encode(example.state)
        rows[example.group][state].append((_right(before, example), _right(after, example)))
    return {group: _gain(list(by_state.values())) for group, by_state in rows.items()}


def _right(model: DecisionModel, example: Example) -> bool:
    scored = model.score(example.state, example.question)
    assert scored is not None
    logits = scored.logits
    return max(range(len(logits)), key=logits.__getitem__) in example.right_indices


def _gain(states: Sequence[Sequence[tuple[bool, bool]]]) -> Gain:
    pairs = [pair for state in states for pair in state]
    gained = sum(after and not before for before, after in pairs)
    lost = sum(before and not after for before, after in pairs)
    sizes = np.array([len(state) for state in states])
    differences = np.array([sum(after - before for before, after in state) for state in states])
    drawn = np.random.default_rng(SEED).integers(0, len(states), (RESAMPLES, len(states)))
    found = differences[drawn].sum(1) / sizes[drawn].sum(1)
    tail = (1 - COVERED) / 2
    low, high = np.quantile(found, (tail, 1 - tail))
    return Gain(
        questions=len(pairs),
        before=sum(before for before, _ in pairs) / len(pairs),
        after=sum(after for _, after in pairs) / len(pairs),
        low=float(low),
        high=float(high),
        gained=gained,
        lost=lost,
        p=sign_test(gained, lost),
    )


def sign_test(one: int, other: int) -> float:
    """Two-sided probability of a split at least so uneven where each side is as likely."""
    total = one + other
    if not total:
        return 1.0
    tail = sum(math.comb(total, count) for count in range(min(one, other) + 1))
    return float(min(1.0, 2 * tail / 2**total))
