"""A whole run: every drive of a route file, attempts, resume, and the files over all of them."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from sysone.drive.agents import AgentRefused, AgentSocketServer
from sysone.drive.backend import Backend, SimulationCrashed
from sysone.drive.drivers import Driver, SocketDriver
from sysone.drive.drivescore import without_score
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.executor import Outcome, drive_route
from sysone.drive.exits import AGENT_FAILED, BLOCKED, INCOMPLETE, INTERRUPTED, NO_AGENT
from sysone.drive.pictures import keep_pictures
from sysone.drive.results import (
    Job,
    read_result,
    save_outcome,
    summarise,
    write_leaderboard,
)
from sysone.drive.routes import Route
from sysone.drive.run_options import RunOptions
from sysone.drive.runlog import RunLog
from sysone.drive.serverside import Blocked, await_server
from sysone.drive.shared import BUILT_IN, drive_shared, setup_of
from sysone.runs.atomic import write_json
from sysone.runs.directory import RunDirectory, versions
from sysone.runs.errors import RunError
from sysone.runs.jsonl import JsonlWriter
from sysone.runs.progress import Progress

ATTEMPTS: Final = 3
HEARTBEAT_EVERY_S: Final = 0.5
SERVER_RESTARTS: Final = 3
"""So often in a row a server may be lost and come back without a drive that ends by itself."""
REPEATED: Final = ("Agent crashed", "Simulation crashed")
"""Failures after which a drive is tried again."""
RETRIED_ON_RESUME: Final = (
    "Failed",
    "Failed - Simulation crashed",
    "Failed - Agent crashed",
    "Failed - Agent couldn't be set up",
    "Failed - Agent's sensors were invalid",
)


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
        self._restarts = 0

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
            JsonlWriter(out / "events.jsonl") as events,
        ):
            self.log = RunLog(out, events)
            write_json(out / "run.json", self._run_json(), indent=1)
            self.log.state("init", self.agent)
            try:
                code = self._execute()
            except KeyboardInterrupt:
                self.log.state("aborted", self.agent)
                self.progress.note("interrupted; the same command goes on where this ended")
                return INTERRUPTED
            except Blocked as error:
                self.log.state("blocked", self.agent)
                self.progress.note(f"blocked: {error}; the same command goes on where this ended")
                return BLOCKED
            return code

    def _execute(self) -> int:
        backend = self.make_backend()
        try:
            return self._execute_on(backend)
        finally:
            backend.close()

    def _execute_on(self, backend: Backend) -> int:
        options = self.options
        jobs = options.jobs()
        left = [job for job in jobs if not self._is_done(job)]
        self.log.catch_up([job for job in jobs if job not in left])
        if left:
            self._await_server(backend)
        self.log.state("agent_wait", self.agent)
        if left and self.server is not None and not self._wait_for_agent(options.agent_wait_s):
            if options.fallback != "autopilot":
                self.log.state("aborted", self.agent)
                return NO_AGENT
            self._fall_back()
            left = [job for job in jobs if not self._is_done(job)]
        self.model = next(iter(self._agents() - {"autopilot", "socket"}), None)
        self.log.state("running", self.agent)
        task = self.progress.task("drives", total=len(jobs))
        task.update(len(jobs) - len(left))
        refused = False
        if options.shared:
            for result in self._share_out(left):
                task.advance(1, f"{result['job']}: {result['record']['status']}")
            left = []
        for job in left:
            result = self._drive(job, backend)
            # only now: a simulator may abort while it cleans up, and the result is safe
            note = backend.destroy()
            if note:
                self.log.event("cleaned", job, int(result["attempt"]), note=note)
                self._revive(backend)
            refused = refused or result["failure"] in (
                "Agent couldn't be set up",
                "Agent crashed",
            )
            task.advance(1, f"{job.key}: {result['record']['status']}")
        task.finish()
        self.log.state("summarising", self.agent)
        results = [r for job in jobs if (r := read_result(job.folder(options.out))) is not None]
        write_leaderboard(options.out, results, len(jobs), lidar=options.config.sensors.lidar)
        write_json(
            options.out / "summary.json",
            summarise(results, jobs, options.config.profile),
            indent=1,
        )
        self.log.state("done", self.agent)
        if len(results) < len(jobs):
            return INCOMPLETE
        return AGENT_FAILED if refused and all(r["failure"] for r in results) else 0

    def _drive(self, job: Job, backend: Backend) -> dict[str, Any]:
        """One drive with as many attempts as it needs; its result."""
        options = self.options
        route = next(route for route in options.routes if route.id == job.route_id)
        while True:
            attempt = self.log.attempts.get(job.key, 0)
            self.log.event("queued", job, attempt)
            outcome = self._attempt(route, job, attempt, backend)
            if outcome.failure != "Simulation crashed":
                self._restarts = 0
            if self._goes_again(job, outcome, attempt):
                if outcome.failure == "Simulation crashed":
                    self._revive(backend)
                if outcome.failure == "Agent crashed" and self.server is not None:
                    if not self.server.connected and not self._wait_for_agent(options.reconnect_s):
                        return self._save(job, outcome, attempt)
                else:
                    self._pause(options.attempt_pause_s)
                continue
            result = self._save(job, outcome, attempt)
            if outcome.failure == "Simulation crashed":
                self._revive(backend)
            return result

    def _share_out(self, left: Sequence[Job]) -> Iterator[dict[str, Any]]:
        """Every drive elsewhere, those that crash again with the others that do; their results."""
        while left:
            again = []
            drives = [(job, self.log.attempts.get(job.key, 0)) for job in left]
            for job, attempt in drives:
                self.log.event("queued", job, attempt)
            for job, outcome in drive_shared(
                self.options, drives, self.progress.note, self._check_stop
            ):
                attempt = self.log.attempts.get(job.key, 0)
                if self._goes_again(job, outcome, attempt):
                    again.append(job)
                else:
                    yield {"job": job.key, **self._save(job, outcome, attempt)}
            left = again

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise KeyboardInterrupt

    def _goes_again(self, job: Job, outcome: Outcome, attempt: int) -> bool:
        """Whether an attempt is followed by another one, which it then is told to be."""
        if outcome.failure not in REPEATED or attempt + 1 >= ATTEMPTS:
            return False
        self.log.event("failed", job, attempt, reason=outcome.failure, note=outcome.note)
        self.progress.note(f"{job.key}: {outcome.failure} ({outcome.note}); attempt {attempt + 2}")
        self.log.attempts[job.key] = attempt + 1
        self.log.state("running", self.agent)
        return True

    def _await_server(self, backend: Backend) -> None:
        self.log.state("preflight", self.agent)
        await_server(
            backend,
            self.options.server_wait_s,
            self.progress.note,
            stopped=self._stop.is_set,
            sleep=self.sleep,
        )
        self.log.state("server_up", self.agent)

    def _revive(self, backend: Backend) -> None:
        """After a crash, is the server still there? Its restarts are counted apart from attempts.

        Raises:
            Blocked: it is lost, and came back too often without a drive that ended by itself.
        """
        try:
            backend.open()
            return
        except SimulationCrashed as error:
            note = str(error)
        if self._restarts >= SERVER_RESTARTS:
            raise Blocked(
                f"the server was lost after {self._restarts} restarts without a drive that ended "
                f"by itself ({note})"
            )
        self._restarts += 1
        self._await_server(backend)
        self.log.state("running", self.agent)

    def _attempt(self, route: Route, job: Job, attempt: int, backend: Backend) -> Outcome:
        options = self.options

        def watch(tick: int, percent: float, phase: str) -> None:
            now = time.monotonic()
            if phase != "driving" or now - self._beat_s >= HEARTBEAT_EVERY_S:
                self._beat_s = now
                self.log.heartbeat(route.id, tick, phase)

        return drive_route(
            route,
            setup_of(options, route, job.seed),
            backend,
            self._driver(),
            options.config,
            repetition=job.repetition,
            attempt=attempt,
            watch=watch,
            stopping=self._stop.is_set,
            keep=keep_pictures(job.folder(options.out)) if options.save_frames else None,
        )

    def _driver(self) -> Driver:
        if self.agent in BUILT_IN:
            return BUILT_IN[self.agent]()
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
        self.log.event("scoring", job, attempt)
        if outcome.failure in REPEATED and outcome.failure != "Agent crashed":
            outcome = replace(
                outcome,
                scores={name: without_score(score) for name, score in outcome.scores.items()},
            )
        result = save_outcome(
            options.out,
            job,
            outcome,
            attempt=attempt,
            profile=options.config.profile,
            tick_json=options.tick_json,
            backend=options.backend,
        )
        if outcome.agent not in ("socket", "autopilot"):
            self.model = outcome.agent
        self.log.event("saved", job, attempt, status=result["record"]["status"])
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
                self.log.attempts[job.key] = 0
                return False
            if used < ATTEMPTS:
                self.log.attempts[job.key] = max(used, self.log.attempts.get(job.key, 0))
                return False
        return True

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


def stop_on_signals(run: Run) -> None:
    """SIGINT and SIGTERM finish the tick and save; a second one ends at once."""

    def handle(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        run.stop()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)


__all__ = ["AgentRefused", "Run", "RunOptions", "stop_on_signals"]
