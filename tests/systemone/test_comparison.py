"""Two models on the same questions, and pairs of texts in a file."""

import gzip
from pathlib import Path

import pytest

from sysone.systemone import Choice
from sysone.systemone.models import Scored
from sysone.systemone.training.comparison import compare, sign_test
from sysone.systemone.training.examples import Example, ExampleError
from sysone.systemone.training.pairs import Pair, read_pairs

QUESTION = Choice({"a": None, "b": None})


class Told:
    """Answers a state with the option that the state names for it."""

    def __init__(self, place: int) -> None:
        self.place = place

    def score(self, state: str, question: Choice) -> Scored:
        chosen = state.split()[self.place]
        return Scored([float(name == chosen) for name in question.criteria], 0, False)


def ask(words: str, count: int) -> list[Example]:
    return [Example(f"{words} {index}", QUESTION, "a", group="g") for index in range(count)]


def test_a_clear_gain_is_beyond_chance() -> None:
    examples = ask("b a", 40) + ask("a a", 60)
    gain = compare(Told(0), Told(1), examples)["g"]  # type: ignore[arg-type]
    assert (gain.questions, gain.before, gain.after) == (100, 0.6, 1.0)
    assert (gain.gained, gain.lost) == (40, 0)
    assert 0.25 < gain.low < 0.4 < gain.high < 0.55
    assert gain.p == pytest.approx(2 * 0.5**40)


def test_as_many_lost_as_gained_is_none() -> None:
    examples = ask("b a", 20) + ask("a b", 20)
    gain = compare(Told(0), Told(1), examples)["g"]  # type: ignore[arg-type]
    assert gain.before == gain.after == 0.5
    assert gain.low < 0 < gain.high
    assert gain.p == 1


def test_questions_of_one_state_are_no_independent_evidence() -> None:
    once = ask("b a", 10) + ask("a b", 6)
    alone = compare(Told(0), Told(1), once)["g"]  # type: ignore[arg-type]
    often = compare(Told(0), Told(1), once * 20)["g"]  # type: ignore[arg-type]
    assert (often.low, often.high) == pytest.approx((alone.low, alone.high))


def test_the_sign_test_is_exact() -> None:
    assert sign_test(0, 0) == sign_test(3, 3) == 1
    assert sign_test(0, 5) == sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(8, 2) == pytest.approx(2 * (1 + 10 + 45) / 1024)


def test_pairs_are_read_plain_and_packed(tmp_path: Path) -> None:
    text = "+\tIt is hot.\tIs it hot?\n-\tIt is hot.\tIs it cold?\n"
    plain, packed = tmp_path / "p.tsv", tmp_path / "p.tsv.gz"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    expected = [Pair("It is hot.", "Is it hot?", True), Pair("It is hot.", "Is it cold?", False)]
    assert read_pairs(plain) == read_pairs(packed) == expected


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", b"+\tx\n", "line 1: expected"),
        ("a.tsv", b"+\tx\ty\n?\tx\ty\n", "line 2: expected"),
        ("a.tsv", b"", "no pair"),
        ("a.tsv.gz", b"no gzip", "cannot be read"),
        ("a.tsv", b"\xff", "cannot be read"),
    ],
)
def test_a_bad_file_of_pairs_is_named(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ExampleError, match=rf"a\.tsv.*{words}"):
        read_pairs(path)
