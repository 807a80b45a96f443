"""What is written of a run: a row for each seed and a summary, in the published shape.

Names, order and rounding of the published fields never change; what we add follows them, and
readers take files without it.
"""

import os
import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec

from sysone.runs.atomic import write_json
from sysone.runs.errors import RunError
from sysone.runs.sums import in_order
from sysone.trex.arena import Arena
from sysone.trex.pilot import Pilot
from sysone.trex.score import percentile, rounded


class SeedRow(msgspec.Struct, frozen=True, kw_only=True):
    """One seed's game; times in milliseconds over applied answers."""

    seed: int
    survived: bool
    deaths: int
    best_score: int
    scores: list[int]
    """Of the finished runs, and of the one going on at the end."""
    decisions: int
    agreement_with_planner: float | None
    latency_ms_p50: float | None
    latency_ms_p95: float | None
    model_ms_p50: float | None
    answers_discarded: int
    errors: int
    last_error: str | None
    best_effort_decisions: int
    shield_interventions: int
    arrival_saves: int
    emergency_saves: int
    input_tokens: int
    game_seconds: float
    wall_seconds: float
    """Ticks of the arena by 60; stalls that were dropped are not in it."""
    host_stall_seconds_dropped: float
    model: str
    endpoint: str
    # added to the published fields
    planner_ms_p50: float | None = None
    planner_ms_p95: float | None = None
    planner_ms_p99: float | None = None
    late_frames_share: float | None = None
    """Frames that ended after their slot of 1/60 s, of all frames."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """All seeds of a run."""

    model: str
    endpoint: str
    mode: str
    shield: bool
    course_style: str
    prompt: str
    duration_s: float
    seeds: int
    survived: int
    deaths: int
    mean_best_score: float
    mean_decisions: float
    mean_agreement_with_planner: float
    latency_ms_p50_median: float
    model_ms_p50_median: float
    errors: int
    answers_discarded: int
    shield_interventions: int
    """Of all three shields."""
    inflight: int


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What the published summary has no place for: rules and time of a run."""

    clock: str = "real"
    """``real`` or ``virtual``."""
    latency: str | None = None
    """The source of latencies in virtual time."""
    premise_rule: str = "reference"
    """Which answers questions reckon with; see `sysone.trex.question.PremiseRule`."""


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """How a player without a model does on the same seeds."""

    survived: int
    deaths: int
    mean_best_score: float
    shield_interventions: int
    """Of all three shields."""


class Results(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A results file."""

    summary: Summary
    results: list[SeedRow]
    baselines: dict[str, Baseline] | None = None
    rules: Rules | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What a summary says of how the seeds were played."""

    mode: str
    shield: bool
    course_style: str
    prompt: str
    duration_s: float
    inflight: int


def seed_row(seed: int, arena: Arena, pilot: Pilot) -> SeedRow:
    """The row of a seed whose game has ended."""
    report = arena.report()
    player = report.players[pilot.player.name]
    # On a simulated clock nothing of the machine's time is reported.
    plan_ms = pilot.stats.plan_ms if arena.pacer is not None else []
    current = [] if player.current_score is None else [player.current_score]
    return SeedRow(
        seed=seed,
        survived=player.deaths == 0,
        deaths=player.deaths,
        best_score=player.best_score,
        scores=player.scores + current,
        decisions=player.decisions,
        agreement_with_planner=player.agreement_with_planner,
        latency_ms_p50=player.latency_ms_p50,
        latency_ms_p95=player.latency_ms_p95,
        model_ms_p50=player.model_ms_p50,
        answers_discarded=player.answers_discarded,
        errors=player.errors,
        last_error=player.last_error,
        best_effort_decisions=player.best_effort_decisions,
        shield_interventions=player.shield_interventions,
        arrival_saves=player.arrival_saves,
        emergency_saves=player.emergency_saves,
        input_tokens=player.input_tokens,
        game_seconds=round(pilot.game_frames / 60, 1),
        wall_seconds=report.seconds,
        host_stall_seconds_dropped=report.host_stall_seconds_dropped,
        model=player.model,
        endpoint=player.where,
        planner_ms_p50=rounded(percentile(plan_ms, 0.50), 3),
        planner_ms_p95=rounded(percentile(plan_ms, 0.95), 3),
        planner_ms_p99=rounded(percentile(plan_ms, 0.99), 3),
        late_frames_share=report.late_frames_share,
    )


def seed_line(tag: str, row: SeedRow) -> str:
    """A seed in one line."""
    return (
        f"[{tag} seed={row.seed}] survived={row.survived} deaths={row.deaths} "
        f"best_score={row.best_score} decisions={row.decisions} "
        f"agreement={row.agreement_with_planner} latency_p50={row.latency_ms_p50}ms "
        f"model_p50={row.model_ms_p50}ms errors={row.errors}"
    )


def summarise(rows: Sequence[SeedRow], settings: Settings) -> Summary:
    """The summary of the seeds so far, at least one."""

    def mean(values: Sequence[float]) -> float:
        return in_order(values) / len(values)

    return Summary(
        model=rows[0].model,
        endpoint=rows[0].endpoint,
        mode=settings.mode,
        shield=settings.shield,
        course_style=settings.course_style,
        prompt=settings.prompt,
        duration_s=settings.duration_s,
        seeds=len(rows),
        survived=sum(row.survived for row in rows),
        deaths=sum(row.deaths for row in rows),
        mean_best_score=round(mean([row.best_score for row in rows]), 1),
        mean_decisions=round(mean([row.decisions for row in rows]), 1),
        # None counts as zero here and below: a player that decided nothing agreed on nothing.
        mean_agreement_with_planner=round(
            mean([row.agreement_with_planner or 0 for row in rows]), 3
        ),
        latency_ms_p50_median=statistics.median([row.latency_ms_p50 or 0 for row in rows]),
        model_ms_p50_median=statistics.median([row.model_ms_p50 or 0 for row in rows]),
        errors=sum(row.errors for row in rows),
        answers_discarded=sum(row.answers_discarded for row in rows),
        shield_interventions=sum(
            row.shield_interventions + row.arrival_saves + row.emergency_saves for row in rows
        ),
        inflight=settings.inflight,
    )


def write_results(path: str | os.PathLike[str], results: Results) -> None:
    """Replace a results file.

    Raises:
        RunError: it cannot be written.
    """
    write_json(path, msgspec.to_builtins(results), indent=1)


def read_results(path: str | os.PathLike[str]) -> Results:
    """A results file of ours or of the original harness.

    Raises:
        RunError: it cannot be read or has another shape; the text names the field.
    """
    try:
        return msgspec.json.decode(Path(path).read_bytes(), type=Results)
    except OSError as error:
        raise RunError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is not a results file: {error}") from error
