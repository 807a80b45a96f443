"""Evaluation by the competition's rules: games, report, resume, comparison."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib import metadata
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from sysone.arc.collect import TraceWriter, record_game
from sysone.arc.decide import Agent
from sysone.arc.env import MOCKS, RuleSet, make_env
from sysone.arc.observe import STATE_VERSION
from sysone.arc.play import Limits, play_game
from sysone.arc.plug import PluggedPlayer, load_agent_class, make_agent
from sysone.arc.policy import make_policy
from sysone.arc.practice.build import SUITE, held_out_ids
from sysone.arc.score import UNIT, interval
from sysone.arc.toolkit import games_on_disk
from sysone.runs.atomic import write_json
from sysone.runs.errors import RunError, unreadable
from sysone.runs.progress import Progress

BASELINES: Final = ("random", "heuristic")
PUBLIC_LIST: Final = "public_games.json"
"""Written beside fetched games: the ids that the service lists."""
MODELS: Final = ("hybrid", "system1")
"""Policies that ask a model."""


class Options(msgspec.Struct, frozen=True):
    """What an evaluation does; it goes into the report as it is."""

    games: list[str]
    environments_dir: str
    max_actions: int = 2000
    time_limit_s: float = 900.0
    deadline_s: float = 0.0
    """For the whole run, divided evenly among the unfinished games; 0: none."""
    policy: str = "heuristic"
    agent: str = ""
    """``module:Class`` of a plugged-in agent; it wins over the policy."""
    rules: RuleSet = "competition"
    human_cutoff: float = 0.0
    seeds: list[int] = msgspec.field(default_factory=lambda: [0])
    raw_policy: bool = False
    checkpoint: str = ""
    record: str = ""
    """Folder for a trace of every game that an agent of ours plays; empty: none."""


class Job(msgspec.Struct, frozen=True):
    """One game with one seed."""

    game: str
    seed: int
    options: Options
    policy: str
    time_limit_s: float


def resolve_games(names: Sequence[str], folder: Path) -> list[str]:
    """The ids that ``--games`` means, without doubles.

    Raises:
        RunError: a word that is none of them, or a list that is not there.
    """
    found: list[str] = []
    for name in names:
        if name == "mock":
            found += MOCKS
        elif name == "practice":
            found += [game.id for game in games_on_disk(SUITE)]
        elif name == "held-out":
            found += sorted(held_out_ids())
        elif name == "all":
            found += [game.id for game in games_on_disk(folder)]
        elif name == "all25":
            path = folder / PUBLIC_LIST
            if not path.is_file():
                raise RunError(f"{path} is missing; run games fetch")
            found += [str(id_).split("-", 1)[0] for id_ in _read_json(path)["games"]]
        else:
            found.append(name)
    if not found:
        raise RunError("no games are chosen")
    return list(dict.fromkeys(found))


def play_job(job: Job) -> dict[str, Any]:
    """The row of one game.

    Raises:
        RunError: the game or the agent does not start.
    """
    options = job.options
    folder = SUITE if _is_practice(job.game) else Path(options.environments_dir)
    env = make_env(job.game, folder, options.rules, 0 if _is_mock(job.game) else job.seed)
    limits = Limits(options.max_actions, job.time_limit_s, options.human_cutoff)
    if options.agent and job.policy == "agent":
        player = PluggedPlayer(make_agent(load_agent_class(options.agent), env.game_id, env))
        played = play_game(env, player, limits)
        played.errors = dict(player.errors)
        row = played.row()
        row["decisions"]["agent"] = played.decisions.get("agent", 0)
        if player.failure:
            row["failure"] = player.failure
        return row
    # Without a model of ours a hybrid is the explorer, and says so in every report.
    model = job.policy in MODELS
    agent = Agent(make_policy("heuristic" if model else job.policy, job.seed))
    if options.record and job.policy == options.policy:
        try:
            writer = TraceWriter(
                Path(options.record) / job.game / f"seed{job.seed}.jsonl", env.game_id, job.seed
            )
        except RunError:
            agent.errors["recording"] += 1  # the game is played all the same
        else:
            row, _ = record_game(env, agent, limits, writer)
            writer.close()
            return row
    played = play_game(env, agent, limits)
    row = played.row()
    if played.broken:
        row["ended_by"] = played.broken
    return row


def _is_mock(game: str) -> bool:
    return game.startswith("mock") and (game[4:].isdecimal() or not game[4:])


def _is_practice(game: str) -> bool:
    return (SUITE / game).is_dir()


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
        """Whether a model was asked for and did not decide."""
        return self.policy in MODELS

    def resume(self) -> int:
        """Take finished games over from the report at ``out``; how many.

        Raises:
            RunError: the report is of another run; the text names what differs.
        """
        if not self.out.exists():
            return 0
        old = _read_json(self.out)
        then, now = old.get("meta", {}).get("config", {}), self.report["meta"]["config"]
        differing = [
            f"{key} was {then.get(key)!r}, now {now[key]!r}"
            for key in now
            if then.get(key) != now[key]
        ]
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

    def run(self, jobs: int = 1) -> dict[str, Any]:
        """Play what is not played yet; the report."""
        if self.degraded:
            self.progress.note(
                "no System-1 checkpoint: the heuristic plays in its place; the report is degraded"
            )
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

        def done(policy: str, game: str, seed: int, result: Callable[[], dict[str, Any]]) -> None:
            try:
                row = result()
            except RunError as error:
                self._not_played[game] = str(error)
                self.progress.note(str(error))
            else:
                self._rows[policy][game, seed] = row
                self.write()
            task.advance(1, f"{policy} {game}")

        if jobs <= 1:
            for index, (policy, game, seed) in enumerate(pending):
                job = Job(game, seed, self.options, policy, limit_of(len(pending) - index))
                done(policy, game, seed, lambda job=job: play_job(job))  # type: ignore[misc]
        else:
            # The toolkit keeps games and settings of a process to itself: spawned ones are clean.
            with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
                futures = {
                    pool.submit(
                        play_job, Job(game, seed, self.options, policy, limit_of(len(pending)))
                    ): (policy, game, seed)
                    for policy, game, seed in pending
                }
                for future in as_completed(futures):
                    done(*futures[future], future.result)
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


def summary_of(games: Mapping[str, Any]) -> dict[str, Any]:
    """Means and sums over games; of a game with several seeds the mean counts."""
    rows = [row for found in games.values() for row in as_rows(found)]
    scores = [float(np.mean([row["rhae"] for row in as_rows(found)])) for found in games.values()]
    low, high = interval(scores)
    return {
        "played": len(games),
        "wins": sum(row["win"] for row in rows),
        "levels": sum(sum(score > 0 for score in row["level_scores"]) for row in rows),
        "best_level_sum": sum(row["best_level"] for row in rows),
        "rhae_mean": round(float(np.mean(scores)), 6) if scores else 0.0,
        "rhae_interval": [round(low, 6), round(high, 6)],
    }


def as_rows(found: Any) -> list[dict[str, Any]]:
    """A game's rows, one a seed."""
    return list(found) if isinstance(found, list) else [found]


def meta(options: Options) -> dict[str, Any]:
    """What the numbers depend on, the same on every machine."""
    versions = {}
    for name in ("sysone-core", "arc-agi", "arcengine", "numpy"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "none"
    config = msgspec.to_builtins(options)
    config["environments_dir"] = Path(options.environments_dir).name
    return {
        "versions": versions,
        "seeds": options.seeds,
        "rules": options.rules,
        "unit": UNIT,
        "state_version": STATE_VERSION,
        "config": config,
        "checkpoint": options.checkpoint or "none",
        "exclusions": [],
    }


def compare(first: Path, second: Path) -> dict[str, Any]:
    """Two reports, game by game: B minus A, with its interval over the games that both played.

    Raises:
        RunError: a file is no report, or they have no game in common.
    """
    a, b = _report(first), _report(second)
    common = [game for game in a["games"] if game in b["games"]]
    if not common:
        raise RunError(f"{first} and {second} have no game in common")

    def score(report: dict[str, Any], game: str) -> float:
        return float(np.mean([row["rhae"] for row in as_rows(report["games"][game])]))

    pairs = {game: (score(a, game), score(b, game)) for game in common}
    differences = [after - before for before, after in pairs.values()]
    low, high = interval(differences)
    rules = [report["meta"]["rules"] for report in (a, b)]
    return {
        "unit": UNIT,
        "games": {
            game: {"a": before, "b": after, "difference": round(after - before, 6)}
            for game, (before, after) in pairs.items()
        },
        "only_a": sorted(set(a["games"]) - set(common)),
        "only_b": sorted(set(b["games"]) - set(common)),
        "difference": round(float(np.mean(differences)), 6),
        "interval": [round(low, 6), round(high, 6)],
        "same_rules": rules[0] == rules[1],
    }


def _report(path: Path) -> dict[str, Any]:
    found = _read_json(path)
    missing = [key for key in ("meta", "games", "summary") if not isinstance(found.get(key), dict)]
    if missing:
        raise RunError(f"{path} is no report: it has no {' and no '.join(missing)}")
    return found


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise RunError(f"{path} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise RunError(f"{path} is no JSON object")
    return found


def table(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as lines: a game each, then the means with their intervals."""
    config = report["meta"]["config"]
    who = config["agent"] or config["policy"]
    baselines = report["summary"].get("baselines", {})
    names = list(baselines)
    head = ["game", "levels", "actions", f"{who} %", *[f"{name} %" for name in names]]
    rows = [head]
    for game, found in report["games"].items():
        listed = as_rows(found)
        best = max(row["best_level"] for row in listed)
        actions = sum(row["actions"] for row in listed)
        cells = [game, f"{best}/{listed[0]['win_levels']}", str(actions), _mean(listed)]
        cells += [_mean(as_rows(baselines[n]["games"].get(game, []))) for n in names]
        rows.append(cells)
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        first = row[0].ljust(widths[0])
        yield "  ".join([first, *[c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]])
    for name, found in [(who, report["summary"]), *baselines.items()]:
        low, high = found["rhae_interval"]
        yield (
            f"RHAE {name}: {found['rhae_mean']:.3f} % (95 % interval {low:.3f} to {high:.3f}), "
            f"{found['best_level_sum']} levels, {found['wins']} wins, {found['played']} games"
        )
    if report["meta"]["rules"] != "competition":
        yield "rules: normal (full resets allowed); not what the competition counts"
    if report["summary"].get("degraded"):
        yield "DEGRADED: a model was asked for, and the heuristic decided in its place"


def _mean(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"{np.mean([row['rhae'] for row in rows]):.2f}" if rows else "-"
