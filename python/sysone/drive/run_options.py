"""What a run was asked for, and what of it must stay the same for a resume."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sysone.drive.executor import DriveConfig
from sysone.drive.results import Job
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import Route
from sysone.executors import Engine

ATTEMPT_PAUSE_S: Final = 10.0
SERVER_WAIT_S: Final = 240.0
"""A watchdog needs 15 + 30 s to notice a lost server, 5 s to stop it and 180 s to start it."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run was asked for."""

    out: Path
    routes_file: Path
    routes: list[Route]
    road_map: RoadMap
    config: DriveConfig
    agent: str
    """socket, autopilot or stub."""
    seeds: list[int]
    repetitions: int = 1
    lights: str = "cycle"
    light_script: list[dict[str, Any]] | None = None
    traffic: int = 0
    scripts: dict[int, list[dict[str, Any]]] | None = None
    fresh: bool = False
    retry_failed: bool = False
    tick_json: bool = False
    save_frames: bool = False
    agent_wait_s: float = 60.0
    reconnect_s: float = 120.0
    fallback: str | None = None
    on_timeout: str = "hold"
    max_timeouts: int = 3
    attempt_pause_s: float = ATTEMPT_PAUSE_S
    server_wait_s: float = SERVER_WAIT_S
    backend: str = "embedded"
    """Who simulates, with a server's version: drives of two are never mixed."""
    workers: int = 1
    """Drives at a time, where the driver is ours."""
    engine: Engine = "local"
    """Where they are made."""
    ray_address: str | None = None
    command: Sequence[str] = ()

    @property
    def shared(self) -> bool:
        """Whether drives are shared out to other processes."""
        return self.workers > 1 or self.engine != "local"

    def jobs(self) -> list[Job]:
        """Every drive, in order."""
        return [
            Job(route.id, repetition, seed)
            for seed in self.seeds
            for route in self.routes
            for repetition in range(self.repetitions)
        ]

    def settings(self, agent: str) -> dict[str, Any]:
        """What must be the same for a resume to go on."""
        config = self.config
        return {
            "routes_sha256": hashlib.sha256(self.routes_file.read_bytes()).hexdigest(),
            "map_sha256": hashlib.sha256(self.road_map.text.encode()).hexdigest(),
            "backend": self.backend,
            "profile": config.profile,
            "dt": config.dt,
            "sensors": {**config.sensors.wire(), "camera": config.sensors.camera},
            "map_reader": self.road_map.source,
            "gps_model": config.gps_model,
            "agent": agent,
            "lights": self.lights,
            "traffic": self.traffic,
            "completion": config.completion,
            "seeds": self.seeds,
            "repetitions": self.repetitions,
            "route_ids": [route.id for route in self.routes],
            "faults": [f"{f.name}@{f.tick}@{f.metres}" for f in config.faults],
        }
