"""What the shipped heads can do, on questions that no training has seen."""

from pathlib import Path

import pytest

from sysone.systemone import Engine
from sysone.systemone.encoder import EmbeddedEncoder
from sysone.systemone.models import DecisionModel
from sysone.systemone.training.calibration import read_any
from sysone.systemone.training.entailment import entailments, read_words
from sysone.systemone.training.evaluate import Quality, evaluate, flips
from sysone.systemone.training.examples import Example, read_examples, refuse_overlap
from sysone.systemone.training.report import plain_model, without_word

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "systemone"
SHEETS = ROOT / "data" / "systemone"
KINDS = ("choice", "score", "noul")


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


@pytest.fixture(scope="module")
def plain() -> DecisionModel:
    return plain_model(EmbeddedEncoder())


def sheet(folder: str) -> list[Example]:
    return read_any([SHEETS / folder / f"{kind}.txt" for kind in KINDS])


@pytest.fixture(scope="module")
def hard() -> list[Example]:
    return sheet("evaluation")


@pytest.mark.parametrize("model", ["default", "trex"])
def test_ordinary_choices_do_not_fall_below_plain_cosine(
    engine: Engine, plain: DecisionModel, model: str
) -> None:
    examples = read_examples(DATA / "general_choice.jsonl")
    before = evaluate(plain, examples)["general-choice"].accuracy
    assert before >= 0.65
    assert (
        quality(engine, model, "general_choice.jsonl")["general-choice"].accuracy >= before - 0.03
    )


def test_every_type_is_better_than_plain_cosine_on_the_hard_set(
    engine: Engine, plain: DecisionModel, hard: list[Example]
) -> None:
    before, after = evaluate(plain, hard), evaluate(engine.model("default"), hard)
    assert sum(found.questions for found in after.values()) >= 300
    for kind, gain in (("choice", 0.04), ("score", 0.08), ("noul", 0.02)):
        assert after[kind].questions >= 100
        assert after[kind].accuracy >= before[kind].accuracy + gain
        assert after[kind].accuracy >= after[kind].constant + 0.05
        assert after[kind].nll < before[kind].nll - 0.03
        assert after[kind].ece < before[kind].ece


def test_the_model_card_says_what_is_measured(
    engine: Engine, plain: DecisionModel, hard: list[Example]
) -> None:
    page = (ROOT / "docs" / "model-card.md").read_text()
    table = page.partition("<!-- table: default -->")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.split("|")[2:]] for line in table.splitlines()[3:]]
    examples = hard + read_examples(DATA / "general_choice.jsonl")
    before, after = evaluate(plain, examples), evaluate(engine.model("default"), examples)
    assert len(rows) == len(after) == 4
    for row, group in zip(rows, ("choice", "score", "noul", "general-choice"), strict=True):
        one, two = before[group], after[group]
        assert int(row[0]) == two.questions
        # Other processors round differently; an answer or two may change.
        found = (two.constant, one.accuracy, two.accuracy, one.nll, two.nll, one.ece, two.ece)
        said = [float(row[index]) for index in (1, 2, 3, 4, 6, 7, 8)]
        assert said == pytest.approx(found, abs=0.03), group


def test_no_answer_hangs_on_order_or_labels(engine: Engine, hard: list[Example]) -> None:
    for found in flips(engine.model("default"), hard).values():
        assert found.asked > 0
        assert (found.order, found.relabelled) == (0, 0)


def test_training_and_calibration_share_nothing_with_the_evaluation(hard: list[Example]) -> None:
    ordinary = read_examples(DATA / "general_choice.jsonl")
    training, calibration = sheet("training"), sheet("calibration")
    words = read_words(SHEETS / "vocabulary" / "training.txt")
    templates = list(entailments(words, 4000, 0))
    refuse_overlap(training, calibration, "training and calibration")
    for seen in (training, calibration, templates):
        refuse_overlap(seen, hard + ordinary, "what was trained on and the evaluation")
        states = {str(example.state) for example in seen}
        assert not states & {str(example.state) for example in hard}
        asked = {example.question.instructions for example in seen} - {None}
        assert not asked & {example.question.instructions for example in hard}


def test_without_the_word_best_the_trex_head_agrees_less(engine: Engine) -> None:
    """The head reads that word, and the model card says so."""
    examples = read_examples(DATA / "trex_questions.jsonl")
    stripped = [without_word(example, "Best") for example in examples]
    assert not any("Best" in str(example.question) for example in stripped)
    found = evaluate(engine.model("trex"), stripped)["trex-labeled"]
    assert 0.4 < found.accuracy < 0.95
    assert found.harmless >= 0.99


def test_no_t_rex_answer_hangs_on_the_order_of_the_keys(engine: Engine) -> None:
    for found in flips(engine.model("trex"), read_examples(DATA / "trex_questions.jsonl")).values():
        assert (found.order, found.relabelled) == (0, 0)


def test_sample_holds_evaluation_seeds_alone() -> None:
    examples = read_examples(DATA / "trex_questions.jsonl")
    assert all(e.seed is not None and e.seed < 1000 for e in examples)
