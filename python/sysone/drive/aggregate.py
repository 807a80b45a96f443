"""Many drives in a few numbers: means, success rates by name, infractions per kilometre, pairs."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sysone.drive.profiles import INFRACTION_NAMES
from sysone.drive.score import RouteScore
from sysone.runs.sums import in_order

LABELS: Final = (
    ("Avg. driving score", "score_composed"),
    ("Avg. route completion", "score_route"),
    ("Avg. infraction penalty", "score_penalty"),
    ("Collisions with pedestrians", "collisions_pedestrian"),
    ("Collisions with vehicles", "collisions_vehicle"),
    ("Collisions with layout", "collisions_layout"),
    ("Red lights infractions", "red_light"),
    ("Stop sign infractions", "stop_infraction"),
    ("Off-road infractions", "outside_route_lanes"),
    ("Route deviations", "route_dev"),
    ("Route timeouts", "route_timeout"),
    ("Agent blocked", "vehicle_blocked"),
    ("Yield emergency vehicles infractions", "yield_emergency_vehicle_infractions"),
    ("Scenario timeouts", "scenario_timeouts"),
    ("Min speed infractions", "min_speed_infractions"),
)
"""The labels of the leaderboard's values, and what each shows."""

RESAMPLES: Final = 10_000
_SUCCESS: Final = ("Completed", "Perfect")
_MIN_KM: Final = 0.001


def global_status(statuses: Sequence[str]) -> str:
    """Failed if any failed, else Completed if any is, else Perfect."""
    if not statuses:
        return "No routes"
    if any("Failed" in status for status in statuses):
        return "Failed"
    return "Completed" if "Completed" in statuses else "Perfect"


def sample_deviation(values: Sequence[float]) -> float:
    """Standard deviation with n - 1; 0 for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else 0.0


def aggregate(scores: Sequence[RouteScore], expected: int | None = None) -> dict[str, Any]:
    """Means and rates of drives; ``expected`` drives were asked for, and missing ones count 0.

    Without ``expected``, or where nothing is missing, the means are over the drives at hand.
    """
    composed = [score.score_composed for score in scores]
    count = max(expected or 0, len(scores))
    found: dict[str, Any] = {
        "score_composed": _mean(composed, count),
        "score_route": _mean([score.score_route for score in scores], count),
        "score_penalty": _mean([score.score_penalty for score in scores], count),
        "score_composed_std": round(
            sample_deviation([*composed, *[0.0] * (count - len(scores))]), 3
        ),
        "success_rate": success_rates(scores, count)["sr_completed"],
        "num_routes": len(scores),
        "num_completed": sum(score.status in _SUCCESS for score in scores),
        "status": global_status([score.status for score in scores]),
    }
    return {**found, **success_rates(scores, count), "missing": count - len(scores)}


def _mean(values: Sequence[float], count: int) -> float:
    return round(in_order(values) / count, 6) if count else 0.0


def without_infraction(score: RouteScore) -> bool:
    """Completed or Perfect, and nothing listed but min speed."""
    return score.status in _SUCCESS and not set(score.infractions) - {"min_speed_infractions"}


def success_rates(scores: Sequence[RouteScore], expected: int) -> dict[str, float]:
    """Three rates in percent of the expected drives, each by its name.

    ``sr_completed``: Completed or Perfect. ``sr_bench2drive``: those with no infraction but min
    speed, which published Bench2Drive numbers are. ``sr_full``: a driving score of 100.
    """
    counts = {
        "sr_completed": sum(score.status in _SUCCESS for score in scores),
        "sr_bench2drive": sum(map(without_infraction, scores)),
        "sr_full": sum(score.score_composed == 100.0 for score in scores),
    }
    return {
        name: round(100 * count / expected, 2) if expected else 0.0
        for name, count in counts.items()
    }


def outside_metres(text: str) -> float:
    """The distance in a text about leaving the lanes: its ninth word, as other tools read it."""
    try:
        return float(text.split(" ")[8])
    except (IndexError, ValueError):
        return 0.0


def infractions_per_km(
    texts: Sequence[Mapping[str, Sequence[str]]],
    lengths_m: Sequence[float],
    completions: Sequence[float],
) -> dict[str, float]:
    """Infractions of each list over the kilometres driven.

    For outside lanes it is the kilometres driven outside, over nothing, and the first text of a
    drive alone, as the official code has it (its criterion makes one text and updates it).
    """
    driven_km = in_order(
        length / 1000 * completion / 100
        for length, completion in zip(lengths_m, completions, strict=True)
    )
    driven_km = max(_MIN_KM, driven_km)
    found = {}
    for name in INFRACTION_NAMES:
        if name == "outside_route_lanes":
            metres = sum(outside_metres(lists[name][0]) for lists in texts if lists[name])
            found[name] = round(metres / 1000, 3)
        else:
            found[name] = round(sum(len(lists[name]) for lists in texts) / driven_km, 3)
    return found


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """How much one run's driving scores exceed another's on the same drives."""

    pairs: int
    mean: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    smallest_detectable: float
    """The least difference that this many pairs of this spread would show at 95 %."""


def paired_bootstrap(
    ours: Mapping[Any, float], theirs: Mapping[Any, float], seed: int = 0
) -> PairedDifference:
    """Paired bootstrap over the drives that both runs have (B. Efron, 1979).

    Raises:
        ValueError: they share no drive.
    """
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise ValueError("the two runs share no drive")
    differences = np.array([ours[key] - theirs[key] for key in shared])
    random = np.random.default_rng(seed)
    drawn = random.integers(0, len(shared), size=(RESAMPLES, len(shared)))
    means = differences[drawn].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return PairedDifference(
        pairs=len(shared),
        mean=round(float(differences.mean()), 6),
        low=round(float(low), 6),
        high=round(float(high), 6),
        smallest_detectable=round(float(high - low) / 2, 6),
    )
