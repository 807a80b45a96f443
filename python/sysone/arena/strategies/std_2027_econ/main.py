"""Assembly and coins first, the module, then a late push."""

from typing import Any

from sysone.arena.sdk.plans import Plan
from sysone.arena.sdk.tactics import GUARD, SUPPLY, Action, Observation

PUSH_FROM_S = 240


class Economy(Plan):
    """Everybody guards while the heavy assembles; then all push."""

    def act(self, observation: Observation, state: dict[str, Any]) -> Action:
        """Guard until the push, which everybody joins."""
        actions: Action = {}
        push = observation["time"] >= PUSH_FROM_S
        coins = observation["coins"]["now"]
        for slot, me in observation["robots"].items():
            if me["role"] == "aerial" or not me["alive"]:
                continue
            if me["role"] == "heavy" and not me["mounted"]:
                unlocked = observation["tech"]["module_unlocked"]
                actions[slot] = self.tactics.mount(me) if unlocked else self.tactics.assemble(me)
                continue
            action = self.tactics.shop(me, coins if push else coins // 4, 200 if push else 60, 12)
            action |= self.tactics.fight(me, observation)
            rest = self.tactics.needs_rest(me) or (
                self.tactics.ammo(me) == 0 and observation["tick"] > 60
            )
            if rest:
                goal = self.tactics.place(SUPPLY, me["slot"])
            elif push:
                goal = self.tactics.attack_place(observation, me["slot"])
            else:
                goal = self.tactics.place(GUARD, me["slot"])
            actions[slot] = action | {"move": self.tactics.go(me, goal)}
        orders = self.tactics.systems(observation)
        if orders:
            actions["team"] = orders
        return actions


_plan = Economy()
reset, act = _plan.reset, _plan.act
