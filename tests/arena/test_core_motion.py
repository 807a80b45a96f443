"""One robot's motion: the core and the second implementation agree for 1,000 ticks."""

import json
import random
from typing import Any

import pytest

from arena import oracle
from sysone.arena.rules.book import Book
from sysone_core import arena as core


@pytest.mark.parametrize(("season", "model"), [("2026", 2633), ("2026", 2611), ("2027", 2731)])
@pytest.mark.parametrize("seed", [1, 2])
def test_oracle_agrees_for_1000_ticks(season: Any, model: int, seed: int) -> None:
    book = Book.of(season)
    kind = next(m for m in book.models if m["model"] == model)
    # mecanum strafes slower, which the walker leaves out
    kind = {**kind, "strafe_pct": 100}
    text = json.dumps(
        {
            "season": season,
            "settings": book.settings,
            "models": [kind if m["model"] == model else m for m in book.models],
            "field": book.field,
        }
    )
    rules = core.Rules(text)
    sim = core.Simulator(rules, [(1, model)], [(1, model)], seed, 8400, True)
    start = {"red-1": {"x": 8.525, "y": 10.025}, "blue-1": {"x": 26.725, "y": 7.475}}
    assert sim.reset(seed, json.dumps({"robots": start})) is None
    walker = oracle.Walker(oracle.Raster(book.field, season), kind, book.settings, 8525, 10025)
    dice = random.Random(seed)
    mx = my = spin = 0
    stuck = moved = 0
    for t in range(0, 1000, 2):
        if t % 20 == 0:
            mx, my = dice.randint(-1000, 1000), dice.randint(-1000, 1000)
            spin = dice.choice([0, 0, 400, -1000])
        action = {"1": {"move": [mx / 1000, my / 1000], "spin": spin / 1000}}
        assert sim.act(0, json.dumps(action)) is None
        sim.advance(2)
        for k in (0, 1):
            walker.tick(t + k, mx, my, spin)
        robot = json.loads(sim.state_json())["robots"][0]
        got = {k: robot[k] for k in ("x", "y", "vx", "vy", "yaw", "yaw_rate")}
        wanted = {
            "x": walker.x,
            "y": walker.y,
            "vx": walker.vx,
            "vy": walker.vy,
            "yaw": walker.yaw,
            "yaw_rate": walker.rate,
        }
        assert got == wanted, t
        assert (robot["power_demand"], robot["buffer"], robot["energy"]) == (
            walker.demand_now,
            walker.buffer,
            walker.energy,
        ), t
        stuck += walker.stuck
        moved += got["vx"] != 0
    assert moved > 200
    assert stuck > 0, "the walk should meet something"
