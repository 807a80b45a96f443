"""What a backbone has to offer, and the small one that a CPU runs."""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol

import numpy as np
import torch

from sysone.arc.system1.leaf import Question
from sysone.arc.system1.tiny import Cache, TinyVLM
from sysone.arc.system1.tokens import Text, known_of, tokenise
from sysone.arc.vision import to_array

Tensor = Any
LEAF_BATCH: Final = 64
KEPT_FRAMES: Final = 4
"""Frames whose prefix is kept: the questions of a step are asked about one."""
WORTH: Final = 1.2
"""How many times the tokens the plain form must cost before the prefix is shared: the branched
attention does more than a plain one for the same tokens."""
MAX_TOKENS: Final = 4800
"""Of a tiny leaf: a whole 64x64 grid as text and a long question."""


class TooLongError(ValueError):
    """A text is longer than the model reads."""


class Backend(Protocol):
    """A backbone that turns leaves into vectors."""

    name: str
    hidden: int
    max_tokens: int
    module: Any
    """The torch module that holds every weight."""
    compact: bool
    """Whether it reads the compact state, since the picture already carries the grid."""
    paths: Counter[str]
    """How many questions went the plain and the shared way."""

    def length(self, question: Question) -> int:
        """Tokens of the question's longest leaf, the picture's included."""

    def vectors(
        self, questions: Sequence[Question], leaf_batch: int, shared: bool | None = None
    ) -> list[Tensor]:
        """A tensor [K, hidden] for each question; by cost unless ``shared`` says which way.

        Raises:
            TooLongError: a leaf is longer than `max_tokens`.
        """

    def encode(self, image: Any, texts: Sequence[str]) -> Tensor:
        """Vectors [n, hidden] of whole leaf texts on one grid, nothing shared."""

    def hidden_states(self, images: Sequence[Any], texts: Sequence[str], layers: int) -> list[Any]:
        """Of the last layers, each pooled over a text's tokens and its picture: [n, hidden]."""

    def trainable_parameters(self) -> list[Any]:
        """Weights that training may change."""

    def device(self) -> Any:
        """Where they are."""


def refuse_long(backend: Backend, questions: Sequence[Question]) -> None:
    """Nothing is cut silently.

    Raises:
        TooLongError: a leaf does not fit.
    """
    for question in questions:
        length = backend.length(question)
        if length > backend.max_tokens:
            raise TooLongError(
                f"a {question.family} has a leaf of {length} tokens, and {backend.name} reads "
                f"{backend.max_tokens}"
            )


def common(parts: Sequence[Sequence[Any]]) -> int:
    """Elements that all sequences begin with, and that leave each at least one."""
    shortest = min(parts, key=len)
    limit = len(shortest) - 1
    for index in range(limit):
        if any(part[index] != shortest[index] for part in parts):
            return index
    return max(limit, 0)


def chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Runs of at most ``size`` items."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def tails_of(question: Question) -> list[Text]:
    """Tokens of each candidate; what is known of an action, the question says."""
    known = known_of(question.question_part)
    return [tokenise(tail, True, known) for tail in question.tails]


class TinyBackend:
    """`TinyVLM` with its prefix cache."""

    name = "tiny"
    compact = True

    def __init__(self, seed: int = 0, *, device: str = "cpu", max_tokens: int = MAX_TOKENS) -> None:
        self.module = TinyVLM(seed).to(device)
        self.hidden: int = self.module.width
        self.max_tokens = max_tokens
        self.paths: Counter[str] = Counter()
        self._kept: OrderedDict[tuple[bytes, str], Cache] = OrderedDict()

    def device(self) -> Any:
        """Where the weights are."""
        return self.module.bytes.weight.device

    def trainable_parameters(self) -> list[Any]:
        """All of them."""
        return list(self.module.parameters())

    def forget(self) -> None:
        """Drop kept prefixes: they are of weights that have changed."""
        self._kept.clear()

    def length(self, question: Question) -> int:
        """Visual tokens, text and the end."""
        shared = len(tokenise(question.state_part)) + len(tokenise(question.question_part))
        return 64 + shared + max(len(tokenise(tail)) for tail in question.tails) + 1

    def _images(self, grids_: Sequence[Any]) -> Tensor:
        stacked = np.stack([to_array(grid) for grid in grids_])
        return torch.from_numpy(stacked).to(self.device())

    def encode(self, image: Any, texts: Sequence[str]) -> Tensor:
        """Vectors of whole texts on one grid, each with a picture of its own."""
        pictures = self._images([image]).expand(len(texts), -1, -1, -1)
        return self.module.plain(pictures, [tokenise(text, end=True) for text in texts])

    def hidden_states(self, images: Sequence[Any], texts: Sequence[str], layers: int) -> list[Any]:
        """Pooled states of the last layers."""
        tokens = [tokenise(text) for text in texts]
        return self.module.hidden_states(self._images(images), tokens, layers)  # type: ignore[no-any-return]

    def vectors(
        self,
        questions: Sequence[Question],
        leaf_batch: int = LEAF_BATCH,
        shared: bool | None = None,
    ) -> list[Tensor]:
        """Vectors of every leaf; one after the other on a CPU, together on a GPU."""
        refuse_long(self, questions)
        if shared is not False and len(questions) > 1 and self.device().type != "cpu":
            self.paths["shared"] += len(questions)
            return self.together(questions)
        return [self._one(question, leaf_batch, shared) for question in questions]

    def _one(self, question: Question, leaf_batch: int, shared: bool | None) -> Tensor:
        tails = tails_of(question)
        state = tokenise(question.state_part)
        asked = tokenise(question.question_part)
        before = 64 + len(state) + len(asked)
        plain_cost = sum(before + len(tail) for tail in tails)
        shared_cost = before + sum(map(len, tails))
        share = plain_cost > WORTH * shared_cost if shared is None else shared
        self.paths["shared" if share else "plain"] += 1
        if not share:
            found = []
            for part in chunks(tails, leaf_batch):
                pictures = self._images([question.grid]).expand(len(part), -1, -1, -1)
                found.append(self.module.plain(pictures, [state + asked + tail for tail in part]))
            return torch.cat(found)
        same = common([list(zip(tail.ids, tail.cells, strict=True)) for tail in tails])
        cache = self._frame(question, state)
        cache, _ = self.module.extend(cache, [asked + tails[0][:same]])
        rest = [tail[same:] for tail in tails]
        return torch.cat(
            [self.module.branch(cache, [list(p)])[0] for p in chunks(rest, leaf_batch)]
        )

    def _frame(self, question: Question, state: Text) -> Cache:
        """Picture and state: kept from question to question while nothing is learnt."""
        key = (np.ascontiguousarray(question.grid).tobytes(), question.state)
        learning = torch.is_grad_enabled()
        if not learning and key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        cache, _ = self.module.start(self._images([question.grid]))
        found: Cache = self.module.extend(cache, [state])[0]
        if not learning:
            self._kept[key] = found
            while len(self._kept) > KEPT_FRAMES:
                self._kept.popitem(last=False)
        return found

    def together(self, questions: Sequence[Question]) -> list[Tensor]:
        """All questions in one forward pass: prefixes in a row each, tails branched from these."""
        found, rows = self._branched(questions, None)
        return [found[index, :count] for index, count in enumerate(rows)]

    def leaf_states(self, questions: Sequence[Question], layers: int) -> list[list[Tensor]]:
        """The same of each of the last ``layers`` blocks: per layer and question [K, hidden]."""
        kept: list[Tensor] = []
        _, rows = self._branched(questions, kept)
        return [
            [states[index, :count] for index, count in enumerate(rows)] for states in kept[-layers:]
        ]

    def _branched(
        self, questions: Sequence[Question], keep: list[Tensor] | None
    ) -> tuple[Tensor, list[int]]:
        tails = [tails_of(question) for question in questions]
        cache, _ = self.module.start(self._images([q.grid for q in questions]))
        shared = [tokenise(q.state_part + q.question_part) for q in questions]
        cache, _ = self.module.extend(cache, shared)
        most = max(map(len, tails))
        padded = [[*row, *[Text([], [])] * (most - len(row))] for row in tails]
        return self.module.branch(cache, padded, keep), [len(row) for row in tails]
