"""Reads a statement against a state word by word: does the state support it?

Each word of the statement looks up what the state says about it (attention by cosine over the
frozen encoder's tokens), is compared with that, and the comparisons are summed up. The sum has
parts that change sign with the negations in the two texts, or in the state's clause that the
statement is about, and with the order of the words; a comparison of numbers ("more than 50") is
worked out and added. After Parikh et al., "A
Decomposable Attention Model for Natural Language Inference" (2016).
"""

import math
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from sysone.systemone.cues import Signs

Matrix = npt.NDArray[np.float32]

# Brings a normalised vector to about the size of a token's state.
VECTOR_SIZE = 6.0


# Of `Signs`, what an output of the network is multiplied with, as a product of these.
TURNS: tuple[tuple[str, ...], ...] = (
    (),
    ("state", "statement"),
    ("clause", "statement"),
    ("order",),
    ("first",),
)

SHARED = 3 + len(Signs._fields)
"""Features that are the pair's own: three cosines and the signs."""


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
    """[m, 2 m + 2 d + `SHARED`]"""
    hidden_bias: Matrix
    """[m]"""
    out: Matrix
    """[5, m]: the parts that `TURNS` turn round; the first stays."""
    out_bias: Matrix
    """[5]"""
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
            "hidden": (compared, 2 * compared + 2 * inner + SHARED),
            "hidden_bias": (compared,),
            "out": (len(TURNS), compared),
            "out_bias": (len(TURNS),),
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
        parts = self.out @ inner + self.out_bias
        turned = (
            float(part) * math.prod(getattr(found, name) for name in names)
            for part, names in zip(parts, TURNS, strict=True)
        )
        return math.fsum(turned) + float(self.number[0]) * found.number


def _unit(rows: Matrix) -> Matrix:
    unit: Matrix = rows / np.sqrt(np.sum(rows * rows, axis=1, keepdims=True))
    return unit
