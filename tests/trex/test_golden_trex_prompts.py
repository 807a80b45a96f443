"""Prompts built from recorded plans, word for word."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from sysone.trex.ask import build_question

Golden = Callable[[str, str], Any]


def test_prompts(golden: Golden) -> None:
    data = golden("trex", "prompts.json")
    assert data["cases"]
    for case in data["cases"]:
        row = case["plan"]
        plan = SimpleNamespace(
            **{
                **row,
                "safe": dict(zip(data["actions"], map(bool, row["safe"]), strict=True)),
                "notes": dict(zip(data["actions"], row["notes"], strict=True)),
            }
        )
        for style, state, questions in case["prompts"]:
            built_state, built_questions = build_question(plan, style)
            assert built_state == state
            assert built_questions == questions
            # The order of the options is part of the question.
            assert list(built_questions["action"]) == list(questions["action"])
            assert list(built_questions["action"]["criteria"]) == data["actions"]
