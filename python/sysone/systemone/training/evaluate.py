"""How well a model answers labelled questions, by group."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from sysone.systemone.answers import softmax
from sysone.systemone.models import DecisionModel
from sysone.systemone.questions import Choice, Noul, Question, Text
from sysone.systemone.training.examples import Example

# Ten bins of equal width, as in Guo et al., "On Calibration of Modern Neural Networks" (2017).
CALIBRATION_BINS = 10


class Quality(msgspec.Struct, frozen=True):
    """Figures over one group of questions."""

    questions: int
    accuracy: float
    """Share of answers that count as right."""
    harmless: float
    """Share of answers that are not among the harmful ones."""
    nll: float
    """Mean negative log-likelihood of the target, in nats."""
    ece: float
    """Expected calibration error: how far the top probability is from the share of right ones."""
    constant: float
    """Accuracy of always giving the index that is right most often."""


class Flips(msgspec.Struct, frozen=True):
    """How many answers change when nothing does that should matter.

    What is compared is the text that was chosen: of two options of equal text either will do.
    """

    asked: int
    order: int
    """Options in reverse order: another text is chosen."""
    relabelled: int
    """Described options exchange their names: another text is chosen. Of a noul the two
    descriptions change sides."""


def _probabilities(model: DecisionModel, state: Text, question: Question) -> list[float]:
    scored = model.score(state, question)
    assert scored is not None
    return softmax(scored.logits)


def _top(probabilities: Sequence[float]) -> int:
    return max(range(len(probabilities)), key=probabilities.__getitem__)


class _Row(msgspec.Struct, frozen=True):
    right: bool
    harmless: bool
    nll: float
    top: float
    target: int


def evaluate(model: DecisionModel, examples: Iterable[Example]) -> dict[str, Quality]:
    """The figures of every group, in the order in which the groups first appear."""
    groups: dict[str, list[_Row]] = defaultdict(list)
    for example in examples:
        probabilities = _probabilities(model, example.state, example.question)
        chosen = _top(probabilities)
        groups[example.group].append(
            _Row(
                chosen in example.right_indices,
                chosen not in example.harmful_indices,
                -math.log(max(probabilities[example.target], 1e-300)),
                probabilities[chosen],
                example.target,
            )
        )
    return {
        group: Quality(
            questions=len(rows),
            accuracy=sum(row.right for row in rows) / len(rows),
            harmless=sum(row.harmless for row in rows) / len(rows),
            nll=math.fsum(row.nll for row in rows) / len(rows),
            ece=_calibration_error(rows),
            constant=Counter(row.target for row in rows).most_common(1)[0][1] / len(rows),
        )
        for group, rows in groups.items()
    }


def _calibration_error(rows: Sequence[_Row]) -> float:
    bins: dict[int, list[_Row]] = defaultdict(list)
    for row in rows:
        bins[min(int(row.top * CALIBRATION_BINS), CALIBRATION_BINS - 1)].append(row)
    return math.fsum(
        abs(math.fsum(row.top for row in some) - sum(row.right for row in some))
        for some in bins.values()
    ) / len(rows)


def flips(model: DecisionModel, examples: Iterable[Example]) -> dict[str, Flips]:
    """By group, over its choices and its nouls with two descriptions."""
    counts: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for example in examples:
        question = example.question
        if isinstance(question, Choice):
            counts[example.group].append(_choice_flips(model, example.state, question))
        elif isinstance(question, Noul) and all((question.criteria or {"": None}).values()):
            counts[example.group].append(_noul_flips(model, example.state, question))
    return {
        group: Flips(
            asked=len(items),
            order=sum(order for order, _ in items),
            relabelled=sum(relabelled for _, relabelled in items),
        )
        for group, items in counts.items()
    }


def _choice_flips(model: DecisionModel, state: Text, question: Choice) -> tuple[bool, bool]:
    def chosen(criteria: dict[str, Text | None]) -> Text:
        asked = Choice(criteria, question.instructions)
        name = list(criteria)[_top(_probabilities(model, state, asked))]
        return criteria[name] or name

    text = chosen(question.criteria)
    order = chosen(dict(reversed(question.criteria.items()))) != text
    if not all(question.criteria.values()):
        return order, False
    names = list(question.criteria)
    moved = dict(zip(names[1:] + names[:1], question.criteria.values(), strict=True))
    return order, chosen(moved) != text


def _noul_flips(model: DecisionModel, state: Text, question: Noul) -> tuple[bool, bool]:
    def chosen(criteria: dict[str, Text | None]) -> Text | None:
        asked = Noul(question.instructions, criteria)
        return criteria[("false", "true")[_top(_probabilities(model, state, asked))]]

    criteria = question.criteria or {}
    yes, no = criteria.get("true"), criteria.get("false")
    text = chosen({"true": yes, "false": no})
    return chosen({"false": no, "true": yes}) != text, chosen({"true": no, "false": yes}) != text
