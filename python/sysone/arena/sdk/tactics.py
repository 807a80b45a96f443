"""What the bundled strategies share: places, purchases, retreats, fights, systems.

Places are written for red; `Tactics.place` turns them round for blue.
"""

from math import hypot
from typing import Any

from sysone.arena.sdk.navigate import Navigator

Observation = dict[str, Any]
Action = dict[str, Any]
Place = tuple[float, float]

SUPPLY: Place = (2.2, 2.0)
GUARD: Place = (6.2, 6.0)
FORTRESS: Place = (6.8, 7.5)
ATTACK_OUTPOST: Place = (13.2, 10.4)
ATTACK_BASE: Place = (19.9, 7.5)
RUNE: Place = (8.2, 7.5)
RESOURCE: Place = (1.35, 0.8)
ASSEMBLY: Place = (12.4, 8.65)
WORKBENCH: Place = (2.95, 1.35)
SPREAD_M = {1: (0.0, 0.0), 2: (-0.9, 0.9), 3: (0.0, 1.0), 4: (0.0, -1.0), 5: (-1.0, 0.0),
            6: (-1.0, -1.0), 7: (-1.0, 0.5)}  # fmt: skip
RUNE_PAUSE_TICKS = 12
TICKS_PER_S = 20
KEPT_COINS = 100  # for ammunition
RETREAT_SHARE = 0.35
HEALED_SHARE = 0.9


class Tactics:
    """Helpers bound to one side of one match."""

    def __init__(self, info: dict[str, Any]) -> None:
        self.info = info
        self.red = info["team"] == "red"
        self.enemy = "blue" if self.red else "red"
        self.team: str = info["team"]
        self.season: str = info["season"]
        self.navigator = Navigator(info)
        self.size: Place = tuple(info["static"]["size"])
        self.calibres: dict[int, int] = {
            int(m): model["calibre"] for m, model in info["static"]["models"].items()
        }
        self.healing: set[int] = set()

    def place(self, at: Place, slot: int = 0) -> Place:
        """A place of red's plan for the own side, spread by slot."""
        dx, dy = SPREAD_M.get(slot, (0.0, 0.0)) if slot else (0.0, 0.0)
        x, y = at[0] + dx, at[1] + dy
        return (x, y) if self.red else (self.size[0] - x, self.size[1] - y)

    def go(self, me: dict[str, Any], goal: Place) -> list[float]:
        """The ``move`` toward a goal in field metres."""
        return list(self.navigator.steer(me["model"], (me["x"], me["y"]), goal))

    def calibre(self, me: dict[str, Any]) -> int:
        """17, 42, or 0 for a robot that cannot shoot now."""
        if me["role"] == "heavy" and not me["mounted"]:
            return 0
        return int(self.calibres[me["model"]])

    def ammo(self, me: dict[str, Any]) -> int:
        """Shots that the robot has."""
        return int(me["ammo_17"] + me["ammo_42"] + me["reserve"])

    def shop(self, me: dict[str, Any], coins: int, wanted_17: int, wanted_42: int) -> Action:
        """An order that fills up ammunition where there is an exchange, else nothing."""
        calibre = self.calibres[me["model"]]
        own = {f"{self.team}:base", f"{self.team}:supply"}
        zones = set(me["zones"])
        if not zones & (own | {"red:outpost", "blue:outpost"}) or me["role"] == "aerial":
            return {}
        if me["role"] == "sentry":
            return {}
        if me["last_error"] == "cap":
            wanted_17, wanted_42 = me["ammo_17"] + 10, me["ammo_42"] + 1  # what is left of it
        if calibre == 17:
            lots = min((wanted_17 - me["ammo_17"]) // 10, coins // 10)
            return {"buy": {"ammo_17": lots * 10}} if lots > 0 else {}
        if calibre == 42:
            rounds = min(wanted_42 - me["ammo_42"], coins // 10)
            return {"buy": {"ammo_42": rounds}} if rounds > 0 else {}
        return {}

    def revive(self, me: dict[str, Any], obs: Observation) -> Action:
        """An immediate revival, when the coins are there: full hit points, and at once."""
        rules = self.info["settings"]
        minutes = -(-obs["tick"] // (60 * TICKS_PER_S))
        level = me["level"] if me["role"] in ("infantry", "hero") else 1
        cost = rules["revive_now_coins_per_min"] * minutes
        cost += rules["revive_now_coins_per_level"] * level + rules["sentry_command_coins"]
        return {"revive": "buy"} if obs["coins"]["now"] >= cost + KEPT_COINS else {}

    def nearest(self, me: dict[str, Any], obs: Observation) -> tuple[float, dict[str, Any]] | None:
        """The nearest living enemy that is known, with its distance in metres."""
        best: tuple[float, dict[str, Any]] | None = None
        for enemy in obs["enemies"]:
            if not enemy["alive"] or enemy["role"] == "aerial" or enemy["age"] > 2:
                continue
            far = hypot(enemy["x"] - me["x"], enemy["y"] - me["y"])
            if best is None or far < best[0]:
                best = far, enemy
        return best

    def fight(self, me: dict[str, Any], obs: Observation, prefer_m: float = 7.0) -> Action:
        """Aim at what is near, else at the enemy's buildings, and fire."""
        found = self.nearest(me, obs)
        if found is not None and found[0] <= prefer_m and found[1]["seen"] == "sight":
            return {"aim": {"target": found[1]["id"]}, "fire": True}
        enemy = obs["buildings"]["enemy"]
        if enemy["outpost"]["alive"]:
            x, y = self.place((16.9, 11.1))
            if hypot(x - me["x"], y - me["y"]) < 9:
                return {"aim": {"target": "outpost"}, "fire": True}
        else:
            x, y = self.place((24.54, 7.5))
            if hypot(x - me["x"], y - me["y"]) < 9:
                return {"aim": {"target": "base"}, "fire": True}
        return {"fire": True}

    def needs_rest(self, me: dict[str, Any]) -> bool:
        """Whether a robot should go back to the supply: weak, hurt, and until it is healed."""
        slot = me["slot"]
        share = me["hp"] / max(me["max_hp"], 1)
        if me["weak"] or share < RETREAT_SHARE:
            self.healing.add(slot)
        elif share >= HEALED_SHARE:
            self.healing.discard(slot)
        return slot in self.healing

    def attack_place(self, obs: Observation, slot: int) -> Place:
        """Where to attack from: the outpost first, then the base."""
        alive = obs["buildings"]["enemy"]["outpost"]["alive"]
        return self.place(ATTACK_OUTPOST if alive else ATTACK_BASE, slot)

    def assemble(self, me: dict[str, Any]) -> Action:
        """The next step of assembly: fetch a unit, carry it, assemble it."""
        if me["task"] is not None:
            return {"move": [0, 0]}
        if me["carrying"]:
            if f"{self.team}:assembly" in me["zones"]:
                move = self.go(me, self.place(ASSEMBLY))
                return {"move": move, "assemble": move == [0.0, 0.0]}
            return {"move": self.go(me, self.place(ASSEMBLY))}
        if f"{self.team}:resource" in me["zones"]:
            return {"move": [0, 0], "pick": True}
        return {"move": self.go(me, self.place(RESOURCE))}

    def mount(self, me: dict[str, Any]) -> Action:
        """Fetch the 42 mm module."""
        if me["task"] is not None:
            return {"move": [0, 0]}
        if f"{self.team}:workbench" in me["zones"]:
            return {"move": [0, 0], "mount": True}
        return {"move": self.go(me, self.place(WORKBENCH))}

    def systems(self, obs: Observation) -> Action:
        """Darts and radar of the team."""
        orders: Action = {}
        dart = obs["dart"]
        if dart["chances"] > 0 and dart["left"] > 0 and dart["gate"] == "closed":
            alive = obs["buildings"]["enemy"]["outpost"]["alive"]
            orders["dart"] = {"open": True, "target": "outpost" if alive else "base_random_fixed"}
        radar: Action = {}
        if obs["tick"] == 0:
            ground = [int(slot) for slot in obs["radar"]["progress"]]
            radar["focus"] = ground[:3]
        if len(obs["radar"]["marked"]) >= 2 and obs["radar"]["doubles"] > 0 and obs["tick"] > 2400:
            radar["double"] = True
        if radar:
            orders["radar"] = radar
        return orders

    def rune(self, me: dict[str, Any], obs: Observation) -> Action | None:
        """Go for a rune, if there is one to be had; None otherwise."""
        rune = obs["rune"]
        if rune["active"] is not None:
            if rune["active"]["by"] != me["id"]:
                return None
            # one shot at a time: the next one at the same arm would find it unlit
            return {"aim": {"target": "rune"}, "fire": obs["tick"] % RUNE_PAUSE_TICKS == 0}
        if rune["small"] + rune["large"] == 0 or self.ammo(me) < 30:
            return None
        move = self.go(me, self.place(RUNE))
        action: Action = {"move": move, "fire": True}
        if move == [0.0, 0.0]:
            action["rune"] = "activate"
        return action
