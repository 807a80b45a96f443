"""Shapes of a road's reference line, and the cubics of widths, offsets and heights.

In CARLA's frame: y and angles of OpenDRIVE are turned over. A shape answers for one distance along
it or for an array of them; as in CARLA, distances are lengths of the curve itself, whatever its
own parameter is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_EDGE: Final = 1e-9
_KNOT_M: Final = 0.1
"""Curves without a closed form are tabulated this finely."""
# Gauss-Legendre with four points: exact far beyond a millimetre over 0.1 m of any road.
_NODES: Final = (
    0.5 - math.sqrt(3 / 7 + 2 / 7 * math.sqrt(6 / 5)) / 2,
    0.5 - math.sqrt(3 / 7 - 2 / 7 * math.sqrt(6 / 5)) / 2,
    0.5 + math.sqrt(3 / 7 - 2 / 7 * math.sqrt(6 / 5)) / 2,
    0.5 + math.sqrt(3 / 7 + 2 / 7 * math.sqrt(6 / 5)) / 2,
)
_WEIGHTS: Final = (
    (18 - math.sqrt(30)) / 72,
    (18 + math.sqrt(30)) / 72,
    (18 + math.sqrt(30)) / 72,
    (18 - math.sqrt(30)) / 72,
)


class Shape(Protocol):
    """A curve that starts at the origin along +x."""

    def at(self, d: Any) -> tuple[Any, Any, Any]:
        """x, y (right) and heading (clockwise) after d metres: numbers, or arrays for an array."""


@dataclass(frozen=True, slots=True)
class Line:
    """Straight on."""

    def at(self, d: Any) -> tuple[Any, Any, Any]:
        """See `Shape`."""
        return d, 0.0 * d, 0.0 * d


@dataclass(frozen=True, slots=True)
class Arc:
    """Part of a circle; positive curvature turns right."""

    curvature: float

    def at(self, d: Any) -> tuple[Any, Any, Any]:
        """See `Shape`."""
        k = self.curvature
        if isinstance(d, float):
            return math.sin(k * d) / k, (1.0 - math.cos(k * d)) / k, k * d
        return np.sin(k * d) / k, (1.0 - np.cos(k * d)) / k, k * d


class Spiral:
    """A clothoid: curvature is linear in the distance (positive turns right)."""

    def __init__(self, start: float, end: float, length: float) -> None:
        self.start, self.rate = start, (end - start) / length
        count = max(2, math.ceil(length / _KNOT_M) + 1)
        knots = np.linspace(0.0, length, count)
        self.step = length / (count - 1)
        dx, dy = self._between(knots[:-1], self.step)
        self.x: Floats = np.concatenate(([0.0], np.cumsum(dx)))
        self.y: Floats = np.concatenate(([0.0], np.cumsum(dy)))

    def _heading(self, d: Any) -> Any:
        return d * (self.start + d * (self.rate / 2))

    def _between(self, start: Any, length: Any) -> tuple[Any, Any]:
        """Way from one distance on, by quadrature of its direction."""
        x = y = 0.0 * start
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            heading = self._heading(start + node * length)
            x = x + weight * length * np.cos(heading)
            y = y + weight * length * np.sin(heading)
        return x, y

    def at(self, d: Any) -> tuple[Any, Any, Any]:
        """See `Shape`."""
        index = np.clip(np.floor_divide(d, self.step), 0, len(self.x) - 1).astype(np.intp)
        knot = index * self.step
        dx, dy = self._between(knot, d - knot)
        x, y, heading = self.x[index] + dx, self.y[index] + dy, self._heading(d)
        return (float(x), float(y), float(heading)) if isinstance(d, float) else (x, y, heading)


class Polynomial:
    """A curve (u(p), v(p)) of cubics, v to the right, followed by its length."""

    def __init__(
        self, u: Sequence[float], v: Sequence[float], parameter_end: float, length: float
    ) -> None:
        self.u, self.v = tuple(u), tuple(v)
        self.length = length
        count = max(8, math.ceil(length / _KNOT_M)) + 1
        self.p: Floats = np.linspace(0.0, parameter_end, count)
        width = self.p[1] - self.p[0]
        arc = np.zeros(count - 1)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            p = self.p[:-1] + node * width
            arc += weight * width * np.hypot(_slope(self.u, p), _slope(self.v, p))
        self.arc: Floats = np.concatenate(([0.0], np.cumsum(arc)))

    def at(self, d: Any) -> tuple[Any, Any, Any]:
        """See `Shape`. Beyond the curve's own end it goes straight on."""
        p = np.interp(d, self.arc, self.p)
        du, dv = _slope(self.u, p), _slope(self.v, p)
        beyond = np.maximum(d - self.arc[-1], 0.0) / np.hypot(du, dv)
        x = _cubic(self.u, p) + beyond * du
        y = _cubic(self.v, p) + beyond * dv
        heading = np.arctan2(dv, du)
        return (float(x), float(y), float(heading)) if isinstance(d, float) else (x, y, heading)


def _cubic(c: Sequence[float], p: Any) -> Any:
    return c[0] + p * (c[1] + p * (c[2] + p * c[3]))


def _slope(c: Sequence[float], p: Any) -> Any:
    return c[1] + p * (2 * c[2] + p * (3 * c[3]))


def poly3(a: float, b: float, c: float, d: float, length: float) -> Polynomial:
    """OpenDRIVE's cubic v(u) with u in metres; v to the right here."""
    return Polynomial((0.0, 1.0, 0.0, 0.0), (a, b, c, d), length, length)


@dataclass(frozen=True, slots=True)
class Geometry:
    """A stretch of a road's reference line."""

    s: float
    x: float
    y: float
    heading: float
    length: float
    shape: Shape

    def at(self, s: float) -> tuple[float, float, float]:
        """x, y and heading at a road's s."""
        d, h = s - self.s, self.heading
        shape = self.shape
        if type(shape) is Line:
            return self.x + d * math.cos(h), self.y + d * math.sin(h), h
        if type(shape) is Arc:
            k = shape.curvature
            end = h + k * d
            return (
                self.x + (math.sin(end) - math.sin(h)) / k,
                self.y - (math.cos(end) - math.cos(h)) / k,
                end,
            )
        u, v, turned = shape.at(d)
        cos, sin = math.cos(h), math.sin(h)
        return self.x + u * cos - v * sin, self.y + u * sin + v * cos, h + turned

    def along(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """The same at many s at once."""
        u, v, turned = self.shape.at(s - self.s)
        cos, sin = math.cos(self.heading), math.sin(self.heading)
        return self.x + u * cos - v * sin, self.y + u * sin + v * cos, self.heading + turned


class Cubics:
    """A function of s in pieces, each a + b d + c d² + d d³ from its own start on."""

    __slots__ = ("constant", "curved", "pieces")

    def __init__(self, pieces: Sequence[tuple[float, float, float, float, float]]) -> None:
        self.pieces = tuple(sorted(pieces)) or ((0.0, 0.0, 0.0, 0.0, 0.0),)
        first = self.pieces[0][1]
        steady = all(p[2] == p[3] == p[4] == 0.0 and p[1] == first for p in self.pieces)
        self.constant = first if steady else None
        """Its value, where it is the same everywhere."""
        self.curved = any(p[3] != 0.0 or p[4] != 0.0 for p in self.pieces)
        """Whether a piece is more than linear."""

    def _piece(self, s: float) -> tuple[float, float, float, float, float]:
        for piece in reversed(self.pieces):
            if s >= piece[0] - _EDGE:
                return piece
        return self.pieces[0]

    def at(self, s: float) -> float:
        """Its value."""
        if self.constant is not None:
            return self.constant
        start, a, b, c, d = self._piece(s)
        x = s - start
        return a + x * (b + x * (c + x * d))

    def slope(self, s: float) -> float:
        """Its derivative."""
        if self.constant is not None:
            return 0.0
        start, _, b, c, d = self._piece(s)
        x = s - start
        return b + x * (2 * c + x * (3 * d))

    def along(self, s: Floats) -> Floats:
        """Its value at many s at once."""
        return self._each(s, lambda x, a, b, c, d: a + x * (b + x * (c + x * d)))

    def _each(self, s: Floats, value: Callable[..., Any]) -> Floats:
        found = np.empty_like(s)
        for number, (start, *coefficients) in enumerate(self.pieces):
            part = s >= start - _EDGE if number else np.ones_like(s, dtype=bool)
            found[part] = value(s[part] - start, *coefficients)
        return found
