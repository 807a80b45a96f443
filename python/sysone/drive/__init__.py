"""A closed loop for driving models: any machine, Bench2Drive's scores.

The rooms: ``routes`` and ``opendrive`` say where to drive, ``embedded`` is the world, ``forge``
and ``protocol`` are what the model sees, ``agents`` and ``service`` are who decides, ``executor``
drives, ``criteria`` and ``score`` count, ``results`` and ``report`` write and show.
"""

from sysone.drive.agents import AgentSocketServer
from sysone.drive.gps import carla_to_gps, gps_to_carla
from sysone.drive.profiles import PENALTY_VALUE_DICT
from sysone.drive.score import RouteScore, score_route
from sysone.drive.ticks import TickRecord

__all__ = [
    "PENALTY_VALUE_DICT",
    "AgentSocketServer",
    "RouteScore",
    "TickRecord",
    "carla_to_gps",
    "gps_to_carla",
    "score_route",
]
