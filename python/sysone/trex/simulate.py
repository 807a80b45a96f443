"""One seed on the simulated clock: who answers, how late, and under which conditions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sysone.trex.arena import Arena
from sysone.trex.decide import answer_of
from sysone.trex.keys import Action
from sysone.trex.latency import Latency
from sysone.trex.pilot import Pilot
from sysone.trex.question import CourseStyle, Decision, PremiseRule
from sysone.trex.recording import RecordedGame, Recorder, RecordingFile
from sysone.trex.virtual import Answerer, VirtualClock, VirtualMatch
from sysone_core.trex import FRAME_MS, Plan, Planner

Chooser = Callable[[Plan], Mapping[Action, float]]
"""Probabilities of the actions for a plan. Whatever it raises ends the match."""

LEAST_MS: Final = 0.001
"""No answer is there the instant it is asked for."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who plays, for limits and reports."""

    name: str
    inflight: int
    model: str = ""
    detail: str = "virtual time"
    usd_per_token: float = 0.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """Everything but the player and the seed."""

    latency: Latency
    inflight: int
    guarded: bool
    course: CourseStyle
    frames: int
    """Frames of a seed: the arena's, or in lockstep those that the game plays."""
    lockstep: int | None = None
    premise_rule: PremiseRule = "reference"


def simulate(
    player: Identity,
    seed: int,
    conditions: Conditions,
    choose: Chooser | None,
    prompt: str = "labeled",
    record: RecordingFile | None = None,
) -> tuple[Arena, Pilot]:
    """Play one seed; None chooses nothing: the player is never asked.

    ``prompt`` is for the report: ``choose`` words the question. The same arguments play the same
    match, to the last bit.
    """
    clock = VirtualClock()
    pilot = Pilot(
        player,
        clock=clock,
        guarded=conditions.guarded,
        prompt=prompt,
        lockstep=conditions.lockstep,
        seed=seed,
        course=conditions.course,
        premise_rule=conditions.premise_rule,
        game=RecordedGame(seed, conditions.course, scenery=False) if record else None,
    )
    recorder = Recorder(record, pilot, "virtual") if record else None
    pilot.times.start_from(conditions.latency.typical_ms(seed))
    arena = Arena([pilot], clock)
    if choose is None:
        arena.start()
        for _ in range(conditions.frames):
            arena.tick()
    else:
        match = VirtualMatch(arena, _answerer(choose, seed, conditions, clock), clock)
        match.start()
        while _done(arena, pilot) < conditions.frames:
            match.tick()
    if recorder is not None:
        recorder.close(arena.frame)
    return arena, pilot


def _done(arena: Arena, pilot: Pilot) -> int:
    return arena.frame if pilot.lockstep is None else pilot.game_frames


def _answerer(choose: Chooser, seed: int, conditions: Conditions, clock: VirtualClock) -> Answerer:
    planner = Planner()
    latencies_ms = conditions.latency.stream(seed)
    guarded = conditions.guarded

    def answer(decision: Decision, tick: int) -> float:
        latency_ms = max(LEAST_MS, next(latencies_ms))
        plan = planner.plan(decision.snapshot, *decision.timing)
        decision.answer = answer_of(plan, choose(plan), guarded, inference_ms=latency_ms)
        return clock.ticks + latency_ms / FRAME_MS

    return answer
