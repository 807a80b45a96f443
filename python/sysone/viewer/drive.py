"""A drive on its map.

Ticks have the car and the light that affects it. Other actors and lights are not written: where
the same world and route are at hand, the recorded controls drive it again, and what it shows is
taken when the car is at the same places to the bit, and left out otherwise.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from sysone.drive.backend import Frame, SensorSpec, Setup
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.embedded.lights import find_lights, find_stops
from sysone.drive.executor import MAX_GAME_TIME_S, DriveConfig, drive_route
from sysone.drive.planning import densify
from sysone.drive.replay import FRAMES, RecordedDriver
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import Route, read_routes, scripts_of
from sysone.drive.shipped import find_routes, map_of
from sysone.drive.ticks import BadTick, TickStore, read_ticks
from sysone.runs.errors import RunError
from sysone.viewer.document import Document, Header, Tone, Verdict
from sysone.viewer.reading import read_object

LANE_STEP_M: Final = 2.0
MOST_TICKS: Final = 200_000
COLUMNS: Final = (
    *("sim_time", "ego_yaw", "ego_speed", "speed_limit", "route_completion"),
    *("traffic_light_state", "traffic_light_id", "control_source", "infer_ms"),
    *("lane_id", "road_id", "is_junction", "background_speed"),
)


class Watched(EmbeddedBackend):
    """The embedded world, which keeps what stands where after every tick."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[list[list[Any]], dict[int, str]]] = []

    def tick(self) -> Frame:
        """One step, looked at."""
        frame = super().tick()
        actors = [
            [
                *(actor.id, actor.type, round(actor.x, 2), round(actor.y, 2), round(actor.yaw, 3)),
                *(actor.half_length, actor.half_width),
            ]
            for actor in self.actors()
        ]
        self.seen.append((actors, dict(frame.lights)))
        return frame


def drive_document(folder: Path, run: Path | None, title: str | None = None) -> Document:
    """The screen of one drive; ``run`` is the folder of its run.

    Raises:
        RunError: a file of it is missing or broken.
    """
    result = read_object(folder / "result.json")
    try:
        store, header = read_ticks(folder / "ticks.jsonl.gz")
    except BadTick as error:
        raise RunError(f"{folder / 'ticks.jsonl.gz'}: {error}") from error
    if not 0 < len(store) <= MOST_TICKS:
        raise RunError(f"{folder} has {len(store)} ticks, expected 1 to {MOST_TICKS}")
    settings = settings_of(run)
    found = _world(settings, header)
    again = _again(settings, header, store, *found) if found else None
    places = np.round(store.array("ego_location")[:, :2], 3)
    scores = result.get("scores") if isinstance(result.get("scores"), dict) else {}
    profile = str(result.get("profile", "?"))
    score = (scores or {}).get(profile) or {}
    status = str(score.get("status", "?"))
    tone: Tone = "good" if status == "Perfect" else "bad" if "Failed" in status else "plain"
    pictures = kept_pictures(folder)
    return Document(
        kind="drive",
        header=Header(
            world="drive",
            title=title or folder.name,
            about=[
                (key, str(result.get(key)))
                for key in ("route_id", "seed", "repetition", "agent", "end", "failure", "note")
                if result.get(key) not in (None, "")
            ],
            versions={k: str(v) for k, v in (settings.get("versions") or {}).items()},
            verdict=Verdict(
                "drive_score", {"status": status, "score": score.get("score_composed")}, tone
            ),
        ),
        data={
            "dt": settings.get("dt", 0.05),
            "map": _map(found[1]) if found else None,
            "route": [
                [round(p.x, 2), round(p.y, 2)] for p in densify(found[0].waypoints, found[1]).points
            ]
            if found
            else None,
            "x": places[:, 0].tolist(),
            "y": places[:, 1].tolist(),
            "columns": {name: [_plain(value) for value in store.column(name)] for name in COLUMNS},
            "controls": [
                [round(float(control.get(name, 0.0)), 3) for name in ("throttle", "brake", "steer")]
                for control in store.column("control")
            ],
            "contacts": [[index, contact] for index, contact in store.scoring_columns().contacts],
            "events": [event for event in result.get("events") or [] if isinstance(event, dict)],
            "scores": scores,
            "profile": profile,
            "comfort": result.get("comfort"),
            "again": again,
            "pictures": pictures,
            "folder": title or folder.name,
        },
    )


def _plain(value: Any) -> Any:
    """JSON has no NaN; five digits are what is drawn."""
    if isinstance(value, float):
        return round(value, 5) if math.isfinite(value) else None
    return value


def settings_of(run: Path | None) -> dict[str, Any]:
    """What a run was started with; empty for a drive of none."""
    if run is None or not (run / "run.json").is_file():
        return {}
    return read_object(run / "run.json")


def _world(
    settings: Mapping[str, Any], header: Mapping[str, Any]
) -> tuple[Route, RoadMap, list[dict[str, Any]]] | None:
    """Route, map and actors' script of a drive, where the route file is a shipped one or there."""
    try:
        path = find_routes(str(settings.get("routes_file", "routes_mini.xml")))
        route = next(r for r in read_routes(path) if r.id == header.get("route_id"))
        return route, map_of(route.town, None, "own"), scripts_of(path).get(route.id, [])
    except (RunError, StopIteration):
        return None


def _again(
    settings: Mapping[str, Any],
    header: Mapping[str, Any],
    store: TickStore,
    route: Route,
    road_map: RoadMap,
    scripts: list[dict[str, Any]],
) -> dict[str, Any] | None:
    """Actors and lights of every tick, when the world goes the recorded way again; else None."""
    lights = settings.get("lights", "cycle")
    if lights not in ("cycle", "green", "red") or settings.get("faults"):
        return None
    backend = Watched()
    try:
        setup = Setup(
            road_map=road_map,
            dt=float(settings.get("dt", 0.05)),
            seed=int(header.get("seed", 0)),
            weather=route.weather_at(0.0),
            gps_model=road_map.gps_model,
            lights=lights,
            traffic=int(settings.get("traffic", 0)),
            actors=scripts,
        )
        config = DriveConfig(
            dt=setup.dt,
            profile=str(settings.get("profile", "bench2drive")),
            completion=str(settings.get("completion", "projected")),
            max_game_time_s=float(settings.get("max_game_time_s", MAX_GAME_TIME_S)),
            sensors=SensorSpec(camera="none"),
            gps_model=road_map.gps_model,
        )
        outcome = drive_route(route, setup, backend, RecordedDriver(store), config)
    except (RunError, TypeError, ValueError, KeyError):
        return None
    same = min(len(outcome.store), len(store), len(backend.seen))
    theirs, ours = store.array("ego_location")[:same], outcome.store.array("ego_location")[:same]
    if not same or not np.array_equal(theirs, ours):
        return None
    kinds: dict[Any, list[Any]] = {}
    ticks = []
    for actors, _ in backend.seen[:same]:
        for number, kind, *_, length, width in actors:
            kinds.setdefault(number, [kind, length, width])
        ticks.append(
            [value for number, _, x, y, yaw, *_ in actors for value in (number, x, y, yaw)]
        )
    return {
        "kinds": {str(number): kind for number, kind in kinds.items()},
        "actors": ticks,
        "lights": _changes([states for _, states in backend.seen[:same]]),
    }


def _changes(ticks: Sequence[Mapping[int, str]]) -> list[list[Any]]:
    """When a light changed: tick, light, state."""
    now: dict[int, str] = {}
    changes: list[list[Any]] = []
    for tick, states in enumerate(ticks):
        for light, state in states.items():
            if now.get(light) != state:
                now[light] = state
                changes.append([tick, light, state])
    return changes


def _map(road_map: RoadMap) -> dict[str, Any]:
    """Lane centres as lines, stop lines of lights, and stop signs."""
    lanes: dict[tuple[int, int], list[list[float]]] = {}
    for point in road_map.waypoints(LANE_STEP_M):
        lanes.setdefault((point.road_id, point.lane_id), []).append(
            [round(point.x, 2), round(point.y, 2), round(point.width, 2)]
        )
    boxes = [
        {
            **{name: round(getattr(box, name), 3) for name in ("x", "y", "yaw")},
            "id": box.id,
            "kind": kind,
            "length": box.half_length,
            "width": box.half_width,
        }
        for kind, listed in (
            ("light", [light.box for light in find_lights(road_map)]),
            ("stop", find_stops(road_map)),
        )
        for box in listed
    ]
    return {"lanes": list(lanes.values()), "boxes": boxes}


def kept_pictures(folder: Path) -> list[int]:
    """Ticks of which a camera frame was kept."""
    if not (folder / FRAMES).is_dir():
        return []
    return sorted(
        int(path.stem) for path in (folder / FRAMES).glob("*.png") if path.stem.isdecimal()
    )
