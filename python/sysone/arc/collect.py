"""Traces: what happened in a game, one JSON line a step, ready to be learnt from.

``<out>/<game>/ep<n>.jsonl`` holds an episode, its first line the frame that it began with;
``<out>/summary.json`` counts. A finished episode is not played again; a line that a kill cut is
dropped when the file is read.
"""

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import msgspec

from sysone.arc.actions import Action
from sysone.arc.candidates import build_candidates
from sysone.arc.decide import HEURISTIC, MODEL, Agent, StepRecord, System1, System2
from sysone.arc.env import Env, RuleSet, make_env
from sysone.arc.frame import Frame
from sysone.arc.models import Chosen, make_system1, make_system2
from sysone.arc.observe import Observation
from sysone.arc.play import Limits, errors_of, play_game
from sysone.arc.policy import make_policy
from sysone.arc.practice.guide import Guide, guide_of
from sysone.runs.atomic import write_json
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress
from sysone_core import grids

VERSION: Final = 1
EPSILON: Final = 0.25
MOST_SHARES: Final = 24
"""Candidates of a step whose probabilities are written: fewer bytes than its picture has."""
SOLVER: Final = "solver"
"""A policy of collections alone: what the search over a practice game's rules would do."""
FEW: Final = 40
"""Candidates of the small model's recipe."""
SELF_LED: Final = 3
"""Of a solver's episodes one in so many is led by the explorer: its mistakes are other ones."""


class Settings(msgspec.Struct, frozen=True):
    """What a collection is made with."""

    games: list[str]
    episodes: int = 8
    max_actions: int = 400
    epsilon: float = EPSILON
    seed: int = 0
    policy: str = "heuristic"
    models: Chosen = Chosen("heuristic")
    """What a model policy asks."""
    explorer_weight: float = 1.0
    """Of a hybrid policy, see `Agent`."""
    rules: RuleSet = "competition"
    time_limit_s: float = 0.0
    """Stop between episodes once so much time has passed; 0: never."""


class EpsilonAgent(Agent):
    """An agent that takes a candidate at random now and then."""

    def __init__(
        self,
        policy_name: str,
        seed: int,
        epsilon: float,
        system1: System1 | None = None,
        system2: System2 | None = None,
        explorer_weight: float = 1.0,
        guide: Guide | None = None,
    ) -> None:
        """``guide`` leads where it knows a way; without one the policy does."""
        super().__init__(
            make_policy("random" if policy_name == "random" else "heuristic", seed),
            system1=system1,
            system2=system2,
            explorer_weight=explorer_weight if policy_name == "hybrid" else 1.0,
        )
        self._epsilon = epsilon
        self._epsilon_draws = random.Random(seed)
        self._guide = guide

    def decide(self) -> tuple[Action, StepRecord]:
        """Mostly the policy's decision."""
        action, record = super().decide()
        seen = self.observation
        free = record.source in (MODEL, HEURISTIC)
        if not free or seen is None:
            return action, record
        candidates = build_candidates(seen)
        if self._guide is not None:
            ways = self._guide.best(candidates)
            if ways:
                action = self._epsilon_draws.choice(ways)
                record = replace(
                    record,
                    source=SOLVER,
                    n_candidates=len(candidates),
                    probability=1 / len(ways),
                )
        if self._epsilon_draws.random() < self._epsilon:
            action = self._epsilon_draws.choice(candidates)
            # What the policy and System-2 said stays told.
            record = replace(
                record,
                source="epsilon",
                n_candidates=len(candidates),
                probability=1 / len(candidates),
            )
        return action, record


class TraceWriter:
    """Writes an episode's lines; one line is one write, so a kill cuts at most the last."""

    def __init__(self, path: Path, game_id: str, episode: int) -> None:
        self.path = path
        self._game_id, self._episode = game_id, episode
        self._step = 0
        self._encoder = msgspec.json.Encoder()
        self.problem = ""
        """Why a line could not be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("wb", buffering=0)
        except OSError as error:
            raise RunError(f"cannot write {path}: {error.strerror}") from error

    def begin(self, seen: Observation | None) -> None:
        """The frame that the episode began with."""
        self._write(
            {
                "v": VERSION,
                "game_id": self._game_id,
                "episode": self._episode,
                "before": None if seen is None else grids.grid_text(seen.grid),
                "state": "" if seen is None else seen.state,
                "levels": 0 if seen is None else seen.levels_completed,
                "available": [] if seen is None else list(seen.available_actions),
            }
        )

    def step(
        self,
        before: Observation | None,
        action: Action,
        record: StepRecord,
        frame: Frame | None,
        after: Observation | None,
        best: list[str] | None = None,
    ) -> None:
        """One action and what came of it; ``best`` is what a guide would have done."""
        pictures = [] if frame is None else [grids.grid_text(picture) for picture in frame.frame]
        line: dict[str, Any] = {
            "v": VERSION,
            "game_id": self._game_id,
            "episode": self._episode,
            "step": self._step,
            "level": 0 if before is None else before.levels_completed,
            "action": action.name,
            "data": action.data,
            "state_before": "" if before is None else before.state,
            "frames_after": pictures,
            "changed": 0 if after is None else after.n_changed,
            "hash_before": _hashes(before),
            "hash_after": _hashes(after),
            "levels_before": 0 if before is None else before.levels_completed,
            "levels_after": 0 if after is None else after.levels_completed,
            "state_after": "" if after is None else after.state,
            "available": [] if after is None else list(after.available_actions),
            "source": record.source,
            "p": record.probability,
            "ms": round(record.latency_ms, 3),
        }
        if record.wake:
            line["wake"] = record.wake
        if record.report is not None:
            line["report"] = record.report
        if record.shares:
            line["probabilities"] = {
                text: round(share, 6) for text, share in record.shares[:MOST_SHARES]
            }
        if best:
            line["best"] = best
        self._step += 1
        self._write(line)

    def end(self, row: dict[str, Any]) -> None:
        """The last line, by which a finished episode is known."""
        self._write({"v": VERSION, "end": row})

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: dict[str, Any]) -> None:
        data = self._encoder.encode(line) + b"\n"
        try:
            whole = self._file.write(data) == len(data)
        except OSError as error:
            self.problem = f"cannot write {self.path}: {error.strerror}"
            raise RunError(self.problem) from error
        if not whole:
            self.problem = f"cannot write {self.path}: the disk is full"
            raise RunError(self.problem)


def _hashes(seen: Observation | None) -> list[str]:
    return [] if seen is None else [f"{seen.frame_hash:016x}", f"{seen.masked_hash:016x}"]


def read_trace(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of an episode, without a last one that was cut.

    Raises:
        RunError: the file cannot be read, or a line other than the last is broken.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error
    lines = raw.split(b"\n")
    for number, line in enumerate(lines, 1):
        if number == len(lines):
            return  # empty after a whole line, a cut line otherwise
        try:
            yield msgspec.json.decode(line)
        except msgspec.MsgspecError as error:
            raise RunError(f"{path}:{number} is no JSON line: {error}") from error


def is_finished(path: Path) -> bool:
    """Whether an episode's file has its last line."""
    if not path.exists():
        return False
    try:
        lines = list(read_trace(path))
    except RunError:
        return False
    return bool(lines) and "end" in lines[-1]


def record_game(
    env: Env, agent: Agent, limits: Limits, writer: TraceWriter, guide: Guide | None = None
) -> tuple[dict[str, Any], int]:
    """Play a game and write it; its row, and the lines that could not be written.

    With a guide each line says what would have been best. A full disk does not end the game.
    """
    failures = 0
    writing = True

    class Recorder:
        """Passes everything on to the agent, and writes what it sees."""

        @property
        def done(self) -> bool:
            return agent.done

        def begin(self, frame: Frame | None) -> None:
            agent.begin(frame)
            attempt(lambda: writer.begin(agent.observation))

        def decide(self) -> tuple[Action, StepRecord]:
            self.before = agent.observation
            self.best = _best(guide, self.before)
            action, self.record = agent.decide()
            return action, self.record

        def note(self, action: Action, frame: Frame | None) -> None:
            agent.note(action, frame)
            after = agent.observation
            attempt(lambda: writer.step(self.before, action, self.record, frame, after, self.best))

    def attempt(write: Any) -> None:
        nonlocal failures, writing
        if not writing:
            failures += 1
            return
        try:
            write()
        except (RunError, ValueError):
            failures += 1
            writing = False

    played = play_game(env, Recorder(), limits)
    played.errors = errors_of(agent)
    played.system2_calls = dict(agent.waker.calls)
    if failures:
        played.errors["recording"] = failures
    row = played.row()
    row["repaired_frames"] = agent.watcher.repaired_frames
    if played.broken or agent.guard.given_up:
        row["ended_by"] = played.broken or "given up"
    attempt(lambda: writer.end(row))
    return row, failures


def _best(guide: Guide | None, seen: Observation | None) -> list[str]:
    """What a guide would do: of all candidates, and of the few that a small model is given."""
    if guide is None or seen is None:
        return []
    every = dict.fromkeys([*build_candidates(seen), *build_candidates(seen, FEW)])
    return [action.text for action in guide.best(list(every))]


def collect(
    settings: Settings, out: Path, environments_dir: Path, progress: Progress
) -> dict[str, Any]:
    """Play every episode that is not there yet, and write the summary.

    Raises:
        RunError: a game does not start, or the folder cannot be written.
    """
    start_s = time.monotonic()
    counts = {"episodes": 0, "skipped": 0, "steps": 0, "levels": 0, "recording_failures": 0}
    stopped = False
    rows: dict[str, list[dict[str, Any]]] = {}
    task = progress.task("collect", len(settings.games) * settings.episodes)
    for game_id in settings.games:
        tables: dict[int, dict[Any, int]] = {}
        for episode in range(settings.episodes):
            path = out / game_id / f"ep{episode}.jsonl"
            if is_finished(path):
                counts["skipped"] += 1
            elif settings.time_limit_s and time.monotonic() - start_s > settings.time_limit_s:
                stopped = True
                break
            else:
                seed = crc32(f"{settings.seed}:{game_id}:{episode}".encode())
                env = make_env(game_id, environments_dir, settings.rules)
                guide = guide_of(env, tables)
                led = settings.policy == SOLVER and (episode + 1) % SELF_LED
                agent = EpsilonAgent(
                    settings.policy,
                    seed,
                    settings.epsilon,
                    make_system1(settings.models),
                    make_system2(settings.models),
                    settings.explorer_weight,
                    guide if led else None,
                )
                writer = TraceWriter(path, env.game_id, episode)
                limits = Limits(settings.max_actions, time_limit_s=float("inf"))
                _, failures = record_game(env, agent, limits, writer, guide)
                writer.close()
                if writer.problem:
                    # games are played for their traces alone here
                    raise RunError(f"{writer.problem}; the episode will be played again")
                counts["episodes"] += 1
                counts["recording_failures"] += failures
            row = next((line["end"] for line in read_trace(path) if "end" in line), None)
            if row is not None:
                rows.setdefault(game_id, []).append(row)
                counts["steps"] += row["actions"]
                counts["levels"] += row["best_level"]
            task.advance(1, game_id)
        if stopped:
            break
    task.finish()
    summary = {
        "v": VERSION,
        "settings": msgspec.to_builtins(settings),
        **counts,
        "finished": not stopped,
        "games": {
            game_id: {
                "episodes": len(found),
                "steps": sum(row["actions"] for row in found),
                "levels": sum(row["best_level"] for row in found),
            }
            for game_id, found in rows.items()
        },
    }
    write_json(out / "summary.json", summary, indent=1)
    return summary
