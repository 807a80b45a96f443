"""Valid random actions; the same for the same seed hint."""

from random import Random
from typing import Any

from sysone.arena.sdk.tactics import Action, Observation

_dice: Random


def reset(info: dict[str, Any]) -> None:
    """Take the side's own seed."""
    global _dice
    _dice = Random(info["seed_hint"])


def act(observation: Observation, state: dict[str, Any]) -> Action:
    """New random commands every half second."""
    if observation["tick"] % 10 == 0 or "actions" not in state:
        state["actions"] = {slot: robot(me) for slot, me in observation["robots"].items()}
        return state["actions"]  # type: ignore[no-any-return]
    return {
        slot: {k: v for k, v in action.items() if k != "buy"}
        for slot, action in state["actions"].items()
    }


def robot(me: dict[str, Any]) -> Action:
    """One robot's random commands."""
    action: Action = {
        "move": [round(_dice.uniform(-1, 1), 3), round(_dice.uniform(-1, 1), 3)],
        "spin": round(_dice.uniform(-1, 1), 3),
        "power": _dice.choice(["safe", "safe", "boost"]),
    }
    if me["role"] in ("infantry", "sentry", "heavy", "hero"):
        action["fire"] = _dice.random() < 0.7
    if me["role"] == "infantry" and _dice.random() < 0.1:
        action["buy"] = {"ammo_17": 10 * _dice.randint(1, 5)}
    return action
