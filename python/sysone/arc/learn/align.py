"""Stage A: the student's states are drawn towards a frozen teacher's, which sees the same picture.

Of each of the last layers the states are pooled over the text and the picture; a projection of
the student's is compared with the teacher's by cosine.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn import functional

from sysone.arc.config import StageA
from sysone.arc.learn.augment import augmented
from sysone.arc.learn.loop import Trainer
from sysone.arc.learn.rows import Row, question_of
from sysone.arc.system1.backend import Backend
from sysone.runs.progress import Progress

Tensor = Any


class Teacher(Protocol):
    """What the student is drawn towards."""

    name: str
    hidden: int
    module: Any

    def hidden_states(self, images: Sequence[Any], texts: Sequence[str], layers: int) -> list[Any]:
        """Vectors [n, hidden] of pictures and texts, of each of ``layers``."""


def make_projections(student: int, teacher: int, layers: int, seed: int) -> Any:
    """A linear map of each layer."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.ModuleList(nn.Linear(student, teacher) for _ in range(layers))


def alignment_loss(
    student: Backend, teacher: Teacher, projections: Any, grids_: list[Any], texts: list[str]
) -> Tensor:
    """Mean of 1 - cosine over layers and rows; both see the pictures themselves."""
    layers = len(projections)
    with torch.no_grad():
        wanted = teacher.hidden_states(grids_, texts, layers)
    made = student.hidden_states(grids_, texts, layers)
    losses = [
        1 - functional.cosine_similarity(project(ours.float()), theirs.float().to(ours.device), -1)
        for project, ours, theirs in zip(projections, made, wanted, strict=True)
    ]
    return torch.stack(losses).mean()


def align(
    student: Backend,
    teacher: Teacher,
    rows: list[Row],
    config: StageA,
    path: Path,
    seed: int,
    progress: Progress,
    every: int = 25,
) -> tuple[list[float], Any]:
    """Train the student in place; losses and projections.

    Raises:
        RunError: a loss is not finite.
    """
    projections = make_projections(student.hidden, teacher.hidden, config.layers, seed)
    projections.to(student.device())
    teacher.module.eval()
    for weight in teacher.module.parameters():
        weight.requires_grad_(False)
    student.module.train()

    def step(number: int) -> float:
        rng = random.Random(f"{seed}:a:{number}")
        drawn = [augmented(rng, rng.choice(rows)) for _ in range(config.batch)]
        questions = [question_of(row, student.compact) for row in drawn]
        loss = alignment_loss(
            student,
            teacher,
            projections,
            [question.grid for question in questions],
            [question.state_part for question in questions],
        )
        loss.backward()
        return float(loss.detach())

    groups = [
        {"params": student.trainable_parameters(), "lr": config.lr},
        {"params": list(projections.parameters()), "lr": config.lr},
    ]
    return Trainer("A", path, groups, config.steps, every=every).run(step, progress), projections
