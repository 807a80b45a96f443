"""The names of the keys; spelled out so that wording a question needs no compiled module."""

from typing import Final, Literal, get_args

Action = Literal["jump", "duck", "run"]
Held = Literal["run", "duck"]

ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
"""In the order in which ties are broken and questions are worded."""


def after(action: Action) -> Held:
    """The key that is left held once an action is taken: a jump is a press, not a hold."""
    return "run" if action == "jump" else action
