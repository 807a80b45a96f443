"""Everybody stays in the start area, aims by itself and buys ammunition."""

from typing import Any

from sysone.arena.sdk.tactics import Action, Observation, Tactics

_tactics: Tactics


def reset(info: dict[str, Any]) -> None:
    """Remember the side."""
    global _tactics
    _tactics = Tactics(info)


def act(observation: Observation, state: dict[str, Any]) -> Action:
    """Fire at what the engine's own aim finds; refill below 50 rounds."""
    actions: Action = {}
    for slot, me in observation["robots"].items():
        action: Action = {}
        if _tactics.calibres[me["model"]]:
            action["fire"] = True
            if me["ammo_17"] < 50 and me["ammo_42"] < 5:
                action |= _tactics.shop(me, observation["coins"]["now"], 100, 10)
        actions[slot] = action
    return actions
