"""All shooters go to the enemy outpost at once, then to the base."""

from typing import Any

from sysone.arena.sdk.tactics import Action, Observation, Tactics

_tactics: Tactics


def reset(info: dict[str, Any]) -> None:
    """Remember the side."""
    global _tactics
    _tactics = Tactics(info)


def act(observation: Observation, state: dict[str, Any]) -> Action:
    """Buy first, then push and never turn back but for ammunition."""
    actions: Action = {}
    for slot, me in observation["robots"].items():
        action: Action = {}
        if _tactics.calibres[me["model"]] and me["role"] != "aerial":
            action = _tactics.shop(me, observation["coins"]["now"] // 2, 120, 10)
            empty = _tactics.ammo(me) == 0
            goal = (
                _tactics.place((3.2, 7.5))
                if (empty and observation["tick"] > 40) or me["weak"]
                else _tactics.attack_place(observation, me["slot"])
            )
            if observation["tick"] < 10 and empty:
                action["move"] = [0, 0]
            else:
                action |= {"move": _tactics.go(me, goal), **_tactics.fight(me, observation, 5.0)}
        elif me["role"] == "aerial" and observation["season"] == "2026":
            action = {"support": True, "fire": True, "move": [1 if _tactics.red else -1, 0]}
        actions[slot] = action
    return actions
