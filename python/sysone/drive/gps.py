"""Between CARLA's plane and latitude and longitude, as three generations of clients do it.

Forward and inverse of each model stand together. The reference (lat0, lon0) is the map's
``geoReference``; CARLA falls back to 42, 2 where it cannot read one. Altitude is z.

The 0.9.16 client has the opposite sign of y to those before it and to 0.10.0: 5 km to the south
in one is 5 km to the north in the other, 10 km apart. `flat_legacy` is an earlier harness's text,
wrong in the same way against 0.9.15 and 0.10.0; it exists to read old records.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

EARTH_R: Final = 6378137.0
"""Metres; the equatorial radius of WGS 84, as CARLA takes it."""
DEFAULT_MODEL: Final = "carla_mercator"
FALLBACK_REFERENCE: Final = (42.0, 2.0)
"""What CARLA takes for a map whose reference it cannot read."""
TOLERANCE_M: Final = 0.05
_TMERC_SCALE: Final = 0.9996
"""The 0.9.16 client takes it whatever ``+k`` the map has."""

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class GpsModel:
    """A conversion and its inverse."""

    name: str
    forward: Callable[[float, float, float, float], Pair]
    """(x, y, lat0, lon0) in m and degrees to (lat, lon)."""
    inverse: Callable[[float, float, float, float], Pair]
    """(lat, lon, lat0, lon0) to (x, y)."""


def _mercator_forward(x: float, y: float, lat0: float, lon0: float) -> Pair:
    scale = math.cos(math.radians(lat0))
    radius = scale * EARTH_R
    mx = radius * math.radians(lon0) + x
    my = radius * math.log(math.tan(math.pi / 4 + math.radians(lat0) / 2)) - y
    lat = 2 * math.atan(math.exp(my / radius)) - math.pi / 2
    return math.degrees(lat), math.degrees(mx / radius)


def _mercator_inverse(lat: float, lon: float, lat0: float, lon0: float) -> Pair:
    radius = math.cos(math.radians(lat0)) * EARTH_R
    x = radius * (math.radians(lon) - math.radians(lon0))
    y = radius * (
        math.log(math.tan(math.pi / 4 + math.radians(lat0) / 2))
        - math.log(math.tan(math.pi / 4 + math.radians(lat) / 2))
    )
    return x, y


def _tmerc_forward(x: float, y: float, lat0: float, lon0: float) -> Pair:
    radius = _TMERC_SCALE * EARTH_R
    across = x / radius
    along = y / radius + math.radians(lat0)
    lat = math.asin(math.sin(along) / math.cosh(across))
    lon = math.radians(lon0) + math.atan2(math.sinh(across), math.cos(along))
    return math.degrees(lat), math.degrees(lon)


def _tmerc_inverse(lat: float, lon: float, lat0: float, lon0: float) -> Pair:
    radius = _TMERC_SCALE * EARTH_R
    phi, turn = math.radians(lat), math.radians(lon) - math.radians(lon0)
    x = radius * math.atanh(math.cos(phi) * math.sin(turn))
    along = math.atan2(math.tan(phi), math.cos(turn))
    return x, radius * (along - math.radians(lat0))


def _flat_forward(x: float, y: float, lat0: float, lon0: float) -> Pair:
    lat = lat0 + math.degrees(y / EARTH_R)
    return lat, lon0 + math.degrees(x / (EARTH_R * math.cos(math.radians(lat))))


def _flat_inverse(lat: float, lon: float, lat0: float, lon0: float) -> Pair:
    y = math.radians(lat - lat0) * EARTH_R
    return math.radians(lon - lon0) * EARTH_R * math.cos(math.radians(lat)), y


MODELS: Final = MappingProxyType(
    {
        model.name: model
        for model in (
            GpsModel("carla_mercator", _mercator_forward, _mercator_inverse),
            GpsModel("carla_tmerc_0916", _tmerc_forward, _tmerc_inverse),
            GpsModel("flat_legacy", _flat_forward, _flat_inverse),
        )
    }
)
"""By name."""


def gps_model(name: str) -> GpsModel:
    """The model of this name.

    Raises:
        ValueError: there is none; the text lists them.
    """
    if name not in MODELS:
        raise ValueError(f"gps model is {name!r}, expected one of {', '.join(MODELS)}")
    return MODELS[name]


def carla_to_gps(
    x: float, y: float, lat_ref: float = 0.0, lon_ref: float = 0.0, *, model: str = DEFAULT_MODEL
) -> Pair:
    """Latitude and longitude in degrees of a place in metres.

    Raises:
        ValueError: the model is unknown.
    """
    return gps_model(model).forward(x, y, lat_ref, lon_ref)


def gps_to_carla(
    lat: float,
    lon: float,
    lat_ref: float = 0.0,
    lon_ref: float = 0.0,
    *,
    model: str = DEFAULT_MODEL,
) -> Pair:
    """The place in metres of a latitude and longitude in degrees.

    Raises:
        ValueError: the model is unknown.
    """
    return gps_model(model).inverse(lat, lon, lat_ref, lon_ref)


def reference_of(geo_reference: str | None) -> Pair:
    """(lat0, lon0) of a map's ``geoReference`` text, or CARLA's fallback."""
    text = geo_reference or ""
    lat = re.search(r"\+lat_0=\s*([-+0-9.eE]+)", text)
    lon = re.search(r"\+lon_0=\s*([-+0-9.eE]+)", text)
    try:
        if lat and lon:
            return float(lat[1]), float(lon[1])
    except ValueError:
        pass
    return FALLBACK_REFERENCE


class GpsModelMismatch(ValueError):  # noqa: N818 - named as its message
    """The plan's conversion is not the one that the GNSS sensor follows."""


def check_model(
    places: Sequence[Pair],
    plan: Sequence[Pair],
    reading: Pair,
    reference: Pair,
    model: str,
    tolerance_m: float = TOLERANCE_M,
    noise_m: float = 0.0,
) -> None:
    """Compare the GNSS sensor's first reading, and the plan, with the model.

    ``places`` are the spawn point and a few plan points in metres, ``plan`` their latitudes and
    longitudes as the agent will get them, ``reading`` the sensor's at the spawn point, with noise
    of this standard deviation.

    Raises:
        GpsModelMismatch: they are more than ``tolerance_m`` apart, the reading also more than six
            standard deviations.
    """
    inverse = gps_model(model).inverse
    spawn = places[0]
    named = [("GNSS reading", spawn, reading)]
    named += [(f"plan point {i}", place, plan[i]) for i, place in enumerate(places)]
    allowed = [max(tolerance_m, 6 * noise_m), *(tolerance_m for _ in places)]
    for (what, place, given), limit in zip(named, allowed, strict=True):
        off = math.dist(inverse(*given, *reference), place)
        if not off <= limit:
            wanted = gps_model(model).forward(*place, *reference)
            raise GpsModelMismatch(
                f"GPS_MODEL_MISMATCH: {what} is {given[0]:.9f}, {given[1]:.9f}, but {model} at "
                f"reference {reference[0]:g}, {reference[1]:g} gives {wanted[0]:.9f}, "
                f"{wanted[1]:.9f} for ({place[0]:g}, {place[1]:g}), {off:.3f} m away; "
                f"{_fitting(place, given, reference, tolerance_m)}"
            )


def _fitting(place: Pair, given: Pair, reference: Pair, tolerance_m: float) -> str:
    fits = [
        name
        for name, model in MODELS.items()
        if math.dist(model.inverse(*given, *reference), place) <= tolerance_m
    ]
    return f"{' and '.join(fits)} would fit" if fits else "no known model fits"
