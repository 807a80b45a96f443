"""Rows from traces: games are replayed through the same eyes that play them.

An action's grade is 2 where it gained a level, 1 where the masked picture changed without a loss,
-1 for a death, else 0. A choice's label is the best action that was observed in its masked state;
of equals the one that led to the rarer state. States where every grade is 0 or less teach no
choice.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import msgspec

from sysone.arc.actions import CLICK_ID, Action, make
from sysone.arc.candidates import build_candidates
from sysone.arc.collect import read_trace
from sysone.arc.config import Data
from sysone.arc.frame import GAME_OVER, Frame
from sysone.arc.learn.rows import Row
from sysone.arc.memory import DIED, GAINED, MOVED_ON, Memory
from sysone.arc.observe import Observation, Watcher
from sysone.runs.atomic import write_json
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress
from sysone_core import grids

AHEAD: Final = 20
"""Steps that a position's promise is judged by."""
LEVELS: Final = 5
SPLIT: Final = 8
"""One game in so many is for validation, one for calibration."""
GRADES: Final = {GAINED: 2, MOVED_ON: 1, DIED: -1}
Parts = ("train", "valid", "calibration")


@dataclass(slots=True)
class Step:
    """One action of an episode as it was seen again."""

    before: Observation
    action: Action
    kind: str
    target: int
    novel: bool
    lines: list[str]
    key: str


@dataclass(slots=True)
class Counts:
    """What the report says."""

    rows: Counter[str] = field(default_factory=Counter)
    replaced: int = 0
    """Choices whose action was no candidate, and took the last one's place."""
    without_grade: int = 0
    """States in which nothing was worth anything."""
    games: dict[str, str] = field(default_factory=dict)


def replay(path: Path) -> Iterator[Step]:
    """The steps of an episode, seen again by a watcher and remembered by a memory.

    Raises:
        RunError: the file cannot be read, or holds no picture to begin with.
    """
    lines = read_trace(path)
    first = next(lines, None)
    if first is None or not first.get("before"):
        raise RunError(f"{path}: the episode has no first picture; every row carries its picture")
    watcher, memory = Watcher(), Memory()
    available: Sequence[int] = first.get("available", ())
    seen = watcher.observe(
        Frame(
            frame=[grids.text_to_grid(first["before"])],
            state=first.get("state") or "NOT_FINISHED",
            levels_completed=first.get("levels", 0),
            available_actions=available,
        )
    )
    assert seen is not None
    memory.start_level(seen)
    for line in lines:
        if "end" in line:
            return
        data = line["data"]
        id_ = 0 if line["action"] == "RESET" else int(line["action"][6:])
        action = make(id_, data.get("x"), data.get("y"))
        known = memory.lines()
        after = watcher.observe(
            Frame(
                frame=[grids.text_to_grid(text) for text in line["frames_after"]],
                state=line["state_after"],
                levels_completed=line["levels_after"],
                available_actions=line["available"],
            ),
            action,
        )
        assert after is not None
        before, seen = seen, after
        noted = memory.note(before, action, after)
        if id_ and before.state != GAME_OVER:
            key = f"{line['game_id']}:{line['episode']}:{line['step']}"
            yield Step(before, action, noted.kind, after.masked_hash, noted.novel, known, key)


def split_of(games: Sequence[str]) -> dict[str, str]:
    """The part of each game; with fewer than five games rows are split in place of games."""
    if len(games) < 5:
        return {}
    ranked = sorted(games, key=lambda game: (crc32(game.encode()), game))
    held = max(1, len(games) // SPLIT)
    named = dict.fromkeys(ranked[:held], "valid")
    named |= dict.fromkeys(ranked[held : 2 * held], "calibration")
    return {game: named.get(game, "train") for game in games}


def build(traces: Path, out: Path, options: Data, progress: Progress) -> dict[str, Any]:
    """Write ``train.jsonl``, ``valid.jsonl``, ``calibration.jsonl`` and ``dataset.json``.

    One game is in memory at a time.

    Raises:
        RunError: there are no traces, one is broken, or the folder cannot be written.
    """
    found = sorted({path.parent.name for path in traces.glob("*/*.jsonl")})
    excluded = [game for game in found if game.startswith(tuple(options.exclude) or ("\0",))]
    games = [game for game in found if game not in excluded]
    if not games:
        raise RunError(f"{traces} holds no traces; sysone arc collect --out {traces} makes some")
    counts = Counts(games=split_of(games))
    out.mkdir(parents=True, exist_ok=True)
    encoder = msgspec.json.Encoder()
    paths = {part: out / f".{part}.jsonl.part" for part in Parts}
    files = {part: path.open("wb") for part, path in paths.items()}
    task = progress.task("build-data", len(games))
    try:
        for game in games:
            for row in rows_of(game, sorted((traces / game).glob("*.jsonl")), options, counts):
                part = counts.games.get(game) or _row_part(row, counts)
                counts.rows[f"{part}.{row.family}"] += 1
                files[part].write(encoder.encode(row) + b"\n")
            task.advance(1, game)
    finally:
        for file in files.values():
            file.close()
    for part, path in paths.items():
        path.replace(out / f"{part}.jsonl")
    task.finish()
    report = {
        "v": 1,
        "options": msgspec.to_builtins(options),
        "rows": dict(sorted(counts.rows.items())),
        "split": "by game" if counts.games else "by row",
        "games": counts.games or dict.fromkeys(games, "by row"),
        "excluded": excluded,
        "replaced_share": round(counts.replaced / max(1, _choices(counts)), 4),
        "states_without_grade": counts.without_grade,
    }
    write_json(out / "dataset.json", report, indent=1)
    return report


def _choices(counts: Counts) -> int:
    return sum(number for name, number in counts.rows.items() if name.endswith("choice"))


def _row_part(row: Row, counts: Counts) -> str:
    if not any(name.startswith("train") for name in counts.rows):
        return "train"
    return {0: "valid", 1: "calibration"}.get(crc32(row.key.encode()) % SPLIT, "train")


def rows_of(game: str, episodes: Sequence[Path], options: Data, counts: Counts) -> Iterator[Row]:
    """The rows of one game."""
    steps = [list(replay(path)) for path in episodes]
    visits = Counter(step.target for episode in steps for step in episode)
    best: dict[tuple[int, int], dict[Action, tuple[int, int]]] = defaultdict(dict)
    for step in (step for episode in steps for step in episode):
        grades = best[step.before.levels_completed, step.before.masked_hash]
        grade = (GRADES.get(step.kind, 0), -visits[step.target])
        grades[step.action] = max(grade, grades.get(step.action, grade))
    asked: set[tuple[int, int]] = set()
    for episode in steps:
        for index, step in enumerate(episode):
            rng = random.Random(crc32(f"{options.seed}:{step.key}".encode()))
            place = (step.before.levels_completed, step.before.masked_hash)
            if place not in asked:
                asked.add(place)
                action, grade = max(best[place].items(), key=lambda pair: (pair[1], -pair[0].id))
                if grade[0] > 0:
                    choice = _choice(game, step, action, options, counts)
                    if choice is not None:
                        yield choice
                else:
                    counts.without_grade += 1
            if rng.random() < options.booleans:
                label = int(step.kind in (MOVED_ON, GAINED, DIED))
                yield _row(game, step, "boolean", label, [step.action.text])
            if rng.random() < options.scores:
                yield _row(game, step, "score", promise(episode[index : index + AHEAD]), [])


def promise(ahead: Sequence[Step]) -> int:
    """How promising a position is, 0 to 4: a level ahead, and the share of new states."""
    if any(step.kind == GAINED for step in ahead):
        return LEVELS - 1
    share = sum(step.novel for step in ahead) / max(1, len(ahead))
    return min(LEVELS - 2, int(share * (LEVELS - 1)))


def _choice(game: str, step: Step, action: Action, options: Data, counts: Counts) -> Row | None:
    candidates = build_candidates(step.before, options.max_candidates)
    if len(candidates) < 2:
        return None
    if action not in candidates:
        counts.replaced += 1
        last = max(
            (i for i, a in enumerate(candidates) if a.id == CLICK_ID), default=len(candidates) - 1
        )
        candidates[last] = action
    label = candidates.index(action)
    return _row(game, step, "choice", label, [a.text for a in candidates], step.lines)


def _row(
    game: str,
    step: Step,
    family: Any,
    label: int,
    candidates: list[str],
    lines: Sequence[str] = (),
) -> Row:
    seen = step.before
    previous = "" if seen.new_level or seen.previous is None else grids.grid_text(seen.previous)
    return Row(
        key=f"{step.key}:{family}",
        game=game,
        family=family,
        grid=grids.grid_text(seen.grid),
        previous=previous,
        levels=seen.levels_completed,
        state=seen.state,
        label=label,
        candidates=candidates,
        lines=list(lines),
    )
