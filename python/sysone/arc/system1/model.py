"""System-1 as a whole: backbone, decision heads, temperatures; questions in, numbers out."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import torch

from sysone.arc import wording
from sysone.arc.system1.backend import LEAF_BATCH, Backend, TinyBackend
from sysone.arc.system1.heads import OUT, DecisionHeads
from sysone.arc.system1.leaf import Question, encode_question
from sysone.arc.wording import Family

Tensor = Any
FAMILIES: Final[tuple[Family, ...]] = ("choice", "boolean", "score")


@dataclass(frozen=True, slots=True)
class Decision:
    """A choice with its distribution."""

    probs: list[float]
    candidates: list[str]
    chosen: str
    index: int
    source: str = "model"


@dataclass(slots=True)
class System1Model:
    """Answers the three kinds of questions."""

    backend: Backend
    heads: DecisionHeads
    temperatures: dict[str, float] = field(default_factory=dict)
    """By family; 1 where there is none."""
    escalation: float | None = None
    """Top probability below which a novelty may wake System-2; None: always."""
    record: dict[str, Any] = field(default_factory=dict)
    """How it was trained."""
    digest: str = "none"
    """Of the weights' file; none for fresh weights."""

    def eval(self) -> "System1Model":
        """For answering."""
        self.backend.module.eval()
        self.heads.eval()
        return self

    def train_mode(self) -> "System1Model":
        """For training."""
        self.backend.module.train()
        self.heads.train()
        return self

    def logits(
        self,
        questions: Sequence[Question],
        leaf_batch: int = LEAF_BATCH,
        shared: bool | None = None,
    ) -> list[Tensor]:
        """Differentiable logits [K] of each question; one of a Boolean is that of true.

        Raises:
            TooLongError: a leaf is longer than the model reads.
        """
        vectors = self.backend.vectors(questions, leaf_batch, shared)
        return self.read(vectors, [question.family for question in questions])

    def read(self, vectors: Sequence[Tensor], families: Sequence[Family]) -> list[Tensor]:
        """Logits of leaf vectors [K, hidden]; a family's questions go through the heads at once."""
        found: list[Tensor] = [None] * len(vectors)
        for family in FAMILIES:
            mine = [index for index, name in enumerate(families) if name == family]
            if not mine:
                continue
            lengths = [len(vectors[index]) for index in mine]
            stacked = torch.nn.utils.rnn.pad_sequence([vectors[i] for i in mine], batch_first=True)
            steps = torch.arange(max(lengths), device=stacked.device)
            real = steps < torch.tensor(lengths, device=stacked.device)[:, None]
            logits = self.heads(stacked, family, torch.where(real, 0.0, OUT))
            for row, index in enumerate(mine):
                found[index] = logits[row, : lengths[row]]
        return found

    def choice_logits(self, questions: Sequence[Question]) -> list[Tensor]:
        """Of choices, with gradient."""
        return self.logits(questions)

    boolean_logits = choice_logits
    score_logits = choice_logits

    def scaled_logits(
        self, questions: Sequence[Question], leaf_batch: int = LEAF_BATCH
    ) -> list[list[float]]:
        """Logits over temperature of each question's candidates; of a Boolean false and true.

        Raises:
            TooLongError: a leaf is longer than the model reads.
            ArithmeticError: the model made a number that is not finite.
        """
        found = []
        with torch.inference_mode():
            for question, logits in zip(questions, self.logits(questions, leaf_batch), strict=True):
                if question.family == "boolean":
                    logits = torch.cat([torch.zeros_like(logits), logits])
                scaled = logits.double() / self.temperatures.get(question.family, 1.0)
                if not bool(torch.isfinite(scaled).all()):
                    raise ArithmeticError(f"a {question.family} has a logit that is not finite")
                found.append([float(value) for value in scaled])
        return found

    def probabilities(
        self, questions: Sequence[Question], leaf_batch: int = LEAF_BATCH
    ) -> list[list[float]]:
        """Of each question's candidates; of a Boolean false and true. Their sum is 1.

        Raises:
            TooLongError: a leaf is longer than the model reads.
            ArithmeticError: the model made a number that is not finite.
        """
        found = []
        for logits in self.scaled_logits(questions, leaf_batch):
            shares = torch.tensor(logits, dtype=torch.float64).softmax(0)
            found.append([float(value) for value in shares])
        return found

    def forward_choice(self, questions: Sequence[Question]) -> list[list[float]]:
        """Probabilities of each question's candidates."""
        return self.probabilities(questions)

    def forward_boolean(self, questions: Sequence[Question]) -> list[float]:
        """Probability of true of each."""
        return [shares[1] for shares in self.probabilities(questions)]

    def forward_score(self, questions: Sequence[Question]) -> list[tuple[list[float], float, int]]:
        """Probabilities, expected level and likeliest level of each."""
        return [
            (
                shares,
                sum(index * share for index, share in enumerate(shares)),
                max(range(len(shares)), key=lambda index: shares[index]),
            )
            for shares in self.probabilities(questions)
        ]

    def choose(
        self,
        state: str,
        candidates: Sequence[str],
        instruction: str,
        grid: Any,
        mode: Literal["greedy", "sample"] = "greedy",
        temperature: float = 1.0,
        rng: random.Random | None = None,
    ) -> Decision:
        """Choose a candidate: the likeliest, or drawn at ``temperature``.

        Raises:
            ValueError: fewer than 2 or more than 255 candidates, doubles, a temperature of 0.
        """
        if temperature <= 0:
            raise ValueError(f"temperature is {temperature}, expected more than 0")
        question = encode_question(state, candidates, instruction, grid)
        shares = self.probabilities([question])[0]
        if mode == "greedy":
            index = max(range(len(shares)), key=lambda i: shares[i])
        else:
            weights = [share ** (1 / temperature) for share in shares]
            index = (rng or random.Random()).choices(range(len(shares)), weights)[0]
        return Decision(shares, list(candidates), candidates[index], index)


def fresh(
    backend: str = "tiny", seed: int = 0, *, device: str = "cpu", **options: Any
) -> System1Model:
    """A model with seeded weights that nothing has trained.

    ``backend="hf"`` takes ``model``, a folder or name of the base, and the options of `HfBackend`.
    """
    made: Backend
    if backend == "tiny":
        made = TinyBackend(seed, device=device, **options)
    else:
        from sysone.arc.system1.hf import HfBackend

        made = HfBackend(device=device, **options)
    heads = DecisionHeads(made.hidden, seed).to(made.device())
    return System1Model(made, heads, record={"wording": wording.version()}).eval()
