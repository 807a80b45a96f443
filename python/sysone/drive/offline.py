"""What can be said about drives that are over: score again, merge runs, compare two."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysone.drive.aggregate import PairedDifference, paired_bootstrap
from sysone.drive.drivescore import score_drive
from sysone.drive.records import result_file
from sysone.drive.results import LEADERBOARD_SENSORS, all_results, read_score
from sysone.drive.score import Event, RouteScore, score_route
from sysone.drive.ticks import read_ticks
from sysone.runs.errors import RunError
from sysone.runs.sums import in_order


def score_again(out: Path, result: dict[str, Any], profile: str) -> RouteScore:
    """A drive's score from its ticks and events alone.

    Raises:
        RunError: the ticks cannot be read.
    """
    key = f"seed_{result['seed']}/route_{result['route_id']}_rep{result['repetition']}"
    store, _ = read_ticks(out / key / "ticks.jsonl.gz")
    events = [Event(**event) for event in result["events"]]
    length = result["record"]["meta"]["route_length"]
    length = result["scores"][result["profile"]]["route_length"] or length
    return score_drive(
        profile,
        result["route_id"],
        store,
        length,
        result.get("road_ids"),
        result["timeout"],
        events,
        result["end"],
        result["failure"],
    )


def score_ticks(path: Path, profile: str) -> RouteScore:
    """The score of a file of ticks alone, without events: what the ticks themselves hold.

    Raises:
        RunError: it cannot be read.
    """
    store, _ = read_ticks(path)
    length = 0.0
    if len(store) and store[len(store) - 1]["odometer_m"]:
        length = float(store[len(store) - 1]["odometer_m"])
    return score_route(path.name, store, length, profile=profile)


def merge(folders: Sequence[Path]) -> dict[str, Any]:
    """One leaderboard file of several runs' drives.

    Raises:
        RunError: a folder holds no run, two runs hold the same drive, or their profiles differ.
    """
    records: list[dict[str, Any]] = []
    seen: dict[str, Path] = {}
    profiles: dict[str, Path] = {}
    for folder in folders:
        for result in all_results(folder):
            profiles.setdefault(result["profile"], folder)
            record = dict(result["record"])
            key = f"{record['route_id']} seed {result['seed']}"
            if key in seen:
                raise RunError(f"{key} is in {seen[key]} and in {folder}")
            seen[key] = folder
            records.append(record)
    if len(profiles) > 1:
        names = ", ".join(f"{folder}: {name}" for name, folder in profiles.items())
        raise RunError(f"the runs were scored under different profiles ({names})")
    records.sort(key=lambda record: str(record["route_id"]))
    return result_file(records, len(records), sensors=LEADERBOARD_SENSORS, finished=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the drives that both have."""

    profile: str
    ours: float
    theirs: float
    difference: PairedDifference


def compare(first: Path, second: Path, profile: str) -> Comparison:
    """Paired bootstrap of the driving scores.

    Raises:
        RunError: a folder holds no run, or they share no drive.
    """

    def scores(folder: Path) -> dict[tuple[int, int, int], float]:
        return {
            (r["route_id"], r["repetition"], r["seed"]): read_score(
                r["scores"].get(profile) or r["scores"]["bench2drive"]
            ).score_composed
            for r in all_results(folder)
        }

    ours, theirs = scores(first), scores(second)
    try:
        found = paired_bootstrap(ours, theirs)
    except ValueError as error:
        raise RunError(f"{first} and {second}: {error}") from error
    shared = [key for key in ours if key in theirs]
    return Comparison(
        profile,
        in_order(ours[key] for key in shared) / len(shared),
        in_order(theirs[key] for key in shared) / len(shared),
        found,
    )
