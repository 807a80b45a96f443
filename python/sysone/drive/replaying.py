"""Replays of a whole run: its drives through the executor again, compared with what they were."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysone.drive.backend import SensorSpec, Setup
from sysone.drive.drivers import Driver
from sysone.drive.executor import MAX_GAME_TIME_S, DriveConfig, Outcome, drive_route
from sysone.drive.pictures import frame_path
from sysone.drive.replay import Differences, ReplayBackend, differences
from sysone.drive.results import Job, all_results, read_score
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import Route
from sysone.drive.ticks import TickStore
from sysone.runs.errors import RunError


@dataclass(frozen=True, slots=True)
class Replayed:
    """A drive beside its replay."""

    route_id: int
    repetition: int
    seed: int
    outcome: Outcome
    controls: Differences
    scores: dict[str, tuple[float, float]]
    """Recorded and replayed driving score, by profile."""
    same: bool
    """Whether every profile's score, status and infractions are the recorded ones."""


def replay_run(
    out: Path,
    routes: Sequence[Route],
    routes_sha256: str,
    road_map: RoadMap,
    make_driver: Callable[[TickStore], Driver],
) -> Iterator[Replayed]:
    """Replay the finished drives of a run's folder that are among ``routes``, one by one.

    Raises:
        RunError: it holds no run, was made with another route file, or cannot be replayed.
    """
    try:
        settings = json.loads((out / "run.json").read_bytes())
    except (OSError, ValueError) as error:
        raise RunError(f"{out} holds no run: {error}") from error
    if settings.get("routes_sha256") != routes_sha256:
        raise RunError(f"{out} was driven with another route file; give it with --routes")
    known = {route.id: route for route in routes}
    chosen = [result for result in all_results(out) if result["route_id"] in known]
    if not chosen:
        raise RunError(f"{out} has none of the chosen routes")
    for result in chosen:
        job = Job(result["route_id"], result["repetition"], result["seed"])
        folder = job.folder(out)
        backend = ReplayBackend(folder)
        outcome = drive_route(
            known[job.route_id],
            Setup(road_map, settings["dt"], job.seed, gps_model=road_map.gps_model),
            backend,
            make_driver(backend.store),
            _config(settings, folder, road_map),
            repetition=job.repetition,
        )
        yield _beside(result, job, backend, outcome)


def _config(settings: dict[str, Any], folder: Path, road_map: RoadMap) -> DriveConfig:
    pictures = frame_path(folder, 1).is_file()
    rgb = settings["sensors"].get("rgb") or {}
    spec = SensorSpec(camera="none")
    if pictures and rgb:
        spec = SensorSpec("replay", rgb["width"], rgb["height"], rgb["fov"])
    return DriveConfig(
        dt=settings["dt"],
        profile=settings["profile"],
        completion=settings["completion"],
        max_game_time_s=settings.get("max_game_time_s", MAX_GAME_TIME_S),
        sensors=spec,
        gps_model=road_map.gps_model,
    )


def _beside(result: dict[str, Any], job: Job, backend: ReplayBackend, outcome: Outcome) -> Replayed:
    scores, same = {}, True
    for name, found in outcome.scores.items():
        recorded = read_score(result["scores"][name])
        scores[name] = (recorded.score_composed, found.score_composed)
        same = same and (recorded.status, recorded.infractions, recorded.score_composed) == (
            found.status,
            found.infractions,
            found.score_composed,
        )
    return Replayed(
        job.route_id,
        job.repetition,
        job.seed,
        outcome,
        differences(backend.store, outcome.store),
        scores,
        same,
    )
