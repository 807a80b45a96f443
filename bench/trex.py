"""T-Rex: engine, planner, shield and whole frames against the pure-Python twin."""

import gzip
import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from bench.measure import Direct, Pair, fastest_of_each, percentiles
from bench.registry import promise
from sysone.trex.arena import Arena
from sysone.trex.pilot import Pilot
from sysone_core import trex as core

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from twin import engine, golden_rows, planner, shield  # noqa: E402

DATA = ROOT / "tests" / "data" / "trex"
FRAMES = 3600  # one minute
JUMP_EVERY = 39  # frames: the load of the reference's own figures

Timing = tuple[tuple[float, float], tuple[float, float], float | None]


@promise("trex.engine")
def engine_frames() -> Pair:
    return frames(scenery=False)


@promise("trex.engine_drawn")
def engine_frames_drawn() -> Pair:
    return frames(scenery=True)


def frames(scenery: bool) -> Pair:
    """One minute of an invincible game with a jump each 39 frames, from its first frame."""
    turns = FRAMES // JUMP_EVERY

    def subject() -> bytes:
        game = core.Game(7, invincible=True, scenery=scenery)
        game.press_jump()
        for _ in range(turns):
            game.step(JUMP_EVERY)
            game.press_jump()
        return game.packed_record()

    def reference() -> bytes:
        game = engine.Game(7, invincible=True, scenery=scenery)
        game.press_jump()
        for _ in range(turns):
            for _ in range(JUMP_EVERY):
                game.step()
            game.press_jump()
        return game.packed_record()

    agree(subject(), reference())
    return Pair(subject, reference, work=turns * JUMP_EVERY)


@promise("trex.batch_threads")
def batch_threads() -> Pair:
    def games(threads: int) -> core.Batch:
        return core.play_batch(range(16), "random_safe", threads)

    agree(games(2).games.best_score.tolist(), games(1).games.best_score.tolist())
    # Both threads' time on the wall, so other work on the machine counts.
    return Pair(partial(games, 2), partial(games, 1), rounds=25, clock=perf_counter_ns)


@promise("trex.plans_366")
def plans_366() -> Pair:
    return plans("planner_benchmark.json.gz", ratio_every=1, reference_rounds=3)


@promise("trex.plans_extreme")
def plans_extreme() -> Pair:
    # The twin needs ten seconds for all of them: the ratio is over every third.
    return plans("planner_extreme.json", ratio_every=3, reference_rounds=2)


def plans(name: str, ratio_every: int, reference_rounds: int) -> Pair:
    data = golden(name)
    rows = data["plans"]
    timings = [(tuple(row["first"]), tuple(row["gap"]), row["period"]) for row in rows]
    core_snapshots = [core_snapshot(row) for row in data["snapshots"]]
    twin_snapshots = [golden_rows.snapshot(row) for row in data["snapshots"]]
    core_cases = [
        (core_snapshots[row["snap"]], *timing) for row, timing in zip(rows, timings, strict=True)
    ]
    twin_cases = [
        (twin_snapshots[row["snap"]], *timing) for row, timing in zip(rows, timings, strict=True)
    ][::ratio_every]
    core_planner, twin_planner = core.Planner(), planner.Planner()
    found = [core_planner.plan(*case).states for case in core_cases]
    agree(found, [row["plan"]["states"] for row in rows])
    chosen = core_cases[::ratio_every]

    def subject() -> None:
        for case in chosen:
            core_planner.plan(*case)

    return Pair(
        subject,
        [partial(twin_planner.plan, *case) for case in twin_cases],
        reference_rounds=reference_rounds,
        samples=lambda: fastest_of_each([partial(core_planner.plan, *case) for case in core_cases]),
    )


@promise("trex.protect")
def protect() -> Pair:
    data = golden("safety.json.gz")
    rows = data["cases"][::10]
    core_snapshots = {row[0]: core_snapshot(data["snapshots"][row[0]]) for row in rows}
    twin_snapshots = {row[0]: golden_rows.snapshot(data["snapshots"][row[0]]) for row in rows}
    core_cases = [(core_snapshots[row[0]], *row[1:4]) for row in rows]
    twin_cases = [(twin_snapshots[row[0]], *row[1:4]) for row in rows]
    agree([core.protect(*case) for case in core_cases], [row[4] for row in rows])

    def subject() -> None:
        for case in core_cases:
            core.protect(*case)

    def reference() -> None:
        for case in twin_cases:
            shield.protect(*case)

    return Pair(
        subject,
        reference,
        work=len(rows),
        reference_rounds=7,
        samples=lambda: fastest_of_each([partial(core.protect, *case) for case in core_cases]),
    )


class NoPlayer:
    """A player that is never asked: the shield alone plays."""

    name = model = detail = "none"
    inflight = 6
    usd_per_token = 0.0


@promise("trex.frame")
def whole_frame() -> Direct:
    """Step, snapshot, shield and publishing, as the arena of a real run does them."""
    fastest: list[float] = []
    for _ in range(5):
        pilot = Pilot(NoPlayer(), clock=lambda: 0.0, seed=7)
        arena = Arena([pilot], lambda: 0.0)
        arena.start()
        taken = list(ticks(arena))
        # The same frames each time: of each, the run that disturbed it least.
        fastest = [min(pair) for pair in zip(fastest, taken, strict=True)] if fastest else taken
    spread = {name: ns / 1000 for name, ns in percentiles(fastest).items()}
    return Direct(spread["p50"], core.FRAME_MS * 1000, spread)


def ticks(arena: Arena) -> Sequence[float]:
    taken = []
    for _ in range(5 * FRAMES):
        start = perf_counter_ns()
        arena.tick()
        taken.append(perf_counter_ns() - start)
    return taken


def golden(name: str) -> Any:
    raw = (DATA / name).read_bytes()
    return json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)


def core_snapshot(row: dict[str, Any]) -> core.Snapshot:
    return core.Snapshot(
        core.TrexState(*row["trex"]),
        row["trex_x"],
        row["speed"],
        [
            core.ObstacleView(*view[:8], [tuple(box) for box in view[8]])
            for view in row["obstacles"]
        ],
        row["held"],
        row["playing"],
        row["pending"],
    )


def agree(found: object, wanted: object) -> None:
    """Fast and wrong is not fast."""
    if found != wanted:
        raise AssertionError("subject and reference do not agree")
