import itertools
import math
from typing import Any

import pytest

from sysone.systemone import Choice, Engine, Noul, RequestError, Score, UnknownModelError
from sysone.systemone.engine import embedded_models

STATE = {"ticket": "I was charged twice for the same order.", "language": "en"}
TEAMS: dict[str, Any] = {
    "billing": "Payments, invoices and refunds",
    "shipping": "Parcels and delivery dates",
    "other": None,
    "accounts": {"what": "logins", "and": ["passwords", "profiles"]},
}
QUESTIONS = {
    "team": Choice(TEAMS, "Which team should answer?"),
    "angry": Noul("Is the customer angry?"),
    "urgency": Score(["can wait", "today", "at once"], "How urgent is it?"),
}


@pytest.fixture(params=["default", "trex"])
def model(request: pytest.FixtureRequest) -> str:
    return request.param


def fresh() -> Engine:
    """An engine whose caches hold nothing yet."""
    return Engine(embedded_models(cache_bytes=1 << 20))


def test_reply_shape(engine: Engine, model: str) -> None:
    reply = engine.answer(STATE, QUESTIONS, model)
    assert list(reply) == ["model", "answers", "usage"]
    assert reply["model"].startswith(f"{model}@")
    assert list(reply["answers"]) == list(QUESTIONS)
    choice, noul, score = reply["answers"].values()
    assert list(choice) == ["type", "choice", "confidence", "probabilities"]
    assert list(noul) == ["type", "noul"]
    assert list(score) == ["type", "score", "confidence", "probabilities", "legend"]
    assert math.isclose(sum(choice["probabilities"].values()), 1, abs_tol=1e-12)
    assert list(choice["probabilities"]) == list(TEAMS)
    assert reply["usage"]["output_tokens"] == 0
    assert reply["usage"]["billing_units"] == 3


def test_an_obvious_choice_is_made(engine: Engine, model: str) -> None:
    assert engine.answer(STATE, QUESTIONS, model)["answers"]["team"]["choice"] == "billing"


def test_answers_are_the_same_bits_alone_batched_renamed_and_reordered(model: str) -> None:
    together = fresh().answer(STATE, QUESTIONS, model)["answers"]
    backwards = fresh().answer(STATE, dict(reversed(QUESTIONS.items())), model)["answers"]
    assert backwards == together
    for name, question in QUESTIONS.items():
        alone = fresh().answer(STATE, {"another name 🙂": question}, model)["answers"]
        assert alone == {"another name 🙂": together[name]}


def test_cached_answers_are_the_same_bits(model: str) -> None:
    engine = fresh()
    first = engine.answer(STATE, QUESTIONS, model)
    again = engine.answer(STATE, QUESTIONS, model)
    assert again["answers"] == first["answers"]
    assert first["usage"]["input_tokens"] > 0
    assert again["usage"]["input_tokens"] == 0


def test_permuted_options_are_permuted_probabilities(model: str) -> None:
    expected = fresh().answer(STATE, {"q": QUESTIONS["team"]}, model)["answers"]["q"]
    for order in itertools.permutations(TEAMS):
        criteria = {name: TEAMS[name] for name in order}
        question = Choice(criteria, QUESTIONS["team"].instructions)
        found = fresh_cached().answer(STATE, {"q": question}, model)["answers"]["q"]
        assert list(found["probabilities"]) == list(order)
        assert found == expected


_SHARED: list[Engine] = []


def fresh_cached() -> Engine:
    """One engine for all permutations: loading one for each would take seconds."""
    if not _SHARED:
        _SHARED.append(fresh())
    return _SHARED[0]


def test_an_option_has_the_same_number_in_any_company(engine: Engine, model: str) -> None:
    """The ratio of two options does not depend on the others, in one bucket of option counts."""
    few = engine.answer(STATE, {"q": Choice(dict.fromkeys("abcdefghij"))}, model)["answers"]["q"]
    many = engine.answer(
        STATE, {"q": Choice(dict.fromkeys([*"abcdefghijklmnopqrstuvwxyz"]))}, model
    )["answers"]["q"]
    ratios = [item["probabilities"]["a"] / item["probabilities"]["b"] for item in (few, many)]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-12)


def test_same_text_twice_is_encoded_once() -> None:
    engine = fresh()
    one = engine.answer("s", {"q": Choice({"a": "same", "b": "other"})})
    two = fresh().answer("s", {"q": Choice({"a": "same", "b": "other", "c": "same"})})
    assert two["usage"]["input_tokens"] == one["usage"]["input_tokens"]
    probabilities = two["answers"]["q"]["probabilities"]
    assert probabilities["a"] == probabilities["c"]


def test_cache_smaller_than_a_request_changes_nothing(model: str) -> None:
    tiny = Engine(embedded_models(cache_bytes=2 * 4 * 384 * 2))
    question = {"q": Choice({f"option {index}": None for index in range(12)})}
    expected = fresh().answer(STATE, question, model)["answers"]
    assert tiny.answer(STATE, question, model)["answers"] == expected
    assert tiny.answer(STATE, question, model)["answers"] == expected


def test_one_option_and_one_level_are_certain(engine: Engine) -> None:
    reply = engine.answer("s", {"c": Choice({"only": None}), "s": Score(["only"])})["answers"]
    assert reply["c"]["probabilities"] == {"only": 1.0}
    assert reply["c"]["confidence"] == 1.0
    assert (reply["s"]["score"], reply["s"]["confidence"]) == (0.0, 1.0)


def test_255_options_and_10_levels(engine: Engine) -> None:
    names = [f"  Option {index} é " for index in range(255)]
    reply = engine.answer(
        "s",
        {"c": Choice(dict.fromkeys(names)), "s": Score([f"level {level}" for level in range(10)])},
    )["answers"]
    assert list(reply["c"]["probabilities"]) == names
    assert len(reply["s"]["legend"]) == 10


def test_temperature_flattens(engine: Engine) -> None:
    question = {"q": QUESTIONS["team"]}
    sharp, plain, flat = (
        engine.answer(STATE, question, temperature=t)["answers"]["q"]["confidence"]
        for t in (1e-300, 1, 100)
    )
    assert sharp == 1.0
    assert sharp > plain > flat


def test_truncation_is_reported_on_the_answer_it_touches(engine: Engine) -> None:
    long = {"cut": Choice({"a": "word " * 600, "b": None}), "whole": Choice({"a": None, "b": None})}
    for _ in range(2):
        answers = engine.answer("s", long)["answers"]
        assert answers["cut"]["x_truncated"] is True
        assert "x_truncated" not in answers["whole"]


def test_aliases_mean_the_default_model(engine: Engine) -> None:
    expected = engine.answer(STATE, QUESTIONS, "default")
    expected["usage"]["input_tokens"] = 0
    for alias in ("clm-latest", "jev-latest", None, expected["model"]):
        reply = engine.answer(STATE, QUESTIONS, alias)
        assert reply == expected


def test_unknown_model_names_those_that_exist(engine: Engine) -> None:
    with pytest.raises(UnknownModelError, match="'nope'; available: default, trex"):
        engine.answer("s", QUESTIONS, "nope")


def test_bad_questions_raise_with_their_place(engine: Engine) -> None:
    with pytest.raises(RequestError, match=r"body\.questions\.q\.type"):
        engine.answer("s", {"q": {"type": "box"}})
    deep: Any = "leaf"
    for _ in range(200):
        deep = {"k": deep}
    with pytest.raises(RequestError, match="nested"):
        engine.answer(deep, {"q": QUESTIONS["team"]})
