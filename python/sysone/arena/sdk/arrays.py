"""Observations and actions as arrays, for strategies that were learnt on `sysone.arena.fast`.

Each side sees the field as if it were red: blue's is turned round. All values are in -1 … 1.

    arrays = Arrays(info)
    seen = arrays.observe(observation)     # own [rows][48], mates [rows][24], enemies, globals
    action = arrays.act(move, spin, fire, aim, order)

Rows are a side's robots in the order of slots; a side with fewer robots than rows leaves the last
ones at 0.
"""

from collections.abc import Mapping
from math import cos, pi, sin
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sysone.arena.sdk.tactics import ATTACK_BASE, ATTACK_OUTPOST, GUARD, SUPPLY, Tactics

Floats = npt.NDArray[np.float32]
ROWS: Final = {"2026": 6, "2027": 5}
ROLES: Final = ("hero", "engineer", "infantry", "aerial", "sentry")
"""A heavy robot counts as a hero."""

OWN: Final = (
    *("alive", "x", "y", "z", "vx", "vy", "heading_cos", "heading_sin", "gimbal_cos"),
    *("gimbal_sin", "pitch", "hp", "max_hp", "heat", "heat_limit", "ammo_17", "ammo_42"),
    *("reserve", "buffer", "energy", "power_limit", "level", "weak", "invulnerable"),
    *("out_of_combat", "locked", "carrying", "mounted", "deploy", "stuck", "revive"),
    *(f"is_{role}" for role in ROLES),
    *("in_own_base", "in_own_supply", "in_own_outpost", "in_highland"),
    *("to_outpost_x", "to_outpost_y", "to_base_x", "to_base_y"),
    *("to_supply_x", "to_supply_y", "to_guard_x", "to_guard_y"),
)
"""Of a robot. The last eight are ways to where the enemy's outpost and base are attacked from, to
the own supply and to a place before the own base."""
MATE: Final = (
    *("there", "alive", "x", "y", "vx", "vy", "gimbal_cos", "gimbal_sin", "hp", "max_hp"),
    *("heat", "ammo_17", "ammo_42", "level", "weak", "invulnerable", "carrying", "mounted"),
    *("stuck", *(f"is_{role}" for role in ROLES)),
)
"""Of each robot of the own side."""
ENEMY: Final = (
    *("visible", "sight", "radar", "alive", "x", "y", "z", "vx", "vy", "hp", "age"),
    *(f"is_{role}" for role in ROLES),
)
"""Of each enemy; what is not seen, marked or reported has its role alone."""
GLOBAL: Final = (
    *("time", "remaining", "coins", "coins_total"),
    *(
        f"{side}_{name}"
        for side in ("own", "enemy")
        for name in (
            *("base_hp", "shield", "base_open", "outpost_hp", "outpost_alive"),
            *("outpost_spins", "rebuilds"),
        )
    ),
    *("own_highland", "enemy_highland"),
    *(
        f"{side}_fortress_{name}"
        for side in ("own", "enemy")
        for name in ("held", "taken", "progress")
    ),
    *("rune_small", "rune_large", "rune_active", "rune_buff", "darts", "dart_chances", "dart_gate"),
    *("radar_doubles", "marked", "tech", "module", "is_2027", "drones", "supporting"),
)
ORDERS: Final = (
    *("none", "buy_much", "buy_little", "remote_ammo", "remote_heal", "revive"),
    *("posture_move", "posture_attack", "posture_defence", "rune", "pick", "assemble", "mount"),
    *("deploy", "undeploy", "aerial"),
)
"""What acts once; a robot that cannot do it does nothing. ``buy_much`` is 50 rounds (5 of 42 mm),
``buy_little`` 10 (1), ``aerial`` is support, or a sortie of a drone."""
GOALS: Final = ("none", "outpost", "base", "supply", "guard")
"""What ``go`` steers to: the places of the last columns of `OWN`."""
_PLACES: Final = (ATTACK_OUTPOST, ATTACK_BASE, SUPPLY, GUARD)
_CARD = {"17": (50, 10), "42": (5, 1)}


class Arrays:
    """The arrays of one side of one match.

    Args:
        info: What a strategy is told at the start of a match.
        rows: Robots that fit into the arrays; the season's most by default.
    """

    def __init__(self, info: Mapping[str, Any], rows: int | None = None) -> None:
        self.tactics = Tactics(dict(info))
        self.rows = ROWS[info["season"]] if rows is None else rows
        self.slots = sorted(int(slot) for slot in info["slots"])
        self.models = info["static"]["models"]
        self._turn = 1.0 if self.tactics.red else -1.0
        self._enemy_slots: list[int] = []
        self._robots: dict[int, Mapping[str, Any]] = {}

    @property
    def aims(self) -> int:
        """Choices of ``aim``: 0 the engine's own, then each enemy's row, base, outpost, rune."""
        return self.rows + 4

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Floats]:
        """``own`` [rows][48], ``mates`` [rows][24], ``enemies`` [rows][16], ``globals`` [40]."""
        own = np.zeros((self.rows, len(OWN)), np.float32)
        mates = np.zeros((self.rows, len(MATE)), np.float32)
        enemies = np.zeros((self.rows, len(ENEMY)), np.float32)
        self._enemy_slots = sorted(int(slot) for slot in observation["enemy_roster"])
        self._robots = {int(slot): me for slot, me in observation["robots"].items()}
        for slot, me in observation["robots"].items():
            row = self.slots.index(int(slot))
            own[row], mates[row] = self._own(me), self._mate(me)
        for slot, model in observation["enemy_roster"].items():
            enemies[self._enemy_slots.index(int(slot)), -len(ROLES) :] = _role(
                self.models[str(model)]["role"]
            )
        for enemy in observation["enemies"]:
            enemies[self._enemy_slots.index(enemy["slot"])] = self._enemy(enemy)
        seen = {"own": own, "mates": mates, "enemies": enemies}
        seen["globals"] = np.asarray(self._globals(observation), np.float32)
        return {name: np.clip(values, -1, 1) for name, values in seen.items()}

    def act(
        self,
        move: npt.ArrayLike,
        spin: npt.ArrayLike,
        fire: npt.ArrayLike,
        aim: npt.ArrayLike,
        order: npt.ArrayLike,
        go: npt.ArrayLike | None = None,
    ) -> dict[str, Any]:
        """The action that arrays mean.

        Args:
            move: [rows][2], shares of speed along the field's sides.
            spin: [rows], share of the fastest rotation.
            fire: [rows], 0 or 1.
            aim: [rows], below `aims`; a row without an enemy is the engine's own aim.
            order: [rows], an index of `ORDERS`.
            go: [rows], an index of `GOALS`; above 0 it stands for ``move``, from where the robots
                were when they were observed last.
        """
        moves, spins = _thousandths(move), _thousandths(spin)
        fires, aims, orders = (np.asarray(values, int) for values in (fire, aim, order))
        goals = np.zeros(self.rows, int) if go is None else np.asarray(go, int)
        goals = np.where((goals >= 0) & (goals < len(GOALS)), goals, 0)
        whole: dict[str, Any] = {}
        for row, slot in enumerate(self.slots):
            model = self.models[str(self.tactics.info["models"][str(slot)])]
            action: dict[str, Any] = {
                "move": [float(self._turn * value) / 1000 for value in moves[row]],
                "spin": float(spins[row]) / 1000,
            }
            if fires[row] and model["calibre"]:
                action["fire"] = True
            target = self._target(int(aims[row]))
            if target is not None:
                action["aim"] = {"target": target}
            if goals[row] and slot in self._robots and model["role"] != "aerial":
                me = self._robots[slot]
                goal = self.tactics.place(_PLACES[goals[row] - 1], slot)
                action["move"] = self.tactics.go(dict(me), goal)
            whole[str(slot)] = action | self._order(int(orders[row]), model)
        return whole

    def _target(self, aim: int) -> str | None:
        if 1 <= aim <= self.rows:
            known = aim <= len(self._enemy_slots)
            return f"{self.tactics.enemy}-{self._enemy_slots[aim - 1]}" if known else None
        buildings = {self.rows + 1: "base", self.rows + 2: "outpost", self.rows + 3: "rune"}
        return buildings.get(aim)

    def _order(self, order: int, model: Mapping[str, Any]) -> dict[str, Any]:
        name = ORDERS[order] if 0 <= order < len(ORDERS) else "none"
        role, calibre = model["role"], model["calibre"]
        flies, armed = role == "aerial", bool(calibre)
        if name in ("buy_much", "buy_little") and armed:
            return {"buy": {f"ammo_{calibre}": _CARD[str(calibre)][name == "buy_little"]}}
        if name == "remote_ammo" and armed and not flies:
            return {"buy": {"remote_ammo": True}}
        if name == "remote_heal" and not flies and role != "engineer":
            return {"buy": {"remote_heal": True}}
        if name == "revive" and not flies:
            return {"revive": "buy"}
        if name.startswith("posture_") and role == "sentry":
            return {"posture": name.removeprefix("posture_")}
        if name == "rune" and armed and not flies:
            return {"rune": "activate"}
        if name in ("pick", "assemble") and model["assembly_pct"]:
            return {name: True}
        if name == "mount" and model["needs_module"]:
            return {"mount": True}
        if name in ("deploy", "undeploy") and model["deploys"]:
            return {"deploy": name == "deploy"}
        if name == "aerial" and flies:
            return self._aerial(model)
        return {}

    def _aerial(self, model: Mapping[str, Any]) -> dict[str, Any]:
        if not model["drones"]:
            return {"support": True}
        if model["strikes"]:
            return {"sortie": {"mode": "strike", "target": "outpost"}}
        x, y = self.tactics.place((20.0, 7.5))
        return {"sortie": {"mode": "recon", "to": [round(x, 3), round(y, 3)]}}

    def _place(self, x: float, y: float) -> tuple[float, float]:
        width, height = self.tactics.size
        return (
            (x / width, y / height)
            if self.tactics.red
            else ((width - x) / width, (height - y) / height)
        )

    def _angle(self, radians: float) -> tuple[float, float]:
        return self._turn * cos(radians), self._turn * sin(radians)

    def _own(self, me: Mapping[str, Any]) -> list[float]:
        revive = me["revive"]
        own = self.tactics.team
        ways: list[float] = []
        for goal in _PLACES:
            way = [0.0, 0.0]
            if me["alive"] and me["role"] != "aerial":
                way = self.tactics.go(dict(me), self.tactics.place(goal, me["slot"]))
            ways += [self._turn * part for part in way]
        return [
            me["alive"],
            *self._place(me["x"], me["y"]),
            me["z"],
            self._turn * me["vx"] / 5,
            self._turn * me["vy"] / 5,
            *self._angle(me["heading"]),
            *self._angle(me["gimbal_yaw"]),
            me["gimbal_pitch"] / (pi / 2),
            _share(me["hp"], me["max_hp"]),
            me["max_hp"] / 600,
            _share(me["heat"], me["heat_limit"]),
            me["heat_limit"] / 300,
            me["ammo_17"] / 500,
            me["ammo_42"] / 50,
            me["reserve"] / 500,
            me["buffer"] / 60,
            me["energy"] / 40000,
            me["power_limit"] / 200,
            me["level"] / 10,
            me["weak"],
            me["invulnerable"] > 0,
            me["out_of_combat"],
            me["locked"] != "none",
            me["carrying"],
            me["mounted"],
            me["deploy"],
            me["stuck"],
            _share(revive["progress"], revive["required"]),
            *_role(me["role"]),
            *(f"{own}:{zone}" in me["zones"] for zone in ("base", "supply", "outpost")),
            "central_highland" in me["zones"],
            *ways,
        ]

    def _mate(self, me: Mapping[str, Any]) -> list[float]:
        return [
            1,
            me["alive"],
            *self._place(me["x"], me["y"]),
            self._turn * me["vx"] / 5,
            self._turn * me["vy"] / 5,
            *self._angle(me["gimbal_yaw"]),
            _share(me["hp"], me["max_hp"]),
            me["max_hp"] / 600,
            _share(me["heat"], me["heat_limit"]),
            me["ammo_17"] / 500,
            me["ammo_42"] / 50,
            me["level"] / 10,
            me["weak"],
            me["invulnerable"] > 0,
            me["carrying"],
            me["mounted"],
            me["stuck"],
            *_role(me["role"]),
        ]

    def _enemy(self, enemy: Mapping[str, Any]) -> list[float]:
        return [
            1,
            enemy["seen"] == "sight",
            enemy["seen"] == "radar",
            enemy["alive"],
            *self._place(enemy["x"], enemy["y"]),
            enemy["z"],
            self._turn * enemy["vx"] / 5,
            self._turn * enemy["vy"] / 5,
            enemy["hp"] / 600,
            enemy["age"] / 10,
            *_role(enemy["role"]),
        ]

    def _globals(self, observation: Mapping[str, Any]) -> list[float]:
        rules, team = self.tactics.info["settings"], self.tactics.team
        other = self.tactics.enemy
        buildings: list[float] = []
        for side in ("own", "enemy"):
            base = observation["buildings"][side]["base"]
            outpost = observation["buildings"][side]["outpost"]
            buildings += [
                _share(base["hp"], rules["base_hp"]),
                _share(base["shield"], rules["base_shield"]),
                base["armour_open"],
                _share(outpost["hp"], rules["outpost_hp"]),
                outpost["alive"],
                outpost["spinning"],
                outpost["rebuilds"] / 5,
            ]
        zones = observation["zones"]
        fortresses: list[float] = []
        for owner in (team, other):
            fortress = zones[f"{owner}:fortress"]
            holder = fortress["holder"] or ""
            fortresses += [
                holder.startswith(owner),
                bool(holder) and not holder.startswith(owner),
                fortress["progress"] / 20,
            ]
        rune, dart, radar = (observation[name] for name in ("rune", "dart", "radar"))
        tech, aerial = observation["tech"], observation["aerial"] or {}
        return [
            observation["time"] / 420,
            observation["remaining"] / 420,
            observation["coins"]["now"] / 1000,
            observation["coins"]["total"] / 5000,
            *buildings,
            zones["central_highland"] == team,
            zones["central_highland"] == other,
            *fortresses,
            rune["small"] / 2,
            rune["large"] / 3,
            rune["active"] is not None,
            rune["buff"] is not None,
            dart["left"] / 4,
            dart["chances"] / 2,
            dart["gate"] != "closed",
            radar["doubles"] / 2,
            len(radar["marked"]) / 5,
            tech["level"] / 4,
            tech.get("module_unlocked", False),
            observation["season"] == "2027",
            sum(drone["state"] == "ready" for drone in aerial.get("drones", [])) / 4,
            aerial.get("supporting", False),
        ]


def _thousandths(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Shares in thousandths, halves away from zero; what is not finite counts as 0."""
    given = np.asarray(values, np.float64)
    cut = np.clip(np.where(np.isfinite(given), given, 0), -1, 1) * 1000
    rounded: npt.NDArray[np.float64] = np.trunc(cut + np.copysign(0.5, cut))
    return rounded


def _share(value: float, of: float) -> float:
    return value / of if of > 0 else 0.0


def _role(role: str) -> list[float]:
    name = "hero" if role == "heavy" else role
    return [float(name == known) for known in ROLES]
