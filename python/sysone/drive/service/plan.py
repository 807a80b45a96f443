"""The plan as an agent gets it: far fewer points than the dense one, with GPS beside."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

from sysone.drive.gps import DEFAULT_MODEL, carla_to_gps

LANE_FOLLOW: Final = 4
LANE_CHANGES: Final = (5, 6)
SPACING_M: Final = 50.0


@dataclass(frozen=True)
class Plan:
    """A dense plan."""

    points: Sequence[Sequence[float]]
    """x, y, z in metres."""
    options: Sequence[int]
    gps: Sequence[Sequence[float]]
    """lat, lon, z."""

    @staticmethod
    def of(message: dict[str, Any]) -> "Plan":
        """The plan of a ``route_start``; what it leaves out is computed."""
        points = message["keypoints"]
        options = message.get("commands") or [LANE_FOLLOW] * len(points)
        gps = message.get("gps_plan")
        if gps is None:
            model = message.get("gps_model") or DEFAULT_MODEL
            reference = message.get("gps_ref") or (0.0, 0.0)
            gps = [[*carla_to_gps(x, y, *reference, model=model), z] for x, y, z in points]
        return Plan(points, options, gps)

    def for_agent(self, dense: bool = False) -> tuple[list[Any], list[Any]]:
        """``_global_plan`` and ``_global_plan_world_coord``, same indices."""
        kept = range(len(self.points)) if dense else kept_points(self.points, self.options)
        gps = [
            ({"lat": self.gps[i][0], "lon": self.gps[i][1], "z": self.gps[i][2]}, self.options[i])
            for i in kept
        ]
        return gps, [(self._transform(i), self.options[i]) for i in kept]

    def _transform(self, i: int) -> Any:
        a = self.points[max(i - 1, 0)] if i == len(self.points) - 1 else self.points[i]
        b = self.points[i] if i == len(self.points) - 1 else self.points[i + 1]
        x, y, z = self.points[i]
        return SimpleNamespace(
            location=SimpleNamespace(x=x, y=y, z=z),
            rotation=SimpleNamespace(
                pitch=0.0, yaw=math.degrees(math.atan2(b[1] - a[1], b[0] - a[0])), roll=0.0
            ),
        )


def kept_points(points: Sequence[Sequence[float]], options: Sequence[int]) -> list[int]:
    """Indices of the points that an agent gets, as the leaderboard thins a plan.

    The first; each lane change; each point where the option changes from one that is no lane
    change; one after more than 50 m; the last.
    """
    if not points:
        return []
    kept = [0]
    metres = 0.0
    for i in range(1, len(points)):
        metres += math.dist(points[i - 1], points[i])
        before = options[i - 1]
        changed = options[i] != before and before not in LANE_CHANGES
        if options[i] in LANE_CHANGES or changed or metres > SPACING_M:
            kept.append(i)
            metres = 0.0
    if kept[-1] != len(points) - 1:
        kept.append(len(points) - 1)
    return kept
