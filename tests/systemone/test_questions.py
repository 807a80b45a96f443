from typing import Any

import pytest

from sysone.systemone.questions import (
    Choice,
    Noul,
    RequestError,
    Score,
    check_request,
    to_wire,
)

CHOICE = {"type": "choice", "criteria": {"a": None, "b": "second"}}


def faults(body: object, **options: int) -> dict[tuple[str | int, ...], str]:
    with pytest.raises(RequestError) as caught:
        check_request(body, **options)
    assert all(fault.loc[0] == "body" for fault in caught.value.faults)
    return {fault.loc: fault.msg for fault in caught.value.faults}


def question_faults(question: object) -> dict[tuple[str | int, ...], str]:
    return faults({"state": "s", "questions": {"q": question}})


def test_structs_and_dictionaries_are_the_same_question() -> None:
    structs = {
        "choice": Choice({"a": None, "b": "second"}),
        "noul": Noul("Is it?", {"true": "yes"}),
        "score": Score(["low", "high"], "How much?"),
    }
    plain = {name: to_wire(question) for name, question in structs.items()}
    assert plain["choice"] == CHOICE
    assert plain["noul"] == {
        "type": "noul",
        "instructions": "Is it?",
        "criteria": {"true": "yes"},
    }
    for questions in (structs, plain):
        assert check_request({"state": {}, "questions": questions}).questions == structs


def test_unknown_fields_are_ignored_and_defaults_hold() -> None:
    request = check_request({"state": [], "questions": {"🙂 .": CHOICE}, "seed": 3, "assets": None})
    assert (request.model, request.temperature) == (None, 1.0)
    assert list(request.questions) == ["🙂 ."]


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ([], ("body",)),
        ({"questions": {"q": CHOICE}}, ("body", "state")),
        ({"state": None, "questions": {"q": CHOICE}}, ("body", "state")),
        ({"state": 3, "questions": {"q": CHOICE}}, ("body", "state")),
        ({"state": "s"}, ("body", "questions")),
        ({"state": "s", "questions": {}}, ("body", "questions")),
        ({"state": "s", "questions": [CHOICE]}, ("body", "questions")),
        ({"state": "s", "questions": {"": CHOICE}}, ("body", "questions", "")),
        ({"state": "s", "questions": {"q": CHOICE}, "model": 3}, ("body", "model")),
        ({"state": "s", "questions": {"q": CHOICE}, "assets": []}, ("body", "assets")),
    ],
)
def test_every_fault_names_its_place(body: object, loc: tuple[str, ...]) -> None:
    assert list(faults(body)) == [loc]


@pytest.mark.parametrize(
    "temperature", [0, -1, 101, True, "1", None, float("nan"), float("inf"), 10**400, []]
)
def test_temperature_outside_its_range_is_refused(temperature: object) -> None:
    body = {"state": "s", "questions": {"q": CHOICE}, "temperature": temperature}
    assert list(faults(body)) == [("body", "temperature")]


@pytest.mark.parametrize("temperature", [1e-9, 0.5, 1, 100])
def test_temperature_inside_its_range_is_kept(temperature: float) -> None:
    body = {"state": "s", "questions": {"q": CHOICE}, "temperature": temperature}
    assert check_request(body).temperature == temperature


Q = ("body", "questions", "q")


@pytest.mark.parametrize(
    ("question", "loc"),
    [
        ("choice", Q),
        ({}, (*Q, "type")),
        ({"type": "box"}, (*Q, "type")),
        ({"type": ["choice"]}, (*Q, "type")),
        ({"type": "boolean", "instructions": "?"}, (*Q, "type")),
        ({**CHOICE, "instructions": 3}, (*Q, "instructions")),
        ({"type": "choice"}, (*Q, "criteria")),
        ({"type": "choice", "criteria": {}}, (*Q, "criteria")),
        ({"type": "choice", "criteria": ["a", "b"]}, (*Q, "criteria")),
        ({"type": "choice", "criteria": {"a": 1, "b": None}}, (*Q, "criteria", "a")),
        ({"type": "score"}, (*Q, "criteria")),
        ({"type": "score", "criteria": []}, (*Q, "criteria")),
        ({"type": "score", "criteria": ["x"] * 11}, (*Q, "criteria")),
        ({"type": "score", "criteria": {"0": "low"}}, (*Q, "criteria")),
        ({"type": "score", "criteria": "low"}, (*Q, "criteria")),
        ({"type": "score", "criteria": ["low", None]}, (*Q, "criteria", 1)),
        ({"type": "noul"}, Q),
        ({"type": "noul", "criteria": {"true": None}}, Q),
        ({"type": "noul", "instructions": "?", "criteria": []}, (*Q, "criteria")),
        ({"type": "noul", "instructions": "?", "criteria": {"yes": "x"}}, (*Q, "criteria", "yes")),
        ({"type": "noul", "instructions": "?", "criteria": {"true": 1}}, (*Q, "criteria", "true")),
    ],
)
def test_every_bad_question_is_refused(question: Any, loc: tuple[str, ...]) -> None:
    assert list(question_faults(question)) == [loc]


def test_all_faults_are_reported_at_once() -> None:
    found = faults(
        {
            "temperature": 0,
            "questions": {"a": {"type": "box"}, "b": {"type": "score", "criteria": [None, None]}},
        }
    )
    assert list(found) == [
        ("body", "state"),
        ("body", "temperature"),
        ("body", "questions", "a", "type"),
        ("body", "questions", "b", "criteria", 0),
        ("body", "questions", "b", "criteria", 1),
    ]


def test_option_limit_is_named() -> None:
    question = {"type": "choice", "criteria": {str(index): None for index in range(6)}}
    body = {"state": "s", "questions": {"q": question}}
    assert "at most 5 options, got 6" in faults(body, max_options=5)[(*Q, "criteria")]
    assert len(check_request(body, max_options=6).questions) == 1
