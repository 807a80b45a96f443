"""A match of a strategy against itself is point-symmetric at every tick and ends in a draw."""

import json
import random
from typing import Any

import pytest

from sysone.arena import lineup
from sysone.arena.engine import TEAMS, Game, Setup
from sysone.arena.rules.settings import SEASONS

TURN = 1 << 20
WIDTH, HEIGHT = 28_000_000, 15_000_000
ANGLES = ("yaw", "gimbal_yaw", "wanted_yaw")
NEGATED = ("vx", "vy", "move_x", "move_y")
# positions of the world that belong to one side's own noise or numbering
SIDED = {"team", "radar_x", "radar_y", "aim_at", "heading"}


def turned(robot: dict[str, Any]) -> dict[str, Any]:
    out = dict(robot)
    out["x"], out["y"] = WIDTH - robot["x"], HEIGHT - robot["y"]
    for key in ANGLES:
        out[key] = (robot[key] + TURN // 2) % TURN
    for key in NEGATED:
        out[key] = -robot[key]
    # red's zones are the lower of each pair of bits
    zones = robot["zones"]
    low, high, common = zones & 0x15555, zones & 0x2AAAA, zones & (1 << 18)
    out["zones"] = low << 1 | high >> 1 | common
    out["card"] = 0 if robot["card"] == 0 else (robot["card"] - 1 ^ 1) + 1
    out["cross_group"] = 0 if robot["cross_group"] == 0 else (robot["cross_group"] - 1 ^ 1) + 1
    return {k: v for k, v in out.items() if k not in SIDED}


def plain(robot: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in robot.items() if k not in SIDED}


class Walk:
    """Random moves and shots that depend on tick and slot alone, in the side's own frame."""

    def __init__(self, seed: int, sign: int) -> None:
        self.dice, self.sign = random.Random(seed), sign
        self.plans: dict[int, Any] = {}

    def act(self, tick: int, slots: list[int]) -> str:
        if tick % 30 == 0:
            for slot in slots:
                d = self.dice
                self.plans[slot] = (
                    d.uniform(-0.2, 1), d.uniform(-1, 1), d.choice([0, 0, 0.5, -1]),
                    d.random() < 0.8, d.choice(["safe", "boost", "raw"]), d.random() < 0.3,
                )  # fmt: skip
        actions: dict[str, Any] = {}
        for slot, (x, y, spin, fire, power, follow) in self.plans.items():
            actions[str(slot)] = {
                "move": [round(x * self.sign, 3), round(y * self.sign, 3)],
                "spin": spin,
                "power": power,
                "follow": follow,
            }
            if slot in (3, 4, 7) or (slot == 1 and tick >= 0):
                actions[str(slot)]["fire"] = fire
            if slot in (3, 4) and tick % 200 == 100:
                actions[str(slot)]["buy"] = {"ammo_17": 30}
        return json.dumps(actions)


@pytest.mark.parametrize("season", SEASONS)
@pytest.mark.parametrize("seed", [3, 4])
def test_mirror(season: Any, seed: int) -> None:
    line = lineup.default(season)
    setup = Setup(
        season, seed, {"red": line, "blue": line}, changes={"shot_noise_pct": 0}, duration_s=60,
        scenario={"robots": {f"{t}-{s}": {"ammo": 300} for t in TEAMS for s in (3, 4, 7)}},
    )  # fmt: skip
    game = Game(setup)
    walks = [Walk(seed, 1), Walk(seed, -1)]
    shots = 0
    while not game.ended:
        for side, walk in zip(TEAMS, walks, strict=True):
            assert game.act(side, walk.act(game.tick, sorted(line))) is None
        game.advance()
        state = game.state()
        half = len(state["robots"]) // 2
        for red, blue in zip(state["robots"][:half], state["robots"][half:], strict=True):
            assert turned(red) == plain(blue), (state["tick"], red["slot"])
        red, blue = state["teams"]
        turned_red = dict(red, outpost_angle=(red["outpost_angle"] + TURN // 2) % TURN)
        for key in red:
            if key not in SIDED:
                assert turned_red[key] == blue[key], (state["tick"], key)
        shots = sum(robot["shots"] for robot in state["robots"])
    assert shots > 200
    assert game.result()["winner"] is None
    assert game.result()["reason"] == "draw"
