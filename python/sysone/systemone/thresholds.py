"""From labelled answers to the confidence above which answers are right often enough."""

import math
from collections.abc import Iterable

import msgspec

from sysone.systemone.answers import Answer, ChoiceAnswer, NoulAnswer


class Threshold(msgspec.Struct, frozen=True):
    """Accept answers of at least ``confidence``; the other figures are of the rows it is from."""

    confidence: float
    accuracy: float
    """Share of right answers among the accepted."""
    coverage: float
    """Share of accepted answers."""
    rows: int


def confidence_of(answer: Answer) -> float:
    """The answer's own, or for a noul how far it is from even: 0 at one half, 1 when certain."""
    return abs(2 * answer.noul - 1) if isinstance(answer, NoulAnswer) else answer.confidence


def is_right(answer: Answer, label: str | int | bool) -> bool:
    """Whether an answer's most probable side, option or level is the labelled one."""
    if isinstance(answer, NoulAnswer):
        return (answer.noul >= 0.5) == bool(label)
    if isinstance(answer, ChoiceAnswer):
        return answer.choice == label
    levels = list(answer.probabilities.values())
    return max(range(len(levels)), key=levels.__getitem__) == label


def fit_threshold(rows: Iterable[tuple[float, bool]], accuracy: float) -> Threshold | None:
    """The lowest confidence above which at least ``accuracy`` of the rows are right.

    ``rows`` are pairs of confidence and whether the answer was right. None if no threshold
    reaches the accuracy. Equal confidences stand or fall together.
    """
    if not 0 < accuracy <= 1:
        raise ValueError(f"accuracy: expected a number in (0, 1], got {accuracy!r}")
    pairs = sorted(rows, reverse=True)
    if not pairs:
        raise ValueError("rows: expected at least one labelled row")
    if any(not math.isfinite(confidence) for confidence, _ in pairs):
        raise ValueError("rows: a confidence is not finite")
    best = None
    right = 0
    for index, (confidence, correct) in enumerate(pairs, 1):
        right += correct
        if index < len(pairs) and pairs[index][0] == confidence:
            continue
        if right / index >= accuracy:
            best = Threshold(confidence, right / index, index / len(pairs), len(pairs))
    return best
