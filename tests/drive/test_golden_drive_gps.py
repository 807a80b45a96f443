import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysone.drive.gps import (
    MODELS,
    GpsModelMismatch,
    carla_to_gps,
    check_model,
    gps_to_carla,
    reference_of,
)

OF_CLIENT = {
    "0.9.15": "carla_mercator",
    "0.9.16": "carla_tmerc_0916",
    "0.10.0": "carla_mercator",
}


def test_every_client(golden: Callable[[str, str], Any]) -> None:
    for version, maps in golden("drive", "gps.json")["versions"].items():
        model = OF_CLIENT[version]
        for found in maps.values():
            reference = reference_of(found["geo_reference"])
            assert len(found["points"]) == 89
            for x, y, z, lat, lon, altitude in found["points"]:
                assert altitude == z
                # 4e-9 m, and what a double in degrees can tell
                assert math.dist(gps_to_carla(lat, lon, *reference, model=model), (x, y)) < 1e-8
                assert carla_to_gps(x, y, *reference, model=model) == pytest.approx(
                    (lat, lon), abs=1e-13
                )


def test_how_far_apart_the_models_are(golden: Callable[[str, str], Any]) -> None:
    """In metres, over the same points: 10 km where the sign of y differs."""
    data = golden("drive", "gps.json")
    forms = {"seed": "flat_legacy", "mercator": "carla_mercator"}
    for key, want in data["max_difference_m"].items():
        version, name, form = key.split("|")
        found = data["versions"][version][name]
        reference = reference_of(found["geo_reference"])
        scale = math.pi / 180 * 6378137.0
        worst = 0.0
        for x, y, _, lat, lon, _ in found["points"]:
            ours = carla_to_gps(x, y, *reference, model=forms[form])
            north = (ours[0] - lat) * scale
            east = (ours[1] - lon) * scale * math.cos(math.radians(reference[0]))
            worst = max(worst, math.hypot(north, east))
        assert worst == pytest.approx(want, abs=max(6.0, want * 0.001)), key


@given(
    x=st.floats(-5000, 5000),
    y=st.floats(-5000, 5000),
    lat0=st.sampled_from([0.0, 49.0, -33.5, 42.0]),
    lon0=st.sampled_from([0.0, 8.0, 151.25, 2.0]),
    model=st.sampled_from(sorted(MODELS)),
)
def test_forward_and_inverse_are_a_pair(
    x: float, y: float, lat0: float, lon0: float, model: str
) -> None:
    there = carla_to_gps(x, y, lat0, lon0, model=model)
    assert math.dist(gps_to_carla(*there, lat0, lon0, model=model), (x, y)) < 1e-6


def test_flat_legacy_mirrors_the_route() -> None:
    lat, lon = carla_to_gps(100.0, 5000.0, model="flat_legacy")
    x, y = gps_to_carla(lat, lon)
    assert x == pytest.approx(100.0, abs=0.1)
    assert y == pytest.approx(-5000.0, abs=0.01)


def test_the_self_check_names_both_values_and_what_fits() -> None:
    places = [(100.0, 50.0), (200.0, 50.0)]
    plan = [carla_to_gps(*place) for place in places]
    check_model(places, plan, plan[0], (0.0, 0.0), "carla_mercator")
    wrong = carla_to_gps(*places[0], model="carla_tmerc_0916")
    with pytest.raises(GpsModelMismatch, match=r"GPS_MODEL_MISMATCH.*carla_tmerc_0916.*would fit"):
        check_model(places, plan, wrong, (0.0, 0.0), "carla_mercator")
    with pytest.raises(GpsModelMismatch, match="plan point 1"):
        check_model(places, [plan[0], wrong], plan[0], (0.0, 0.0), "carla_mercator")


def test_references() -> None:
    assert reference_of("+proj=tmerc +lat_0=49.0 +lon_0=8.5 +k=1") == (49.0, 8.5)
    assert reference_of(None) == reference_of("+proj=utm") == (42.0, 2.0)
    with pytest.raises(ValueError, match="gps model is 'x', expected one of carla_mercator"):
        carla_to_gps(0, 0, model="x")
