"""Grids in a terminal: two cells of a column in one character, in the toolkit's colours."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sysone_core import grids

_RESET = "\x1b[0m"


def blocks(grid: NDArray[np.uint8], mask: NDArray[np.uint8] | None = None) -> str:
    """A grid as colour blocks; masked cells are shown in their negative."""
    colours = grids.rgb(grid).astype(int)
    if mask is not None:
        colours[mask != 0] = 255 - colours[mask != 0]
    lines = []
    for y in range(0, len(colours), 2):
        line = []
        for x in range(colours.shape[1]):
            upper = colours[y, x]
            lower = colours[y + 1, x] if y + 1 < len(colours) else upper
            line.append(f"\x1b[38;2;{_code(upper)};48;2;{_code(lower)}m▀")
        lines.append("".join(line) + _RESET)
    return "\n".join(lines)


def plain(grid: NDArray[np.uint8], mask: NDArray[np.uint8] | None = None) -> str:
    """A grid as hex digits; masked cells are dots."""
    rows = grids.grid_text(grid).split("\n")
    if mask is None:
        return "\n".join(rows)
    return "\n".join(
        "".join("." if hidden else digit for digit, hidden in zip(row, line, strict=True))
        for row, line in zip(rows, mask.tolist(), strict=True)
    )


def _code(colour: Sequence[int]) -> str:
    return ";".join(str(int(part)) for part in colour)
