"""ARC: the grid kernels against plain Python, NumPy and scipy; what a step and a count cost."""

import json
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from bench.measure import Direct, Pair, percentiles
from bench.registry import promise
from sysone_core import grids
from sysone_core.grids import twin

DATA = Path(__file__).parents[1] / "tests" / "data" / "arc"
US = 1e3
STEP_BOUND_US = 150.0
SHARE = 0.05

Case = tuple[np.ndarray, np.ndarray, np.ndarray]


def cases(ranked: bool = False) -> list[Case]:
    """Previous grid, grid and mask of the golden frames of full size.

    Those that have a previous grid, or with ``ranked`` those that hold more than background: on
    an even frame there is nothing to rank.
    """
    found = []
    for case in json.loads((DATA / "grids.json").read_text())["cases"]:
        after = grids.text_to_grid(case["cur"])
        before = after if case["prev"] is None else grids.text_to_grid(case["prev"])
        if len(np.unique(after)) < 3 if ranked else case["prev"] is None:
            continue
        mask = np.zeros(after.shape, np.uint8)
        mask[case["hud_mask_rows"]] = 1
        if before.shape == after.shape == (64, 64):
            found.append((before, after, mask))
    return found


class Buffers:
    """What the caller owns, filled for one case."""

    def __init__(self, case: Case) -> None:
        self.before, self.after, self.mask = case
        self.hashes = np.zeros(2, np.uint64)
        self.changed = np.zeros(4096, np.int32)
        self.diff = np.zeros(64 * 64 + 63, np.uint8)
        self.out = np.zeros((255, 2), np.int32)
        self.labels = np.zeros((64, 64), np.int32)
        self.boxes = np.zeros((4096, 8), np.int32)
        twin.grid_hash(self.before, self.mask, self.hashes)
        self.n_changed = self.observe(twin)

    def observe(self, functions: Any) -> int:
        hashes = self.hashes.copy()
        count: int = functions.observe(
            self.before, self.after, self.mask, hashes, self.changed, self.diff
        )
        self.result = hashes
        return count

    def anchors(self, functions: Any) -> int:
        count: int = functions.anchors(
            self.changed, self.n_changed, self.after, self.mask, 249, True, self.out
        )
        return count

    def components(self, functions: Any) -> int:
        count: int = functions.components(self.after, self.labels, self.boxes)
        return count


def over(work: Callable[[Buffers], object], buffers: list[Buffers]) -> Callable[[], None]:
    def call() -> None:
        for one in buffers:
            work(one)

    return call


def kernel_pair(
    method: Callable[[Buffers, Any], int],
    reference: Callable[[Buffers], object],
    slow: bool,
    ranked: bool = False,
) -> Pair:
    grids.use("numba")
    compiled = grids.kernels()
    buffers = [Buffers(case) for case in cases(ranked)]
    for one in buffers:
        assert method(one, compiled) == method(one, twin)
    return Pair(
        over(lambda one: method(one, compiled), buffers),
        over(reference, buffers),
        work=len(buffers),
        reference_rounds=5 if slow else 31,
    )


@promise("arc.diff_python")
def diff_python() -> Pair:
    return kernel_pair(Buffers.observe, plain_observe, slow=True)


@promise("arc.diff_numpy")
def diff_numpy() -> Pair:
    return kernel_pair(Buffers.observe, lambda one: one.observe(twin), slow=False)


@promise("arc.anchors_python")
def anchors_python() -> Pair:
    return kernel_pair(Buffers.anchors, plain_anchors, slow=True, ranked=True)


@promise("arc.anchors_numpy")
def anchors_numpy() -> Pair:
    return kernel_pair(Buffers.anchors, lambda one: one.anchors(twin), slow=False, ranked=True)


@promise("arc.components")
def components() -> Pair:
    from scipy import ndimage

    def by_colour(one: Buffers) -> int:
        count = 0
        for value in np.unique(one.after):
            labels, found = ndimage.label(one.after == value)
            ndimage.find_objects(labels)
            count += found
        return count

    for case in cases(ranked=True):
        one = Buffers(case)
        assert by_colour(one) == one.components(twin)
    return kernel_pair(Buffers.components, by_colour, slow=False, ranked=True)


@promise("arc.step")
def step() -> Direct:
    """Candidates before an action, observation and memory after it, on eight practice games."""
    from sysone.arc.actions import RESET
    from sysone.arc.candidates import build_candidates
    from sysone.arc.env import make_env
    from sysone.arc.memory import Memory
    from sysone.arc.observe import Watcher

    grids.warm()
    samples = []
    for game in ("pmaz", "hmaz", "ptog", "hcyc", "psta", "ppus", "mock1", "hcol"):
        env, watcher, memory = make_env(game), Watcher(), Memory()
        rng = random.Random(0)
        seen = watcher.observe(env.first())
        assert seen is not None
        memory.start_level(seen)
        for _ in range(300):
            start = perf_counter_ns()
            candidates = build_candidates(seen)
            built = perf_counter_ns()
            over_ = seen.state == "GAME_OVER"
            action = RESET if over_ else rng.choice(candidates)
            frame = env.step(action)
            answered = perf_counter_ns()
            after = watcher.observe(frame, action)
            assert after is not None
            memory.note(seen, action, after)
            samples.append((built - start + perf_counter_ns() - answered) / US)
            seen = after
    found = percentiles(samples)
    return Direct(found["p50"], STEP_BOUND_US, found)


@promise("arc.bookkeeping")
def bookkeeping() -> Direct:
    """What the evaluator adds to a step, with a player that neither looks nor thinks."""
    from sysone.arc.actions import Action, simple
    from sysone.arc.decide import StepRecord
    from sysone.arc.env import make_env
    from sysone.arc.frame import Frame
    from sysone.arc.play import Limits, play_game

    class Timed:
        """A game that keeps the time that its own steps took."""

        def __init__(self) -> None:
            self.env = make_env("zz01", DATA / "environment_files")
            self.game_id, self.n_levels = self.env.game_id, self.env.n_levels
            self.baseline_actions = self.env.baseline_actions
            self.steps_ns: list[int] = []

        def first(self) -> Frame | None:
            return self.env.first()

        def step(self, action: Action) -> Frame | None:
            start = perf_counter_ns()
            frame = self.env.step(action)
            self.steps_ns.append(perf_counter_ns() - start)
            return frame

    class Idle:
        done = False
        turn = 0

        def begin(self, frame: Frame | None) -> None: ...

        def note(self, action: Action, frame: Frame | None) -> None: ...

        def decide(self) -> tuple[Action, StepRecord]:
            self.turn += 1
            return simple(1 + self.turn % 4), StepRecord("heuristic")

    added, steps = [], []
    for _ in range(15):
        game = Timed()
        start = perf_counter_ns()
        played = play_game(game, Idle(), Limits(200))
        total = perf_counter_ns() - start
        added.append((total - sum(game.steps_ns)) / played.steps / US)
        steps.append(statistics.median(game.steps_ns) / US)
    return Direct(min(added), SHARE * statistics.median(steps), percentiles(added))


# -- plain Python, the way one would write it


def plain_mix(key: int) -> int:
    full = 2**64 - 1
    z = (key + 1) * 0x9E3779B97F4A7C15 & full
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & full
    z = (z ^ z >> 27) * 0x94D049BB133111EB & full
    return z ^ z >> 31


def plain_observe(one: Buffers) -> int:
    if not hasattr(one, "lists"):
        one.lists = (one.before.tolist(), one.after.tolist(), one.mask.tolist())  # type: ignore[attr-defined]
    before, after, mask = one.lists  # type: ignore[attr-defined]
    whole, kept = (int(value) for value in one.hashes)
    changed, lines = [], []
    for y, (old, new) in enumerate(zip(before, after, strict=True)):
        line = []
        for x, (was, value) in enumerate(zip(old, new, strict=True)):
            if was == value:
                line.append("0123456789abcdef"[value])
                continue
            line.append("*")
            changed.append(64 * y + x)
            flip = plain_mix((64 * y + x) * 16 + was) ^ plain_mix((64 * y + x) * 16 + value)
            whole ^= flip
            if not mask[y][x]:
                kept ^= flip
        lines.append("".join(line))
    text = "\n".join(lines)
    return len(changed) + 0 * len(text)


def plain_anchors(one: Buffers) -> int:
    if not hasattr(one, "lists"):
        one.lists = (one.before.tolist(), one.after.tolist(), one.mask.tolist())  # type: ignore[attr-defined]
    _, grid, mask = one.lists  # type: ignore[attr-defined]
    room = 249
    moved = [
        cell for cell in one.changed[: one.n_changed].tolist() if not mask[cell // 64][cell % 64]
    ]
    limit = room - 88
    if len(moved) > limit:
        moved = [moved[i * len(moved) // limit] for i in range(limit)]
    counts = [0] * 16
    for row in grid:
        for value in row:
            counts[value] += 1
    modal = counts.index(max(counts))
    ranked = []
    for y in range(64):
        for x in range(64):
            value = grid[y][x]
            if value in (0, modal) or mask[y][x]:
                continue
            equal = 0
            for dy in range(-2, 3):
                for dx in range(-2, 3):
                    if 0 <= y + dy < 64 and 0 <= x + dx < 64:
                        equal += grid[y + dy][x + dx] == value
            ranked.append((equal, counts[value], 64 * y + x))
    ranked.sort()
    rare = [cell for _, _, cell in ranked[:24]]
    coarse = [64 * (8 * j + 4) + 8 * i + 4 for j in range(8) for i in range(8)]
    return len(list(dict.fromkeys([*moved, *rare, *coarse]))[:room])
