"""A whole run: every drive of a route file, attempts, resume, and the files over all of them."""

import hashlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from sysone.drive.agents import AgentRefused, AgentSocketServer
from sysone.drive.backend import Backend, Setup
from sysone.drive.drivers import AutopilotDriver, Driver, SocketDriver, StubDriver
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.executor import DriveConfig, Outcome, drive_route
from sysone.drive.pictures import write_png
from sysone.drive.replay import frame_path
from sysone.drive.results import (
    Job,
    read_result,
    save_outcome,
    summarise,
    write_leaderboard,
)
from sysone.drive.roadmap import RoadMap
from sysone.drive.routes import Route
from sysone.runs.atomic import write_json
from sysone.runs.directory import RunDirectory, versions
from sysone.runs.errors import RunError, unwritable
from sysone.runs.jsonl import JsonlWriter, iterate
from sysone.runs.progress import Progress

ATTEMPTS: Final = 3
ATTEMPT_PAUSE_S: Final = 10.0
HEARTBEAT_EVERY_S: Final = 0.5
NO_AGENT: Final = 13
AGENT_FAILED: Final = 14
INTERRUPTED: Final = 130
INCOMPLETE: Final = 3
VERSION: Final = 12
REPEATED: Final = ("Agent crashed", "Simulation crashed")
"""Failures after which a drive is tried again."""
RETRIED_ON_RESUME: Final = (
    "Failed",
    "Failed - Simulation crashed",
    "Failed - Agent crashed",
    "Failed - Agent couldn't be set up",
    "Failed - Agent's sensors were invalid",
)


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
    command: Sequence[str] = ()

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


class Run:
    """Drives what is left to drive. One process at a time holds the folder."""

    def __init__(
        self,
        options: RunOptions,
        server: AgentSocketServer | None,
        progress: Progress,
        *,
        make_backend: Callable[[], Backend] = EmbeddedBackend,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.options = options
        self.server = server
        self.progress = progress
        self.make_backend = make_backend
        self.sleep = sleep
        self.agent = options.agent
        self.model: str | None = None
        """Name of the model whose drives are there already."""
        self._stop = threading.Event()
        self._beat_s = 0.0
        self.attempts: dict[str, int] = {}

    def stop(self) -> None:
        """Finish the tick and save what there is."""
        self._stop.set()

    def execute(self) -> int:
        """Make every drive; an exit code.

        Raises:
            RunError: the folder belongs to another run or cannot be written.
            AgentRefused: the model speaks another protocol.
        """
        options = self.options
        out = options.out
        if options.fresh and out.exists() and any(out.iterdir()):
            raise RunError(f"{out} is not empty; --fresh starts over in a new folder")
        with (
            RunDirectory(
                out,
                command=list(options.command),
                settings=options.settings(self.agent),
                resume=True,
            ),
            JsonlWriter(out / "events.jsonl") as self.log,
        ):
            write_json(out / "run.json", self._run_json(), indent=1)
            self._load_attempts()
            self._state("init")
            try:
                code = self._execute()
            except KeyboardInterrupt:
                self._state("aborted")
                self.progress.note("interrupted; the same command goes on where this ended")
                return INTERRUPTED
            return code

    def _execute(self) -> int:
        options = self.options
        jobs = options.jobs()
        left = [job for job in jobs if not self._is_done(job)]
        self._tell_saved([job for job in jobs if job not in left])
        self._state("agent_wait")
        if left and self.server is not None and not self._wait_for_agent(options.agent_wait_s):
            if options.fallback != "autopilot":
                self._state("aborted")
                return NO_AGENT
            self._fall_back()
            left = [job for job in jobs if not self._is_done(job)]
        self.model = next(iter(self._agents() - {"autopilot"}), None)
        self._state("running")
        task = self.progress.task("drives", total=len(jobs))
        task.update(len(jobs) - len(left))
        backend = self.make_backend()
        backend.open()
        refused = False
        try:
            for job in left:
                result = self._drive(job, backend)
                # only now: a simulator may abort while it cleans up, and the result is safe
                backend.destroy()
                refused = refused or result["failure"] in (
                    "Agent couldn't be set up",
                    "Agent crashed",
                )
                task.advance(1, f"{job.key}: {result['record']['status']}")
        finally:
            backend.close()
        task.finish()
        self._state("summarising")
        results = [r for job in jobs if (r := read_result(job.folder(options.out))) is not None]
        write_leaderboard(options.out, results, len(jobs), lidar=options.config.sensors.lidar)
        write_json(
            options.out / "summary.json",
            summarise(results, jobs, options.config.profile),
            indent=1,
        )
        self._state("done")
        if len(results) < len(jobs):
            return INCOMPLETE
        return AGENT_FAILED if refused and all(r["failure"] for r in results) else 0

    def _drive(self, job: Job, backend: Backend) -> dict[str, Any]:
        """One drive with as many attempts as it needs; its result."""
        options = self.options
        route = next(route for route in options.routes if route.id == job.route_id)
        while True:
            attempt = self.attempts.get(job.key, 0)
            self._event("queued", job, attempt)
            outcome = self._attempt(route, job, attempt, backend)
            if outcome.failure in REPEATED and attempt + 1 < ATTEMPTS:
                self._event("failed", job, attempt, reason=outcome.failure, note=outcome.note)
                self.progress.note(
                    f"{job.key}: {outcome.failure} ({outcome.note}); attempt {attempt + 2}"
                )
                self._count(job, attempt + 1)
                if outcome.failure == "Agent crashed" and self.server is not None:
                    if not self.server.connected and not self._wait_for_agent(options.reconnect_s):
                        return self._save(job, outcome, attempt)
                else:
                    self._pause(options.attempt_pause_s)
                continue
            return self._save(job, outcome, attempt)

    def _attempt(self, route: Route, job: Job, attempt: int, backend: Backend) -> Outcome:
        options = self.options
        setup = Setup(
            road_map=options.road_map,
            dt=options.config.dt,
            seed=job.seed,
            weather=route.weather_at(0.0),
            gps_model=options.config.gps_model,
            lights=options.lights,
            light_script=options.light_script or [],
            traffic=options.traffic,
            actors=(options.scripts or {}).get(route.id, []),
        )

        def watch(tick: int, percent: float, phase: str) -> None:
            now = time.monotonic()
            if phase != "driving" or now - self._beat_s >= HEARTBEAT_EVERY_S:
                self._beat_s = now
                self._heartbeat(route.id, tick, phase)

        return drive_route(
            route,
            setup,
            backend,
            self._driver(),
            options.config,
            repetition=job.repetition,
            attempt=attempt,
            watch=watch,
            stopping=self._stop.is_set,
            keep=self._keeper(job) if options.save_frames else None,
        )

    def _keeper(self, job: Job) -> Callable[[int, Any], None]:
        """Keeps an attempt's pictures in its drive's folder, in place of an earlier one's."""
        folder = job.folder(self.options.out)
        frames = frame_path(folder, 0).parent
        try:
            shutil.rmtree(frames, ignore_errors=True)
            frames.mkdir(parents=True)
        except OSError as error:
            raise unwritable(frames, error) from error

        def keep(tick: int, picture: Any) -> None:
            try:
                write_png(frame_path(folder, tick), picture)
            except OSError as error:
                raise unwritable(frames, error) from error

        return keep

    def _driver(self) -> Driver:
        if self.agent == "autopilot":
            return AutopilotDriver()
        if self.agent == "stub":
            return StubDriver()
        if self.server is None:
            raise RunError("agent is socket, but no port is listened on")
        return SocketDriver(
            self.server,
            on_timeout=self.options.on_timeout,
            max_timeouts=self.options.max_timeouts,
            expected=self.model,
        )

    def _save(self, job: Job, outcome: Outcome, attempt: int) -> dict[str, Any]:
        options = self.options
        self._event("scoring", job, attempt)
        if outcome.failure in REPEATED and outcome.failure != "Agent crashed":
            outcome = _without_score(outcome, options.config.profile)
        result = save_outcome(
            options.out,
            job,
            outcome,
            attempt=attempt,
            profile=options.config.profile,
            tick_json=options.tick_json,
        )
        if outcome.agent not in ("socket", "autopilot"):
            self.model = outcome.agent
        self._event("saved", job, attempt, status=result["record"]["status"])
        score = outcome.scores
        lines = "  ".join(
            f"{name} {score[name].score_composed:.1f}" for name in ("bench2drive", "per_tick")
        )
        self.progress.note(f"{job.key}: {result['record']['status']}, {lines}")
        for warning in outcome.warnings:
            self.progress.note(f"{job.key}: {warning}")
        return result

    def _is_done(self, job: Job) -> bool:
        result = read_result(job.folder(self.options.out))
        if result is None:
            return False
        if result["agent"] == "autopilot" and self.agent != "autopilot":
            return False  # it stood in for a model: the model's own drive takes its place
        if result["record"]["status"] in RETRIED_ON_RESUME:
            used = int(result["attempt"]) + 1
            if self.options.retry_failed:
                self.attempts[job.key] = 0
                return False
            if used < ATTEMPTS:
                self.attempts[job.key] = max(used, self.attempts.get(job.key, 0))
                return False
        return True

    def _tell_saved(self, done: Sequence[Job]) -> None:
        """Write what a kill kept from the log: it came between a drive's last file and its line."""
        told = {
            line.get("job")
            for line in iterate(self.options.out / "events.jsonl")
            if line.get("state") == "saved"
        }
        for job in done:
            result = read_result(job.folder(self.options.out))
            if job.key not in told and result is not None:
                status = result["record"]["status"]
                self._event("saved", job, result["attempt"], status=status, note="found on resume")

    def _fall_back(self) -> None:
        """Let the autopilot drive in the model's place, but never beside a model's drives.

        Raises:
            RunError: the folder has drives of a model.
        """
        driven = self._agents() - {"autopilot"}
        if driven:
            raise RunError(
                f"no model came, and {self.options.out} has drives of {', '.join(sorted(driven))}: "
                "the autopilot's would be mixed with them; --out another folder"
            )
        self.agent = "autopilot"
        self.progress.note("no model came: the autopilot drives, and the results say so")

    def _agents(self) -> set[str]:
        """Who made the drives that are there."""
        folders = [job.folder(self.options.out) for job in self.options.jobs()]
        return {str(r["agent"]) for folder in folders if (r := read_result(folder)) is not None}

    def _wait_for_agent(self, seconds: float) -> bool:
        assert self.server is not None
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self._stop.is_set():
                raise KeyboardInterrupt
            if self.server.connected or self.server.accept(0.5):
                return True
        return False

    def _pause(self, seconds: float) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt
        if seconds > 0:
            self.sleep(seconds)

    def _run_json(self) -> dict[str, Any]:
        options, config = self.options, self.options.config
        return {
            **options.settings(self.agent),
            "routes_file": options.routes_file.name,
            "max_game_time_s": config.max_game_time_s,
            "town": options.road_map.name,
            "gps_ref": list(options.road_map.reference),
            "proto": config.proto,
            "sync": True,
            "agent_port": None if self.server is None else self.server.port,
            "versions": versions(),
        }

    def _load_attempts(self) -> None:
        path = self.options.out / "state.json"
        if not path.exists():
            return
        import json

        try:
            found = json.loads(path.read_bytes())
            self.attempts = {str(k): int(v) for k, v in found.get("attempts", {}).items()}
        except (OSError, ValueError, AttributeError, TypeError):
            self.attempts = {}

    def _count(self, job: Job, attempts: int) -> None:
        self.attempts[job.key] = attempts
        self._state("running")

    def _state(self, state: str) -> None:
        write_json(
            self.options.out / "state.json",
            {"state": state, "pid": os.getpid(), "attempts": self.attempts, "agent": self.agent},
            indent=1,
        )
        self.log.append({"wall": time.time(), "run": state})

    def _event(self, state: str, job: Job, attempt: int, **more: Any) -> None:
        self.log.append(
            {"wall": time.time(), "job": job.key, "attempt": attempt, "state": state, **more}
        )
        folder = job.folder(self.options.out)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "log.txt").open("a", encoding="utf-8") as file:
            words = " ".join(f"{key}={value}" for key, value in more.items())
            stamp = time.strftime("%Y-%m-%d %H:%M:%S")
            file.write(f"{stamp} attempt {attempt} {state} {words}".rstrip() + "\n")

    def _heartbeat(self, route_id: int, tick: int, phase: str) -> None:
        # Replaced in one step, and not brought to the disk: it is about now.
        path = self.options.out / "heartbeat.json"
        text = (
            f'{{"pid": {os.getpid()}, "route_id": {route_id}, "tick": {tick}, '
            f'"wall": {time.time():.3f}, "phase": "{phase}"}}\n'
        )
        beside = path.with_name(".heartbeat.tmp")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)


def _without_score(outcome: Outcome, profile: str) -> Outcome:
    """A drive whose simulation crashed in every attempt scores 0, whatever it had reached."""
    scores = {
        name: replace(
            score,
            status="Failed - Simulation crashed",
            success=False,
            score_route=0.0,
            score_composed=0.0,
        )
        for name, score in outcome.scores.items()
    }
    return replace(outcome, scores=scores)


def stop_on_signals(run: Run) -> None:
    """SIGINT and SIGTERM finish the tick and save; a second one ends at once."""

    def handle(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        run.stop()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)


__all__ = ["AgentRefused", "Run", "RunOptions", "stop_on_signals"]
