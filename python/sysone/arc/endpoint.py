"""A System One model as the one who decides: a typed question over the candidates.

Any endpoint of the contract (`POST /v1/systemone`), or the embedded model in this process. The
state is sent as an object with the grid as text, so that a model that draws the picture can, and
one that reads can read.
"""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from sysone.arc import wording
from sysone.arc.actions import Action
from sysone.arc.observe import Observation
from sysone.runs.errors import RunError
from sysone.systemone import Choice, ChoiceAnswer, CLMClient, SystemOneError
from sysone_core import grids

if TYPE_CHECKING:
    from sysone.systemone.engine import Engine

EMBEDDED: Final = "embedded"
"""What stands for an address where the package's own model is meant."""
TIMEOUT_S: Final = 30.0
"""A step that waits longer than this has failed; nothing is asked twice."""
QUESTION: Final = "action"
CHOICE_INSTRUCTION: Final = wording.CHOICE


class Asks(Protocol):
    """Answers questions about a state."""

    def __call__(self, state: object, questions: dict[str, Choice]) -> dict[str, Any]:
        """The answers by question."""


class EndpointSystem1:
    """Scores candidates by asking; several games may share one."""

    def __init__(self, ask: Asks) -> None:
        self._ask = ask

    def probabilities(
        self, observation: Observation, candidates: Sequence[Action], instruction: str, chunk: int
    ) -> Sequence[float]:
        """One probability a candidate; the endpoint keeps its own memory, ``chunk`` is not used.

        Raises:
            SystemOneError: no answer.
            ValueError: an answer that lacks a candidate or is no choice.
        """
        text = f"{CHOICE_INSTRUCTION}\n{instruction}" if instruction else CHOICE_INSTRUCTION
        question = Choice({action.text: None for action in candidates}, text)
        found = self._ask(state_of(observation), {QUESTION: question}).get(QUESTION)
        if not isinstance(found, ChoiceAnswer):
            raise ValueError(f"the answer to {QUESTION} is {found!r:.60}, expected a choice")
        missing = [a.text for a in candidates if a.text not in found.probabilities]
        if missing:
            raise ValueError(f"the answer has no probability for {missing[0]}")
        return [found.probabilities[action.text] for action in candidates]


def state_of(observation: Observation) -> dict[str, Any]:
    """The state as it is sent: ``grid`` and ``previous_grid`` as hex text, levels and state."""
    state: dict[str, Any] = {"grid": grids.grid_text(observation.grid)}
    # What another level looked like tells nothing of the last action.
    if observation.previous is not None and not observation.new_level:
        state["previous_grid"] = grids.grid_text(observation.previous)
    state["levels_completed"] = observation.levels_completed
    state["state"] = observation.state
    return state


@cache
def system1_at(address: str, model: str = "") -> EndpointSystem1:
    """The model at an address; one for a process, whatever number of games asks it.

    Args:
        address: a base URL, or ``embedded`` for the package's own model in this process.
        model: its name there; empty for the default.

    Raises:
        RunError: no address of that form, or the embedded model has no such name.
    """
    if address == EMBEDDED:
        return EndpointSystem1(_embedded(model))
    try:
        client = CLMClient(address, timeout=TIMEOUT_S)
    except SystemOneError as error:
        raise RunError(f"--system1: {error.message}") from None

    def ask(state: object, questions: dict[str, Choice]) -> dict[str, Any]:
        return client.system_one(state, questions, model or None).answers

    return EndpointSystem1(ask)


def _embedded(model: str) -> Asks:
    from sysone.systemone.engine import UnknownModelError

    engine = _engine()
    try:
        engine.model(model or None)
    except UnknownModelError as error:
        raise RunError(f"--system1-model: {error}") from None

    def ask(state: object, questions: dict[str, Choice]) -> dict[str, Any]:
        request = engine.check({"state": state, "questions": questions, "model": model or None})
        decision = engine.decide(request)
        return {} if decision is None else dict(decision.answers)

    return ask


@cache
def _engine() -> "Engine":
    from sysone.systemone import Engine

    return Engine()


def trouble(address: str, model: str = "") -> str | None:
    """Why an address does not answer, found out with one small question; None if it does."""
    if address == EMBEDDED:
        return None
    try:
        with CLMClient(address, timeout=TIMEOUT_S) as client:
            client.system_one("ready", {"check": Choice({"yes": None, "no": None})}, model or None)
    except SystemOneError as error:
        return str(error)
    return None
