"""A stand-in for a CARLA server: the calls that the backend makes, over the embedded world.

`module` gives an object with the names of the ``carla`` package. Values (`Location`, `Transform`,
`VehicleControl` …) and `Map` are the installed package's own where there is one, so that what the
backend makes of them is checked against the real types. It shows that the backend's bookkeeping is
right, not that a server behaves as this one does. Misbehaviour comes from a script, see `faults`.
"""

from types import SimpleNamespace
from typing import Any

from sysone.drive.clientmap import client
from sysone.drive.standin import values
from sysone.drive.standin.faults import Faults

_VALUES = (
    "Vector3D",
    "Location",
    "Rotation",
    "Transform",
    "BoundingBox",
    "VehicleControl",
    "WeatherParameters",
    "TrafficLightState",
    "LaneType",
    "Map",
)


def module(script: str | None = None) -> Any:
    """What stands for ``import carla``; ``script`` is a file of `faults`."""
    from sysone.drive.standin.server import Client

    real = client()
    found = SimpleNamespace(STAND_IN=True)
    for name in _VALUES:
        setattr(found, name, getattr(real if real is not None else values, name))
    faults = Faults(script)
    found.Client = lambda host, port: Client(found, faults)
    return found


__all__ = ["module"]
