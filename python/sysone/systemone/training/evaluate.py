"""How well a model answers labelled questions, by group."""

import math
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from sysone.systemone.answers import softmax
from sysone.systemone.models import DecisionModel
from sysone.systemone.training.examples import Example


class Quality(msgspec.Struct, frozen=True):
    """Figures over one group of questions."""

    questions: int
    accuracy: float
    """Share of answers that count as right."""
    harmless: float
    """Share of answers that are not among the harmful ones."""
    nll: float
    """Mean negative log-likelihood of the target, in nats."""


def evaluate(model: DecisionModel, examples: Iterable[Example]) -> dict[str, Quality]:
    """The figures of every group, in the order in which the groups first appear."""
    rows: dict[str, list[tuple[bool, bool, float]]] = defaultdict(list)
    for example in examples:
        scored = model.score(example.state, example.question)
        assert scored is not None
        probabilities = softmax(scored.logits)
        chosen = max(range(len(probabilities)), key=probabilities.__getitem__)
        rows[example.group].append(
            (
                chosen in example.right_indices,
                chosen not in example.harmful_indices,
                -math.log(max(probabilities[example.target], 1e-300)),
            )
        )
    return {
        group: Quality(
            questions=len(items),
            accuracy=sum(right for right, _, _ in items) / len(items),
            harmless=sum(harmless for _, harmless, _ in items) / len(items),
            nll=math.fsum(nll for _, _, nll in items) / len(items),
        )
        for group, items in rows.items()
    }
