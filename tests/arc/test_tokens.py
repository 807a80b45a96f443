"""The small model's tokens: short, without loss, and the same for a whole leaf and its parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysone.arc import wording
from sysone.arc.system1 import leaf
from sysone.arc.system1.tokens import (
    CELL,
    END,
    ENDS,
    NOWHERE,
    SAME,
    VOCABULARY,
    known_of,
    text_of,
    tokenise,
)

ROW = "4" * 20 + "*" * 5 + "4" * 39
STATE = "qwenjev-state-v1c|h=64 w=64 l=1 s=NOT_FINISHED"
PIECES = ["\n", "12:", "13:", "****", "4", "4" * 16, "x=1 y=2", "x=01 y=2", "x=64 y=3", "é", "*"]
PIECES += [", ", "ACTION", wording.HERE, "State:\n", "15:9*", "\n15:9*\n16:9*", "; 1 to x=3 y=4"]


@given(st.lists(st.sampled_from(PIECES), max_size=30))
def test_nothing_is_lost(pieces: list[str]) -> None:
    text = "".join(pieces)
    tokens = tokenise(text, end=True)
    assert text_of(tokens) == text
    assert len(tokens.ids) == len(tokens.cells)
    assert all(0 <= token < VOCABULARY for token in tokens.ids)


def question(memory: list[str]) -> leaf.Question:
    texts = ["ACTION1", "ACTION3", "ACTION6 x=3 y=9"]
    state = f"{STATE}\n3:{ROW}\n4:{ROW}\n5:{ROW}\n7:{ROW}"
    asked = wording.with_lines(wording.CHOICE, [], memory)
    return leaf.choice(np.zeros((64, 64), np.uint8), state, texts, asked)


MOVES = "What moves is at x=12 y=30, colour 9; 1 to x=12 y=25; 3 to x=7 y=30"


def test_a_whole_leaf_has_the_tokens_of_its_parts() -> None:
    asked = question(["Here: 1 untried, 3 seen 4", MOVES])
    known = known_of(asked.question_part)
    for text, tail in zip(asked.texts, asked.tails, strict=True):
        parts = tokenise(asked.state_part) + tokenise(asked.question_part)
        assert tokenise(text, end=True) == parts + tokenise(tail, True, known)


def test_a_question_is_short_and_a_repeated_row_one_token() -> None:
    asked = question([])
    state = tokenise(asked.state_part)
    assert state.ids.count(SAME) == 2
    assert len(asked.state_part) > 10 * len(state)


def test_the_last_token_looks_where_the_candidate_leads() -> None:
    asked = question([MOVES])
    ends = [tokenise(text, end=True).cells[-1] for text in asked.texts]
    assert ends == [(12, 25), (7, 30), (3, 9)]
    unknown = [tokenise(text, end=True).cells[-1] for text in question([]).texts]
    assert unknown == [NOWHERE, NOWHERE, (3, 9)]


def test_the_last_token_says_what_an_action_did_here() -> None:
    for here, status in (("no effect", b"no effect"), ("seen 4", b"4"), ("deadly", b"deadly")):
        asked = question([f"Here: 1 untried, 3 {here}"])
        ends = [tokenise(text, end=True).ids[-1] for text in asked.texts]
        assert ends == [ENDS[b"untried"], ENDS[status], END]


@pytest.mark.parametrize("text", ["x=7 y=63", "x=0 y=0"])
def test_a_cell_is_one_token(text: str) -> None:
    tokens = tokenise(text, end=True)
    assert tokens.ids == [CELL, END]
    assert tokens.cells[0] == tuple(int(part[2:]) for part in text.split(" "))
