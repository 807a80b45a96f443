"""Heads: small projections of state and candidate vectors before their cosine is taken.

A residual head adds a low-rank correction to the vector, so that a head without weights is the
plain encoder and a task's head leaves texts of other kinds nearly as they are:

    z = normalize(e + up @ relu(down @ e + bias))
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sysone.systemone.questions import Choice, Noul, Question
from sysone.systemone.reader import Reader

Matrix = npt.NDArray[np.float32]


class HeadError(ValueError):
    """A head's files disagree with themselves or with the encoder."""


class Head(Protocol):
    """One side's projection."""

    @property
    def width(self) -> int:
        """Components of what it makes."""

    def project(self, vector: Matrix) -> Matrix:
        """The projected, normalised vector of one of the encoder's; float32 [width]."""


@dataclass(frozen=True)
class ResidualHead:
    """One side's correction: ``down`` [rank, width], ``bias`` [rank], ``up`` [width, rank]."""

    down: Matrix
    bias: Matrix
    up: Matrix

    @property
    def width(self) -> int:
        """The encoder's width: a correction leaves it as it is."""
        return len(self.up)

    def project(self, vector: Matrix) -> Matrix:
        """The corrected vector, normalised; float32 [width] in and out."""
        hidden = np.maximum(self.down @ vector + self.bias, 0)
        corrected = vector + self.up @ hidden
        projected: Matrix = (corrected / np.sqrt(np.sum(corrected * corrected))).astype(np.float32)
        return projected


@dataclass(frozen=True)
class LogisticHead:
    """Weights [width] of the products of state and candidate components.

    As a candidate's head it makes scale * cosine the log-odds of a conditional logistic
    regression: sum over i of scale * weight[i] * state[i] * candidate[i].
    """

    weight: Matrix

    @property
    def width(self) -> int:
        """The encoder's width."""
        return len(self.weight)

    def project(self, vector: Matrix) -> Matrix:
        """The weighted vector; its length is part of the regression, so it is not normalised."""
        return vector * self.weight


@dataclass(frozen=True)
class HeadPair:
    """A named model's heads over one encoder; a side without a head is the identity."""

    name: str
    version: str
    description: str
    release_date: str
    scale: float
    """Divides nothing: logit = scale * cosine, then the request's temperature divides."""
    state: Head | None = None
    action: Head | None = None
    reader: Reader | None = None
    """Answers a noul from the texts' words, where the model has one."""
    temperatures: Mapping[str, float] = field(default_factory=dict)
    """By `bucket`, or by type for the buckets that are absent; each divides the logits."""

    def temperature(self, question: Question) -> float:
        """What divides a question's logits before the request's own temperature does."""
        if not self.temperatures:
            return 1.0
        name = bucket(question)
        return self.temperatures.get(name) or self.temperatures.get(name.partition("-")[0], 1.0)


# Fewest options of each bucket.
OPTION_BUCKETS = (1, 3, 4, 6, 10)


def bucket(question: Question) -> str:
    """The group of questions that share a temperature: the type and about how many options.

    ``choice-3`` is three options, ``choice-4`` four or five, ``choice-10`` ten and more. A noul
    of which both sides are described counts as a choice of two.
    """
    if isinstance(question, Noul):
        return "choice-1" if noul_sides(question) == 2 else "noul"
    kind = "choice" if isinstance(question, Choice) else "score"
    count = len(question.criteria)
    return f"{kind}-{max(low for low in OPTION_BUCKETS if low <= count)}"


def noul_sides(question: Noul) -> int:
    """How many of the two answers are described."""
    return sum(description not in (None, "") for description in (question.criteria or {}).values())


def load_heads(record_path: Path, *, encoder: str, width: int) -> HeadPair:
    """Read ``<name>.json`` and, where it names one, the safetensors file beside it.

    ``encoder`` and ``width`` are those of the encoder in use. Raises `HeadError`, naming the
    key, where they or a weight's shape disagree with the record.
    """
    raw = record_path.read_bytes()
    record: dict[str, Any] = json.loads(raw)
    name = record["name"]
    if record["encoder"] != encoder:
        raise HeadError(
            f"{record_path.name}: encoder {record['encoder']!r}, expected {encoder!r}: "
            "a head fits only the encoder it was trained on"
        )
    digest = hashlib.sha256(raw)
    sides: dict[str, Head | None] = {"state": None, "action": None}
    reader = None
    if record.get("weights"):
        from safetensors.numpy import load_file

        weights_path = record_path.with_name(record["weights"])
        digest.update(weights_path.read_bytes())
        tensors = load_file(weights_path)
        if record["cfg"].get("kind") == "logistic":
            key = "action_head.weight"
            weight = _tensor(weights_path.name, tensors, key, (width,))
            sides["action"] = LogisticHead(weight)
        else:
            rank = int(record["cfg"]["rank"])
            shapes = {"down": (rank, width), "bias": (rank,), "up": (width, rank)}
            for side in sides:
                sides[side] = ResidualHead(
                    **{
                        part: _tensor(weights_path.name, tensors, f"{side}_head.{part}", shape)
                        for part, shape in shapes.items()
                    }
                )
        if record["cfg"].get("reader"):
            reader = _reader(weights_path.name, tensors, width)
    return HeadPair(
        name=name,
        version=f"{name}@{digest.hexdigest()[:8]}",
        description=record["description"],
        release_date=record["release_date"],
        scale=float(record["scale"]),
        reader=reader,
        temperatures={str(k): float(v) for k, v in record.get("temperatures", {}).items()},
        **sides,
    )


def _tensor(file: str, tensors: Mapping[str, Matrix], key: str, shape: tuple[int, ...]) -> Matrix:
    """One tensor as float32; raises `HeadError` naming it if it is missing or misshapen."""
    if key not in tensors:
        raise HeadError(f"{file}: tensor {key} is missing")
    if tensors[key].shape != shape:
        raise HeadError(f"{file}: {key} has shape {tensors[key].shape}, expected {shape}")
    return tensors[key].astype(np.float32)


def _reader(file: str, tensors: Mapping[str, Matrix], width: int) -> Reader:
    """The reader's weights, whose inner sizes are those of two of its tensors."""
    sizes = {}
    for name in ("project", "compare"):
        key = f"reader.{name}"
        if key not in tensors:
            raise HeadError(f"{file}: tensor {key} is missing")
        sizes[name] = len(tensors[key])
    shapes = Reader.shapes(sizes["project"], sizes["compare"], width)
    return Reader(
        **{name: _tensor(file, tensors, f"reader.{name}", shape) for name, shape in shapes.items()}
    )
