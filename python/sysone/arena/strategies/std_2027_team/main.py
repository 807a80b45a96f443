"""Roles: a push together, an assembler, a guard, runes, darts and radar."""

from typing import Any

from sysone.arena.sdk.tactics import GUARD, SUPPLY, Action, Observation, Tactics

_tactics: Tactics


def reset(info: dict[str, Any]) -> None:
    """Remember the side."""
    global _tactics
    _tactics = Tactics(info)


def act(observation: Observation, state: dict[str, Any]) -> Action:
    """One role for each kind of robot."""
    actions: Action = {}
    coins = observation["coins"]["now"]
    for slot, me in observation["robots"].items():
        if not me["alive"]:
            action: Action = {}
        elif me["role"] == "engineer":
            action = _tactics.assemble(me)
        elif me["role"] == "aerial":
            action = aerial(me, observation)
        elif me["role"] == "sentry":
            action = sentry(me, observation)
        elif me["role"] == "heavy" and not me["mounted"]:
            unlocked = observation["tech"]["module_unlocked"]
            action = _tactics.mount(me) if unlocked else _tactics.assemble(me)
        else:
            action = shooter(me, observation, coins)
        actions[slot] = action
    orders = _tactics.systems(observation)
    if orders:
        actions["team"] = orders
    return actions


def shooter(me: dict[str, Any], observation: Observation, coins: int) -> Action:
    """Push; go back when hurt or empty; the first infantry tries the rune."""
    share = coins // 2 if me["role"] == "infantry" else coins
    action = _tactics.shop(me, share, 150, 12)
    action |= _tactics.fight(me, observation)
    empty = _tactics.ammo(me) == 0
    if _tactics.needs_rest(me) or (empty and (coins >= 20 or observation["tick"] > 60)):
        return action | {"move": _tactics.go(me, _tactics.place(SUPPLY, me["slot"]))}
    if me["slot"] == 3:
        rune = _tactics.rune(me, observation)
        if rune is not None:
            return action | rune
    goal = _tactics.attack_place(observation, me["slot"])
    return action | {"move": _tactics.go(me, goal)}


def sentry(me: dict[str, Any], observation: Observation) -> Action:
    """Guard before the base, then follow the push when the outpost has fallen."""
    action: Action = _tactics.fight(me, observation)
    minutes = observation["time"] // 60
    if _tactics.needs_rest(me) or (_tactics.ammo(me) < 20 and minutes >= 1):
        if _tactics.ammo(me) < 20 and f"{_tactics.team}:supply" in me["zones"]:
            action["buy"] = {"sentry_minute": True}
        return action | {"move": _tactics.go(me, _tactics.place(SUPPLY, 7))}
    fallen = not observation["buildings"]["enemy"]["outpost"]["alive"]
    goal = _tactics.attack_place(observation, 7) if fallen else _tactics.place(GUARD, 7)
    return action | {"move": _tactics.go(me, goal)}


def aerial(me: dict[str, Any], observation: Observation) -> Action:
    """Support with what time there is, or look behind the lines."""
    if observation["season"] == "2026":
        return {"support": True, "fire": True, "move": [1 if _tactics.red else -1, 0]}
    if observation["aerial"]["sortie"] is None and observation["tick"] % 40 == 0:
        goal = _tactics.place((20.0, 7.5))
        return {"sortie": {"mode": "recon", "to": [round(goal[0], 3), round(goal[1], 3)]}}
    return {}
