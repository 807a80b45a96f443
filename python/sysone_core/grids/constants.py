"""Numbers that kernels, twins and checkpoints share."""

from typing import Final

SIDE: Final = 64
"""Cells of the longest side of a grid: the toolkit's frames are 64x64."""
VALUES: Final = 16
"""Cell values are 0 to 15."""
RARE: Final = 24
"""Rare cells among the anchors of a full list."""
COARSE_SIDE: Final = 8
"""Coarse points a side: 64 in all."""
COARSE: Final = COARSE_SIDE * COARSE_SIDE
MAX_CANDIDATES: Final = 255
"""Options of a question, simple actions and anchors together."""
BOX_FIELDS: Final = 8
"""Columns of a component's row: x0, y0, x1, y1 (inclusive), cells, value, sum of x, sum of y."""

# Constants of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
GOLDEN_GAMMA: Final = 0x9E3779B97F4A7C15
MIX_1: Final = 0xBF58476D1CE4E5B9
MIX_2: Final = 0x94D049BB133111EB

# The toolkit's colours, value 0 to 15 (arc_agi.rendering of arc-agi 0.9.9, MIT).
# fmt: off
PALETTE_HEX: Final = (
    "FFFFFF", "CCCCCC", "999999", "666666", "333333", "000000", "E53AA3", "FF7BCC",
    "F93C31", "1E93FF", "88D8F1", "FFDC00", "FF851B", "921231", "4FCC30", "A356D6",
)
# fmt: on
