"""Train a reader on pairs of state and statement over the frozen encoder (needs torch)."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from sysone.systemone.cues import Signs, signs
from sysone.systemone.encoder import Read, Reads
from sysone.systemone.general import compared, joined, statement
from sysone.systemone.questions import Choice, Noul, Score
from sysone.systemone.reader import SHARED, TURNS, VECTOR_SIZE
from sysone.systemone.render import render
from sysone.systemone.training.examples import Example
from sysone.systemone.training.pairs import Pair

# Below every cosine by far: a padded place of a state gets no attention.
PADDED = -1e9


@dataclass(frozen=True)
class ReaderConfig:
    """How a reader is trained."""

    inner: int = 64
    """Width of a projected token."""
    compared: int = 64
    """Comparisons of a word with what the state says about it."""
    dropout: float = 0.2
    epochs: int = 3
    batch: int = 64
    learning_rate: float = 2e-3
    weight_decay: float = 0.02
    hand_weight: int = 2
    """How often a hand-written pair is seen in an epoch, to one time for a template's."""
    seed: int = 0


def noul_pairs(examples: Iterable[Example]) -> Iterator[Pair]:
    """Those of the nouls that a reader answers."""
    for example in examples:
        question = example.question
        if isinstance(question, Noul) and not compared(question):
            asked = statement(question)
            yield Pair(render(example.state), asked.text, bool(example.answer) == asked.holds)


def derived_pairs(examples: Iterable[Example], seed: int, wrongs: int = 1) -> Iterator[Pair]:
    """Of every choice and score the right candidate as a true statement, wrong ones as false.

    As many true as false ones: the right one is repeated.
    """
    stream = random.Random(f"derived-{seed}")
    for example in examples:
        question = example.question
        if isinstance(question, Choice):
            texts = [render(text) or name for name, text in question.criteria.items()]
        elif isinstance(question, Score):
            texts = [render(level) for level in question.criteria]
        else:
            continue
        wrong = [index for index in range(len(texts)) if index not in example.right_indices]
        for index in stream.sample(wrong, min(wrongs, len(wrong))):
            for place, holds in ((example.target, True), (index, False)):
                text = joined(question.instructions, texts[place])
                yield Pair(render(example.state), text, holds)


class Network(torch.nn.Module):  # type: ignore[misc]  # torch is read as untyped
    """`reader.Reader` for batches, with gradients and dropout."""

    def __init__(self, width: int, config: ReaderConfig) -> None:
        """Random weights; nothing is made of numbers yet."""
        super().__init__()
        inner, found = config.inner, config.compared
        self.project = torch.nn.Linear(width, inner, bias=False)
        self.compare = torch.nn.Linear(4 * inner, found)
        self.hidden = torch.nn.Linear(2 * found + 2 * inner + SHARED, found)
        self.out = torch.nn.Linear(found, len(TURNS))
        self.number = torch.nn.Parameter(torch.zeros(1))
        # A factor of ten: attention on few words, as learnt embeddings' cosines are close.
        self.log_sharpness = torch.nn.Parameter(torch.full((1,), 2.3))
        self.words_dropout = torch.nn.Dropout(config.dropout)
        self.dropout = torch.nn.Dropout(config.dropout)

    def forward(self, batch: "Batch") -> torch.Tensor:
        """One logit a pair."""
        normalise = torch.nn.functional.normalize
        count = batch.words.sum(1, keepdim=True)
        cosines = torch.einsum(
            "bkd,bnd->bkn", normalise(batch.statement, dim=-1), normalise(batch.state, dim=-1)
        ).masked_fill(batch.padding[:, None, :], PADDED)
        attention = torch.softmax(cosines * self.log_sharpness.exp(), -1)
        meant = self.project(
            self.words_dropout(torch.einsum("bkn,bnd->bkd", attention, batch.state))
        )
        said = self.project(self.words_dropout(batch.statement))
        pairs = torch.cat([said, meant, said * meant, (said - meant).abs()], -1)
        compared = torch.relu(self.compare(pairs)) * batch.words[..., None]
        one = self.project(VECTOR_SIZE * batch.state_vector)
        other = self.project(VECTOR_SIZE * batch.statement_vector)
        nearest = cosines.max(-1).values
        features = torch.cat(
            [
                compared.sum(1) / count,
                compared.max(1).values,
                one * other,
                (one - other).abs(),
                (batch.state_vector * batch.statement_vector).sum(1, keepdim=True),
                (nearest * batch.words).sum(1, keepdim=True) / count,
                (nearest + 10 * (1 - batch.words)).min(1, keepdim=True).values,
                batch.signs,
            ],
            -1,
        )
        inner = torch.relu(self.hidden(self.dropout(features)))
        parts = self.out(self.dropout(inner))
        column = dict(zip(Signs._fields, batch.signs.unbind(1), strict=True))
        found = self.number * column["number"]
        for part, names in zip(parts.unbind(1), TURNS, strict=True):
            for name in names:
                part = part * column[name]
            found = found + part
        return found

    def tensors(self) -> dict[str, npt.NDArray[np.float32]]:
        """The weights under the names of `reader.Reader`."""
        found = {
            "project": self.project.weight,
            "compare": self.compare.weight,
            "compare_bias": self.compare.bias,
            "hidden": self.hidden.weight,
            "hidden_bias": self.hidden.bias,
            "out": self.out.weight,
            "out_bias": self.out.bias,
            "number": self.number,
            "sharpness": self.log_sharpness.exp(),
        }
        return {name: tensor.detach().numpy() for name, tensor in found.items()}


@dataclass(frozen=True)
class Batch:
    """Padded token states, vectors and signs of some pairs."""

    state: torch.Tensor
    padding: torch.Tensor
    statement: torch.Tensor
    words: torch.Tensor
    state_vector: torch.Tensor
    statement_vector: torch.Tensor
    signs: torch.Tensor


class Library:
    """What the encoder makes of each text, read once."""

    def __init__(self, encoder: Reads) -> None:
        """Start empty."""
        self._encoder = encoder
        self._states: dict[str, Read] = {}
        self._statements: dict[str, Read] = {}
        self._signs: dict[tuple[str, str], Signs] = {}

    def batch(self, pairs: Sequence[Pair]) -> Batch:
        """The pairs' tensors."""
        states = [self._read(pair.state, self._states, "tail") for pair in pairs]
        statements = [self._read(pair.statement, self._statements, "head") for pair in pairs]
        state, padding = _padded([read.tokens for read in states])
        words, no_words = _padded([_words(read.tokens) for read in statements])
        return Batch(
            state,
            padding,
            words,
            (~no_words).float(),
            torch.from_numpy(np.stack([read.vector for read in states])),
            torch.from_numpy(np.stack([read.vector for read in statements])),
            torch.tensor([self._signs_of(pair) for pair in pairs]),
        )

    def _signs_of(self, pair: Pair) -> Signs:
        key = pair.state, pair.statement
        if key not in self._signs:
            self._signs[key] = signs(*key)
        return self._signs[key]

    def _read(self, text: str, known: dict[str, Read], keep: str) -> Read:
        if text not in known:
            known[text] = self._encoder.read(text, "tail" if keep == "tail" else "head")
        return known[text]


def _words(tokens: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return tokens[1:-1] if len(tokens) > 2 else tokens


def _padded(rows: Sequence[npt.NDArray[np.float32]]) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(len(row) for row in rows)
    tokens = np.zeros((len(rows), longest, rows[0].shape[1]), np.float32)
    padding = np.ones((len(rows), longest), np.bool_)
    for index, row in enumerate(rows):
        tokens[index, : len(row)] = row
        padding[index, : len(row)] = False
    return torch.from_numpy(tokens), torch.from_numpy(padding)


def train_reader(
    encoder: Reads, hand: Sequence[Pair], templates: Sequence[Pair], config: ReaderConfig
) -> Network:
    """Fit a reader to both; deterministic for equal inputs on one machine."""
    torch.manual_seed(config.seed)
    stream = random.Random(config.seed)
    library = Library(encoder)
    pairs = [*hand] * config.hand_weight + [*templates]
    network = Network(encoder.width, config)
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
    )
    steps = config.epochs * -(-len(pairs) // config.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, config.learning_rate, steps)
    for _ in range(config.epochs):
        stream.shuffle(pairs)
        for start in range(0, len(pairs), config.batch):
            chosen = pairs[start : start + config.batch]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(
                network(library.batch(chosen)), torch.tensor([float(p.holds) for p in chosen])
            )
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
            schedule.step()
    network.eval()
    return network
