"""What the model reads: a picture, a state, a question and one candidate make a leaf.

Training and inference build their texts here alone. Leaves of a question share all but the
candidate, which is what makes one forward pass over all of them cheap.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sysone.arc import wording
from sysone.arc.observe import Observation
from sysone.arc.wording import Family


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one frame; ``grid`` is drawn, ``state`` is read."""

    grid: Any
    """uint8 [H, W]."""
    state: str
    family: Family
    instruction: str
    candidates: tuple[str, ...]

    @property
    def state_part(self) -> str:
        """What all questions about a frame share."""
        return f"State:\n{self.state}\n"

    @property
    def question_part(self) -> str:
        """What all candidates of a question share."""
        return f"Question type: {self.family}\nQuestion:\n{self.instruction}\n"

    @property
    def tails(self) -> list[str]:
        """What a leaf has of its own; an end-of-sequence token follows."""
        return [f"Candidate:\n{candidate}\nDecision:" for candidate in self.candidates]

    @property
    def texts(self) -> list[str]:
        """The whole text of each leaf."""
        shared = self.state_part + self.question_part
        return [shared + tail for tail in self.tails]


def encode_question(
    state: str, candidates: Sequence[str], instruction: str, grid: Any, family: Family = "choice"
) -> Question:
    """All leaves of a question.

    Raises:
        ValueError: no candidates, too many, or two of one text.
    """
    least, most = {"choice": (2, 255), "boolean": (1, 1), "score": (2, 10)}[family]
    if not least <= len(candidates) <= most:
        raise ValueError(f"a {family} has {len(candidates)} candidates, expected {least} to {most}")
    if len(set(candidates)) < len(candidates):
        double = next(text for text in candidates if list(candidates).count(text) > 1)
        raise ValueError(f"candidate {double!r} is there twice")
    return Question(grid, state, family, instruction, tuple(candidates))


def choice(grid: Any, state: str, candidates: Sequence[str], instruction: str) -> Question:
    """Which candidate? The instruction is whole: the question and what is known."""
    return encode_question(state, candidates, instruction, grid)


def boolean(grid: Any, state: str, action: str) -> Question:
    """Will the action change the picture?"""
    asked = wording.BOOLEAN.format(action=action)
    return encode_question(state, [wording.BOOLEAN_CANDIDATE], asked, grid, "boolean")


def score(grid: Any, state: str, levels: Sequence[str] = wording.LEVELS) -> Question:
    """How promising is the position?"""
    return encode_question(state, levels, wording.SCORE, grid, "score")


def compact_state(seen: Observation) -> str:
    """The compact text of an observation; a level's first frame has no change to tell of."""
    text = seen.compact_text
    return text.split("\n", 1)[0] if seen.new_level else text
