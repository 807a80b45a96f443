import math

import pytest

from sysone.systemone.cues import Signs, signs


def test_negations_are_counted() -> None:
    assert signs("It is not hot.", "Is it hot?")[:2] == (-1, 1)
    assert signs("Nobody isn't here.", "Is it without salt?")[:2] == (1, -1)


@pytest.mark.parametrize(
    ("state", "statement", "clause"),
    [
        ("She likes tea but not coffee.", "Does she like coffee?", -1),
        ("She likes tea but not coffee.", "Does she like tea?", 1),
        ("The key is in the drawer, no longer on the shelf.", "Is the key on the shelf?", -1),
        ("The key is in the drawer, no longer on the shelf.", "Is it in the drawer?", 1),
        ("It rained.", "Did it snow?", 1),
        ("It never rained.", "Did it snow?", -1),
        ("", "Did it snow?", 1),
    ],
)
def test_the_clause_that_the_statement_is_about(state: str, statement: str, clause: float) -> None:
    assert signs(state, statement).clause == clause


@pytest.mark.parametrize(
    ("state", "statement", "order"),
    [
        ("Paul gave Maria a book.", "Did Paul give Maria a book?", 1),
        ("Paul gave Maria a book.", "Did Maria give Paul a book?", -1),
        ("Paul gave Maria a book.", "Was Maria given a book by Paul?", 1),
        ("The rain came after the wind.", "Did the rain come before the wind?", -1),
        ("The rain came after the wind.", "Did the rain come after the wind?", 1),
        ("It rains.", "Does it snow?", 0),
    ],
)
def test_order(state: str, statement: str, order: float) -> None:
    assert signs(state, statement).order == order


def test_numbers() -> None:
    assert signs("It costs 1,250 euros.", "Is it more than 900?").number == 1
    assert signs("It costs 1,250 euros.", "Is it less than 900?").number == -1
    assert signs("3 of 20", "Are there at least 10?").number == 0
    assert signs("It costs 1250.", "Is it 900?").number == 0
    assert signs("Three apples.", "Are there three?").same_numbers == 1
    assert signs("Three apples.", "Are there 4 apples?").same_numbers == -1
    assert signs("Three apples.", "Are there apples?").same_numbers == 0
    assert [signs(text, "").first for text in ("9 of 8", "8 of 9", "8 of 8", "8")] == [1, -1, 0, 0]


def test_quantifiers() -> None:
    found = signs("Hardly anybody came.", "Did all of them come?")
    assert (found.few_in_state, found.all_in_state) == (1, 0)
    assert (found.few_in_statement, found.all_in_statement) == (0, 1)


def test_every_cue_is_bounded_whatever_the_text() -> None:
    texts = (
        *("", " ", "?!,;", "9" * 5000, "9" * 18, "more than " + "9" * 5000, "no " * 300),
        *("ein Täßchen 茶", "a, b, c but d", "Only 3, except 4; not 5. Never after by."),
    )
    for state in texts:
        for statement in texts:
            found = signs(state, statement)
            assert len(found) == len(Signs._fields)
            assert all(math.isfinite(cue) and -1 <= cue <= 1 for cue in found), (state, statement)


def test_a_long_text_costs_no_more_than_what_is_read_of_it() -> None:
    filler = "is " * 500_000
    state = f"Nobody came.{filler}She likes tea but not coffee."
    assert signs(state, "Does she like coffee?") == signs(state[-2048:], "Does she like coffee?")
    assert signs("x", f"Is it hot?{filler}") == signs("x", f"Is it hot?{filler[:3000]}")
