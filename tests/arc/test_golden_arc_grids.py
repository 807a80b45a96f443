"""Kernels and twins against the golden vectors, bit for bit."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sysone_core import grids

Golden = Callable[[str, str], Any]


@pytest.fixture(params=["numba", "numpy"])
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    before = grids.backend()
    grids.use(request.param)
    yield request.param
    grids.use(before)


@pytest.fixture(scope="module")
def cases(golden: Golden) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = golden("arc", "grids.json")["cases"]
    assert len(found) == 12
    return found


def grid(text: str | None) -> Any:
    return None if text is None else grids.text_to_grid(text)


def hud(case: dict[str, Any]) -> np.ndarray:
    mask = np.zeros(grid(case["cur"]).shape, np.uint8)
    mask[case["hud_mask_rows"]] = 1
    return mask


def test_texts_go_there_and_back(implementation: str, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        assert grids.grid_text(grid(case["cur"])) == case["cur"]


def test_differences(implementation: str, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        found = grids.diff_text(grid(case["prev"]), grid(case["cur"]))
        assert found == (case["diff"], case["changed"]), case["id"]


def test_hashes_of_a_frame_alone(implementation: str, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        current = grid(case["cur"])
        assert f"{grids.frame_hash(current):016x}" == case["frame_hash"]
        assert f"{grids.frame_hash(current, hud(case)):016x}" == case["masked_hash"]
        batch = grids.hash_batch(np.stack([current, current]), hud(case))
        assert [f"{value:016x}" for value in batch[1].tolist()] == [
            case["frame_hash"],
            case["masked_hash"],
        ]


def test_hashes_that_go_from_frame_to_frame(
    implementation: str, cases: list[dict[str, Any]]
) -> None:
    for case in cases:
        observer = grids.Observer()
        observer.set_mask(hud(case))
        if case["prev"] is not None:
            observer.observe(grid(case["prev"]))
            observer.set_mask(hud(case))
        seen = observer.observe(grid(case["cur"]))
        assert f"{seen.frame_hash:016x}" == case["frame_hash"], case["id"]
        assert f"{seen.masked_hash:016x}" == case["masked_hash"], case["id"]


def test_anchors_in_order(implementation: str, cases: list[dict[str, Any]]) -> None:
    for case in cases:
        found = grids.anchors(grid(case["prev"]), grid(case["cur"]), hud(case), case["n_simple"])
        assert [list(cell) for cell in found] == case["anchors"], case["id"]
