"""Assembly and coins first, the module, then a late push."""

from typing import Any

from sysone.arena.sdk.tactics import GUARD, SUPPLY, Action, Observation, Tactics

PUSH_FROM_S = 240
_tactics: Tactics


def reset(info: dict[str, Any]) -> None:
    """Remember the side."""
    global _tactics
    _tactics = Tactics(info)


def act(observation: Observation, state: dict[str, Any]) -> Action:
    """Guard until the push, which everybody joins."""
    actions: Action = {}
    push = observation["time"] >= PUSH_FROM_S
    coins = observation["coins"]["now"]
    for slot, me in observation["robots"].items():
        if me["role"] == "aerial" or not me["alive"]:
            continue
        if me["role"] == "heavy" and not me["mounted"]:
            unlocked = observation["tech"]["module_unlocked"]
            actions[slot] = _tactics.mount(me) if unlocked else _tactics.assemble(me)
            continue
        action = _tactics.shop(me, coins if push else coins // 4, 200 if push else 60, 12)
        action |= _tactics.fight(me, observation)
        rest = _tactics.needs_rest(me) or (_tactics.ammo(me) == 0 and observation["tick"] > 60)
        if rest:
            goal = _tactics.place(SUPPLY, me["slot"])
        elif push:
            goal = _tactics.attack_place(observation, me["slot"])
        else:
            goal = _tactics.place(GUARD, me["slot"])
        actions[slot] = action | {"move": _tactics.go(me, goal)}
    orders = _tactics.systems(observation)
    if orders:
        actions["team"] = orders
    return actions
