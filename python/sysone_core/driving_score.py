"""Which events do the recorded ticks of a drive hold, and what do they cost? (compiled)

``fold_columns(sim_time, speed, completion, location, red, junction, road, road_known, contacts,
road_ids, **rules)`` takes one value a tick and returns ``(penalty, counted, events)``: the product
of the factors, the number of ticks up to the end of the drive by these rules, and each event as
``(kind, index of its first tick, ticks)``, kinds as in `KINDS`. ``contacts`` is sparse:
``(tick index, actor id, class)``, ascending, the strongest of a tick first; classes are those of
`per_tick_class` and `official_class`. ``fold_dicts`` does the same over a list of dictionaries.
Both release the GIL while folding.
"""

from typing import Final

from sysone_core._driving_score import fold_columns, fold_dicts, official_class, per_tick_class

KINDS: Final = (
    "collision_static",
    "collision_pedestrian",
    "collision_vehicle",
    "red_light",
    "vehicle_blocked",
    "route_dev",
)
"""Event types by their number."""

__all__ = ["KINDS", "fold_columns", "fold_dicts", "official_class", "per_tick_class"]
