"""What the shipped heads can do, on questions that no training has seen."""

import importlib.util
from pathlib import Path

import msgspec
import pytest

from sysone.systemone import Engine
from sysone.systemone.encoder import EmbeddedEncoder
from sysone.systemone.models import DecisionModel
from sysone.systemone.training.calibration import read_any
from sysone.systemone.training.comparison import compare
from sysone.systemone.training.entailment import entailments, read_words
from sysone.systemone.training.evaluate import Quality, evaluate, flips
from sysone.systemone.training.examples import Example, read_examples, refuse_overlap
from sysone.systemone.training.pairs import read_pairs, refuse_shared
from sysone.systemone.training.report import plain_model, without_word

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "systemone"
SHEETS = ROOT / "data" / "systemone"
KINDS = ("choice", "score", "noul")
NAMES = {
    "choice": "choice, by hand",
    "score": "score, by hand",
    "noul": "noul, by hand",
    "choice-made": "choice, made",
    "score-made": "score, made",
    "noul-made": "noul, made",
    "general-choice": "ordinary choices",
    "choice-all": "choice",
    "score-all": "score",
    "noul-all": "noul",
}


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
    """Written by hand, then made from templates."""
    return sheet("evaluation") + read_examples(SHEETS / "evaluation" / "made.jsonl")


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


def merged(examples: list[Example]) -> list[Example]:
    """Hand-written and made questions of a type in one group."""
    return [
        msgspec.structs.replace(example, group=example.group.removesuffix("-made"))
        for example in examples
    ]


def test_every_type_is_better_than_plain_cosine_on_the_hard_set(
    engine: Engine, plain: DecisionModel, hard: list[Example]
) -> None:
    default = engine.model("default")
    before, after = evaluate(plain, hard), evaluate(default, hard)
    for group, found in after.items():
        assert found.questions >= 200
        assert found.accuracy >= before[group].accuracy + 0.01, group
        assert found.accuracy >= found.constant + 0.03, group
        assert found.nll < before[group].nll - 0.01, group
    assert all(after[kind].ece < before[kind].ece for kind in KINDS)
    for kind, gain in compare(plain, default, merged(hard)).items():
        assert gain.questions >= 450
        # Beyond chance, questions about one state being no independent evidence.
        assert gain.low > 0, kind
        assert gain.p < 0.05, kind


def rows_of(name: str) -> list[list[str]]:
    """The body of a table of the model card."""
    page = (ROOT / "docs" / "model-card.md").read_text()
    table = page.partition(f"<!-- table: {name} -->")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[3:]]


def test_the_model_card_says_what_is_measured(
    engine: Engine, plain: DecisionModel, hard: list[Example]
) -> None:
    examples = hard + read_examples(DATA / "general_choice.jsonl")
    default = engine.model("default")
    before, after = evaluate(plain, examples), evaluate(default, examples)
    rows = rows_of("default")
    assert [row[0] for row in rows] == [NAMES[group] for group in after]
    for row, group in zip(rows, after, strict=True):
        one, two = before[group], after[group]
        assert int(row[1]) == two.questions
        # Other processors round differently; an answer or two may change.
        found = (two.constant, one.accuracy, two.accuracy, one.nll, two.nll, one.ece, two.ece)
        said = [float(row[index]) for index in (2, 3, 4, 5, 7, 8, 9)]
        assert said == pytest.approx(found, abs=0.03), group


def test_the_model_card_says_how_sure_the_gains_are(
    engine: Engine, plain: DecisionModel, hard: list[Example]
) -> None:
    ordinary = read_examples(DATA / "general_choice.jsonl")
    default = engine.model("default")
    gains = {
        **compare(plain, default, hard + ordinary),
        **{f"{kind}-all": gain for kind, gain in compare(plain, default, merged(hard)).items()},
    }
    rows = rows_of("gains")
    assert [row[0] for row in rows] == [NAMES[group] for group in gains]
    for row, gain in zip(rows, gains.values(), strict=True):
        assert int(row[1]) == gain.questions
        low, high = (float(end) for end in row[3].split(" to "))
        said = (float(row[2]), low, high)
        assert said == pytest.approx((gain.after - gain.before, gain.low, gain.high), abs=0.03)


def test_no_answer_hangs_on_order_or_labels(engine: Engine, hard: list[Example]) -> None:
    for found in flips(engine.model("default"), hard).values():
        assert found.asked > 0
        assert (found.order, found.relabelled) == (0, 0)


def test_training_and_calibration_share_nothing_with_the_evaluation(hard: list[Example]) -> None:
    ordinary = read_examples(DATA / "general_choice.jsonl")
    training, calibration = sheet("training"), sheet("calibration")
    words = read_words(SHEETS / "vocabulary" / "training.txt")
    templates = list(entailments(words, 6000, 0))
    pairs = read_pairs(SHEETS / "vocabulary" / "contrasts.tsv.gz")
    refuse_overlap(training, calibration, "training and calibration")
    refuse_shared(pairs, calibration + hard + ordinary, "the pairs and what is held out")
    assert not {pair.statement for pair in pairs} & {e.question.instructions for e in hard}
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


def test_the_made_questions_are_those_of_the_script() -> None:
    spec = importlib.util.spec_from_file_location(
        "made_evaluation", ROOT / "tools" / "embedded" / "made_evaluation.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kept = read_examples(SHEETS / "evaluation" / "made.jsonl")
    assert list(module.made()) == kept
    nouls = [example.answer for example in kept if example.group == "noul-made"]
    assert sum(bool(answer) for answer in nouls) * 2 == len(nouls)
