"""Stage A: the student's states are drawn towards a frozen teacher's, which sees the same picture.

Of each of the last layers the states are pooled over the text and the picture; a projection of
the student's is compared with the teacher's by cosine. Where both know the leaves of a question,
so are the states of their last tokens, which the heads read: what they differ by, so that nothing
is gained by what all candidates have in common.
"""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import torch
from msgspec.structs import replace
from torch import nn
from torch.nn import functional

from sysone.arc.config import StageA
from sysone.arc.learn.augment import augmented
from sysone.arc.learn.loop import Trainer
from sysone.arc.learn.rows import Row, question_of
from sysone.arc.system1.backend import Backend
from sysone.arc.system1.leaf import Question
from sysone.runs.progress import Progress

Tensor = Any
TOLD: Final = 1e-3
"""Length of a teacher's vector from which on it says something."""


class Teacher(Protocol):
    """What the student is drawn towards."""

    name: str
    hidden: int
    module: Any

    def hidden_states(self, images: Sequence[Any], texts: Sequence[str], layers: int) -> list[Any]:
        """Vectors [n, hidden] of pictures and texts, of each of ``layers``."""


@runtime_checkable
class LeafStates(Protocol):
    """A teacher or student that tells of each candidate of a question."""

    def leaf_states(self, questions: Sequence[Question], layers: int) -> list[list[Any]]:
        """Of each of ``layers`` and each question vectors [K, hidden], one a candidate."""


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


def leaf_loss(
    student: LeafStates, teacher: LeafStates, projections: Any, questions: Sequence[Question]
) -> Tensor:
    """Mean of 1 - cosine over layers and candidates, each less its question's mean.

    Candidates that the teacher tells nothing of beside the others count for nothing.
    """
    layers = len(projections)
    with torch.no_grad():
        wanted = teacher.leaf_states(questions, layers)
    made = student.leaf_states(questions, layers)
    losses = []
    for project, ours, theirs in zip(projections, made, wanted, strict=True):
        target = torch.cat([part.float() - part.float().mean(0) for part in theirs])
        shown = torch.cat([part - part.mean(0) for part in map(project, ours)])
        target = target.to(shown.device)
        told = (target.norm(dim=-1) > TOLD).float()
        apart = 1 - functional.cosine_similarity(shown, target, -1)
        losses.append((apart * told).sum() / told.sum().clamp_min(1))
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
    leaves = isinstance(teacher, LeafStates) and isinstance(student, LeafStates)
    count = config.layers * (2 if leaves else 1)
    projections = make_projections(student.hidden, teacher.hidden, count, seed)
    projections.to(student.device())
    teacher.module.eval()
    for weight in teacher.module.parameters():
        weight.requires_grad_(False)
    student.module.train()

    def step(number: int) -> float:
        rng = random.Random(f"{seed}:a:{number}")
        drawn = [_fewer(rng, rng.choice(rows), config.max_candidates) for _ in range(config.batch)]
        if config.augment:
            drawn = [augmented(rng, row) for row in drawn]
        questions = [question_of(row, student.compact) for row in drawn]
        loss = alignment_loss(
            student,
            teacher,
            projections[: config.layers],
            [question.grid for question in questions],
            [question.state_part for question in questions],
        )
        choices = [question for question in questions if question.family == "choice"]
        if choices and isinstance(teacher, LeafStates) and isinstance(student, LeafStates):
            loss = loss + leaf_loss(student, teacher, projections[config.layers :], choices)
        loss.backward()
        return float(loss.detach())

    groups = [
        {"params": student.trainable_parameters(), "lr": config.lr},
        {"params": list(projections.parameters()), "lr": config.lr},
    ]
    return Trainer("A", path, groups, config.steps, every=every).run(step, progress), projections


def _fewer(rng: random.Random, row: Row, most: int) -> Row:
    """A choice with at most ``most`` candidates, drawn without a look at which is right."""
    if row.family != "choice" or not most or len(row.candidates) <= most:
        return row
    kept = sorted(rng.sample(range(len(row.candidates)), most))
    return replace(
        row,
        candidates=[row.candidates[index] for index in kept],
        label=kept.index(row.label) if row.label in kept else 0,
        shares=[],
    )
