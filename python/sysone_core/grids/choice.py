"""Who computes: kernels that numba has compiled once, or their twins in NumPy, bit for bit."""

import os
from typing import Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from sysone_core.grids import twin

Grid = NDArray[np.uint8]
Mask = NDArray[np.uint8]
Int32 = NDArray[np.int32]


class Kernels(Protocol):
    """The functions that kernels and twins share; every buffer is the caller's."""

    def grid_text(self, grid: Grid, out: NDArray[np.uint8]) -> None:
        """Hex digits and line ends into ``out`` [H*W + H-1]."""

    def grid_hash(self, grid: Grid, mask: Mask, hashes: NDArray[np.uint64]) -> None:
        """Hash and masked hash into ``hashes`` [2]."""

    def observe(
        self,
        previous: Grid,
        grid: Grid,
        mask: Mask,
        hashes: NDArray[np.uint64],
        changed: Int32,
        diff: NDArray[np.uint8],
    ) -> int:
        """Changed cells and diff text of two grids of one shape; ``hashes`` go from old to new."""

    def anchors(
        self,
        changed: Int32,
        n_changed: int,
        grid: Grid,
        mask: Mask,
        room: int,
        full: bool,
        out: Int32,
    ) -> int:
        """Anchors into ``out`` [255, 2] as x, y; their number."""

    def components(self, grid: Grid, labels: Int32, boxes: Int32) -> int:
        """Labels [H, W] and boxes [H*W, 8] of 4-connected equal cells; their number."""

    def centres(self, labels: Int32, boxes: Int32, count: int, out: Int32) -> None:
        """Of each component the index of the cell nearest to its centroid, into ``out`` [n]."""

    def render(self, grid: Grid, scale: int, out: NDArray[np.uint8]) -> None:
        """RGB into ``out`` [H*scale, W*scale, 3]."""


_kernels: Kernels | None = None

_backend: Literal["numba", "numpy"] = "numpy"


def kernels() -> Kernels:
    """The compiled functions, or their twins where nothing is compiled."""
    return _kernels if _kernels is not None else _choose()


def backend() -> Literal["numba", "numpy"]:
    """What `kernels` returns."""
    kernels()
    return _backend


def use(name: Literal["numba", "numpy"]) -> None:
    """Choose kernels or twins for this process.

    Raises:
        ImportError: numba is asked for and not installed.
    """
    global _kernels, _backend
    if name == "numba":
        from sysone_core.grids import compiled

        _kernels = cast(Kernels, compiled)
    else:
        _kernels = cast(Kernels, twin)
    _backend = name


def _choose() -> Kernels:
    wanted = os.environ.get("SYSONE_GRIDS", "auto")
    if wanted not in ("auto", "numba", "numpy"):
        raise ValueError(f"SYSONE_GRIDS is {wanted!r}, expected auto, numba or numpy")
    if wanted == "numpy":
        use("numpy")
    elif wanted == "numba":
        use("numba")
    else:
        use("numba" if _compiled_before() else "numpy")
    assert _kernels is not None
    return _kernels


def _compiled_before() -> bool:
    """Whether numba is installed and keeps all kernels for this machine."""
    try:
        from sysone_core.grids import compiled
    except ImportError:
        return False
    return compiled.kept()
