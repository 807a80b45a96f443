"""A teacher for the small model that knows pictures without having learnt: counted facts.

Where no large model is at hand, stage A draws the student's states towards what can be computed
from the same picture: which colours lie in which patch, where the things of each colour are and
how many, where edges and changes are; and of each candidate what lies where it leads and what it
gets nearer to (see `sysone.arc.learn.leaf_facts`). A fixed random projection makes vectors of it,
which keeps distances (Johnson and Lindenstrauss 1984).
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from sysone.arc.learn.leaf_facts import PLACES, WAYS, LeafFacts, changed_cells
from sysone.arc.system1.leaf import Question
from sysone.arc.vision import on_screen
from sysone_core import grids

HIDDEN: Final = 128
PATCH: Final = 8
SIDE: Final = 64
VALUES: Final = grids.VALUES
SEED: Final = 2026

Vector = NDArray[np.float32]


def colours_by_place(screen: NDArray[np.uint8]) -> Vector:
    """How much more of each value a patch has than the picture, [64 * 16]."""
    planes = np.eye(VALUES, dtype=np.float32)[screen]
    side = SIDE // PATCH
    patches = planes.reshape(side, PATCH, side, PATCH, VALUES).mean((1, 3))
    found: Vector = (patches - patches.mean((0, 1))).ravel()
    return found


def things(screen: NDArray[np.uint8], text: str) -> Vector:
    """Of each value how many cells and things, and where; of each patch its edges; the change."""
    boxes = grids.components(screen).boxes
    parts: list[Any] = []
    for value in range(VALUES):
        ys, xs = np.nonzero(screen == value)
        pieces = int((boxes[:, 5] == value).sum())
        if len(xs):
            spread = [xs.mean(), ys.mean(), xs.std(), ys.std()]
            parts.append([math.sqrt(len(xs)) / SIDE, math.log1p(pieces) / 4])
            parts.append([place / SIDE - 0.5 for place in spread])
        else:
            parts.append([0.0] * 6)
    edges = np.zeros((SIDE, SIDE), np.float32)
    edges[:, 1:] += screen[:, 1:] != screen[:, :-1]
    edges[1:] += screen[1:] != screen[:-1]
    side = SIDE // PATCH
    parts.append(edges.reshape(side, PATCH, side, PATCH).mean((1, 3)).ravel())
    changed = changed_cells(text).astype(np.float32)
    parts.append(4 * changed.reshape(side, PATCH, side, PATCH).mean((1, 3)).ravel())
    return np.concatenate([np.asarray(part, np.float32) for part in parts])


class FactsTeacher:
    """Has the part of a `Backend` that stage A asks for; nothing in it is trained."""

    name = "facts"
    hidden = HIDDEN
    max_tokens = 1 << 30
    compact = True

    def __init__(self, device: str = "cpu") -> None:
        self.module = nn.Module()
        self.paths: Counter[str] = Counter()
        self._device = torch.device(device)
        rng = np.random.default_rng(SEED)

        def drawn(size: int) -> Any:
            made = rng.normal(size=(size, HIDDEN)) / math.sqrt(size)
            return torch.from_numpy(made.astype(np.float32))

        self._projections = [drawn(SIDE * VALUES), drawn(6 * VALUES + 2 * SIDE)]
        self._leaf_projections = [drawn(PLACES), drawn(WAYS)]

    def device(self) -> Any:
        """Where its vectors are."""
        return self._device

    def trainable_parameters(self) -> list[Any]:
        """None."""
        return []

    def hidden_states(self, images: Sequence[Any], texts: Sequence[str], layers: int) -> list[Any]:
        """Vectors [n, 128] for each layer: colours by place, things, and so on in turn."""
        screens = [on_screen(grid) for grid in images]
        facts = (
            np.stack([colours_by_place(screen) for screen in screens]),
            np.stack([things(screen, text) for screen, text in zip(screens, texts, strict=True)]),
        )
        found = [
            torch.from_numpy(known) @ projection
            for known, projection in zip(facts, self._projections, strict=True)
        ]
        return [found[index % len(found)].to(self._device) for index in range(layers)]

    def leaf_states(self, questions: Sequence[Question], layers: int) -> list[list[Any]]:
        """Of each layer and question [K, 128]: what lies at the cells, to what they lead."""
        facts = [LeafFacts(question) for question in questions]
        found = [
            [torch.from_numpy(known.places()) @ self._leaf_projections[0] for known in facts],
            [torch.from_numpy(known.ways()) @ self._leaf_projections[1] for known in facts],
        ]
        return [[part.to(self._device) for part in found[i % len(found)]] for i in range(layers)]
