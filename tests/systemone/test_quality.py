"""What the shipped heads can do, on questions that no training has seen."""

from pathlib import Path

import pytest

from sysone.systemone import Engine
from sysone.systemone.training.evaluate import Quality, evaluate
from sysone.systemone.training.examples import read_examples

DATA = Path(__file__).parents[1] / "data" / "systemone"


def quality(engine: Engine, model: str, file: str) -> dict[str, Quality]:
    return evaluate(engine.model(model), read_examples(DATA / file))


@pytest.mark.parametrize("group", ["trex-labeled", "trex-guided"])
def test_trex_head_agrees_with_the_planner_on_unseen_seeds(engine: Engine, group: str) -> None:
    found = quality(engine, "trex", "trex_questions.jsonl")[group]
    assert found.questions >= 100
    assert found.accuracy >= 0.95
    assert found.harmless >= 0.99


def test_the_head_is_what_agrees(engine: Engine) -> None:
    """The plain encoder does not: the test above measures the head, not the wording."""
    assert quality(engine, "default", "trex_questions.jsonl")["trex-labeled"].accuracy < 0.5


def test_trex_head_leaves_ordinary_choices_alone(engine: Engine) -> None:
    plain = quality(engine, "default", "general_choice.jsonl")["general-choice"]
    head = quality(engine, "trex", "general_choice.jsonl")["general-choice"]
    assert plain.accuracy >= 0.65
    assert head.accuracy >= plain.accuracy - 0.03


def test_sample_holds_evaluation_seeds_alone() -> None:
    examples = read_examples(DATA / "trex_questions.jsonl")
    assert all(e.seed is not None and e.seed < 1000 for e in examples)
