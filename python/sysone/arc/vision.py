"""Grids as pictures: the colours of the toolkit, 64x64 as the engine draws them."""

import io
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone_core import grids

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE: Final = 64
LETTER_BOX: Final = 5
"""Colour around a grid that does not fill the picture, the engine's default."""
PALETTE: Final = (
    *("FFFFFF", "CCCCCC", "999999", "666666", "333333", "000000", "E53AA3", "FF7BCC"),
    *("F93C31", "1E93FF", "88D8F1", "FFDC00", "FF851B", "921231", "4FCC30", "A356D6"),
)
"""RGB of each index, the toolkit's own colours."""
COLOUR_NAMES: Final = (
    *("white", "light grey", "grey", "dark grey", "charcoal", "black", "magenta", "pink"),
    *("red", "blue", "light blue", "yellow", "orange", "maroon", "green", "purple"),
)
RGB: Final = np.array([list(bytes.fromhex(colour)) for colour in PALETTE], np.uint8)


@cache
def palette_hash() -> str:
    """SHA-256 of the palette; a trained model depends on it."""
    from hashlib import sha256

    return sha256(RGB.tobytes()).hexdigest()


def on_screen(grid: Any) -> NDArray[np.uint8]:
    """A grid as uint8 [64, 64]: scaled by the largest whole factor and centred, as the engine does.

    Raises:
        ValueError: no grid.
    """
    checked = grids.as_grid(grid)
    height, width = checked.shape
    if (height, width) == (SIDE, SIDE):
        return checked
    factor = SIDE // max(height, width)
    scaled = checked.repeat(factor, 0).repeat(factor, 1)
    screen = np.full((SIDE, SIDE), LETTER_BOX, np.uint8)
    top, left = (SIDE - scaled.shape[0]) // 2, (SIDE - scaled.shape[1]) // 2
    screen[top : top + scaled.shape[0], left : left + scaled.shape[1]] = scaled
    return screen


def grid_to_image(grid: Any, scale: int = 1) -> NDArray[np.uint8]:
    """RGB picture, uint8 [64 * scale, 64 * scale, 3], nearest neighbour.

    Raises:
        ValueError: no grid, or a scale below 1.
    """
    if scale < 1:
        raise ValueError(f"scale is {scale}, expected 1 or more")
    picture: NDArray[np.uint8] = RGB[on_screen(grid)]
    return picture.repeat(scale, 0).repeat(scale, 1) if scale > 1 else picture


def to_array(grid: Any) -> NDArray[np.float32]:
    """float32 [3, 64, 64] in 0..1, colour planes first."""
    planes = grid_to_image(grid).transpose(2, 0, 1)
    return np.ascontiguousarray(planes, np.float32) / np.float32(255)


def to_tensor(grid: Any) -> Any:
    """The same as a torch tensor."""
    import torch

    return torch.from_numpy(to_array(grid))


def to_pil(grid: Any, scale: int = 1) -> "Image":
    """A picture with the toolkit's palette (mode P)."""
    from PIL import Image

    indices = on_screen(grid).repeat(scale, 0).repeat(scale, 1)
    picture = Image.fromarray(np.ascontiguousarray(indices), "L").convert("P")
    picture.frombytes(indices.tobytes())
    picture.putpalette(RGB.tobytes())
    return picture


def to_png(grid: Any, scale: int = 1) -> bytes:
    """A PNG in palette mode; equal grids give equal bytes."""
    out = io.BytesIO()
    to_pil(grid, scale).save(out, "PNG", optimize=False)
    return out.getvalue()
