from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

def per_tick_class(actor: str | None) -> int: ...
def official_class(actor: str | None) -> int: ...
def fold_columns(
    sim_time: NDArray[np.float64],
    speed: NDArray[np.float64],
    completion: NDArray[np.float64],
    location: NDArray[np.float64],
    red: NDArray[np.uint8],
    junction: NDArray[np.uint8],
    road: NDArray[np.int64],
    road_known: NDArray[np.uint8],
    contacts: Iterable[tuple[int, int, int]],
    road_ids: Collection[int] | None = None,
    *,
    debounced: bool = False,
    red_from_ticks: bool = True,
    deviation_from_ticks: bool = True,
    blocked_speed: float = 0.05,
    blocked_s: float = 30.0,
    blocked_strict: bool = False,
    blocked_ends: bool = False,
    reached_percent: float = 99.0,
) -> tuple[float, int, list[tuple[int, int, int]]]: ...
def fold_dicts(
    ticks: list[dict[str, Any]],
    road_ids: Collection[int] | None = None,
    *,
    debounced: bool = False,
    red_from_ticks: bool = True,
    deviation_from_ticks: bool = True,
    blocked_speed: float = 0.05,
    blocked_s: float = 30.0,
    blocked_strict: bool = False,
    blocked_ends: bool = False,
    reached_percent: float = 99.0,
) -> tuple[float, int, list[tuple[int, int, int]]]: ...
