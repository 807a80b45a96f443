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
MEMORY_LINES: Final = 3
"""Of these, lines on what is known: of this state, of what moves, and of what actions do."""
HERE: Final = "Here: "
"""Begins the line on what was tried in this state: ``Here: 1 untried, 2 no effect, 3 seen 4``."""
UNTRIED: Final = "untried"
IDLE: Final = "no effect"
SEEN: Final = "seen"
"""It led to a state that was seen so often."""
DEADLY: Final = "deadly"
MOVER: Final = "What moves is at "
"""Begins the line on the thing that the actions move: ``x=12 y=30, colour 9`` follows."""
TO: Final = "; {id} to x={x} y={y}"
"""Ends that line: where each action would bring it."""


def lines(advice: list[str], memory: list[str]) -> list[str]:
    """What stands below a question: at most 3 lines of advice, 3 of memory."""
    advice = advice[:ADVICE_LINES]
    return [*advice, *memory[: min(MEMORY_LINES, INSTRUCTION_LINES - len(advice))]]


def with_lines(question: str, advice: list[str], memory: list[str]) -> str:
    """A question and what is known."""
    return "\n".join([question, *lines(advice, memory)])


@cache
def version() -> str:
    """Digest of all wording, 16 hex digits."""
    known = (HERE, UNTRIED, IDLE, SEEN, DEADLY, MOVER, TO, str(MEMORY_LINES))
    every = "\0".join((CHOICE, BOOLEAN, BOOLEAN_CANDIDATE, SCORE, *LEVELS, *known, "leaf-2"))
    return sha256(every.encode()).hexdigest()[:16]
