"""The three question types and the check of a decision request.

A request is plain data in wire form or our structs, in any mixture; what passes the check is a
`Request` whose questions are structs. What does not is a `RequestError`, which lists every fault
with its place (``loc``), as the wire contract reports them.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import msgspec

Text: TypeAlias = str | dict[str, Any] | list[Any]
"""A state, an instruction or a description: plain text or structured data."""

MIN_NAMED_OPTIONS = 1
MAX_OPTIONS = 4096
MAX_LEVELS = 10
MAX_TEMPERATURE = 100.0

Location: TypeAlias = tuple[str | int, ...]


class Noul(msgspec.Struct, frozen=True, tag_field="type", tag="noul", omit_defaults=True, eq=True):
    """A yes/no question. ``criteria`` may describe ``true``, ``false``, both or neither."""

    instructions: Text | None = None
    criteria: dict[str, Text | None] | None = None


class Choice(
    msgspec.Struct, frozen=True, tag_field="type", tag="choice", omit_defaults=True, eq=True
):
    """One of several named options; a null or empty description means "read the name"."""

    criteria: dict[str, Text | None]
    instructions: Text | None = None


class Score(
    msgspec.Struct, frozen=True, tag_field="type", tag="score", omit_defaults=True, eq=True
):
    """A level on a described scale, lowest first."""

    criteria: list[Text]
    instructions: Text | None = None


Question: TypeAlias = Noul | Choice | Score
QUESTION_TYPES = ("noul", "choice", "score")


class Fault(msgspec.Struct, frozen=True):
    """One reason why a request is refused; ``loc`` starts with ``body``."""

    loc: Location
    msg: str
    type: str


class RequestError(ValueError):
    """The request breaks the contract; ``faults`` says where and how."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        """Keep the faults and word them for a reader."""
        super().__init__("; ".join(f"{_path(fault.loc)}: {fault.msg}" for fault in faults))
        self.faults = list(faults)


class Request(msgspec.Struct, frozen=True):
    """A checked decision request. ``model`` is None where the caller named none."""

    state: Text
    questions: dict[str, Question]
    model: str | None = None
    temperature: float = 1.0


def _path(loc: Location) -> str:
    return ".".join(str(part) for part in loc)


def show(value: object, limit: int = 60) -> str:
    """A value for an error message, in JSON's words, cut to ``limit`` characters."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        # Digits by the thousand cannot be printed, by CPython's guard against quadratic time.
        return (
            repr(value) if value.bit_length() < 200 else f"an integer of {value.bit_length()} bits"
        )
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def to_wire(question: Question | Mapping[str, Any]) -> dict[str, Any]:
    """A question as the plain dictionary that goes over the wire."""
    if isinstance(question, Mapping):
        return dict(question)
    wire: dict[str, Any] = msgspec.to_builtins(question)
    return wire


def check_request(body: object, *, max_options: int = MAX_OPTIONS) -> Request:
    """Check a whole request body (wire form). Fields it does not know are ignored.

    Raises `RequestError` with every fault found.
    """
    if not _is_object(body):
        raise RequestError(
            [Fault(("body",), f"expected a JSON object, got {show(body)}", "object_type")]
        )
    faults = [
        Fault(("body", name), "this field is required", "missing")
        for name in ("state", "questions")
        if name not in body
    ]
    if body.get("assets") is not None:
        faults.append(
            Fault(("body", "assets"), "this server reads text alone, no assets", "unsupported")
        )
    model = body.get("model")
    if model is not None and not isinstance(model, str):
        faults.append(
            Fault(("body", "model"), f"expected a model name, got {show(model)}", "string_type")
        )
        model = None
    state = body.get("state", "")
    if not _is_text(state):
        faults.append(
            Fault(
                ("body", "state"),
                f"expected a string, an object or an array, got {show(state)}",
                "text_type",
            )
        )
    temperature = _check_temperature(body.get("temperature", 1.0), faults)
    questions = _check_questions(body.get("questions", {}), faults, max_options)
    if faults:
        raise RequestError(faults)
    assert _is_text(state)
    return Request(state, questions, model, temperature)


def _is_text(value: object) -> bool:
    # What a body is parsed to comes first: the abstract classes are slow to ask.
    return (
        type(value) in _PARSED_TEXT
        or isinstance(value, (str, Mapping))
        or (isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)))
    )


_PARSED_TEXT = frozenset((str, dict, list))


def _is_object(value: object) -> TypeGuard[Mapping[Any, Any]]:
    return type(value) is dict or isinstance(value, Mapping)


def _check_temperature(value: object, faults: list[Fault]) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    # The comparison comes before float(): an integer of any size compares, few convert.
    if number and 0 < value <= MAX_TEMPERATURE and math.isfinite(value):  # type: ignore[operator,arg-type]
        return float(value)  # type: ignore[arg-type]
    faults.append(
        Fault(
            ("body", "temperature"),
            f"expected a number above 0, at most {MAX_TEMPERATURE:g}, got {show(value)}",
            "temperature",
        )
    )
    return 1.0


def _check_questions(value: object, faults: list[Fault], max_options: int) -> dict[str, Question]:
    loc: Location = ("body", "questions")
    if not _is_object(value):
        faults.append(
            Fault(loc, f"expected an object of questions by id, got {show(value)}", "object_type")
        )
        return {}
    if not value:
        if not any(fault.loc == loc for fault in faults):
            faults.append(Fault(loc, "expected at least one question", "too_short"))
        return {}
    questions = {}
    for name, question in value.items():
        if not isinstance(name, str) or not name:
            faults.append(
                Fault(
                    (*loc, str(name)),
                    f"expected a non-empty string as question id, got {show(name)}",
                    "question_id",
                )
            )
            continue
        checked = check_question(question, (*loc, name), faults, max_options=max_options)
        if checked is not None:
            questions[name] = checked
    return questions


def check_question(
    value: object, loc: Location, faults: list[Fault], *, max_options: int = MAX_OPTIONS
) -> Question | None:
    """One question from its wire form or its struct; None, and faults added, if it is wrong."""
    if isinstance(value, (Noul, Choice, Score)):
        value = to_wire(value)
    if not _is_object(value):
        faults.append(Fault(loc, f"expected a question object, got {show(value)}", "object_type"))
        return None
    kind = value.get("type")
    if kind not in QUESTION_TYPES:
        problem = "this field is required" if "type" not in value else f"got {show(kind)}"
        faults.append(
            Fault(
                (*loc, "type"),
                f"unsupported type: {problem}; expected one of {', '.join(QUESTION_TYPES)}",
                "question_type",
            )
        )
        return None
    before = len(faults)
    instructions = value.get("instructions")
    if instructions is not None and not _is_text(instructions):
        faults.append(
            Fault(
                (*loc, "instructions"),
                f"expected a string, an object, an array or null, got {show(instructions)}",
                "text_type",
            )
        )
    criteria = value.get("criteria")
    where: Location = (*loc, "criteria")
    if kind == "noul":
        _check_noul(criteria, instructions, where, faults)
    elif kind == "choice":
        _check_choice(criteria, where, faults, max_options)
    else:
        _check_score(criteria, where, faults)
    if len(faults) > before:
        return None
    if kind == "noul":
        return Noul(instructions, criteria)
    return (
        Choice(criteria, instructions)  # type: ignore[arg-type]
        if kind == "choice"
        else Score(criteria, instructions)  # type: ignore[arg-type]
    )


def _check_description(
    value: object, loc: Location, faults: list[Fault], *, nullable: bool = True
) -> None:
    if _is_text(value) or (nullable and value is None):
        return
    expected = "a string, an object, an array" + (" or null" if nullable else "")
    faults.append(Fault(loc, f"expected {expected}, got {show(value)}", "text_type"))


def _check_noul(criteria: object, instructions: object, loc: Location, faults: list[Fault]) -> None:
    if criteria is not None and not _is_object(criteria):
        faults.append(
            Fault(loc, f"expected an object or null, got {show(criteria)}", "object_type")
        )
        return
    described = criteria or {}
    for key, description in described.items():
        if key not in ("true", "false"):
            faults.append(
                Fault((*loc, str(key)), 'expected no key but "true" and "false"', "noul_criteria")
            )
        else:
            _check_description(description, (*loc, key), faults)
    if not instructions and not any(described.values()):
        faults.append(
            Fault(loc[:-1], "expected instructions or a description of true or false", "missing")
        )


def _check_choice(criteria: object, loc: Location, faults: list[Fault], max_options: int) -> None:
    if not _is_object(criteria):
        problem = "this field is required" if criteria is None else f"got {show(criteria)}"
        faults.append(
            Fault(loc, f"expected an object of options by name: {problem}", "object_type")
        )
        return
    if len(criteria) < MIN_NAMED_OPTIONS:
        faults.append(Fault(loc, "expected at least one option", "too_short"))
    if len(criteria) > max_options:
        faults.append(
            Fault(loc, f"expected at most {max_options} options, got {len(criteria)}", "too_long")
        )
        return
    for name, description in criteria.items():
        if not isinstance(name, str):
            faults.append(
                Fault(
                    (*loc, str(name)),
                    f"expected a string as option name, got {show(name)}",
                    "string_type",
                )
            )
        elif description is not None and not isinstance(description, str):
            _check_description(description, (*loc, name), faults)


def _check_score(criteria: object, loc: Location, faults: list[Fault]) -> None:
    if not isinstance(criteria, Sequence) or isinstance(criteria, (str, bytes)):
        problem = "this field is required" if criteria is None else f"got {show(criteria)}"
        faults.append(
            Fault(loc, f"expected an array of levels, low to high: {problem}", "list_type")
        )
        return
    if not 1 <= len(criteria) <= MAX_LEVELS:
        faults.append(
            Fault(
                loc,
                f"expected 1 to {MAX_LEVELS} levels, got {len(criteria)}",
                "too_short" if not criteria else "too_long",
            )
        )
        return
    for index, level in enumerate(criteria):
        _check_description(level, (*loc, index), faults, nullable=False)
