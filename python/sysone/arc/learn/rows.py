"""A row of the dataset: a question about a frame, and what turned out to be right."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sysone.arc import wording
from sysone.arc.observe import compact_text, state_text
from sysone.arc.system1 import leaf
from sysone.arc.system1.leaf import Question
from sysone.arc.wording import Family
from sysone.runs.errors import RunError, unreadable
from sysone_core import grids


class Row(msgspec.Struct, frozen=True):
    """One question; grids are hex texts."""

    key: str
    """Game, episode and step."""
    game: str
    family: Family
    grid: str
    previous: str
    """The grid before the action that led here; empty on a level's first frame."""
    levels: int
    state: str
    label: int
    """Of a choice and a score the index of the right candidate, of a boolean 0 or 1."""
    candidates: list[str] = []
    """Of a choice all candidates; of a boolean the one action that is asked about."""
    lines: list[str] = []
    """What was known of the state and the actions."""
    shares: list[float] = []
    """Of a choice how right each candidate is, their sum 1; empty: the label alone is."""

    @property
    def target(self) -> int | list[float]:
        """What is learnt."""
        return self.shares or self.label


def question_of(row: Row, compact: bool = True) -> Question:
    """What the model is asked, by the same words as in a game."""
    grid = grids.text_to_grid(row.grid)
    if not compact:
        state = state_text(grid, row.levels, row.state)
    else:
        before = grids.text_to_grid(row.previous) if row.previous else None
        state = compact_text(grids.diff_text(before, grid)[0], row.levels, row.state)
    if row.family == "choice":
        asked = wording.with_lines(wording.CHOICE, [], row.lines)
        return leaf.choice(grid, state, row.candidates, asked)
    if row.family == "boolean":
        return leaf.boolean(grid, state, row.candidates[0])
    return leaf.score(grid, state)


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, one at a time.

    Raises:
        RunError: it cannot be read, or a line is no row; the text names the line.
    """
    decoder = msgspec.json.Decoder(Row)
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = decoder.decode(line)
                except msgspec.MsgspecError as error:
                    raise RunError(f"{path}:{number} is no row: {error}") from None
                if not row.grid:
                    raise RunError(f"{path}:{number}: grid is empty; every row carries its picture")
                yield row
    except OSError as error:
        raise unreadable(path, error) from error


def cells(text: str) -> Any:
    """A hex text as uint8 [H, W]."""
    return np.asarray(grids.text_to_grid(text), np.uint8)
