"""Labelled questions in short hand, for writing by hand: one question, then its cases.

    choice: Which desk? | bags: Lost luggage | visas: Entry papers | meals
    bags > My suitcase never came off the belt.

    score: How full is the train? | empty | half full | packed
    2 > People stand in the doors.

    noul: The shop closes at six.
    + Is it shut at seven?
    - Is it open all night?

    noul? Is it urgent? | true: Within minutes | false: Tomorrow will do
    yes > Come now!

``-`` in place of instructions means none; a line that starts with ``#`` is a comment.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sysone.systemone.questions import Choice, Noul, Question, Score
from sysone.systemone.training.examples import Example, ExampleError

VERDICTS = {"yes": True, "no": False}
SIGNS = {"+": True, "-": False}


@dataclass(frozen=True)
class Case:
    """One example and the number of the block it stands in: what is held out is whole blocks."""

    block: int
    example: Example


def read_sheet(path: Path) -> list[Case]:
    """Every case of a sheet; raises `ExampleError` that names the file and the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ExampleError(f"{path}: {error.strerror}") from None
    cases = []
    block = -1
    read: Callable[[str], Example] | None = None
    for number, raw in enumerate(lines, 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            head = next((kind for kind in _HEADS if line.startswith(kind)), None)
            if head is not None:
                block += 1
                read = _HEADS[head](line.removeprefix(head).strip())
            elif read is None:
                raise ValueError("expected a question first")
            else:
                cases.append(Case(block, read(line)))
        except ValueError as error:
            raise ExampleError(f"{path}, line {number}: {error}") from None
    if not cases:
        raise ExampleError(f"{path}: no example")
    return cases


def _parts(text: str) -> tuple[str | None, list[str]]:
    instructions, *rest = (part.strip() for part in text.split("|"))
    if not rest:
        raise ValueError("expected options after the instructions, separated by |")
    return (None if instructions == "-" else instructions), rest


def _named(parts: list[str]) -> dict[str, str | None]:
    named = {}
    for part in parts:
        name, _, description = part.partition(":")
        named[name.strip()] = description.strip() or None
    return named


def _marked(line: str) -> tuple[str, str]:
    label, arrow, state = (part.strip() for part in line.partition(" > "))
    if not (label and arrow and state):
        raise ValueError("expected LABEL > STATE")
    return label, state


def _choice(text: str) -> Callable[[str], Example]:
    instructions, parts = _parts(text)
    criteria = _named(parts)

    def read(line: str) -> Example:
        label, state = _marked(line)
        if label not in criteria:
            raise ValueError(f"{label!r} is not one of the options {', '.join(criteria)}")
        return _example(state, Choice(dict(criteria), instructions), label)

    return read


def _score(text: str) -> Callable[[str], Example]:
    instructions, levels = _parts(text)

    def read(line: str) -> Example:
        label, state = _marked(line)
        if not (label.isdigit() and int(label) < len(levels)):
            raise ValueError(f"{label!r} is not one of the levels 0 to {len(levels) - 1}")
        return _example(state, Score(list(levels), instructions), int(label))

    return read


def _noul(state: str) -> Callable[[str], Example]:
    def read(line: str) -> Example:
        sign, _, instructions = line.partition(" ")
        if sign not in SIGNS or not instructions.strip():
            raise ValueError("expected + QUESTION or - QUESTION")
        return _example(state, Noul(instructions.strip()), SIGNS[sign])

    return read


def _described_noul(text: str) -> Callable[[str], Example]:
    instructions, parts = _parts(text)
    criteria = _named(parts)
    if not set(criteria) <= {"true", "false"}:
        raise ValueError("expected no description but those of true and false")

    def read(line: str) -> Example:
        label, state = _marked(line)
        if label not in VERDICTS:
            raise ValueError(f"{label!r} is neither yes nor no")
        return _example(state, Noul(instructions, dict(criteria)), VERDICTS[label])

    return read


def _example(state: str, question: Question, answer: str | int | bool) -> Example:
    kinds = {Choice: "choice", Score: "score", Noul: "noul"}
    return Example(state, question, answer, group=kinds[type(question)])


_HEADS: dict[str, Callable[[str], Callable[[str], Example]]] = {
    "choice:": _choice,
    "score:": _score,
    "noul?": _described_noul,
    "noul:": _noul,
}


def read_sheets(paths: list[Path]) -> Iterator[Case]:
    """The cases of several sheets; blocks are numbered through."""
    offset = 0
    for path in paths:
        cases = read_sheet(path)
        yield from (Case(case.block + offset, case.example) for case in cases)
        offset += cases[-1].block + 1
