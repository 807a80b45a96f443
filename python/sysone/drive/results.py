"""What a run leaves on disk: a folder for each drive, and the files over all of them."""

import hashlib
import json
import math
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sysone.drive.aggregate import aggregate
from sysone.drive.comfort import efficiency, metric_info, percentage_of, smoothness
from sysone.drive.drivescore import scored_profiles
from sysone.drive.executor import Outcome
from sysone.drive.latency import latency, summed
from sysone.drive.records import result_file, route_record
from sysone.drive.score import Infraction, RouteScore
from sysone.drive.ticks import TickStore
from sysone.runs.atomic import write_json
from sysone.runs.errors import RunError, unreadable
from sysone.runs.sums import in_order

LEADERBOARD_SENSORS: Final = ("carla_camera", "carla_gnss", "carla_imu", "carla_speedometer")


@dataclass(frozen=True, slots=True)
class Job:
    """One drive that a run has to make."""

    route_id: int
    repetition: int
    seed: int

    @property
    def name(self) -> str:
        """As the leaderboard names it."""
        return f"RouteScenario_{self.route_id}_rep{self.repetition}"

    @property
    def key(self) -> str:
        """Unlike any other of the run."""
        return f"seed_{self.seed}/route_{self.route_id}_rep{self.repetition}"

    def folder(self, out: Path) -> Path:
        """Where its files are."""
        return out / self.key


def save_outcome(
    out: Path,
    job: Job,
    outcome: Outcome,
    *,
    attempt: int,
    profile: str,
    tick_json: bool = False,
    backend: str = "embedded",
) -> dict[str, Any]:
    """Write a drive's files, its ``result.json`` last; the content of that.

    Raises:
        RunError: a file cannot be written.
    """
    folder = job.folder(out)
    score = outcome.scores[profile]
    header = {"route_id": job.route_id, "repetition": job.repetition, "seed": job.seed}
    packed = outcome.store.write(folder / "ticks.jsonl.gz", header)
    _metrics(folder / "metric_info.json", outcome)
    stamp = time.strftime("%m_%d_%H_%M_%S")
    route = outcome.route
    save_name = f"{job.name}_{route.town}_{route.scenario}_0_{stamp}"
    record = route_record(
        score,
        route_name=job.name,
        town=route.town,
        scenario=route.scenario,
        save_name=save_name,
        duration_system_s=outcome.wall_s,
        extra={
            "profile": profile,
            "attempt": attempt,
            "seed": job.seed,
            "agent": outcome.agent,
            "backend": backend,
            "end": outcome.end,
        },
    )
    write_json(
        folder / f"route_{job.route_id}_result.json",
        {
            "route_id": job.route_id,
            "status": score.status,
            "route_length": score.route_length,
            "duration_game": score.duration_game,
            "duration_system": round(outcome.wall_s, 3),
            "score_route": score.score_route,
            "score_penalty": score.score_penalty,
            "score_composed": score.score_composed,
            "infractions": score.texts(),
        },
        indent=1,
    )
    if tick_json:
        write_json(folder / f"route_{job.route_id}_ticks.json", list(outcome.store))
    result = {
        "final": True,
        "ticks_sha256": hashlib.sha256(packed).hexdigest(),
        "route_id": job.route_id,
        "repetition": job.repetition,
        "seed": job.seed,
        "attempt": attempt,
        "profile": profile,
        "agent": outcome.agent,
        "end": outcome.end,
        "failure": outcome.failure,
        "note": outcome.note,
        "ticks": len(outcome.store),
        "backend": backend,
        "wall_s": round(outcome.wall_s, 3),
        "driving_s": round(driving_s(outcome.store), 3),
        "latency": latency(outcome.store),
        "late_answers": outcome.late_answers,
        "warnings": outcome.warnings,
        "events": [asdict(event) for event in outcome.events],
        "road_ids": sorted(outcome.plan.road_ids),
        "timeout": any("route_timeout" in s.infractions for s in outcome.scores.values()),
        "scores": {name: asdict(one) for name, one in outcome.scores.items()},
        "comfort": _comfort(outcome),
        "record": record,
    }
    write_json(folder / "result.json", result, indent=1)
    return result


def driving_s(store: TickStore) -> float:
    """Wall seconds from the first tick to the last: without loading a town, warm-up and scoring."""
    stamps = store.column("timestamp")
    return float(stamps[-1] - stamps[0]) if len(stamps) > 1 else 0.0


def _metrics(path: Path, outcome: Outcome) -> None:
    store = outcome.store
    yaws = store.column("ego_yaw")
    write_json(
        path,
        metric_info(
            store.column("ego_acceleration"),
            store.column("angular_velocity"),
            store.column("forward_vector"),
            store.column("right_vector"),
            store.column("ego_location"),
            [[0.0, 0.0, math.degrees(yaw or 0.0)] for yaw in yaws],
        ),
    )


def _comfort(outcome: Outcome) -> dict[str, float | None]:
    store = outcome.store
    names = ("ego_acceleration", "angular_velocity", "forward_vector", "right_vector")
    percentages = [
        value
        for event in outcome.events
        if event.type == "min_speed" and (value := percentage_of(event.message)) is not None
    ]
    return {
        "smoothness": smoothness(*(store.array(name) for name in names)) if len(store) else 0.0,
        "efficiency": efficiency(percentages),
    }


def read_result(folder: Path) -> dict[str, Any] | None:
    """A drive's ``result.json`` if the drive is done, else None.

    Done is exactly: the file is there, says ``final``, and its hash is that of the ticks.
    """
    try:
        found = json.loads((folder / "result.json").read_bytes())
        ticks = (folder / "ticks.jsonl.gz").read_bytes()
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("final") is not True:
        return None
    if found.get("ticks_sha256") != hashlib.sha256(ticks).hexdigest():
        return None
    return found


def read_score(found: Mapping[str, Any]) -> RouteScore:
    """A score as `save_outcome` wrote it."""
    lists = {
        name: [Infraction(**item) for item in items] for name, items in found["infractions"].items()
    }
    return RouteScore(**{**found, "infractions": lists})


def summarise(
    results: Sequence[Mapping[str, Any]], jobs: Sequence[Job], profile: str
) -> dict[str, Any]:
    """``summary.json``: aggregates over all and by seed, what is missing, and the speed."""
    done = {(r["seed"], r["route_id"], r["repetition"]) for r in results}
    missing = [job.key for job in jobs if (job.seed, job.route_id, job.repetition) not in done]
    scores = {
        name: [read_score(r["scores"][name]) for r in results] for name in scored_profiles(profile)
    }
    seeds = sorted({job.seed for job in jobs})
    per_seed = {}
    for seed in seeds:
        ours = [read_score(r["scores"][profile]) for r in results if r["seed"] == seed]
        per_seed[str(seed)] = aggregate(ours, sum(job.seed == seed for job in jobs))
    means = [per_seed[str(seed)]["score_composed"] for seed in seeds]
    mean = in_order(means) / len(means) if means else 0.0
    spread = (
        math.sqrt(in_order((m - mean) ** 2 for m in means) / (len(means) - 1))
        if len(means) > 1
        else 0.0
    )
    wall = in_order(r.get("driving_s", r["wall_s"]) for r in results)
    ticks = sum(r["ticks"] for r in results)
    simulated = in_order(r["record"]["meta"]["duration_game"] for r in results)
    smooth = [r["comfort"]["smoothness"] for r in results]
    brisk = [r["comfort"]["efficiency"] for r in results if r["comfort"]["efficiency"] is not None]
    return {
        "profile": profile,
        **aggregate(scores[profile], len(jobs)),
        "profiles": {name: aggregate(found, len(jobs)) for name, found in scores.items()},
        "seeds": per_seed,
        "seed_mean": round(mean, 6),
        "seed_std": round(spread, 3),
        "comfort": {
            "smoothness": round(in_order(smooth) / len(smooth), 6) if smooth else None,
            "efficiency": round(in_order(brisk) / len(brisk), 6) if brisk else None,
        },
        "missing_routes": missing,
        "failed_routes": [
            f"seed_{r['seed']}/route_{r['route_id']}_rep{r['repetition']}"
            for r in results
            if r["failure"] is not None
        ],
        "sim_fps": round(ticks / wall, 1) if wall > 0 else 0.0,
        "realtime_factor": round(simulated / wall, 2) if wall > 0 else 0.0,
        "latency": summed([r["latency"] for r in results if "latency" in r]),
        "backends": sorted({str(r.get("backend", "embedded")) for r in results}),
        "speed_baselines": SPEED_BASELINES,
    }


SPEED_BASELINES: Final = {
    "ue5": {"sim_fps": 42.3, "realtime_factor": 2.1},
    "ue4": {"sim_fps": 97.6, "realtime_factor": 4.9},
}
"""CARLA servers in synchronous mode at 720p Epic with no agent, published for one machine with a
large GPU; the gap of 2.3 between the two is the renderer's."""
WALL_CLOCK_KEYS: Final = ("sim_fps", "realtime_factor", "latency")
"""Keys of ``summary.json`` that depend on the machine; all others do not."""


def write_leaderboard(
    out: Path, results: Sequence[Mapping[str, Any]], expected: int, *, lidar: bool = False
) -> None:
    """``leaderboard/result.json`` and ``metrics/``, as other tools look for them.

    Raises:
        RunError: a file cannot be written.
    """
    records = [dict(result["record"]) for result in results]
    sensors = [*LEADERBOARD_SENSORS, *(["carla_lidar"] if lidar else [])]
    write_json(
        out / "leaderboard" / "result.json",
        result_file(records, expected, sensors=sensors, finished=len(records) == expected),
        indent=1,
    )
    for result in results:
        target = out / "metrics" / result["record"]["save_name"] / "metric_info.json"
        job = Job(result["route_id"], result["repetition"], result["seed"])
        source = job.folder(out) / "metric_info.json"
        if target.exists() or not source.exists():
            continue
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        except OSError as error:
            raise RunError(f"cannot write {target}: {error.strerror}") from error


def all_results(out: Path) -> list[dict[str, Any]]:
    """Every finished drive of a run's folder, by seed and route.

    Raises:
        RunError: the folder cannot be read or holds no run.
    """
    if not out.is_dir():
        raise RunError(f"{out} is not a folder of a run")
    try:
        folders = sorted(out.glob("seed_*/route_*"))
    except OSError as error:
        raise unreadable(out, error) from error
    found = [result for folder in folders if (result := read_result(folder)) is not None]
    if not found:
        raise RunError(f"{out} holds no finished drive")
    return sorted(found, key=lambda r: (r["seed"], r["route_id"], r["repetition"]))
