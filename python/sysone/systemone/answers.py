"""Answers: probabilities of a question's candidates, and what follows from them.

The formulas of ``confidence`` are part of the contract: thresholds are tuned on them.
"""

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from sysone.systemone.questions import Choice, Noul, Question


class NoulAnswer(msgspec.Struct, frozen=True, tag_field="type", tag="noul"):
    """Probability of yes, in [0, 1]."""

    noul: float

    @property
    def type(self) -> str:
        """The question's type."""
        return "noul"

    @property
    def probabilities(self) -> dict[str, float]:
        """Both sides by name."""
        return {"true": self.noul, "false": 1.0 - self.noul}


class ChoiceAnswer(msgspec.Struct, frozen=True, tag_field="type", tag="choice"):
    """The most probable option (the first in request order on a tie) and all probabilities."""

    choice: str
    confidence: float
    probabilities: dict[str, float]

    @property
    def type(self) -> str:
        """The question's type."""
        return "choice"


class ScoreAnswer(msgspec.Struct, frozen=True, tag_field="type", tag="score"):
    """The expected level and the probabilities by level index ("0" is the lowest)."""

    score: float
    confidence: float
    probabilities: dict[str, float]
    legend: dict[str, Any]

    @property
    def type(self) -> str:
        """The question's type."""
        return "score"


Answer: TypeAlias = NoulAnswer | ChoiceAnswer | ScoreAnswer


class Usage(msgspec.Struct, frozen=True):
    """What a call cost; an encoder has no output tokens."""

    input_tokens: int = 0
    output_tokens: int = 0
    billing_units: int = 0


class SystemOneResponse(msgspec.Struct, frozen=True):
    """A whole reply; ``latency_ms`` is the client's wall clock and not on the wire."""

    model: str
    answers: dict[str, Answer]
    usage: Usage = Usage()
    latency_ms: float = 0.0


def softmax(logits: Sequence[float], temperature: float = 1.0) -> list[float]:
    """Probabilities of finite logits divided by a positive temperature.

    The sum is exactly rounded, so that the order of the options changes no bit; the maximum is
    subtracted first, so that no temperature overflows.
    """
    top = max(logits)
    weights = [math.exp((logit - top) / temperature) for logit in logits]
    total = math.fsum(weights)
    return [weight / total for weight in weights]


def choice_confidence(probabilities: Sequence[float]) -> float:
    """How far the top probability is above an even spread: 0 for even, 1 for certain."""
    count = len(probabilities)
    if count == 1:
        return 1.0
    even = 1.0 / count
    return (max(probabilities) - even) / (1.0 - even)


def score_confidence(probabilities: Sequence[float]) -> float:
    """1 less the expected distance from the likeliest level, relative to an even spread's."""
    count = len(probabilities)
    if count == 1:
        return 1.0
    likeliest = max(range(count), key=probabilities.__getitem__)
    middle = (count - 1) / 2
    even = math.fsum(abs(level - middle) for level in range(count)) / count
    distance = math.fsum(p * abs(level - likeliest) for level, p in enumerate(probabilities))
    return max(0.0, 1.0 - distance / even)


def answer(question: Question, logits: Sequence[float], temperature: float = 1.0) -> Answer:
    """The answer from one finite logit per candidate (for a noul: false, then true)."""
    probabilities = softmax(logits, temperature)
    if isinstance(question, Noul):
        return NoulAnswer(probabilities[1])
    if isinstance(question, Choice):
        names = list(question.criteria)
        top = probabilities.index(max(probabilities))
        return ChoiceAnswer(
            names[top],
            _unit(choice_confidence(probabilities)),
            dict(zip(names, probabilities, strict=True)),
        )
    levels = [str(level) for level in range(len(question.criteria))]
    return ScoreAnswer(
        math.fsum(level * p for level, p in enumerate(probabilities)),
        _unit(score_confidence(probabilities)),
        dict(zip(levels, probabilities, strict=True)),
        dict(zip(levels, question.criteria, strict=True)),
    )


def _unit(value: float) -> float:
    """Keep a rounding error of the last bit inside [0, 1]."""
    return min(1.0, max(0.0, value))
