"""Stage B: the heads, and the backbone below them, learn from questions whose outcome is known.

A choice is learnt as a whole: cross-entropy over all of its candidates. Booleans and scores are
mixed in.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional

from sysone.arc.config import StageB
from sysone.arc.learn.augment import augmented
from sysone.arc.learn.loop import Trainer
from sysone.arc.learn.rows import Row, question_of
from sysone.arc.system1.leaf import Question
from sysone.arc.system1.model import System1Model
from sysone.runs.atomic import dumps, write_text
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

Tensor = Any


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

    def step(number: int) -> float:
        total = 0.0
        batch = _drawn(rows, config, seed, number)
        for row in batch:
            question: Question = question_of(row, model.backend.compact)
            logits = model.logits([question])[0]
            loss = loss_of(logits, row.family, row.label) / len(batch)
            if not bool(torch.isfinite(loss)):
                bad = path.with_name("bad_batch.jsonl")
                write_text(bad, "".join(dumps(item) + "\n" for item in batch))
                value = float(loss.detach())
                raise RunError(
                    f"stage B: the loss of step {number} is {value}; its rows are in {bad}"
                )
            loss.backward()
            total += float(loss.detach())
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
        "B", path, groups, steps, weight_decay=config.weight_decay, clip=config.clip, every=every
    )
    losses = trainer.run(step, progress)
    model.eval()
    return losses


def _drawn(rows: Sequence[Row], config: StageB, seed: int, number: int) -> list[Row]:
    """The rows of a step: each once an epoch, in an order of the epoch's own."""
    per_epoch = max(1, len(rows) // config.batch)
    epoch, place = divmod(number, per_epoch)
    order = list(range(len(rows)))
    random.Random(f"{seed}:b:{epoch}").shuffle(order)
    chosen = [rows[i] for i in order[place * config.batch : (place + 1) * config.batch]]
    if not config.augment:
        return chosen
    rng = random.Random(f"{seed}:b:{number}")
    return [augmented(rng, row) for row in chosen]
