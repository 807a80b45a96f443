"""The general model, its reader and its temperatures, and the commands that make them."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sysone.systemone import Choice, Engine, Noul, Score
from sysone.systemone.cues import signs
from sysone.systemone.encoder import EmbeddedEncoder
from sysone.systemone.general import LONG_LIST
from sysone.systemone.heads import HeadError, bucket, load_heads
from sysone.systemone.reader import Reader
from sysone.systemone.training.commands import app
from sysone.systemone.training.examples import Example
from sysone.systemone.training.temperature import FEWEST, Row, fit, fit_all, nll

ROOT = Path(__file__).parents[2]
HEADS = ROOT / "python" / "sysone" / "systemone" / "data" / "heads"
STATE = "The kettle is on the stove and the water boils."


@pytest.fixture(scope="module")
def encoder() -> EmbeddedEncoder:
    return EmbeddedEncoder()


@pytest.mark.learn
def test_numpy_and_torch_read_alike(encoder: EmbeddedEncoder) -> None:
    torch = pytest.importorskip("torch", reason="needs the train extra")
    from sysone.systemone.training.reading import Library, Network, Pair, ReaderConfig

    torch.manual_seed(1)
    network = Network(encoder.width, ReaderConfig(inner=8, compared=6)).eval()
    with torch.no_grad():
        network.number.fill_(0.7)
    reader = Reader(**network.tensors())
    pairs = [
        Pair(STATE, "Is the water cold?", False),
        Pair("It is not 20 degrees, but 30.", "Is it more than 25?", True),
        Pair("Ann thanked Bob, not Carl.", "Was Ann thanked by Bob?", False),
        Pair("The lift carries 8 people, 11 wait.", "Can all of them ride?", False),
        Pair("x", "y", True),
    ]
    with torch.no_grad():
        expected = network(Library(encoder).batch(pairs)).numpy()
    for pair, logit in zip(pairs, expected, strict=True):
        state, said = encoder.read(pair.state, "tail"), encoder.read(pair.statement, "head")
        found = reader.support(
            state.tokens, state.vector, said.tokens, said.vector, signs(pair.state, pair.statement)
        )
        assert found == pytest.approx(float(logit), abs=1e-4)


def test_read_gives_the_vector_that_encode_gives(encoder: EmbeddedEncoder) -> None:
    read, encoded = encoder.read(STATE, "tail"), encoder.encode(STATE, "tail")
    assert read.vector.tobytes() == encoded.vector.tobytes()
    assert read.tokens.shape == (encoded.tokens, encoder.width)


def logits(engine: Engine, state: object, question: object) -> list[float]:
    scored = engine.model("default").score(state, question)  # type: ignore[arg-type]
    assert scored is not None
    return scored.logits


def test_one_described_side_speaks_for_itself(engine: Engine) -> None:
    no, yes = logits(engine, STATE, Noul("Is it so?", {"true": "The water is hot"}))
    other_no, other_yes = logits(engine, STATE, Noul("Is it so?", {"false": "The water is hot"}))
    assert (no, other_no) == (0, 0)
    assert yes == -other_yes != 0


def test_two_described_sides_are_a_choice(engine: Engine) -> None:
    sides = {"false": "A car is parked", "true": "Water is being heated"}
    noul = logits(engine, STATE, Noul("What?", sides))
    assert noul == logits(engine, STATE, Choice(sides, "What?"))
    swapped = {"true": sides["false"], "false": sides["true"]}
    assert logits(engine, STATE, Noul("What?", swapped)) == noul[::-1]


def test_a_choice_reads_its_instructions_unless_the_list_is_long(engine: Engine) -> None:
    for count, reads in ((LONG_LIST - 1, True), (LONG_LIST, False)):
        options = {f"option {index}": None for index in range(count)}
        asked = [logits(engine, STATE, Choice(options, text)) for text in ("Which?", "Why hot?")]
        assert (asked[0] != asked[1]) is reads


def test_instructions_stand_in_for_an_empty_state(engine: Engine) -> None:
    options = {"kitchen": None, "garage": None}
    asked = logits(engine, "", Choice(options, STATE))
    assert asked == logits(engine, STATE, Choice(options))


def test_a_level_is_read_with_its_instructions(engine: Engine) -> None:
    levels = ["none", "some", "all"]
    assert logits(engine, STATE, Score(levels, "How full?")) != logits(
        engine, STATE, Score(levels, "How hot?")
    )


def test_buckets() -> None:
    def options(count: int) -> dict[str, None]:
        return {str(index): None for index in range(count)}

    found = [bucket(Choice(options(count))) for count in (1, 2, 3, 4, 5, 6, 9, 10, 255)]
    assert found == [f"choice-{low}" for low in (1, 1, 3, 4, 4, 6, 6, 10, 10)]
    assert bucket(Score(["a", "b", "c"])) == "score-3"
    assert bucket(Noul("?")) == bucket(Noul("?", {"true": "yes", "false": None})) == "noul"
    assert bucket(Noul("?", {"true": "yes", "false": "no"})) == "choice-1"


def test_the_fitted_temperature_is_the_one_that_made_the_labels() -> None:
    stream = np.random.default_rng(0)
    rows = []
    for _ in range(4000):
        drawn = stream.normal(0, 1, 3)
        weights = np.exp(drawn)
        rows.append(Row((4 * drawn).tolist(), int(stream.choice(3, p=weights / weights.sum()))))
    fitted = fit(rows)
    assert fitted.temperature == pytest.approx(4, rel=0.15)
    assert fitted.nll == nll(rows, fitted.temperature) < fitted.nll_before == nll(rows, 1)


def test_a_small_bucket_takes_its_types_temperature(engine: Engine) -> None:
    choices = [
        Example(f"Card {index} is red.", Choice({"r": "red", "b": "blue"}), "r", group="c")
        for index in range(FEWEST)
    ]
    rare = Example("A red card.", Choice({"r": "red", "b": "blue", "g": "green"}), "r", group="c")
    found = fit_all(engine.model("trex"), [*choices, rare])
    assert set(found) == {"choice", "choice-1", "choice-3"}
    assert found["choice-3"] == found["choice"]
    assert found["choice-1"].questions == FEWEST


def test_a_missing_reader_tensor_is_named(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    record = json.loads((HEADS / "default.json").read_text())
    (tmp_path / "default.json").write_text(json.dumps(record))
    tensors = load_file(HEADS / "default.safetensors")
    kept = {key: value for key, value in tensors.items() if key != "reader.out"}
    save_file(kept, tmp_path / "default.safetensors")
    with pytest.raises(HeadError, match=r"tensor reader\.out is missing"):
        load_heads(tmp_path / "default.json", encoder=record["encoder"], width=384)
    save_file(kept | {"reader.out": tensors["reader.out"][:1]}, tmp_path / "default.safetensors")
    with pytest.raises(HeadError, match=r"reader\.out has shape \(1, 64\), expected \(5, 64\)"):
        load_heads(tmp_path / "default.json", encoder=record["encoder"], width=384)


SHEET = """
choice: Which colour? | red: It is red | blue: It is blue
red > A tomato on the vine.
blue > The clear sky at noon.
red > Blood on a bandage.
blue > A swimming pool.
score: How many? | one | two | three
0 > A single one.
1 > A pair.
2 > A trio.
noul: The shop is open.
+ Can I go in?
- Is it shut?
noul: The shop is shut.
- Can I go in?
+ Is it shut?
"""
OTHER = SHEET.replace("tomato", "cherry").replace("shop", "bank").replace("single", "lone")
WORDS = """
[opposites]
hot / cold : soup, tea
[acts]
win, won, won / lose, lost, lost : the match, the bet
[people]
Ann, Bob
[comparisons]
older / younger
[quantities]
seats : are taken / are free
[events]
it rained, they came
[deeds]
help, helped, helped
[limits]
{most} seats, {there} guests | Can all sit? | Must some stand?
"""


def run(*arguments: object) -> tuple[int, str]:
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return found.exit_code, found.output


@pytest.mark.learn
def test_train_calibrate_and_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="needs the train extra")
    from sysone.systemone.training import recipe

    monkeypatch.setattr(recipe, "TEMPLATE_STATES", 20)
    sheet, other, words = (tmp_path / f"{name}.txt" for name in ("sheet", "other", "words"))
    for path, text in ((sheet, SHEET), (other, OTHER), (words, WORDS)):
        path.write_text(text)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("+\tThe tea is hot.\tIs it hot?\n-\tThe tea is hot.\tIs it cold?\n")
    records = []
    for name in ("one", "two"):
        out = tmp_path / name
        out.mkdir()
        made = ("--words", words, "--pairs", pairs, "--out", out, "--name", "m")
        code, output = run("train-general", sheet, *made)
        assert code == 0, output
        records.append((out / "m.safetensors").read_bytes())
    assert records[0] == records[1]

    record = tmp_path / "one" / "m.json"
    trained_on = ["--training", sheet, "--training", words, "--training", pairs]
    code, output = run("calibrate", sheet, "--model", record, *trained_on)
    assert code == 1
    assert "share 11 questions" in output
    code, output = run("calibrate", other, "--model", record, "--training", sheet)
    assert code == 1
    assert "words.txt, pairs.tsv is not among the training files" in output
    (tmp_path / "same.txt").write_text("noul: The tea is hot.\n+ Is it warm?\n")
    code, output = run("calibrate", tmp_path / "same.txt", "--model", record, *trained_on)
    assert code == 1
    assert "share 1 states, 'The tea is hot.' among them" in output
    assert "temperatures" not in json.loads(record.read_text())
    (tmp_path / "apart.txt").write_text(
        OTHER.replace("sky", "sea")
        .replace("bandage", "apron")
        .replace("pool", "lane")
        .replace("A pair", "Twins")
        .replace("A trio", "Triplets")
    )
    code, output = run("calibrate", tmp_path / "apart.txt", "--model", record, *trained_on)
    assert code == 0, output
    assert set(json.loads(record.read_text())["temperatures"]) >= {"choice", "score", "noul"}
    code, output = run("evaluate-heads", other, "--model", record)
    assert code == 0, output
    assert [line.split("|")[1].strip() for line in output.splitlines()[2:]] == [
        "choice",
        "score",
        "noul",
    ]


def test_mistakes_are_one_line(tmp_path: Path) -> None:
    code, output = run("evaluate-heads", tmp_path / "none.txt")
    assert (code, output.strip().count("\n")) == (1, 0)
    assert "none.txt: No such file" in output
    (tmp_path / "s.txt").write_text(SHEET)
    code, output = run("evaluate-heads", tmp_path / "s.txt", "--model", "nope")
    assert code == 1
    assert "model 'nope': expected default, trex or the path of a record" in output
    code, output = run(
        "calibrate", tmp_path / "s.txt", "--model", tmp_path / "no.json", "--training", tmp_path
    )
    assert code == 1
    assert "no.json: cannot be read" in output
