"""Kernels against their twins on grids of every shape, and the face's manners with bad input."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sysone_core import grids
from sysone_core.grids import compiled, twin


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Previous grid, grid and mask of one shape; few values, so that areas and ties are common."""
    shape = draw(st.tuples(st.integers(1, 64), st.integers(1, 64)))
    seed = draw(st.integers(0, 2**32 - 1))
    values = draw(st.integers(1, 16))
    rng = np.random.default_rng(seed)
    grid = rng.integers(0, values, shape, dtype=np.uint8)
    if draw(st.booleans()):  # blocks, as games have them
        grid = np.repeat(np.repeat(grid, 4, 0), 4, 1)[: shape[0], : shape[1]].copy()
    previous = grid.copy()
    changes = rng.random(shape) < draw(st.sampled_from([0.0, 0.01, 0.3, 1.0]))
    previous[changes] = rng.integers(0, 16, int(changes.sum()), dtype=np.uint8)
    mask = (rng.random(shape) < draw(st.sampled_from([0.0, 0.1, 1.0]))).astype(np.uint8)
    return previous, grid, mask


@settings(max_examples=150, deadline=None)
@given(cases(), st.integers(0, 255), st.booleans())
def test_kernels_equal_their_twins(
    case: tuple[np.ndarray, np.ndarray, np.ndarray], room: int, full: bool
) -> None:
    previous, grid, mask = case
    height, width = grid.shape
    seen: list[list[Any]] = []
    for functions in (compiled, twin):
        text = np.zeros(height * width + height - 1, np.uint8)
        functions.grid_text(grid, text)
        hashes = np.zeros(2, np.uint64)
        functions.grid_hash(previous, mask, hashes)
        diff = np.zeros_like(text)
        changed = np.zeros(4096, np.int32)
        count = functions.observe(previous, grid, mask, hashes, changed, diff)
        anew = np.zeros(2, np.uint64)
        functions.grid_hash(grid, mask, anew)
        assert hashes.tolist() == anew.tolist()
        out = np.full((255, 2), -1, np.int32)
        n_anchors = functions.anchors(changed, count, grid, mask, room, full, out)
        labels = np.zeros(grid.shape, np.int32)
        boxes = np.zeros((grid.size, 8), np.int32)
        n_components = functions.components(grid, labels, boxes)
        centres = np.zeros(grid.size, np.int32)
        functions.centres(labels, boxes, n_components, centres)
        picture = np.zeros((height * 2, width * 2, 3), np.uint8)
        functions.render(grid, 2, picture)
        seen.append(
            [
                *(text, hashes, count, changed[:count], diff),
                *(n_anchors, out[:n_anchors], n_components, labels, boxes[:n_components]),
                centres,
                picture,
            ]
        )
    for ours, theirs in zip(*seen, strict=True):
        assert np.array_equal(ours, theirs)


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(0, 7), st.integers(8, 255))
def test_anchors_are_different_cells_within_the_room(
    case: tuple[np.ndarray, np.ndarray, np.ndarray], n_simple: int, limit: int
) -> None:
    previous, grid, mask = case
    found = grids.anchors(previous, grid, mask, n_simple, limit)
    assert len(found) == len(set(found)) <= limit - n_simple
    height, width = grid.shape
    assert all(0 <= x < width and 0 <= y < height for x, y in found)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.integers(0, 15)))
def test_text_goes_there_and_back(grid: np.ndarray) -> None:
    assert np.array_equal(grids.text_to_grid(grids.grid_text(grid)), grid)


def test_components_of_a_known_picture() -> None:
    picture = grids.text_to_grid("1131\n1331\n2221")
    found = grids.components(picture)
    assert found.labels.tolist() == [[0, 0, 1, 2], [0, 1, 1, 2], [3, 3, 3, 2]]
    assert found.boxes.tolist() == [
        [0, 0, 1, 1, 3, 1, 1, 1],
        [1, 0, 2, 1, 3, 3, 5, 2],
        [3, 0, 3, 2, 3, 1, 9, 3],
        [0, 2, 2, 2, 3, 2, 3, 6],
    ]


def test_components_agree_with_scipy() -> None:
    ndimage = pytest.importorskip("scipy.ndimage")
    rng = np.random.default_rng(7)
    for _ in range(20):
        grid = rng.integers(0, 3, (64, 64), dtype=np.uint8)
        found = grids.components(grid)
        areas = sum(ndimage.label(grid == value)[1] for value in range(3))
        assert len(found) == areas
        for label, box in enumerate(found.boxes.tolist()):
            cells = np.argwhere(found.labels == label)
            assert len(cells) == box[4]
            assert {grid[y, x] for y, x in cells.tolist()} == {box[5]}


def test_a_smaller_limit_keeps_a_share_of_each_kind() -> None:
    grid = np.full((64, 64), 5, np.uint8)
    grid[10:30, 10:30] = 3
    previous = np.full((64, 64), 5, np.uint8)
    found = grids.anchors(previous, grid, None, 6, 40)
    moved = [i * 400 // 17 for i in range(17)]
    assert found[:17] == [(10 + i % 20, 10 + i // 20) for i in moved]
    # 34 places: 17 changed, 8 rare (two of them changed before), and 9 coarse ones, spread.
    assert len(found) <= 34
    coarse = [i * 64 // 9 for i in range(9)]
    assert found[-1] == (8 * (coarse[-1] % 8) + 4, 8 * (coarse[-1] // 8) + 4)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([[0, 16]], "cell x=1 y=0 is 16, expected 0 to 15"),
        ([[0], [-1]], "cell x=0 y=1 is -1, expected 0 to 15"),
        ([[0, 1], [2]], "different lengths"),
        ([], "shape (0,)"),
        ([[0.5]], "float64"),
        (np.zeros((65, 3), np.int8), "shape (65, 3)"),
        (np.zeros((0, 3, 3), np.int8), "shape (0, 3, 3)"),
    ],
)
def test_what_is_no_grid_is_refused_by_name(value: Any, words: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        grids.as_grid(value)
    assert words in str(refused.value)


def test_of_a_list_of_frames_the_last_is_taken() -> None:
    frames = [[[1, 1]], [[2, 3]]]
    assert grids.as_grid(frames).tolist() == [[2, 3]]
    assert grids.as_grid(np.array(frames, np.int8)).tolist() == [[2, 3]]


@pytest.mark.parametrize(
    ("text", "words"), [("12\n1", "row 1 has 1 cells"), ("1G", "'G'"), ("", "shape (1, 0)")]
)
def test_text_that_is_no_grid(text: str, words: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        grids.text_to_grid(text)
    assert words in str(refused.value)


@pytest.fixture
def chosen() -> Iterator[None]:
    before = grids.backend()
    yield
    grids.use(before)


def test_palette_and_scale(chosen: None) -> None:
    for name in ("numba", "numpy"):
        grids.use(name)  # type: ignore[arg-type]
        picture = grids.rgb([[0, 14]], 3)
        assert picture.shape == (3, 6, 3)
        assert picture[2, 2].tolist() == [255, 255, 255]
        assert picture[0, 3].tolist() == [0x4F, 0xCC, 0x30]
    with pytest.raises(ValueError, match="scale is 0"):
        grids.rgb([[0]], 0)


def test_batches_equal_one_by_one(chosen: None) -> None:
    rng = np.random.default_rng(3)
    stack = rng.integers(0, 16, (5, 9, 7), dtype=np.uint8)
    for name in ("numba", "numpy"):
        grids.use(name)  # type: ignore[arg-type]
        texts = grids.text_batch(stack)
        for grid, text, pair in zip(stack, texts, grids.hash_batch(stack), strict=True):
            assert text.tobytes().decode() == grids.grid_text(grid)
            assert pair.tolist() == [grids.frame_hash(grid)] * 2


def test_importing_the_core_imports_no_numba() -> None:
    code = "import sys, sysone_core, sysone_core.grids; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_without_numba_the_twins_answer() -> None:
    code = (
        "import sys\nsys.modules['numba'] = None\nfrom sysone_core import grids\n"
        "assert grids.backend() == 'numpy'\nassert grids.frame_hash([[0]]) == 0xd6bd5877579cb372"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_first_use_compiles_nothing_until_it_is_asked_for(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "SYSONE_GRIDS": "auto"}

    def python(code: str) -> None:
        asked = f"from sysone_core import grids\n{code}"
        done = subprocess.run(
            [sys.executable, "-c", asked], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr

    use = "assert grids.frame_hash([[0]]) == 0xd6bd5877579cb372"
    python(f"{use}\nassert grids.backend() == 'numpy'")
    assert not list(tmp_path.rglob("*.nbi"))
    python(f"grids.warm()\n{use}\nassert grids.backend() == 'numba'")
    assert list(tmp_path.rglob("*.nbi"))
    python(f"{use}\nassert grids.backend() == 'numba'")
