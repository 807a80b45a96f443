"""Files that the drive world reads: maps (OpenDRIVE), routes, recorded ticks.

Input: a byte for the kind, then the file.

Properties: a file is read or refused with `RunError` (a `RouteError` is one) or `BadTick`, and
nothing else; a map that is read answers where its roads are.
"""

import math

from sysone.drive.roadmap import read_map
from sysone.drive.routes import read_routes
from sysone.drive.ticks import BadTick, read_ticks
from sysone.runs.errors import RunError
from tools.fuzz.files import written

INSTRUMENT = (
    "sysone.drive.opendrive",
    "sysone.drive.geometry",
    "sysone.drive.lanepieces",
    "sysone.drive.roadmap",
    "sysone.drive.routes",
    "sysone.drive.ticks",
)


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    kind = data[0] % 4 if data else 0
    name = ("map.xodr", "routes.xml", "ticks.jsonl", "ticks.json")[kind]
    path = written(name, data[1:])
    try:
        if kind == 0:
            _map(path)
        elif kind == 1:
            routes = read_routes(path)
            assert routes
            assert all(len(route.waypoints) >= 2 for route in routes)
        else:
            store, _ = read_ticks(path)
            list(store)
    except (RunError, BadTick):
        return


def _map(path) -> None:
    road_map = read_map(path)
    point = road_map.nearest(0.0, 0.0)
    if point is not None:
        assert math.isfinite(point.x)
        assert math.isfinite(point.y)
