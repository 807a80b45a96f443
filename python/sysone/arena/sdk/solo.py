"""One robot on its own: what the bundled robot strategies do."""

from math import hypot
from typing import Any

from sysone.arena.sdk.plans import Plan
from sysone.arena.sdk.tactics import SUPPLY, Action, Observation, Place

COVER: Place = (10.3, 3.9)
STAND_OFF_M = 4.0


class Solo(Plan):
    """Fights what is near, resupplies when empty, retreats when hurt."""

    def act(self, observation: Observation, state: dict[str, Any]) -> Action:
        """The action of the robot that ``self`` names."""
        slot = str(observation["self"])
        me = observation["robots"][slot]
        if not me["alive"]:
            return {slot: {}}
        return {slot: self._alive(me, observation)}

    def _alive(self, me: dict[str, Any], observation: Observation) -> Action:
        t = self.tactics
        coins = observation["coins"]["now"]
        if me["role"] == "heavy" and not me["mounted"]:
            unlocked = observation["tech"]["module_unlocked"]
            return t.mount(me) if unlocked else t.assemble(me)
        action = t.shop(me, coins // 2, 120, 10)
        action |= t.fight(me, observation)
        if me["role"] == "sentry":
            near = t.nearest(me, observation)
            posture = "attack" if near is not None and near[0] < 6 else "move"
            if posture != me["posture"]:
                action["posture"] = posture
            if f"{t.team}:supply" in me["zones"] and t.ammo(me) < 50:
                action["buy"] = {"sentry_minute": True}
        goal = self._goal(me, observation)
        return action | {"move": t.go(me, goal)}

    def _goal(self, me: dict[str, Any], observation: Observation) -> Place:
        t = self.tactics
        if t.needs_rest(me) or (t.ammo(me) == 0 and observation["tick"] > 60):
            return t.place(SUPPLY, me["slot"])
        found = t.nearest(me, observation)
        if found is None:
            return t.attack_place(observation, me["slot"])
        far, enemy = found
        if me["hp"] < me["max_hp"] // 2:
            return t.place(COVER, me["slot"])
        if far <= STAND_OFF_M:
            return me["x"], me["y"]
        share = STAND_OFF_M / max(far, 0.1)
        x = enemy["x"] + (me["x"] - enemy["x"]) * share
        y = enemy["y"] + (me["y"] - enemy["y"]) * share
        return (x, y) if hypot(x - me["x"], y - me["y"]) > 0.3 else (me["x"], me["y"])
