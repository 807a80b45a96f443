"""Stage B: the heads, and the backbone below them, learn from questions whose outcome is known.

A choice is learnt as a whole: cross-entropy over all of its candidates. Booleans and scores are
mixed in.
"""

import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import torch
from msgspec.structs import replace
from torch.nn import functional

from sysone.arc.config import StageB
from sysone.arc.learn.augment import augmented
from sysone.arc.learn.loop import Trainer
from sysone.arc.learn.rows import Row, question_of
from sysone.arc.system1.backend import LEAF_BATCH, TinyBackend, TooLongError
from sysone.arc.system1.model import System1Model
from sysone.runs.atomic import dumps, write_text
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

Tensor = Any
BUCKET: Final = 8
"""Batches whose rows are sorted by length among themselves."""


def loss_of(logits: Tensor, family: str, target: int | Sequence[float]) -> Tensor:
    """Of one question: cross-entropy over its candidates, or binary of a boolean.

    ``target`` is an index, or a distribution over the candidates.
    """
    if family == "boolean":
        wanted = torch.as_tensor(float(target), device=logits.device)  # type: ignore[arg-type]
        return functional.binary_cross_entropy_with_logits(logits[0], wanted)
    if isinstance(target, int):
        return functional.cross_entropy(logits[None], torch.tensor([target], device=logits.device))
    soft = torch.tensor([list(target)], device=logits.device)
    return functional.cross_entropy(logits[None], soft)


def fitting(model: System1Model, rows: Sequence[Row], max_tokens: int) -> list[Row]:
    """Rows whose leaves have at most ``max_tokens``; 0 keeps all."""
    if not max_tokens:
        return list(rows)
    backend = model.backend
    return [row for row in rows if backend.length(question_of(row, backend.compact)) <= max_tokens]


def train_heads(
    model: System1Model,
    rows: Sequence[Row],
    config: StageB,
    path: Path,
    seed: int,
    steps: int,
    progress: Progress,
    every: int = 25,
) -> list[float]:
    """Train in place; the losses.

    Raises:
        RunError: a loss is not finite; the batch lies beside the checkpoint then.
    """
    model.train_mode()
    backend = model.backend
    order = Order(model, rows, config.batch, seed)

    def losses_of(batch: Sequence[Row]) -> Tensor:
        questions = [question_of(row, backend.compact) for row in batch]
        if isinstance(backend, TinyBackend):
            # All prefixes at once, and all tails behind them: small tensors are what a step
            # waits for.
            vectors = backend.together(questions)
        else:
            vectors = backend.vectors(questions, LEAF_BATCH)
        listed = model.read(vectors, [row.family for row in batch])
        pairs = zip(listed, batch, strict=True)
        return torch.stack([loss_of(logits, row.family, row.target) for logits, row in pairs])

    def step(number: int) -> float:
        batch = _drawn(rows, order, config, seed, number)
        total = 0.0
        # A large backbone has memory for one row's activations.
        for part in [batch] if isinstance(backend, TinyBackend) else [[row] for row in batch]:
            loss = losses_of(part).sum() / len(batch)
            value = float(loss.detach())
            if not math.isfinite(value):
                bad = path.with_name("bad_batch.jsonl")
                write_text(bad, "".join(dumps(item) + "\n" for item in batch))
                raise RunError(
                    f"stage B: the loss of step {number} is {value}; its rows are in {bad}"
                )
            loss.backward()
            total += value
        return total

    groups = [
        {
            "params": model.backend.trainable_parameters(),
            "lr": config.backbone_lr,
            "warmup": config.warmup_steps,
        },
        {"params": list(model.heads.parameters()), "lr": config.head_lr},
    ]
    trainer = Trainer(
        "B",
        path,
        groups,
        steps,
        weight_decay=config.weight_decay,
        clip=config.clip,
        every=every,
        rise=max(1, config.rise_steps),
    )
    losses = trainer.run(step, progress)
    model.eval()
    return losses


class Order:
    """Which rows a step takes: each once an epoch, those of about one length together."""

    def __init__(self, model: System1Model, rows: Sequence[Row], batch: int, seed: int) -> None:
        self._batch, self._seed = batch, seed
        backend = model.backend
        self._lengths = [backend.length(question_of(row, backend.compact)) for row in rows]
        if max(self._lengths, default=0) > backend.max_tokens:
            raise TooLongError(
                f"a row has a leaf of {max(self._lengths)} tokens, and {backend.name} reads "
                f"{backend.max_tokens}; stage_b.max_tokens leaves such rows out"
            )
        self._epoch = -1
        self._batches: list[list[int]] = []

    def of(self, number: int) -> list[int]:
        """The rows of a step."""
        per_epoch = max(1, len(self._lengths) // self._batch)
        epoch, place = divmod(number, per_epoch)
        if epoch != self._epoch:
            rng = random.Random(f"{self._seed}:b:{epoch}")
            order = list(range(len(self._lengths)))
            rng.shuffle(order)
            width = self._batch * BUCKET
            for start in range(0, len(order), width):
                order[start : start + width] = sorted(
                    order[start : start + width], key=self._lengths.__getitem__
                )
            size = self._batch
            self._batches = [order[i * size : (i + 1) * size] for i in range(per_epoch)]
            rng.shuffle(self._batches)
            self._epoch = epoch
        return self._batches[place]


def _drawn(rows: Sequence[Row], order: Order, config: StageB, seed: int, number: int) -> list[Row]:
    rng = random.Random(f"{seed}:b:{number}")
    chosen = [fewer(rng, rows[index], config.max_candidates) for index in order.of(number)]
    return [augmented(rng, row) for row in chosen] if config.augment else chosen


def fewer(rng: random.Random, row: Row, most: int) -> Row:
    """A choice with at most ``most`` candidates: right ones first, the others drawn."""
    if row.family != "choice" or not most or len(row.candidates) <= most:
        return row
    shares = row.shares or [float(index == row.label) for index in range(len(row.candidates))]
    right = [index for index, share in enumerate(shares) if share > 0]
    right = sorted(rng.sample(right, min(len(right), max(1, most // 2))))
    if row.label not in right:
        right[0] = row.label
    others = [index for index, share in enumerate(shares) if share == 0]
    kept = sorted([*right, *rng.sample(others, min(len(others), most - len(right)))])
    total = sum(shares[index] for index in kept)
    return replace(
        row,
        candidates=[row.candidates[index] for index in kept],
        label=kept.index(row.label),
        shares=[shares[index] / total for index in kept],
    )
