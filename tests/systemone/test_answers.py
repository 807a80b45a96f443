import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysone.systemone.answers import (
    ChoiceAnswer,
    NoulAnswer,
    ScoreAnswer,
    answer,
    choice_confidence,
    score_confidence,
    softmax,
)
from sysone.systemone.questions import Choice, Noul, Score

LOGITS = st.lists(st.floats(-200, 200), min_size=1, max_size=40)


@given(LOGITS, st.randoms(use_true_random=False))
def test_permuted_logits_give_permuted_probabilities_to_the_bit(logits, random) -> None:
    order = list(range(len(logits)))
    random.shuffle(order)
    plain = softmax(logits)
    assert softmax([logits[index] for index in order]) == [plain[index] for index in order]


@given(LOGITS, st.floats(1e-300, 100))
def test_probabilities_are_finite_and_sum_to_one(logits, temperature) -> None:
    probabilities = softmax(logits, temperature)
    assert all(0 <= p <= 1 for p in probabilities)
    assert math.isclose(math.fsum(probabilities), 1, abs_tol=1e-12)


@given(LOGITS)
def test_choice_names_the_first_of_the_most_probable(logits) -> None:
    names = [f"option {index}" for index in range(len(logits))]
    found = answer(Choice(dict.fromkeys(names)), logits)
    assert isinstance(found, ChoiceAnswer)
    top = max(found.probabilities.values())
    assert found.choice == next(n for n, p in found.probabilities.items() if p == top)
    assert list(found.probabilities) == names
    assert 0 <= found.confidence <= 1


def test_choice_confidence_by_hand() -> None:
    assert choice_confidence([0.5, 0.25, 0.25]) == pytest.approx((0.5 - 1 / 3) / (2 / 3))
    assert choice_confidence([1.0]) == 1.0
    # The same number as the top's lead over the mean of the others.
    assert choice_confidence([0.7, 0.2, 0.1]) == pytest.approx(0.7 - 0.15)


def test_score_confidence_by_hand() -> None:
    # Likeliest level 1; expected distance 0.2 + 0.1 * 2 with the even spread's being 2/3... of 3.
    assert score_confidence([0.2, 0.7, 0.1]) == pytest.approx(1 - 0.3 / (2 / 3))
    assert score_confidence([0.5, 0.0, 0.5]) == 0.0
    assert score_confidence([1.0]) == 1.0


def test_score_is_the_expected_level_with_its_legend() -> None:
    logits = [math.log(p) for p in (0.2, 0.7, 0.1)]
    found = answer(Score(["cold", {"is": "warm"}, "hot"]), logits)
    assert isinstance(found, ScoreAnswer)
    assert found.score == pytest.approx(0.9)
    assert found.legend == {"0": "cold", "1": {"is": "warm"}, "2": "hot"}
    assert list(found.probabilities) == ["0", "1", "2"]


def test_noul_is_the_second_candidates_probability() -> None:
    found = answer(Noul("?"), [0.0, math.log(3)])
    assert isinstance(found, NoulAnswer)
    assert found.noul == pytest.approx(0.75)
    assert found.probabilities == {"true": found.noul, "false": 1 - found.noul}
