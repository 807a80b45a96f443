"""What the bundled team strategies of both seasons do.

A plan is a strategy: its module exports ``reset`` and ``act`` of one.
"""

from abc import ABC, abstractmethod
from typing import Any

from sysone.arena.sdk.tactics import FORTRESS, GUARD, SUPPLY, Action, Observation, Tactics


class Plan(ABC):
    """One side's mind: ``reset`` before a match, ``act`` at every decision."""

    tactics: Tactics

    def reset(self, info: dict[str, Any]) -> None:
        """Remember the side."""
        self.tactics = Tactics(info)

    @abstractmethod
    def act(self, observation: Observation, state: dict[str, Any]) -> Action:
        """The actions of a side."""


class Hold(Plan):
    """Everybody stays in the start area, aims by itself and buys ammunition."""

    def act(self, observation: Observation, state: dict[str, Any]) -> Action:
        """Fire at what the engine's own aim finds; refill below 50 rounds."""
        actions: Action = {}
        for slot, me in observation["robots"].items():
            action: Action = {}
            if self.tactics.calibres[me["model"]]:
                action["fire"] = True
                if me["ammo_17"] < 50 and me["ammo_42"] < 5:
                    action |= self.tactics.shop(me, observation["coins"]["now"], 100, 10)
            actions[slot] = action
        return actions


class Rush(Plan):
    """All shooters go to the enemy outpost at once, then to the base."""

    def act(self, observation: Observation, state: dict[str, Any]) -> Action:
        """Buy first, then push and never turn back but for ammunition."""
        actions: Action = {}
        for slot, me in observation["robots"].items():
            action: Action = {}
            if self.tactics.calibres[me["model"]] and me["role"] != "aerial":
                action = self.tactics.shop(me, observation["coins"]["now"] // 2, 120, 10)
                empty = self.tactics.ammo(me) == 0
                goal = (
                    self.tactics.place((3.2, 7.5))
                    if (empty and observation["tick"] > 40) or me["weak"]
                    else self.tactics.attack_place(observation, me["slot"])
                )
                if observation["tick"] < 10 and empty:
                    action["move"] = [0, 0]
                else:
                    action |= {
                        "move": self.tactics.go(me, goal),
                        **self.tactics.fight(me, observation, 5.0),
                    }
            elif me["role"] == "aerial" and observation["season"] == "2026":
                action = {"support": True, "fire": True, "move": [1 if self.tactics.red else -1, 0]}
            actions[slot] = action
        return actions


class Push(Plan):
    """Roles: a push together, an assembler, a guard, runes, darts and radar."""

    def act(self, observation: Observation, state: dict[str, Any]) -> Action:
        """One role for each kind of robot."""
        actions: Action = {}
        coins = observation["coins"]["now"]
        for slot, me in observation["robots"].items():
            if not me["alive"]:
                action: Action = self.tactics.revive(me, observation)
            elif me["role"] == "engineer":
                action = self.tactics.assemble(me)
            elif me["role"] == "aerial":
                action = self.aerial(me, observation)
            elif me["role"] == "sentry":
                action = self.sentry(me, observation)
            elif me["role"] == "heavy" and not me["mounted"]:
                unlocked = observation["tech"]["module_unlocked"]
                action = self.tactics.mount(me) if unlocked else self.tactics.assemble(me)
            else:
                action = self.shooter(me, observation, coins)
            actions[slot] = action
        orders = self.tactics.systems(observation)
        if orders:
            actions["team"] = orders
        return actions

    def shooter(self, me: dict[str, Any], observation: Observation, coins: int) -> Action:
        """Push; go back when hurt or empty; the first infantry tries the rune."""
        share = coins // 2 if me["role"] == "infantry" else coins
        action = self.tactics.shop(me, share, 150, 12)
        action |= self.tactics.fight(me, observation)
        resting = self.tactics.needs_rest(me)
        fallen = not observation["buildings"]["own"]["outpost"]["alive"]
        empty = self.tactics.ammo(me) == 0
        if me["role"] == "infantry" and me["ammo_17"] == 0 and not resting and fallen:
            # the fortress of a fallen outpost has rounds of its own
            return action | {"move": self.tactics.go(me, self.tactics.place(FORTRESS))}
        if resting or (empty and (coins >= 20 or observation["tick"] > 60)):
            return action | {"move": self.tactics.go(me, self.tactics.place(SUPPLY, me["slot"]))}
        if me["slot"] == 3:
            rune = self.tactics.rune(me, observation)
            if rune is not None:
                return action | rune
        goal = self.tactics.attack_place(observation, me["slot"])
        return action | {"move": self.tactics.go(me, goal)}

    def sentry(self, me: dict[str, Any], observation: Observation) -> Action:
        """Guard before the base, then follow the push when the outpost has fallen."""
        action: Action = self.tactics.fight(me, observation)
        minutes = observation["time"] // 60
        if self.tactics.needs_rest(me) or (self.tactics.ammo(me) < 20 and minutes >= 1):
            if self.tactics.ammo(me) < 20 and f"{self.tactics.team}:supply" in me["zones"]:
                action["buy"] = {"sentry_minute": True}
            return action | {"move": self.tactics.go(me, self.tactics.place(SUPPLY, 7))}
        fallen = not observation["buildings"]["enemy"]["outpost"]["alive"]
        goal = self.tactics.attack_place(observation, 7) if fallen else self.tactics.place(GUARD, 7)
        return action | {"move": self.tactics.go(me, goal)}

    def aerial(self, me: dict[str, Any], observation: Observation) -> Action:
        """Support with what time there is, or look behind the lines."""
        if observation["season"] == "2026":
            return {"support": True, "fire": True, "move": [1 if self.tactics.red else -1, 0]}
        if observation["aerial"]["sortie"] is None and observation["tick"] % 40 == 0:
            goal = self.tactics.place((20.0, 7.5))
            return {"sortie": {"mode": "recon", "to": [round(goal[0], 3), round(goal[1], 3)]}}
        return {}
