"""Rows from traces: games are replayed through the same eyes that play them.

A choice's label says which candidates make progress. Where the game's own rules were searched (see
`sysone.arc.practice.guide`), these are the actions that shorten the way the most. Elsewhere it is
judged in hindsight over all that was observed in a masked state: an action is worth ``0.8 ** d``
if a level was gained ``d`` observed actions after it, a little if the picture changed without a
loss, else nothing. States where nothing was worth anything teach no choice.
"""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import msgspec

from sysone.arc.actions import CLICK_ID, Action, make, parse
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
from sysone.runs.sums import in_order
from sysone_core import grids

AHEAD: Final = 20
"""Steps that a position's promise is judged by."""
LEVELS: Final = 5
SPLIT: Final = 8
"""One game in so many is for validation, one for calibration."""
FADING: Final = 0.8
"""Worth of an action whose level gain lies one action further away."""
CHANGED: Final = 0.02
"""Worth of an action that changed the picture, and no more is known."""
ROWS_A_STATE: Final = 4
"""Choices of one masked state: what is known of it differs."""
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
    best: list[Action] = field(default_factory=list)
    """What a guide would have done."""

    @property
    def place(self) -> tuple[int, int]:
        """Level and masked state."""
        return self.before.levels_completed, self.before.masked_hash


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
        known = memory.lines(seen)
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
            best = [parse(text) for text in line.get("best", ())]
            yield Step(before, action, noted.kind, after.masked_hash, noted.novel, known, key, best)


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
    worth = worths(steps)
    asked: Counter[tuple[int, int]] = Counter()
    for episode in steps:
        for index, step in enumerate(episode):
            rng = random.Random(crc32(f"{options.seed}:{step.key}".encode()))
            drawn = rng.random()
            before = asked[step.place]
            if before == 0 or (before < ROWS_A_STATE and drawn < options.choices):
                asked[step.place] += 1
                choice = _choice(game, step, worth[step.place], options, counts)
                if choice is not None:
                    yield choice
            if rng.random() < options.booleans:
                label = int(step.kind in (MOVED_ON, GAINED, DIED))
                yield _row(game, step, "boolean", label, [step.action.text])
            if rng.random() < options.scores:
                yield _row(game, step, "score", promise(episode[index : index + AHEAD]), [])


def worths(steps: Sequence[Sequence[Step]]) -> dict[tuple[int, int], dict[Action, float]]:
    """In hindsight, what each observed action of each masked state was worth, 0 to 1."""
    edges: dict[tuple[int, int], dict[Action, Step]] = defaultdict(dict)
    into: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for step in (step for episode in steps for step in episode):
        edges[step.place][step.action] = step
        into[step.place[0], step.target].append(step.place)
    left = {
        place: 1
        for place, found in edges.items()
        if any(step.kind == GAINED for step in found.values())
    }
    queue = deque(left)
    while queue:
        place = queue.popleft()
        for before in into[place]:
            if before not in left:
                left[before] = left[place] + 1
                queue.append(before)

    def worth(step: Step) -> float:
        if step.kind == GAINED:
            return 1.0
        if step.kind != MOVED_ON:
            return 0.0
        after = left.get((step.place[0], step.target))
        return CHANGED if after is None else max(CHANGED, FADING**after)

    return {
        place: {action: worth(step) for action, step in found.items()}
        for place, found in edges.items()
    }


def promise(ahead: Sequence[Step]) -> int:
    """How promising a position is, 0 to 4: a level ahead, and the share of new states."""
    if any(step.kind == GAINED for step in ahead):
        return LEVELS - 1
    share = sum(step.novel for step in ahead) / max(1, len(ahead))
    return min(LEVELS - 2, int(share * (LEVELS - 1)))


def _choice(
    game: str, step: Step, worth: dict[Action, float], options: Data, counts: Counts
) -> Row | None:
    """A choice of this step; None where there is none, or nothing is worth anything."""
    candidates = build_candidates(step.before, options.max_candidates)
    if len(candidates) < 2:
        return None
    value = dict.fromkeys(step.best, 1.0) if step.best else worth
    if not any(value.values()):
        counts.without_grade += 1
        return None
    if not any(value.get(action, 0) for action in candidates):
        counts.replaced += 1
        last = max(
            (i for i, a in enumerate(candidates) if a.id == CLICK_ID), default=len(candidates) - 1
        )
        candidates[last] = max(value, key=lambda action: (value[action], action.text))
    found = [value.get(action, 0.0) for action in candidates]
    total = in_order(found)
    shares = [round(share / total, 6) for share in found]
    label = max(range(len(found)), key=lambda index: (found[index], -index))
    texts = [action.text for action in candidates]
    return _row(game, step, "choice", label, texts, step.lines, shares)


def _row(
    game: str,
    step: Step,
    family: Any,
    label: int,
    candidates: list[str],
    lines: Sequence[str] = (),
    shares: Sequence[float] = (),
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
        shares=list(shares),
    )
