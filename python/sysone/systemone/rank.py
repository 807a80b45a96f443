"""``POST /v1/rank``: candidates in order of their probability, the plain form of a choice."""

from collections.abc import Mapping
from typing import Any

from sysone.systemone.answers import ChoiceAnswer
from sysone.systemone.questions import (
    MAX_OPTIONS,
    Fault,
    Request,
    RequestError,
    check_request,
    show,
)

QUESTION = "rank"


def check_rank(body: object, *, max_options: int = MAX_OPTIONS) -> tuple[Request, list[str]]:
    """The choice that a rank request stands for, and its candidates; raises `RequestError`.

    An absent or null context or question is empty.
    """
    if not isinstance(body, Mapping):
        raise RequestError(
            [Fault(("body",), f"expected a JSON object, got {show(body)}", "object_type")]
        )
    candidates = body.get("answers")
    if not isinstance(candidates, list) or not candidates:
        problem = "this field is required" if candidates is None else f"got {show(candidates)}"
        raise RequestError(
            [Fault(("body", "answers"), f"expected a non-empty array: {problem}", "list_type")]
        )
    faults = [
        Fault(
            ("body", "answers", index), f"expected a non-empty string, got {show(item)}", "string"
        )
        for index, item in enumerate(candidates)
        if not isinstance(item, str) or not item
    ]
    if len(candidates) > max_options:
        faults.append(
            Fault(
                ("body", "answers"),
                f"expected at most {max_options} answers, got {len(candidates)}",
                "too_long",
            )
        )
    if faults:
        raise RequestError(faults)
    question: dict[str, Any] = {
        "type": "choice",
        "criteria": {str(index): text for index, text in enumerate(candidates)},
        "instructions": body.get("question"),
    }
    decision = {name: body[name] for name in ("model", "temperature", "assets") if name in body}
    decision["state"] = "" if body.get("context") is None else body["context"]
    decision["questions"] = {QUESTION: question}
    try:
        return check_request(decision, max_options=max_options), candidates
    except RequestError as error:
        raise RequestError([_renamed(fault) for fault in error.faults]) from None


def _renamed(fault: Fault) -> Fault:
    """The fault's place in the caller's words."""
    if fault.loc[:2] == ("body", "state"):
        return Fault(("body", "context"), fault.msg, fault.type)
    if fault.loc[:2] == ("body", "questions"):
        return Fault(("body", "question"), fault.msg, fault.type)
    return fault


def ranking(answer: ChoiceAnswer, candidates: list[str]) -> list[dict[str, Any]]:
    """Best first; equal probabilities stay in the caller's order."""
    probabilities = list(answer.probabilities.values())
    order = sorted(range(len(candidates)), key=lambda index: -probabilities[index])
    return [
        {"rank": place, "candidate": candidates[index], "prob": probabilities[index]}
        for place, index in enumerate(order, 1)
    ]
