import pytest

from sysone.systemone.models import candidate_texts, clm_candidates
from sysone.systemone.questions import Choice, Noul, Score
from sysone.systemone.render import MAX_DEPTH, RenderError, render, render_state


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("as it is\n", "as it is\n"),
        (True, "true"),
        (3, "3"),
        (0.1, "0.1"),
        ({"a": 1, "b": "two"}, "a: 1\n\nb: two"),
        ({"a": {"b": 1, "c": [2, 3]}}, "a:\n  b: 1\n  c:\n    - 2\n    - 3"),
        (["x", {"k": "v", "l": None}], "- x\n-\n  k: v\n  l: "),
        ({"empty": {}, "list": []}, "empty: \n\nlist: "),
        ({"text": "one\ntwo"}, "text: one\ntwo"),
        ({"deep": {"text": "one\ntwo"}}, "deep:\n  text: one\ntwo"),
    ],
)
def test_values_become_lines(value: object, text: str) -> None:
    assert render(value) == text


def test_state_text_joins_what_is_there() -> None:
    assert render_state(" state ", {"task": "choose"}) == "state\n\ntask: choose"
    assert render_state("state", None) == "state"
    assert render_state("", "choose ") == "choose"


def test_candidates_of_each_type() -> None:
    assert candidate_texts(Choice({"a": "first", "b": None, "c": ""})) == ["first", "b", "c"]
    assert candidate_texts(Score(["low", {"is": "high"}])) == ["low", "is: high"]
    assert candidate_texts(Noul("Late?")) == [
        "No. This is false: Late?",
        "Yes. This is true: Late?",
    ]
    assert candidate_texts(Noul("Late?", {"true": "behind plan"})) == [
        "No. This is false: Late?",
        "true: behind plan",
    ]
    assert candidate_texts(Noul(None, {"true": "behind plan"})) == ["false", "true: behind plan"]


def test_clm_prefixes_every_side_of_a_noul() -> None:
    assert clm_candidates(Noul("Late?")) == [
        "false: No. This is false: Late?",
        "true: Yes. This is true: Late?",
    ]
    assert clm_candidates(Noul("Late?", {"true": {"behind": "plan"}})) == [
        "false: No. This is false: Late?",
        "true: behind: plan",
    ]
    assert clm_candidates(Noul(None, {"true": "behind plan"})) == [
        "false: false",
        "true: behind plan",
    ]
    assert clm_candidates(Choice({"a": "first", "b": None})) == ["first", "b"]


def test_nesting_beyond_the_limit_is_refused() -> None:
    value: object = "leaf"
    for _ in range(MAX_DEPTH + 1):
        value = [value]
    with pytest.raises(RenderError, match=f"more than {MAX_DEPTH} levels"):
        render(value)
