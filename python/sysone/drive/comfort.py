"""How smoothly and how briskly it drove, as Bench2Drive's tool measures it.

Two of the official tool's habits are kept for comparability and have a corrected variant beside
them: the yaw rate is in degrees a second against bounds meant for radians, and what is called yaw
acceleration is the filtered yaw rate again.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sysone.runs.sums import in_order

BLOCK: Final = 20
"""Steps judged together."""
WINDOW: Final = 7
ORDER: Final = 2
STEP_S: Final = 0.1
"""The official tool's step; the data come at 20 Hz."""
LONGITUDINAL: Final = (-4.05, 2.40)
LATERAL: Final = 4.89
MAGNITUDE_JERK: Final = 8.37
LONGITUDINAL_JERK: Final = 4.13
YAW_RATE: Final = 0.95
YAW_ACCELERATION: Final = 1.93
MAX_EFFICIENCY_PERCENT: Final = 1000.0

Array = NDArray[np.float64]


def savitzky_golay(values: Array, window: int, order: int, derivative: int = 0) -> Array:
    """Least-squares polynomial smoothing (A. Savitzky and M. Golay, 1964), or its derivative.

    The first and last half window are read off the polynomial fitted to the first and last window.
    """
    half = window // 2
    order = min(order, window - 1)
    places = np.arange(window, dtype=np.float64)

    def at(place: float) -> Array:
        """Weights that give the fitted polynomial, or its slope, at a place in the window."""
        shifted = np.vander(places - place, order + 1, increasing=True)
        weights: Array = np.linalg.pinv(shifted)[derivative]
        return weights

    smooth = np.empty_like(values)
    if len(values) >= window:
        middle = np.lib.stride_tricks.sliding_window_view(values, window) @ at(half)
        smooth[half : half + len(middle)] = middle
    for i in range(half):
        smooth[i] = at(i) @ values[:window]
        smooth[len(values) - 1 - i] = at(window - 1 - i) @ values[-window:]
    return smooth


def smoothness(
    acceleration: ArrayLike,
    angular_velocity: ArrayLike,
    forward_vector: ArrayLike,
    right_vector: ArrayLike,
) -> float:
    """Share of blocks of 20 steps in which every bound holds; each input is (n, 3) or (n, 2)."""
    return _share(acceleration, angular_velocity, forward_vector, right_vector, corrected=False)


def smoothness_corrected(
    acceleration: ArrayLike,
    angular_velocity: ArrayLike,
    forward_vector: ArrayLike,
    right_vector: ArrayLike,
) -> float:
    """`smoothness` with the yaw rate in radians and the yaw acceleration differentiated."""
    return _share(acceleration, angular_velocity, forward_vector, right_vector, corrected=True)


def _share(*series: ArrayLike, corrected: bool) -> float:
    acceleration, turning, forward, right = (np.asarray(s, dtype=np.float64) for s in series)
    count = len(acceleration)
    if count == 0:
        return 0.0
    starts = range(0, count - BLOCK + 1, BLOCK) if count > BLOCK else range(1)
    good = [
        _block_holds(
            acceleration[s : s + BLOCK],
            turning[s : s + BLOCK],
            forward[s : s + BLOCK],
            right[s : s + BLOCK],
            corrected,
        )
        for s in starts
    ]
    return sum(good) / len(good)


def _block_holds(
    acceleration: Array, turning: Array, forward: Array, right: Array, corrected: bool
) -> bool:
    window = min(WINDOW, len(acceleration))
    flat = acceleration[:, :2]

    def smooth(values: Array, derivative: int = 0) -> Array:
        return savitzky_golay(values, window, ORDER, derivative) / STEP_S**derivative

    along = smooth((flat * forward[:, :2]).sum(axis=1))
    across = smooth((flat * right[:, :2]).sum(axis=1))
    magnitude = smooth(np.hypot(flat[:, 0], flat[:, 1]))
    rate = turning[:, 2]
    if corrected:
        rate = np.radians(rate)
    rate = smooth(np.unwrap(rate))
    swing = smooth(rate, 1) if corrected else rate
    return bool(
        np.all((along > LONGITUDINAL[0]) & (along < LONGITUDINAL[1]))
        and np.all(np.abs(across) < LATERAL)
        and np.all(np.abs(smooth(magnitude, 1)) < MAGNITUDE_JERK)
        and np.all(np.abs(smooth(along, 1)) < LONGITUDINAL_JERK)
        and np.all(np.abs(rate) < YAW_RATE)
        and np.all(np.abs(swing) < YAW_ACCELERATION)
    )


def efficiency(percentages: Sequence[float]) -> float | None:
    """Mean of a route's min-speed percentages up to 1000; None for a route without any."""
    kept = [value for value in percentages if value <= MAX_EFFICIENCY_PERCENT]
    return in_order(kept) / len(kept) if kept else None


def percentage_of(text: str) -> float | None:
    """The number before ``%`` in a min-speed text, as the efficiency tool reads it."""
    words = [word for word in text.split() if word.endswith("%")]
    try:
        return float(words[0].rstrip("%"))
    except (IndexError, ValueError):
        return None


def metric_info(
    acceleration: Sequence[Any],
    angular_velocity: Sequence[Any],
    forward_vector: Sequence[Any],
    right_vector: Sequence[Any],
    location: Sequence[Any],
    rotation: Sequence[Any],
) -> dict[str, dict[str, Any]]:
    """``metric_info.json`` as the efficiency tool reads it, by step."""
    return {
        str(step): {
            "acceleration": list(row[0]),
            "angular_velocity": list(row[1]),
            "forward_vector": list(row[2]),
            "right_vector": list(row[3]),
            "location": list(row[4]),
            "rotation": list(row[5]),
        }
        for step, row in enumerate(
            zip(
                acceleration,
                angular_velocity,
                forward_vector,
                right_vector,
                location,
                rotation,
                strict=True,
            )
        )
    }
