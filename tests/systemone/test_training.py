import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from typer.testing import CliRunner

from sysone.systemone import Choice, Engine, Noul, Score
from sysone.systemone.cli import app
from sysone.systemone.embeddings import Embeddings
from sysone.systemone.encoder import EmbeddedEncoder
from sysone.systemone.engine import embedded_models
from sysone.systemone.heads import HeadError, LogisticHead, load_heads
from sysone.systemone.models import CosineModel
from sysone.systemone.training.evaluate import evaluate
from sysone.systemone.training.examples import (
    Example,
    ExampleError,
    read_examples,
    refuse_overlap,
    refuse_seeds,
)
from sysone.systemone.training.general import general_choices

HEADS = Path(__file__).parents[2] / "python" / "sysone" / "systemone" / "data" / "heads"


def example(name: str, seed: int | None = None) -> Example:
    return Example(name, Choice({"a": None, "b": None}), "a", seed=seed)


def write(path: Path, examples: list[Example]) -> Path:
    path.write_bytes(b"\n".join(msgspec.json.encode(item) for item in examples))
    return path


def test_targets_of_each_type() -> None:
    choice = Example("s", Choice(dict.fromkeys("abc")), "b", right=["b", "c"], harmful=["a"])
    assert (choice.target, choice.right_indices, choice.harmful_indices) == (1, [1, 2], [0])
    assert Example("s", Noul("?"), True).target == 1
    assert Example("s", Score(["low", "high"]), 1).right_indices == [1]


def test_examples_survive_the_file(tmp_path: Path) -> None:
    examples = [
        example("s", seed=3),
        Example({"k": 1}, Noul("?"), False, group="g"),
        Example([], Score(["low", {"is": "high"}], "how?"), 1),
    ]
    assert read_examples(write(tmp_path / "e.jsonl", examples)) == examples


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "truncated"),
        ('{"state": "s"}', "question"),
        (
            '{"state": "s", "question": {"type": "choice", "criteria": {}}, "answer": "a"}',
            "at least one option",
        ),
        (
            '{"state": "s", "question": {"type": "choice", "criteria": {"a": null}},'
            ' "answer": "b"}',
            "'b' is not in list",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = write(tmp_path / "e.jsonl", [example("s")])
    path.write_text(path.read_text() + "\n" + line)
    with pytest.raises(ExampleError, match=rf"e\.jsonl, line 2: .*{reason}"):
        read_examples(path)


def test_missing_and_empty_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ExampleError, match=r"none\.jsonl: No such file"):
        read_examples(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(ExampleError, match=r"empty\.jsonl: no example"):
        read_examples(tmp_path / "empty.jsonl")


def test_evaluation_seeds_and_overlaps_are_refused() -> None:
    refuse_seeds([example("s", seed=1000), example("s")], range(1000), "file")
    with pytest.raises(ExampleError, match=r"file: made from seeds \[999\]"):
        refuse_seeds([example("s", seed=999)], range(1000), "file")
    refuse_overlap([example("s", seed=1)], [example("t", seed=2)], "files")
    with pytest.raises(ExampleError, match=r"share the seeds \[1\]"):
        refuse_overlap([example("s", seed=1)], [example("t", seed=1)], "files")
    with pytest.raises(ExampleError, match="share 1 questions"):
        refuse_overlap([example("s")], [example("s")], "files")


def test_general_questions_are_reproducible_and_well_formed() -> None:
    some = list(general_choices(200, 5))
    assert some == list(general_choices(200, 5))
    assert some != list(general_choices(200, 6))
    for item in some:
        assert isinstance(item.question, Choice)
        assert item.answer in item.question.criteria


def test_evaluation_counts_right_and_harmful_answers(engine: Engine) -> None:
    state = "I was charged twice for one order."
    question = Choice({"billing": "Payments and refunds", "weather": "Rain and wind"})
    right = Example(state, question, "billing", harmful=["weather"], group="right")
    wrong = Example(state, question, "weather", harmful=["billing"], group="wrong")
    found = evaluate(engine.model("default"), [right, wrong])
    assert (found["right"].accuracy, found["right"].harmless) == (1.0, 1.0)
    assert (found["wrong"].accuracy, found["wrong"].harmless) == (0.0, 0.0)
    assert found["wrong"].nll > found["right"].nll


def copy_head(tmp_path: Path, **changes: object) -> Path:
    record = json.loads((HEADS / "trex.json").read_text())
    (tmp_path / "trex.json").write_text(json.dumps(record | changes))
    (tmp_path / "trex.safetensors").write_bytes((HEADS / "trex.safetensors").read_bytes())
    return tmp_path / "trex.json"


def test_a_head_that_does_not_fit_is_refused_by_name(tmp_path: Path) -> None:
    encoder = json.loads((HEADS / "trex.json").read_text())["encoder"]
    with pytest.raises(HeadError, match=r"'other@1', expected"):
        load_heads(copy_head(tmp_path, encoder="other@1"), encoder=encoder, width=384)
    with pytest.raises(HeadError, match=r"state_head\.down has shape"):
        load_heads(copy_head(tmp_path, cfg={"rank": 7}), encoder=encoder, width=384)
    with pytest.raises(HeadError, match=r"state_head\.down has shape .* expected \(32, 4096\)"):
        load_heads(copy_head(tmp_path), encoder=encoder, width=4096)


@pytest.mark.learn
def test_a_trained_head_learns_its_task_and_leaves_the_rest(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    # The plain encoder has no idea which of the two made-up words means which colour.
    words = {"zorb": "red", "quil": "blue"}
    things = list("abcdefghijklmnop")

    def examples(some: list[str], first_seed: int) -> list[Example]:
        return [
            Example(
                f"Card {thing} is {word}.",
                Choice({"red": "The colour is red", "blue": "The colour is blue"}, "Which?"),
                colour,
                group="words",
                seed=first_seed + index,
            )
            for index, thing in enumerate(some)
            for word, colour in words.items()
        ]

    train = write(tmp_path / "train.jsonl", examples(things[:12], 5000))
    calibration = write(tmp_path / "calibration.jsonl", examples(things[12:], 6000))
    command = ["train-heads", "--questions", str(train), "--calibration", str(calibration)]
    command += ["--name", "words", "--out", str(tmp_path), "--rank", "8", "--epochs", "60"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    record = json.loads((tmp_path / "words.json").read_text())
    assert record["training"]["seeds"] == [5000, 5011]

    encoder = EmbeddedEncoder()
    heads = load_heads(tmp_path / "words.json", encoder=encoder.identity, width=encoder.width)
    model = CosineModel(heads, Embeddings(encoder, 0), 0)
    assert evaluate(model, examples(things[12:], 6000))["words"].accuracy >= 0.9
    general = list(general_choices(100, 9))
    plain = embedded_models(encoder)[0]
    before, after = (evaluate(m, general)["general-template"].accuracy for m in (plain, model))
    assert after >= before - 0.03


@pytest.mark.learn
def test_training_on_evaluation_seeds_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    train = write(tmp_path / "train.jsonl", [example("s", seed=5)])
    calibration = write(tmp_path / "calibration.jsonl", [example("t", seed=6000)])
    command = ["train-heads", "--questions", str(train), "--calibration", str(calibration)]
    found = CliRunner().invoke(app, [*command, "--name", "x", "--out", str(tmp_path)])
    assert found.exit_code == 1
    assert "seeds [5] that are kept for evaluation (0 to 999)" in found.output
    assert not (tmp_path / "x.json").exists()


def test_residual_head_by_hand() -> None:
    from sysone.systemone.heads import ResidualHead

    down = np.array([[1, 0], [-1, 0]], np.float32)
    head = ResidualHead(down, np.zeros(2, np.float32), np.array([[0, 0], [2, 0]], np.float32))
    found = head.project(np.array([0.6, 0.8], np.float32))
    # The first unit fires with 0.6 and adds 1.2 to the second component.
    assert found == pytest.approx(np.array([0.6, 2.0]) / np.hypot(0.6, 2.0))


@pytest.mark.learn
def test_a_logistic_head_learns_which_products_count(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    colours = {"warm": ("red", "orange"), "cold": ("blue", "turquoise")}

    def examples(index: int, first_seed: int) -> list[Example]:
        return [
            Example(
                f"{thing} in {shades[index]}",
                Choice(dict.fromkeys(colours), "Is the shade warm or cold?"),
                answer,
                group="shades",
                seed=first_seed + place,
            )
            for answer, shades in colours.items()
            for place, thing in enumerate(("a chair", "a lamp", "a coat", "a car", "a wall"))
        ]

    train = write(tmp_path / "train.jsonl", examples(0, 5000))
    calibration = write(tmp_path / "calibration.jsonl", examples(1, 6000))
    command = ["train-heads", "--questions", str(train), "--calibration", str(calibration)]
    command += ["--name", "shades", "--out", str(tmp_path), "--kind", "logistic"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 0, found.output
    encoder = EmbeddedEncoder()
    heads = load_heads(tmp_path / "shades.json", encoder=encoder.identity, width=encoder.width)
    assert isinstance(heads.action, LogisticHead)
    assert heads.action.weight.std() > 0
    model = CosineModel(heads, Embeddings(encoder, 0), 0)
    plain = embedded_models(encoder)[1]
    # A regression may not make what it was fitted to worse.
    assert (
        evaluate(model, examples(0, 5000))["shades"].accuracy
        >= evaluate(plain, examples(0, 5000))["shades"].accuracy
    )


def test_logistic_head_by_hand() -> None:
    head = LogisticHead(np.array([2, 0.5], np.float32))
    assert head.project(np.array([0.6, 0.8], np.float32)) == pytest.approx([1.2, 0.4])


def test_an_unknown_kind_of_head_is_refused(tmp_path: Path) -> None:
    train = write(tmp_path / "train.jsonl", [example("s", seed=5000)])
    command = ["train-heads", "--questions", str(train), "--calibration", str(train)]
    command += ["--name", "x", "--out", str(tmp_path), "--kind", "forest"]
    found = CliRunner().invoke(app, command)
    assert found.exit_code == 2
    assert "expected residual or logistic" in found.output
