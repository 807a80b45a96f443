"""The question put to the model: what the planner proved, in words."""

from collections.abc import Mapping
from typing import Any, Final, Literal, Protocol, get_args

from sysone.trex.keys import ACTIONS, Action

Prompt = Literal["labeled", "guided"]
Questions = dict[str, dict[str, Any]]

PROMPTS: Final[tuple[Prompt, ...]] = get_args(Prompt)
QUESTION: Final = "action"


class PlanView(Protocol):
    """The part of a plan that is put into words (`sysone_core.trex.Plan` has it)."""

    @property
    def safe(self) -> Mapping[Action, bool]:
        """Which actions are proven safe."""

    @property
    def best(self) -> Action:
        """The action the planner would take."""

    @property
    def airborne(self) -> bool:
        """Whether the dinosaur is in the air when the answer lands."""

    @property
    def threat(self) -> str | None:
        """Label of the obstacle that the dinosaur will hit if nothing is done."""

    @property
    def ahead(self) -> str | None:
        """Label of the next obstacle."""

    @property
    def distance(self) -> int | None:
        """Pixels to the obstacle ahead when the answer lands; may be negative."""

    @property
    def notes(self) -> Mapping[Action, str]:
        """What each action would do."""


def build_question(plan: PlanView, prompt: str = "labeled") -> tuple[str, Questions]:
    """The state text and the one Choice question for a plan, in a prompt style.

    ``labeled`` describes every action by its proof; ``guided`` also names the recommendation in
    the state. The best action is worded as safe even where the plan has no safe action, which is
    how the published harness words it.

    Raises:
        ValueError: ``prompt`` is not one of `PROMPTS`.
    """
    if prompt == "labeled":
        state = _state(plan)
        instructions = "Choose the best safe action for the dinosaur."
        criteria = {action: _labeled(plan, action) for action in ACTIONS}
    elif prompt == "guided":
        state = f"{_state(plan)} Recommended action: {plan.best}."
        instructions = (
            "Which action should the dinosaur take now? Pick the recommended safe action."
        )
        criteria = {action: _guided(plan, action) for action in ACTIONS}
    else:
        raise ValueError(f"prompt must be one of {PROMPTS}")
    question = {"type": "choice", "instructions": instructions, "criteria": criteria}
    return state, {QUESTION: question}


def _state(plan: PlanView) -> str:
    label = plan.threat or plan.ahead
    if label and plan.distance is not None:
        # Not str.capitalize: it would lower the rest, and "2 large cacti" stays as it is.
        situation = f"{label[0].upper()}{label[1:]} ahead, {max(plan.distance, 0)} px away."
    else:
        situation = "Nothing ahead."
    airborne = "The dino is in the air. " if plan.airborne else ""
    return f"Dino runner game. {airborne}{situation}"


def _labeled(plan: PlanView, action: Action) -> str:
    note = plan.notes[action]
    if action == plan.best:
        return f"Safe. {note}. Best."
    if plan.safe[action]:
        return f"Safe. {note}."
    return f"Unsafe. {note}. Collision."


def _guided(plan: PlanView, action: Action) -> str:
    note = plan.notes[action]
    if action == plan.best:
        return f"Best: {note}, safe."
    if plan.safe[action]:
        return f"Safe: {note}."
    return f"Collision: {note}."
