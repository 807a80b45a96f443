"""The words of System-1's questions. A checkpoint records them and refuses others."""

from functools import cache
from hashlib import sha256
from typing import Final, Literal

Family = Literal["choice", "boolean", "score"]

CHOICE: Final = "Which action most likely makes progress in this game?"
BOOLEAN: Final = "Will {action} change the picture?"
BOOLEAN_CANDIDATE: Final = "The proposition is true."
SCORE: Final = "How promising is this position?"
LEVELS: Final = (
    "stuck: nothing new will come of it",
    "poor: little new will come of it",
    "fair: some new states are within reach",
    "good: many new states are within reach",
    "excellent: a level is about to be gained",
)
ADVICE_LINES: Final = 3
"""Lines of System-2's advice in an instruction."""
INSTRUCTION_LINES: Final = 8
"""Lines below a question, advice included."""
MEMORY_LINES: Final = 4
"""Of these, lines on what actions do: each is fifty tokens that every step reads."""


def lines(advice: list[str], memory: list[str]) -> list[str]:
    """What stands below a question: at most 3 lines of advice, 4 of memory."""
    advice = advice[:ADVICE_LINES]
    return [*advice, *memory[: min(MEMORY_LINES, INSTRUCTION_LINES - len(advice))]]


def with_lines(question: str, advice: list[str], memory: list[str]) -> str:
    """A question and what is known."""
    return "\n".join([question, *lines(advice, memory)])


@cache
def version() -> str:
    """Digest of all wording, 16 hex digits."""
    every = "\0".join((CHOICE, BOOLEAN, BOOLEAN_CANDIDATE, SCORE, *LEVELS, "leaf-1"))
    return sha256(every.encode()).hexdigest()[:16]
