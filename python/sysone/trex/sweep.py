"""What latency does to a player: many virtual runs over a grid, beside the planner's own curve.

The planner's best action, answered as late, is the harness itself: beyond its latency cliff no
model can survive on the proofs alone. How a model falls short of that curve is the model's.
"""

import itertools
import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from sysone.executors import LocalExecutor, collect, processors, results
from sysone.runs.errors import RunError, unreadable
from sysone.trex.answers import Answers, Known, answers_of
from sysone.trex.ask import Prompt
from sysone.trex.baselines import PLANNER_BEST, SHIELD_ONLY, Outcome, play_policy
from sysone.trex.latency import normal
from sysone.trex.question import CourseStyle, PremiseRule
from sysone.trex.simulate import Conditions, Identity, simulate
from sysone_core.trex import FPS


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One place of the grid, over all seeds."""

    player: str
    """The model's kind, or a baseline's name."""
    prompt: str | None
    """None where no question is worded."""
    inflight: int
    jitter_ms: float
    """Standard deviation of the latency."""
    latency_ms: float
    """Mean, from question to answer; it lands with the next frame."""
    seeds: int
    survived: int
    deaths: int
    mean_best_score: float
    agreement_with_planner: float | None
    decisions: int
    """Applied answers; this and all below are summed over the seeds."""
    answers_discarded: int
    shield_interventions: int
    """Unsafe answers replaced."""
    arrival_saves: int
    emergency_saves: int

    @property
    def curve(self) -> "Curve":
        """What the point shares with those at other latencies."""
        return Curve(self.player, self.prompt, self.inflight, self.jitter_ms)


@dataclass(frozen=True, slots=True, order=True)
class Curve:
    """A line over latency."""

    player: str
    prompt: str | None
    inflight: int
    jitter_ms: float

    @property
    def label(self) -> str:
        """For tables and legends."""
        worded = f", {self.prompt}" if self.prompt else ""
        return f"{self.player}{worded}, {self.inflight} in flight"


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """What is swept, and the settings that stay."""

    model: str | None
    """None: the harness alone."""
    latencies_ms: list[float]
    jitters_ms: list[float]
    inflights: list[int]
    prompts: list[Prompt]
    seeds: int = 5
    seed: int = 0
    duration_s: float = 60.0
    shield: bool = True
    course_style: CourseStyle = "original"
    premise_rule: PremiseRule = "reference"

    def conditions(self, latency_ms: float, jitter_ms: float, inflight: int) -> Conditions:
        """Of one place."""
        return Conditions(
            latency=normal(latency_ms, jitter_ms),
            inflight=inflight,
            guarded=self.shield,
            course=self.course_style,
            frames=int(self.duration_s * FPS),
            premise_rule=self.premise_rule,
        )

    def places(self) -> Iterator[tuple[Curve, float]]:
        """Every curve and latency; the planner's best beside the model, the shield alone once."""
        if self.shield:
            yield Curve(SHIELD_ONLY, None, self.inflights[0], 0.0), self.latencies_ms[0]
        players: list[tuple[str, str | None]] = [(PLANNER_BEST, None)]
        if self.model is not None:
            players += [(self.model, prompt) for prompt in self.prompts]
        for jitter_ms, inflight, (player, prompt), latency_ms in itertools.product(
            self.jitters_ms, self.inflights, players, self.latencies_ms
        ):
            yield Curve(player, prompt, inflight, jitter_ms), latency_ms


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep's file."""

    grid: Grid
    model: str | None
    """The model's own name."""
    endpoint: str | None
    points: list[Point]

    def curves(self) -> dict[Curve, list[Point]]:
        """The points of each curve by rising latency, without the shield alone."""
        curves: dict[Curve, list[Point]] = {}
        for point in self.points:
            if point.player != SHIELD_ONLY:
                curves.setdefault(point.curve, []).append(point)
        return curves

    def shield_only(self) -> Point | None:
        """The same seeds with the shield alone."""
        return next((point for point in self.points if point.player == SHIELD_ONLY), None)


def cliff_ms(points: Sequence[Point]) -> float | None:
    """The latency up to which every seed survives; None if some die at the first already."""
    last = None
    for point in points:
        if point.survived < point.seeds:
            break
        last = point.latency_ms
    return last


def sweep(
    grid: Grid,
    known: Path,
    jobs: int | None = None,
    on_point: Callable[[], None] = lambda: None,
) -> Sweep:
    """Play the grid in ``jobs`` processes (by default one for each processor).

    ``known`` holds the model's answers and takes the new ones. The result does not depend on the
    number of processes.

    Raises:
        RunError: the model cannot be asked, or ``known`` holds something else.
    """
    places = list(grid.places())
    jobs = jobs or processors()
    answers = answers_of(grid.model, known) if grid.model is not None else None
    try:
        if jobs == 1:
            points = []
            for curve, latency_ms in places:
                points.append(_play(grid, answers, curve, latency_ms))
                on_point()
        else:
            points = _in_processes(grid, places, known, jobs, answers, on_point)
    finally:
        if answers is not None:
            answers.close()
    return Sweep(
        grid=grid,
        model=None if answers is None else answers.model,
        endpoint=None if answers is None else answers.source,
        points=points,
    )


def _in_processes(
    grid: Grid,
    places: Sequence[tuple[Curve, float]],
    known: Path,
    jobs: int,
    answers: Answers | None,
    on_point: Callable[[], None],
) -> list[Point]:
    points: dict[int, Point] = {}
    executor = LocalExecutor(_play_there, min(jobs, len(places)))
    work = collect(executor, len(places), lambda place: (grid, known, *places[place]))
    for place, (point, new) in results(work):
        points[place] = point
        if answers is not None:
            answers.learn(new)
        on_point()
    return [points[place] for place in range(len(places))]


def read_sweep(path: str | os.PathLike[str]) -> Sweep:
    """A sweep's file.

    Raises:
        RunError: it cannot be read or has another shape; the text names the field.
    """
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Sweep)
    except OSError as error:
        raise unreadable(path, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is not a sweep's file: {error}") from error


def table(found: Sweep) -> str:
    """The points in columns, each curve under its name with its cliff."""
    head = (
        f"{'latency':>9} {'survived':>9} {'deaths':>7} {'score':>7} {'agreement':>10} "
        f"{'decisions':>10} {'discarded':>10} {'label':>7} {'arrival':>8} {'emergency':>10}"
    )
    lines = []
    alone = found.shield_only()
    if alone is not None:
        lines += [
            f"{SHIELD_ONLY}: {alone.survived} of {alone.seeds} survive, mean score "
            f"{alone.mean_best_score:g}, {alone.emergency_saves} emergency saves",
            "",
        ]
    for curve, points in found.curves().items():
        lines += [f"{curve.label}, jitter {curve.jitter_ms:g} ms: {_cliff(points)}", head]
        for point in points:
            agreement = point.agreement_with_planner
            lines.append(
                f"{point.latency_ms:>6g} ms {point.survived:>4} of {point.seeds:<2} "
                f"{point.deaths:>6} {point.mean_best_score:>7g} "
                f"{'none' if agreement is None else format(agreement, '.3f'):>10} "
                f"{point.decisions:>10} {point.answers_discarded:>10} "
                f"{point.shield_interventions:>7} {point.arrival_saves:>8} "
                f"{point.emergency_saves:>10}"
            )
        lines.append("")
    return "\n".join(lines[:-1])


def _cliff(points: Sequence[Point]) -> str:
    last = cliff_ms(points)
    if last is None:
        return f"not every seed survives {points[0].latency_ms:g} ms"
    if last == points[-1].latency_ms:
        return f"every seed survives to the end, {last:g} ms"
    return f"every seed survives up to {last:g} ms"


def _play(grid: Grid, answers: Answers | None, curve: Curve, latency_ms: float) -> Point:
    conditions = grid.conditions(latency_ms, curve.jitter_ms, curve.inflight)
    seeds = range(grid.seed, grid.seed + grid.seeds)
    prompt = curve.prompt
    if prompt is None:
        outcomes = [play_policy(curve.player, seed, conditions) for seed in seeds]
    else:
        assert answers is not None
        known = answers
        player = Identity(curve.player, curve.inflight)
        outcomes = [
            Outcome.of(
                simulate(player, seed, conditions, lambda plan: known.choose(plan, prompt), prompt)[
                    1
                ]
            )
            for seed in seeds
        ]
    return _point(curve, latency_ms, outcomes)


def _point(curve: Curve, latency_ms: float, outcomes: Sequence[Outcome]) -> Point:
    decisions = sum(outcome.decisions for outcome in outcomes)
    return Point(
        player=curve.player,
        prompt=curve.prompt,
        inflight=curve.inflight,
        jitter_ms=curve.jitter_ms,
        latency_ms=latency_ms,
        seeds=len(outcomes),
        survived=sum(outcome.deaths == 0 for outcome in outcomes),
        deaths=sum(outcome.deaths for outcome in outcomes),
        mean_best_score=round(statistics.fmean(outcome.best_score for outcome in outcomes), 1),
        agreement_with_planner=(
            round(sum(outcome.agreed for outcome in outcomes) / decisions, 3) if decisions else None
        ),
        decisions=decisions,
        answers_discarded=sum(outcome.discarded for outcome in outcomes),
        shield_interventions=sum(outcome.shield_interventions for outcome in outcomes),
        arrival_saves=sum(outcome.arrival_saves for outcome in outcomes),
        emergency_saves=sum(outcome.emergency_saves for outcome in outcomes),
    )


# In a process of the executor -----------------------------------------------------------------

_kept: tuple[Grid, Answers] | None = None
"""The answers of the last place that was played here, for the next one."""


def _play_there(
    item: tuple[Grid, Path, Curve, float], stopping: Callable[[], bool]
) -> tuple[Point, list[Known]]:
    global _kept
    grid, known, curve, latency_ms = item
    if grid.model is None:
        return _play(grid, None, curve, latency_ms), []
    if _kept is None or _kept[0] != grid:
        _kept = grid, answers_of(grid.model, known)
    answers = _kept[1]
    return _play(grid, answers, curve, latency_ms), answers.take_new()
