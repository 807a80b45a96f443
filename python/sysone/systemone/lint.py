"""A linter for questions: what makes answers worse without being wrong."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from sysone.systemone.models import candidate_texts
from sysone.systemone.questions import Choice, Noul, Question, RequestError, Score, check_request

# Names under which people offer "none of these".
_NONE_NAMES = re.compile(
    r"\b(none|other|others|neither|unknown|unclear|unsure|nothing|else|n/?a|not applicable)\b",
    re.IGNORECASE,
)

# A cosine of two options' texts above this: the embedded model can hardly tell them apart.
NEAR_DUPLICATE = 0.9

# Comparing all pairs of more options than this says little and takes long.
MOST_COMPARED = 200

# Words that say nothing about what they describe.
_EMPTY_WORDS = {"option", "choice", "answer", "item", "class", "label", "category", "level"}

Similarity = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Cosines [n][n] of n texts."""


class Finding(msgspec.Struct, frozen=True):
    """One weakness: the question's id, the rule, and what to do."""

    question: str
    rule: str
    message: str


def lint(
    questions: Mapping[str, Question | Mapping[str, Any]], similarity: Similarity | None = None
) -> list[Finding]:
    """Weaknesses of questions in wire form or as structs, in their order.

    ``similarity`` finds near-duplicates by meaning; without it only equal texts are found.
    Raises `RequestError` for a question that breaks the contract.
    """
    checked = check_request({"state": "", "questions": questions}).questions
    return [
        Finding(name, rule, message)
        for name, question in checked.items()
        for rule, message in _weaknesses(question, similarity)
    ]


def _weaknesses(question: Question, similarity: Similarity | None) -> list[tuple[str, str]]:
    found = []
    if not question.instructions:
        found.append(("no-instructions", "there are no instructions: say what is asked"))
    match question:
        case Choice():
            found += _undescribed(question)
            found += _single(question)
            if len(question.criteria) > 1 and not _offers_none(question):
                found.append(
                    (
                        "no-none",
                        'no option for "none of these": something has to be chosen, however '
                        "little it fits",
                    )
                )
        case Score():
            if len(question.criteria) == 1:
                found.append(("single", "a score of one level is always that level"))
            found += _bare_levels(question)
        case Noul():
            given = question.criteria or {}
            if not given.get("true") or not given.get("false"):
                found.append(
                    (
                        "one-sided",
                        "describe both true and false: a missing side is worded from the "
                        "instructions, and the two differ in a word",
                    )
                )
    return found + _duplicates(question, similarity)


def _undescribed(question: Choice) -> list[tuple[str, str]]:
    bare = [name for name, text in question.criteria.items() if not text]
    if not bare:
        return []
    some = ", ".join(map(repr, bare[:3])) + (", …" if len(bare) > 3 else "")
    if len(bare) == len(question.criteria) and all(_says_something(name) for name in bare):
        return []
    return [("undescribed", f"{len(bare)} options without a description: {some}")]


def _says_something(name: str) -> bool:
    """Whether a name alone tells what it means: two words or more, none of them empty."""
    words = re.findall(r"[^\W\d_]{2,}", name.casefold())
    return len(words) >= 2 and not _EMPTY_WORDS.issuperset(words)


def _single(question: Choice) -> list[tuple[str, str]]:
    if len(question.criteria) == 1:
        return [("single", "one option is always chosen")]
    return []


def _offers_none(question: Choice) -> bool:
    return any(
        _NONE_NAMES.search(name.replace("_", " "))
        or (isinstance(text, str) and _NONE_NAMES.search(text))
        for name, text in question.criteria.items()
    )


def _bare_levels(question: Score) -> list[tuple[str, str]]:
    bare = [
        level
        for level in question.criteria
        if isinstance(level, str) and not level.strip("0123456789 .%/-")
    ]
    if not bare:
        return []
    return [
        ("bare-level", f"levels that are numbers alone, such as {bare[0]!r}: say what they mean")
    ]


def _duplicates(question: Question, similarity: Similarity | None) -> list[tuple[str, str]]:
    texts = candidate_texts(question)
    if isinstance(question, Choice):
        names = list(question.criteria)
    elif isinstance(question, Score):
        names = [f"level {index}" for index in range(len(texts))]
    else:
        # Sides that are worded from the instructions are alike by construction.
        if not all((question.criteria or {}).get(side) for side in ("true", "false")):
            return []
        names = ["false", "true"]
    found = []
    folded = [" ".join(text.casefold().split()) for text in texts]
    first: dict[str, int] = {}
    equal = set()
    for index, text in enumerate(folded):
        if text in first:
            equal.add((first[text], index))
            found.append(
                ("duplicate", f"{names[first[text]]!r} and {names[index]!r} read the same")
            )
        first.setdefault(text, index)
    if similarity is None or not 2 <= len(texts) <= MOST_COMPARED:
        return found
    cosines = similarity(texts)
    for one, two in combinations(range(len(texts)), 2):
        if (one, two) not in equal and cosines[one][two] >= NEAR_DUPLICATE:
            found.append(
                (
                    "near-duplicate",
                    f"{names[one]!r} and {names[two]!r} are hard to tell apart "
                    f"(cosine {cosines[one][two]:.2f})",
                )
            )
    return found


def embedded_similarity() -> Similarity:
    """Cosines by the embedded encoder."""
    from sysone.systemone.encoder import EmbeddedEncoder

    encoder = EmbeddedEncoder()

    def cosines(texts: Sequence[str]) -> Sequence[Sequence[float]]:
        vectors = [encoder.encode(text, "head").vector for text in texts]
        return [[float(one @ two) for two in vectors] for one in vectors]

    return cosines


def questions_of(document: object) -> Mapping[str, Any]:
    """The questions of a request body, or of a plain object of questions by id.

    Raises `RequestError` for anything else.
    """
    if isinstance(document, Mapping) and isinstance(document.get("questions"), Mapping):
        questions: Mapping[str, Any] = document["questions"]
        return questions
    if isinstance(document, Mapping) and "type" in document:
        return {"question": document}
    checked = check_request({"state": "", "questions": document})
    return checked.questions


__all__ = ["Finding", "RequestError", "embedded_similarity", "lint", "questions_of"]
