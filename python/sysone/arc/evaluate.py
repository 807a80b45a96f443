"""Evaluation by the competition's rules: plays what is asked for and keeps the report."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from sysone.arc.decide import FORCED, MIN_MODEL_SHARE, MODEL
from sysone.arc.jobs import Job, Options, play_job, read_json
from sysone.arc.models import MODELS
from sysone.arc.report import meta, summary_of
from sysone.executors import Engine, Finished, collect, executor_of
from sysone.runs.atomic import write_json
from sysone.runs.directory import differences
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

BASELINES: Final = ("random", "heuristic")


class Evaluation:
    """A run of `Options` that writes its report after every game."""

    def __init__(self, options: Options, out: Path, progress: Progress) -> None:
        self.options, self.out, self.progress = options, out, progress
        self.policy = "agent" if options.agent else options.policy
        self.report: dict[str, Any] = {"meta": meta(options), "games": {}, "summary": {}}
        self._rows: dict[str, dict[tuple[str, int], dict[str, Any]]] = {}
        self._not_played: dict[str, str] = {}

    @property
    def degraded(self) -> bool:
        """Whether a model was asked for, and made less than nine in ten decisions.

        Forced ones are left out; without any decision nothing says that it did.
        """
        if self.policy not in MODELS:
            return False
        if not self.options.models.asks:
            return True
        free = made = 0
        for row in self._rows.get(self.policy, {}).values():
            counts = row["decisions"]
            made += counts[MODEL]
            free += sum(count for source, count in counts.items() if source != FORCED)
        return made < MIN_MODEL_SHARE * free

    def resume(self) -> int:
        """Take finished games over from the report at ``out``; how many.

        Raises:
            RunError: the report is of another run; the text names what differs.
        """
        if not self.out.exists():
            return 0
        old = read_json(self.out)
        then, now = old.get("meta", {}).get("config", {}), self.report["meta"]["config"]
        differing = differences({key: then.get(key) for key in now}, now)
        if differing:
            raise RunError(f"{self.out} was made with other options: {'; '.join(differing)}")
        self._take(self.policy, old.get("games", {}))
        for name, kept in old.get("summary", {}).get("baselines", {}).items():
            self._take(name, kept.get("games", {}))
        return sum(len(rows) for rows in self._rows.values())

    def _take(self, policy: str, games: Mapping[str, Any]) -> None:
        rows = self._rows.setdefault(policy, {})
        for game, found in games.items():
            listed = found if isinstance(found, list) else [found]
            for seed, row in zip(self.options.seeds, listed, strict=False):
                rows[game, seed] = row

    def run(
        self, jobs: int = 1, engine: Engine = "local", ray_address: str | None = None
    ) -> dict[str, Any]:
        """Play what is not played yet, ``jobs`` games at a time; the report.

        Raises:
            EngineError: the engine cannot be used.
        """
        policies = [self.policy, *[name for name in BASELINES if name != self.policy]]
        pending = [
            (policy, game, seed)
            for policy in policies
            for game in self.options.games
            for seed in self.options.seeds
            if (game, seed) not in self._rows.setdefault(policy, {})
        ]
        start_s = time.monotonic()
        task = self.progress.task(f"arc eval {self.policy}", len(pending))

        def limit_of(left: int) -> float:
            if not self.options.deadline_s:
                return self.options.time_limit_s
            rest = self.options.deadline_s - (time.monotonic() - start_s)
            return max(0.0, min(self.options.time_limit_s, rest * jobs / max(left, 1)))

        def job_of(place: int) -> Job:
            policy, game, seed = pending[place]
            return Job(game, seed, self.options, policy, limit_of(len(pending) - place))

        def done(finished: Finished) -> None:
            policy, game, seed = pending[finished.place]
            if finished.error is not None:
                self._not_played[game] = finished.error
                self.progress.note(finished.error)
            else:
                self._rows[policy][game, seed] = finished.result
                self.write()
            task.advance(1, f"{policy} {game}")

        if jobs <= 1 and engine == "local":
            for place in range(len(pending)):
                done(_here(place, job_of(place)))
        elif pending:
            # The toolkit keeps games and settings of a process to itself: spawned ones are clean.
            executor = executor_of(
                engine,
                _play_there,
                min(jobs, len(pending)),
                address=ray_address,
                note=self.progress.note,
            )
            for finished in collect(executor, len(pending), job_of):
                done(finished)
        task.finish()
        self.write()
        return self.report

    def write(self) -> None:
        """The report so far, in one piece."""
        self.report["games"] = self._games(self.policy)
        self.report["summary"] = self._summary()
        write_json(self.out, self.report, indent=1)

    def _games(self, policy: str) -> dict[str, Any]:
        seeds = self.options.seeds
        rows = self._rows.get(policy, {})
        games: dict[str, Any] = {}
        for game in self.options.games:
            found = [rows[game, seed] for seed in seeds if (game, seed) in rows]
            if found:
                games[game] = found[0] if len(seeds) == 1 else found
        return games

    def _summary(self) -> dict[str, Any]:
        games = self.report["games"]
        found = summary_of(games)
        baselines = {}
        for name in BASELINES:
            if name == self.policy:
                continue
            rows = self._games(name)
            if rows:
                baselines[name] = {**summary_of(rows), "games": rows}
        return {
            "requested": len(self.options.games),
            **found,
            "degraded": self.degraded,
            "not_played": dict(sorted(self._not_played.items())),
            "baselines": baselines,
        }


def _here(place: int, job: Job) -> Finished:
    try:
        return Finished(place, play_job(job))
    except RunError as error:
        return Finished(place, error=str(error))


def _play_there(job: Job, stopping: Callable[[], bool]) -> dict[str, Any]:
    return play_job(job)
