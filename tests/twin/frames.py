"""The embedded world's pictures and contacts in plain Python and NumPy: twin of the compiled ones.

Lines, Base64 and ticks have their twin in ``sysone.drive.service.wire``, which a model's own
environment runs.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def ground_camera(
    cells: NDArray[np.uint8],
    west: float,
    north: float,
    cell: float,
    palette: NDArray[np.uint8],
    target: NDArray[np.uint8],
    x: float,
    y: float,
    yaw: float,
    focal: float,
    mount_x: float,
    mount_y: float,
    mount_z: float,
) -> None:
    height, width, _ = target.shape
    v = np.arange(height // 2, height, dtype=np.float64)[:, None]
    u = np.arange(width, dtype=np.float64)[None, :]
    ahead = focal * mount_z / (v + 0.5 - height / 2)
    step = ahead / focal
    right = mount_y + (0.5 - width / 2) * step
    forward = mount_x + ahead
    cos, sin = math.cos(yaw), math.sin(yaw)
    column = (x + cos * forward - sin * right - west) / cell + (-sin * step / cell) * u
    row = (y + sin * forward + cos * right - north) / cell + (cos * step / cell) * u
    rows, columns = cells.shape
    inside = (column >= 0) & (row >= 0) & (column < columns) & (row < rows)
    index = np.zeros(column.shape, dtype=np.int64)
    index[inside] = cells[row[inside].astype(np.int64), column[inside].astype(np.int64)]
    target[height // 2 :] = palette[index]


def fill_convex(
    corners: NDArray[np.float64], colour: tuple[int, int, int], target: NDArray[np.uint8]
) -> None:
    """A pixel is filled when its centre lies between the edges on its row."""
    height, width, _ = target.shape
    for v in range(height):
        line = v + 0.5
        crossings = []
        for i in range(len(corners)):
            a, b = corners[i], corners[(i + 1) % len(corners)]
            if (a[1] <= line) != (b[1] <= line):
                crossings.append(a[0] + (line - a[1]) / (b[1] - a[1]) * (b[0] - a[0]))
        if not crossings:
            continue
        first = min(max(math.ceil(min(crossings) - 0.5), 0), width)
        last = min(max(math.ceil(max(crossings) - 0.5), 0), width)
        target[v, first:last] = colour


def boxes_overlap(*values: float) -> tuple[float, float, float] | None:
    x, y, yaw, half_length, half_width, ox, oy, other_yaw, other_length, other_width = values
    least: tuple[float, float, float] | None = None
    for angle in (yaw, yaw + math.pi / 2, other_yaw, other_yaw + math.pi / 2):
        ax, ay = math.cos(angle), math.sin(angle)

        def reach(turn: float, length: float, width: float, ax: float = ax, ay: float = ay) -> Any:
            cos, sin = math.cos(turn), math.sin(turn)
            return length * abs(ax * cos + ay * sin) + width * abs(ay * cos - ax * sin)

        apart = ax * (x - ox) + ay * (y - oy)
        depth = reach(yaw, half_length, half_width) + reach(other_yaw, other_length, other_width)
        depth -= abs(apart)
        if depth <= 0:
            return None
        if least is None or depth < least[0] - 1e-12:
            sign = -1.0 if apart < 0 else 1.0
            least = (depth, sign * ax, sign * ay)
    return least
