"""What a player's decisions add up to."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec


class GameState(Protocol):
    """The part of a game that is scored."""

    @property
    def deaths(self) -> int:
        """Crashes so far."""

    @property
    def score(self) -> int:
        """Points of the run that goes on."""

    @property
    def crashed(self) -> bool:
        """Whether that run has ended."""


class PlayerSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The published summary of one player; times in milliseconds, over applied answers."""

    model: str
    where: str
    runs_finished: int
    deaths: int
    scores: list[int]
    current_score: int | None
    """None while crashed."""
    best_score: int
    mean_finished_score: float | int | None
    decisions: int
    """Answers that were applied."""
    latency_ms_p50: float | None
    """From question to landing, as the game felt it."""
    latency_ms_p95: float | None
    model_ms_p50: float | None
    planner_ms_p50: float | None
    planner_ms_p95: float | None
    best_effort_decisions: int
    """Answers to questions with no action proven safe."""
    shield_interventions: int
    arrival_saves: int
    emergency_saves: int
    crash_traces: int
    agreement_with_planner: float | None
    answers_discarded: int
    errors: int
    last_error: str | None
    input_tokens: int
    usd: float


@dataclass(slots=True)
class Statistics:
    """Everything that is counted while a player plays."""

    finished_scores: list[int] = field(default_factory=list)
    latency_ms: list[float] = field(default_factory=list)
    inference_ms: list[float] = field(default_factory=list)
    plan_ms: list[float] = field(default_factory=list)
    best_effort: int = 0
    interventions: int = 0
    agreed: int = 0
    arrival_saves: int = 0
    emergency_saves: int = 0
    crash_traces: int = 0
    discarded: int = 0
    errors: int = 0
    last_error: str | None = None
    input_tokens: int = 0

    def record(
        self,
        latency_ms: float,
        inference_ms: float,
        plan_ms: float,
        robust: bool,
        intervened: bool,
        agreed: bool,
    ) -> None:
        """Count one applied answer."""
        self.latency_ms.append(latency_ms)
        self.inference_ms.append(inference_ms)
        self.plan_ms.append(plan_ms)
        self.best_effort += not robust
        self.interventions += intervened
        self.agreed += agreed

    def summary(
        self, game: GameState, *, model: str, where: str, usd_per_token: float
    ) -> PlayerSummary:
        """The published summary at this moment of ``game``."""
        decisions = len(self.latency_ms)
        return PlayerSummary(
            model=model,
            where=where,
            runs_finished=len(self.finished_scores),
            deaths=game.deaths,
            scores=list(self.finished_scores),
            current_score=None if game.crashed else game.score,
            best_score=max([*self.finished_scores, game.score]),
            # statistics.mean keeps whole numbers whole, as the published files do.
            mean_finished_score=(
                round(statistics.mean(self.finished_scores), 1) if self.finished_scores else None
            ),
            decisions=decisions,
            latency_ms_p50=rounded(percentile(self.latency_ms, 0.50)),
            latency_ms_p95=rounded(percentile(self.latency_ms, 0.95)),
            model_ms_p50=rounded(percentile(self.inference_ms, 0.50)),
            planner_ms_p50=rounded(percentile(self.plan_ms, 0.50)),
            planner_ms_p95=rounded(percentile(self.plan_ms, 0.95)),
            best_effort_decisions=self.best_effort,
            shield_interventions=self.interventions,
            arrival_saves=self.arrival_saves,
            emergency_saves=self.emergency_saves,
            crash_traces=self.crash_traces,
            agreement_with_planner=round(self.agreed / decisions, 3) if decisions else None,
            answers_discarded=self.discarded,
            errors=self.errors,
            last_error=self.last_error,
            input_tokens=self.input_tokens,
            usd=round(self.input_tokens * usd_per_token, 6),
        )


def percentile(values: Sequence[float], q: float) -> float | None:
    """The value at rank ``int(q n)`` of the sorted values, at most the last; None without any."""
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def rounded(value: float | None, digits: int = 1) -> float | None:
    """``value`` to so many digits after the point; None stays None."""
    return None if value is None else round(value, digits)
