from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sysone.drive.comfort import (
    efficiency,
    percentage_of,
    savitzky_golay,
    smoothness,
    smoothness_corrected,
)

SERIES = ("acceleration", "angular_velocity", "forward_vector", "right_vector")


def test_smoothness(golden: Callable[[str, str], Any]) -> None:
    cases = golden("drive", "comfort.json.gz")["cases"]
    assert len(cases) == 24
    for case in cases:
        assert smoothness(*(case[name] for name in SERIES)) == pytest.approx(case["smoothness"])


def test_efficiency(golden: Callable[[str, str], Any]) -> None:
    cases = golden("drive", "comfort.json.gz")["efficiency"]
    assert len(cases) == 12
    for case in cases:
        read = [percentage_of(text) for text in case["messages"]]
        assert read == case["percentages"]
        assert efficiency(case["percentages"]) == (
            None if case["mean_kept"] is None else pytest.approx(case["mean_kept"])
        )


def test_the_filter_keeps_what_a_parabola_fits() -> None:
    steps = np.arange(20.0)
    curve = 0.5 * steps**2 - 3 * steps + 2
    assert savitzky_golay(curve, 7, 2) == pytest.approx(curve)
    assert savitzky_golay(curve, 7, 2, 1) == pytest.approx(steps - 3)


def test_the_corrected_variant_takes_degrees_for_degrees() -> None:
    count = 40
    still = np.zeros((count, 3))
    ahead = np.tile([1.0, 0.0, 0.0], (count, 1))
    right = np.tile([0.0, 1.0, 0.0], (count, 1))
    turning = np.tile([0.0, 0.0, 10.0], (count, 1))  # degrees a second: a gentle bend
    assert smoothness(still, turning, ahead, right) == 0.0
    assert smoothness_corrected(still, turning, ahead, right) == 1.0
