"""Reads a statement against a state word by word: does the state support it?

Each word of the statement looks up what the state says about it (attention by cosine over the
frozen encoder's tokens), is compared with that, and the comparisons are summed up. The sum has
two parts, one of which changes sign when an odd number of negations stands in the two texts; a
comparison of numbers ("more than 50") is worked out and added. After Parikh et al., "A
Decomposable Attention Model for Natural Language Inference" (2016).
"""

import re
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float32]

NEGATIONS = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|hardly|cannot|nowhere)\b|n't\b",
    re.IGNORECASE,
)
NUMBERS = re.compile(r"\d[\d,]*\.?\d*")
MORE = re.compile(r"\b(?:more than|over|above|at least|exceed|minimum)\b", re.IGNORECASE)
LESS = re.compile(r"\b(?:less than|fewer than|under|below|at most|up to)\b", re.IGNORECASE)

# Digits beyond a double's range are no quantity that somebody compares.
LONGEST_NUMBER = 18

# Brings a normalised vector to about the size of a token's state.
VECTOR_SIZE = 6.0


class Signs(NamedTuple):
    """What is read off the words themselves."""

    state: float
    """1, or -1 for an odd number of negations in the state."""
    statement: float
    """The same of the statement."""
    number: float
    """From -1 to 1: whether the state's numbers are on the side that the statement names."""


def signs(state: str, statement: str) -> Signs:
    """The signs of a pair of texts."""
    return Signs(_parity(state), _parity(statement), _number(state, statement))


def _parity(text: str) -> float:
    return -1.0 if len(NEGATIONS.findall(text)) % 2 else 1.0


def _numbers(text: str) -> list[float]:
    return [
        float(found.replace(",", ""))
        for found in NUMBERS.findall(text)
        if len(found) <= LONGEST_NUMBER
    ]


def _number(state: str, statement: str) -> float:
    direction = 1.0 if MORE.search(statement) else -1.0 if LESS.search(statement) else 0.0
    if not direction:
        return 0.0
    have, asked = _numbers(state), _numbers(statement)
    if not have or not asked:
        return 0.0
    return direction * float(np.mean(np.sign(np.array(have) - asked[0])))


@dataclass(frozen=True)
class Reader:
    """The weights; ``d`` is the inner width, ``m`` the number of comparisons."""

    project: Matrix
    """[d, width]"""
    compare: Matrix
    """[m, 4 d]"""
    compare_bias: Matrix
    """[m]"""
    hidden: Matrix
    """[m, 2 m + 2 d + 6]"""
    hidden_bias: Matrix
    """[m]"""
    out: Matrix
    """[2, m]: the part that stays, and the one that negations turn round."""
    out_bias: Matrix
    """[2]"""
    number: Matrix
    """[1]: what a comparison of numbers weighs."""
    sharpness: Matrix
    """[1]: the cosines' factor in the attention."""

    @classmethod
    def names(cls) -> list[str]:
        """The tensors' names, in order."""
        return [field.name for field in fields(cls)]

    @staticmethod
    def shapes(inner: int, compared: int, width: int) -> dict[str, tuple[int, ...]]:
        """The tensors' shapes, from the inner width, the comparisons and the encoder's width."""
        return {
            "project": (inner, width),
            "compare": (compared, 4 * inner),
            "compare_bias": (compared,),
            "hidden": (compared, 2 * compared + 2 * inner + 6),
            "hidden_bias": (compared,),
            "out": (2, compared),
            "out_bias": (2,),
            "number": (1,),
            "sharpness": (1,),
        }

    def support(
        self,
        state: Matrix,
        state_vector: Matrix,
        statement: Matrix,
        statement_vector: Matrix,
        found: Signs,
    ) -> float:
        """The logit of "the state supports the statement".

        ``state`` [n, width] and ``statement`` [k, width] are token states with the two special
        tokens, the vectors [width] are normalised.
        """
        words = statement[1:-1] if len(statement) > 2 else statement
        cosines = _unit(words) @ _unit(state).T
        attention = np.exp(self.sharpness[0] * (cosines - cosines.max(1, keepdims=True)))
        attention /= attention.sum(1, keepdims=True)
        said = words @ self.project.T
        meant = (attention @ state) @ self.project.T
        pairs = np.concatenate([said, meant, said * meant, np.abs(said - meant)], axis=1)
        compared = np.maximum(pairs @ self.compare.T + self.compare_bias, 0)
        one = self.project @ (VECTOR_SIZE * state_vector)
        other = self.project @ (VECTOR_SIZE * statement_vector)
        nearest = cosines.max(1)
        shared = (state_vector @ statement_vector, nearest.mean(), nearest.min(), *found)
        features = np.concatenate(
            [
                compared.mean(0),
                compared.max(0),
                one * other,
                np.abs(one - other),
                np.array(shared, np.float32),
            ]
        )
        inner = np.maximum(self.hidden @ features + self.hidden_bias, 0)
        stays, turns = self.out @ inner + self.out_bias
        return float(stays + found.state * found.statement * turns + self.number[0] * found.number)


def _unit(rows: Matrix) -> Matrix:
    unit: Matrix = rows / np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))
    return unit
