"""All seeds of a run, in real or virtual time, and their file kept up to date."""

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, nullcontext
from pathlib import Path
from typing import Final

from sysone.runs.progress import Progress, Task
from sysone.systemone.endpoints import ENDPOINTS
from sysone.systemone.local import local_server
from sysone.trex.arena import Arena
from sysone.trex.baselines import POLICIES, play_baselines
from sysone.trex.interrupt import RunInterrupted, interrupts_kept
from sysone.trex.latency import Latency, landing
from sysone.trex.options import Options
from sysone.trex.pilot import Pilot
from sysone.trex.player import RemoteBrain
from sysone.trex.recording import RecordedGame, Recorder, RecordingFile
from sysone.trex.report import (
    Baseline,
    Results,
    SeedRow,
    seed_line,
    seed_row,
    summarise,
    write_results,
)
from sysone.trex.seeds import open_answers, play_shared, play_virtual
from sysone.trex.workers import Workers
from sysone_core.trex import FPS, FRAME_MS

SLEEP_S: Final = 0.002


def play(options: Options, out: Path, progress: Progress) -> Results:
    """Play every seed; the file ``out`` holds the finished ones at any time.

    Raises:
        PlayerError: the endpoint cannot be played with; the text says why.
        LocalServerError: the embedded server did not come up.
        RunError: ``out`` cannot be written.
        RunInterrupted: the user wanted no more.
    """
    rows: list[SeedRow] = []
    try:
        with interrupts_kept() as check, ExitStack() as stack:
            for row in _rows(options, progress, stack, check):
                after = sorted([*rows, row], key=lambda each: each.seed)
                write_results(out, _results(options, after))
                rows = after
                progress.result(seed_line(options.tag, row))
        # Only now: they would take the processor from a game in real time.
        baselines = _baselines(options, rows, progress) if options.baselines else None
        results = _results(options, rows, baselines)
        write_results(out, results)
        return results
    except KeyboardInterrupt:
        kept = f"{len(rows)} finished of {options.seeds} seeds in {out}" if rows else "no seed"
        raise RunInterrupted(f"interrupted; kept {kept}") from None


def _rows(
    options: Options, progress: Progress, stack: ExitStack, check: Callable[[], None]
) -> Iterator[SeedRow]:
    """Each seed's row as it is ready."""
    seeds = range(options.seed, options.seed + options.seeds)
    if options.shared:
        yield from stack.enter_context(closing(play_shared(options, seeds, progress.note, check)))
        return
    play_one = _player(options, progress, stack, check)
    for seed in seeds:
        check()
        yield play_one(seed)


def _player(
    options: Options, progress: Progress, stack: ExitStack, check: Callable[[], None]
) -> Callable[[int], SeedRow]:
    """Who plays a seed; what it needs is put on ``stack``, and it calls ``check`` as it goes."""
    record = stack.enter_context(RecordingFile(options.record)) if options.record else None
    if options.latency is None:
        base_url = stack.enter_context(_endpoint(options))
        return lambda seed: play_seed(options, seed, base_url, progress, record, check)
    answers = stack.enter_context(closing(open_answers(options)))
    return lambda seed: play_virtual(options, answers, seed, record)


def _results(
    options: Options, rows: list[SeedRow], baselines: dict[str, Baseline] | None = None
) -> Results:
    return Results(
        summary=summarise(rows, options.settings),
        results=rows,
        baselines=baselines,
        rules=options.rules,
    )


def play_seed(
    options: Options,
    seed: int,
    base_url: str | None,
    progress: Progress,
    record: RecordingFile | None = None,
    check: Callable[[], None] = lambda: None,
) -> SeedRow:
    """Play one seed in real time (or lockstep) with a player process of its own.

    ``check`` is called between frames; it raises when the run is to end.

    Raises:
        PlayerError: the player could not be started or warmed up.
    """
    task = progress.task(f"seed {seed}", total=options.frames)
    brain = RemoteBrain(options.model, options.requests, base_url)
    try:
        pilot = Pilot(
            brain,
            clock=time.perf_counter,
            guarded=options.shield,
            prompt=options.prompt,
            lockstep=options.lockstep,
            seed=seed,
            course=options.course_style,
            premise_rule=options.premise_rule,
            game=RecordedGame(seed, options.course_style, scenery=False) if record else None,
        )
        recorder = Recorder(record, pilot, "real") if record else None
        samples_ms = brain.warm(pilot.moment(), options.prompt)
        pilot.times.start_from(samples_ms)
        progress.note(f"{brain.name}: {brain.detail}, warm answer {min(samples_ms):.0f} ms")
        arena = Arena([pilot], time.perf_counter)
        workers = Workers(pilot, brain)
        try:
            arena.start()
            _run(arena, pilot, options.frames, task, check)
            with pilot.lock:
                if recorder is not None:
                    recorder.close(arena.frame)
                    share = recorder.spent_s * 1000 / (arena.frame * FRAME_MS)
                    progress.note(f"recording took {share:.2%} of the time of a frame")
            return seed_row(seed, arena, pilot)
        finally:
            workers.close()
    finally:
        brain.close()
        task.finish()


def _run(arena: Arena, pilot: Pilot, frames: int, task: Task, check: Callable[[], None]) -> None:
    """Real time counts the arena's frames, lockstep those that the game played."""
    shown = 0
    while (done := _done(arena, pilot)) < frames:
        check()
        # Never past the end, so that every undisturbed seed has the same score.
        arena.advance(most=frames - done)
        pilot.game.drain_events()
        if done - shown >= FPS // 2:
            shown = done
            task.update(done, f"score {pilot.game.score}")
        time.sleep(SLEEP_S)
    task.update(frames, f"score {pilot.game.score}")


def _done(arena: Arena, pilot: Pilot) -> int:
    return arena.frame if pilot.lockstep is None else pilot.game_frames


def _baselines(
    options: Options, rows: Sequence[SeedRow], progress: Progress
) -> dict[str, Baseline]:
    conditions = options.conditions(options.latency or _typical(rows))
    task = progress.task("baselines", total=len(POLICIES) * len(rows))
    found = play_baselines([row.seed for row in rows], conditions, on_seed=task.advance)
    task.finish()
    return found


def _typical(rows: Sequence[SeedRow]) -> Latency:
    landed_ms = [row.latency_ms_p50 for row in rows if row.latency_ms_p50 is not None]
    return landing(statistics.median(landed_ms) if landed_ms else FRAME_MS)


def _endpoint(options: Options) -> AbstractContextManager[str | None]:
    """Where the player asks; a kind without an address is a server of ours for the run."""
    if options.base_url is None and ENDPOINTS[options.model].base_url() is None:
        return local_server()
    return nullcontext(options.base_url)
