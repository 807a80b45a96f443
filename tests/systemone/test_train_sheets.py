from pathlib import Path

import pytest

from sysone.systemone import Choice, Noul, Score
from sysone.systemone.training.entailment import entailments, read_words
from sysone.systemone.training.examples import ExampleError
from sysone.systemone.training.sheets import read_sheet, read_sheets

WORDS = Path(__file__).parents[2] / "data" / "systemone" / "vocabulary" / "training.txt"

SHEET = """
# a comment
choice: Which desk? | bags: Lost luggage | meals
bags > It never came off the belt.

score: - | empty | packed
1 > People stand: in the doors.

noul: The shop closes at six.
+ Is it shut at seven?
- Is it open all night?

noul? Urgent? | true: At once | false: Later
yes > Come now!
no > Some day.
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_each_kind_of_block(tmp_path: Path) -> None:
    cases = read_sheet(write(tmp_path / "s.txt", SHEET))
    assert [case.block for case in cases] == [0, 1, 2, 2, 3, 3]
    choice, score, yes, no, urgent, later = (case.example for case in cases)
    assert choice.question == Choice({"bags": "Lost luggage", "meals": None}, "Which desk?")
    assert (choice.state, choice.answer) == ("It never came off the belt.", "bags")
    assert score.question == Score(["empty", "packed"], None)
    assert (score.state, score.answer) == ("People stand: in the doors.", 1)
    assert yes.question == Noul("Is it shut at seven?")
    assert (yes.answer, no.answer) == (True, False)
    assert urgent.question == Noul("Urgent?", {"true": "At once", "false": "Later"})
    assert (urgent.answer, later.answer) == (True, False)
    assert [case.example.group for case in cases[::2]] == ["choice", "noul", "noul"]


def test_blocks_of_several_sheets_are_numbered_through(tmp_path: Path) -> None:
    sheet = write(tmp_path / "s.txt", SHEET)
    assert sorted({case.block for case in read_sheets([sheet, sheet])}) == list(range(8))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bags > state", r"line 1: expected a question first"),
        ("choice: Which?\n", r"line 1: expected options after the instructions"),
        ("choice: Q | a | b\nc > s", r"line 2: 'c' is not one of the options a, b"),
        ("choice: Q | a | b\na s", r"line 2: expected LABEL > STATE"),
        ("score: Q | a | b\n2 > s", r"line 2: '2' is not one of the levels 0 to 1"),
        ("noul: s\n* q", r"line 2: expected \+ QUESTION or - QUESTION"),
        ("noul? q | maybe: x\n", r"no description but those of true and false"),
        ("noul? q | true: x\nmaybe > s", r"line 2: 'maybe' is neither yes nor no"),
        ("# nothing", r"no example"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ExampleError, match=rf"s\.txt.*{reason}"):
        read_sheet(write(tmp_path / "s.txt", text))


def test_templates_are_reproducible_and_balanced() -> None:
    words = read_words(WORDS)
    some = list(entailments(words, 400, 3))
    assert some == list(entailments(words, 400, 3))
    assert some != list(entailments(words, 400, 4))
    assert sum(bool(example.answer) for example in some) * 2 == len(some)
    assert len({example.group for example in some}) == 12
    assert not any("  " in str(e.question) or " ?" in str(e.question) for e in some)


def test_no_template_asks_the_same_with_two_answers() -> None:
    answers: dict[tuple[str, str], set[bool]] = {}
    for example in entailments(read_words(WORDS), 2000, 0):
        key = (str(example.state), str(example.question.instructions))
        answers.setdefault(key, set()).add(bool(example.answer))
    assert [key for key, found in answers.items() if len(found) > 1] == []


def test_a_bad_word_list_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "w.txt", "[opposites]\nhot / cold : soup\n[colours]\nred\n")
    with pytest.raises(ExampleError, match=r"w\.txt, line 4: \[colours\] expected a section of"):
        read_words(path)
