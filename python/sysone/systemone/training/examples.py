"""Labelled questions: what heads are trained on and measured with, one JSON object a line."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from sysone.systemone.questions import Choice, Fault, Question, RequestError, Text, check_question


class Example(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question with its right answer."""

    state: Text
    question: Question
    answer: str | int | bool
    """Option name, level index, or yes/no: the one to train towards."""
    right: list[str] = []
    """For a choice: every option that counts as right; the answer alone if empty."""
    harmful: list[str] = []
    """For a choice: options that must not be chosen."""
    group: str = ""
    """The table row that it is counted in."""
    seed: int | None = None
    """What it was made from; examples of one seed are never split over training and test."""

    @property
    def target(self) -> int:
        """Index of the answer among the candidates (noul: false, true)."""
        if isinstance(self.question, Choice):
            return list(self.question.criteria).index(str(self.answer))
        return int(self.answer)

    @property
    def right_indices(self) -> list[int]:
        """Indices of every candidate that counts as right."""
        if isinstance(self.question, Choice) and self.right:
            names = list(self.question.criteria)
            return [names.index(name) for name in self.right]
        return [self.target]

    @property
    def harmful_indices(self) -> list[int]:
        """Indices of the candidates that must not be chosen."""
        if not isinstance(self.question, Choice):
            return []
        return [i for i, name in enumerate(self.question.criteria) if name in self.harmful]


class ExampleError(ValueError):
    """A file of examples is not as it must be; the text names the file and the line."""


def read_examples(path: Path) -> list[Example]:
    """Read and check a JSONL file."""
    examples = []
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise ExampleError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        try:
            example = msgspec.json.decode(line, type=Example)
            faults: list[Fault] = []
            check_question(example.question, ("question",), faults)
            if faults:
                raise RequestError(faults)
            _ = example.right_indices
        except (ValueError, msgspec.MsgspecError) as error:
            raise ExampleError(f"{path}, line {number}: {error}") from None
        examples.append(example)
    if not examples:
        raise ExampleError(f"{path}: no example")
    return examples


def refuse_seeds(examples: Iterable[Example], held_out: range, what: str) -> None:
    """Raise `ExampleError` if any example was made from a seed that is kept for evaluation."""
    touched = sorted({e.seed for e in examples if e.seed is not None and e.seed in held_out})
    if touched:
        raise ExampleError(
            f"{what}: made from seeds {touched[:5]} that are kept for evaluation "
            f"({held_out.start} to {held_out.stop - 1})"
        )


def refuse_overlap(one: Sequence[Example], other: Sequence[Example], what: str) -> None:
    """Raise `ExampleError` if two sets share a seed or a whole question."""
    seeds = {e.seed for e in one if e.seed is not None} & {e.seed for e in other}
    if seeds:
        raise ExampleError(
            f"{what} share the seeds {sorted(s for s in seeds if s is not None)[:5]}"
        )
    texts = {msgspec.json.encode((e.state, e.question)) for e in one}
    shared = sum(msgspec.json.encode((e.state, e.question)) in texts for e in other)
    if shared:
        raise ExampleError(f"{what} share {shared} questions")
