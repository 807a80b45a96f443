"""One decision: plan for the moment the answer lands, ask, read the answer, guard it."""

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import msgspec

from sysone.trex.ask import QUESTION, Questions, build_question
from sysone.trex.keys import ACTIONS, Action
from sysone_core.trex import Plan, Planner, Snapshot

WARM_COUNT = 4


class Timing(NamedTuple):
    """When answers land, in frames: the next one, the gap from one to the next, and how often."""

    first: tuple[float, float]
    gap: tuple[float, float]
    period: float | None = None
    """Longest wait between two questions when several are in flight."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an endpoint said."""

    answers: Mapping[str, Any]
    model: str
    input_tokens: int
    elapsed_ms: float
    """Wall time of the request, measured here."""


class Backend(Protocol):
    """Who answers questions."""

    name: str
    inflight: int
    usd_per_token: float

    @property
    def model(self) -> str:
        """The model that answered last, or the one that will be asked for."""

    @property
    def detail(self) -> str:
        """Where it is, for reports."""

    def ask(self, state: str, questions: Questions) -> Reply:
        """Ask once; a failed call raises."""

    def close(self) -> None:
        """Let go of connections."""


class Choice(NamedTuple):
    """What was made of the probabilities."""

    proposed: Action
    executed: Action
    intervened: bool
    agreed: bool


class Answer(msgspec.Struct, frozen=True):
    """A model's answer with the plan it was asked about."""

    probabilities: Mapping[Action, float]
    proposed: Action
    executed: Action
    best: Action
    safe: Mapping[Action, bool]
    intervened: bool
    """The label shield chose another action than the model proposed."""
    agreed: bool
    """The proposal was the planner's best (in the air, jump and run are the same)."""
    airborne: bool
    threat: str | None
    inference_ms: float
    plan_ms: float
    robust: bool
    plan_states: int
    input_tokens: int
    model: str


def checked(probabilities: object) -> dict[Action, float]:
    """The three probabilities as floats; a missing one is 0, other keys are ignored.

    Raises:
        ValueError: one is not a finite number in [0, 1]. Sums are not checked.
    """
    if not isinstance(probabilities, Mapping):
        raise ValueError(
            "answers.action.probabilities must be an object of numbers by option, "
            f"got {type(probabilities).__name__}"
        )
    try:
        values: dict[Action, float] = {
            action: float(probabilities.get(action, 0.0)) for action in ACTIONS
        }
    except (TypeError, ValueError, OverflowError):
        values = {}
    if not values or not all(math.isfinite(p) and 0 <= p <= 1 for p in values.values()):
        raise ValueError(f"Model returned an invalid probability: {probabilities}")
    return values


def choose(
    probabilities: Mapping[Action, float],
    safe: Mapping[Action, bool],
    best: Action,
    airborne: bool,
    guarded: bool,
) -> Choice:
    """The likeliest action, and the one to execute; ties go to the earlier of `ACTIONS`.

    When ``guarded``, an unsafe proposal gives way to the likeliest safe action, if there is one.
    """

    proposed = executed = _likeliest(ACTIONS, probabilities)
    if guarded and not safe[proposed]:
        safe_actions = [action for action in ACTIONS if safe[action]]
        executed = _likeliest(safe_actions, probabilities) if safe_actions else proposed
    # A jump key in the air only lets go of the duck key, which is what run does.
    agreed = proposed == best or (airborne and proposed != "duck" and best != "duck")
    return Choice(proposed, executed, executed != proposed, agreed)


def _likeliest(actions: Sequence[Action], probabilities: Mapping[Action, float]) -> Action:
    best = actions[0]
    most = probabilities.get(best, 0.0)
    for action in actions[1:]:
        probability = probabilities.get(action, 0.0)
        if probability > most:
            best, most = action, probability
    return best


def read(reply: Reply) -> dict[Action, float]:
    """The checked probabilities of a reply to `build_question`'s question.

    Raises:
        ValueError: the reply has another shape; the text names the field.
    """
    answer = reply.answers.get(QUESTION)
    if not isinstance(answer, Mapping):
        raise ValueError(f"answers.{QUESTION} must be an object, got {type(answer).__name__}")
    if "probabilities" not in answer:
        raise ValueError(f"answers.{QUESTION}.probabilities is missing")
    return checked(answer["probabilities"])


def decide(backend: Backend, plan: Plan, prompt: str) -> tuple[dict[Action, float], Reply]:
    """Ask the question of a plan; the checked probabilities and the reply they came in."""
    reply = backend.ask(*build_question(plan, prompt))
    return read(reply), reply


def think(
    planner: Planner,
    backend: Backend,
    snap: Snapshot,
    timing: Timing,
    prompt: str,
    guarded: bool,
) -> Answer:
    """Plan, ask and choose for one moment of the game."""
    started_s = time.perf_counter()
    plan = planner.plan(snap, timing.first, timing.gap, timing.period)
    plan_ms = (time.perf_counter() - started_s) * 1000
    probabilities, reply = decide(backend, plan, prompt)
    return answer_of(
        plan,
        probabilities,
        guarded,
        inference_ms=reply.elapsed_ms,
        plan_ms=plan_ms,
        input_tokens=reply.input_tokens,
        model=reply.model,
    )


def answer_of(
    plan: Plan,
    probabilities: Mapping[Action, float],
    guarded: bool,
    *,
    inference_ms: float,
    plan_ms: float = 0.0,
    input_tokens: int = 0,
    model: str = "",
) -> Answer:
    """The answer that these probabilities are to the question of a plan."""
    safe, best, airborne = plan.safe, plan.best, plan.airborne
    choice = choose(probabilities, safe, best, airborne, guarded)
    return Answer(
        probabilities=probabilities,
        proposed=choice.proposed,
        executed=choice.executed,
        best=best,
        safe=safe,
        intervened=choice.intervened,
        agreed=choice.agreed,
        airborne=airborne,
        threat=plan.threat,
        inference_ms=inference_ms,
        plan_ms=plan_ms,
        robust=plan.robust,
        plan_states=plan.states,
        input_tokens=input_tokens,
        model=model,
    )


def warm(
    planner: Planner, backend: Backend, snap: Snapshot, prompt: str, count: int = WARM_COUNT
) -> list[float]:
    """Ask about a moment ``count`` times, one after the other; the times in milliseconds.

    With several requests in flight as many untimed ones come first, at the same time, so that
    every connection is open before the game starts. The replies are checked as in play.
    """
    plan = planner.plan(snap, (1, 1), (1, 1))
    if backend.inflight > 1:
        with ThreadPoolExecutor(backend.inflight) as pool:
            for future in [
                pool.submit(decide, backend, plan, prompt) for _ in range(backend.inflight)
            ]:
                future.result()
    return [decide(backend, plan, prompt)[1].elapsed_ms for _ in range(count)]
