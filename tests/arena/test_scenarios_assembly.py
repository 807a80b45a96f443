"""Assembly of energy units: levels, repeats, limits, and what they bring.

What is expected comes from the rules' data; the rule itself is named in each test by the season's
source and its tag (R rulebook of 2026, P preview of 2027, T telemetry, A assumption).
"""

from typing import Any

import pytest

from arena.words import at
from sysone.arena.engine import static
from sysone.arena.sdk.tactics import Tactics

ENGINEER, QUICK_ENGINEER, INFANTRY, HEAVY = 2621, 2622, 2631, 2711


def assemble_all(game: Any, units: int) -> None:
    """The engineer fetches units and assembles them, one after another."""
    tactics = Tactics(
        {
            "team": "red",
            "season": game.game.book.season,
            "settings": game.rules,
            "static": static(game.game.book),
        }
    )
    for _ in range(6000):
        if len(game.seen("assembly_done")) == units:
            return
        me = game.observe()["robots"]["1"]
        action = tactics.assemble(me)
        if me["vx"] or me["vy"]:
            action.pop("assemble", None)  # from rest, so that nothing restarts its time
        game.once({"1": action})
    raise AssertionError(game.seen("assembly_done"))


@pytest.mark.parametrize(
    ("season", "model"), [("2026", ENGINEER), ("2026", QUICK_ENGINEER), ("2027", HEAVY)]
)
def test_four_levels_and_their_repeats(bench: Any, season: Any, model: int) -> None:
    """T: incomes 50, +25, +25, +50; level 4 adds base HP; a repeat gives 5, 10, 15, 0 once.

    A: assembly times. R: team defence 0, 0, 25, 50 %. P: the heavy's table row is its level.
    """
    game = bench(season, scenario={"time": 180}, red={1: model}, energy_charge_j_s=0)
    rules = game.rules
    levels = len(rules["assembly_s"])
    quick = next(m for m in game.game.book.models if m["model"] == model)["assembly_pct"]
    income = 0
    for k in range(levels):
        assemble_all(game, k + 1)
        income += rules["tech_income"][k]
        team = game.team("red")
        assert (team["tech_level"], team["tech_income"]) == (k + 1, income)
        assert team["base_hp"] == team["base_max"] == rules["base_hp"] + rules["tech_base_hp"][k]
        if model == HEAVY:
            game.once()  # the power limit follows with the next tick's clock
            me = game.observe()["robots"]["1"]
            row = [rules[f"heavy_{key}"][k] for key in ("hp", "power_w", "heat", "cooling")]
            assert [me[n] for n in ("max_hp", "power_limit", "heat_limit", "cooling")] == row
            assert me["level"] == k + 1
    starts, ends = game.seen("assembly_start"), game.seen("assembly_done")
    assert [e["level"] for e in ends] == list(range(1, levels + 1))
    took = [end["tick"] - start["tick"] for start, end in zip(starts, ends, strict=True)]
    assert took == [s * 20 * quick // 100 - 1 for s in rules["assembly_s"]]
    for k in range(levels):
        assemble_all(game, levels + k + 1)
        income += rules["tech_repeat_income"][k]
        assert game.team("red")["tech_income"] == income
        if game.game.tick > 20 * 390:
            return
    assert [e["level"] for e in game.seen("assembly_done")[levels:]] == list(range(1, levels + 1))
    assert game.team("red")["base_max"] == rules["base_hp"] + rules["tech_base_hp"][-1]


def test_assembly_income_comes_every_ten_seconds(bench: Any) -> None:
    """T: at every full 10 s of match time."""
    game = bench(scenario={"time": 180}, red={1: ENGINEER})
    rules = game.rules
    assemble_all(game, 2)
    game.forget().run(20)
    paid = [e for e in game.seen("income") if e["what"] == "tech"]
    assert [e["coins"] for e in paid if e["team"] == "red"] == [sum(rules["tech_income"][:2])] * 2
    period = rules["tech_income_every_s"] * 20
    assert all(e["tick"] % period == 0 for e in paid)


def test_levels_wait_for_their_time_and_their_predecessor(bench: Any) -> None:
    """T: level k from 0, 60, 120, 180 s, only after level k - 1; else a repeat, else no chance."""
    game = bench(red={1: ENGINEER}, pick_s=0, assembly_s=[1, 1, 1, 1])
    rules = game.rules
    assemble_all(game, 1)
    assert game.game.tick < rules["assembly_unlock_s"][1] * 20
    assemble_all(game, 2)
    assert [e["level"] for e in game.seen("assembly_done")] == [1, 1], "too early for level 2"
    assert (
        game.team("red")["tech_income"] == rules["tech_income"][0] + rules["tech_repeat_income"][0]
    )
    early = bench(
        scenario={"time": 40}, red={1: ENGINEER}, pick_s=0, assembly_s=[1, 1, 1, 1],
        assembly_unlock_s=[0, 400, 400, 400],
    )  # fmt: skip
    assemble_all(early, 2)
    tactics = Tactics(
        {"team": "red", "season": "2026", "settings": rules, "static": static(game.game.book)}
    )
    for _ in range(400):
        me = early.observe()["robots"]["1"]
        if me["last_error"] == "no_chance":
            break
        early.once({"1": tactics.assemble(me)})
    assert early.observe()["robots"]["1"]["last_error"] == "no_chance"


def test_the_last_level_has_a_limit_and_moving_restarts_it(bench: Any) -> None:
    """T: level 4 within 45 s of its start. A: moving restarts the time, leaving loses the unit."""
    game = bench(scenario={"time": 180}, red={1: ENGINEER}, pick_s=0, assembly_s=[1, 1, 1, 25])
    rules = game.rules
    assemble_all(game, 3)
    tactics = Tactics(
        {"team": "red", "season": "2026", "settings": rules, "static": static(game.game.book)}
    )
    while len(game.seen("assembly_start")) < 4:
        game.once({"1": tactics.assemble(game.observe()["robots"]["1"])})
    for k in range(rules["assembly_limit_s"][3] + 1):
        if game.seen("assembly_fail"):
            break
        game.run(1, {"1": {"move": [0.3 * (-1) ** k, 0]}})
    failed = game.seen("assembly_fail")[0]
    assert failed["level"] == 4
    start = game.seen("assembly_start")[-1]["tick"]
    assert failed["tick"] - start == rules["assembly_limit_s"][3] * 20
    assert not game.observe()["robots"]["1"]["carrying"]
    assert game.team("red")["tech_level"] == 3


def test_an_engineer_in_its_assembly_zone_is_invulnerable_early(bench: Any) -> None:
    """R (V2.1): in the zone during the first 180 s."""
    place = {
        "red-1": at(12.4, 8.65, heading=0.5),
        "blue-1": at(14.9, 10.2, ammo=100, heading=-2.6),
    }
    shoot = {"1": {"aim": {"target": "red-1"}, "fire": True}}

    def loss(time: float, x: float = 12.4) -> int:
        game = bench(
            scenario={"time": time, "robots": {**place, "red-1": at(x, 8.65, heading=0.5)}},
            red={1: ENGINEER},
            blue={1: INFANTRY},
            shot_noise_pct=0,
            heat_per_17=0,
        )
        game.run(2, None, shoot)
        assert game.robot("blue-1")["shots"] > 5
        return int(game.robot("red-1")["max_hp"] - game.robot("red-1")["hp"])

    assert loss(0) == 0
    assert loss(170) == 0
    assert loss(180) > 0
    assert loss(0, x=11.0) > 0, "outside the zone"


@pytest.mark.parametrize("level", [0, 2, 3, 4])
def test_assembly_defends_the_team(bench: Any, level: int) -> None:
    """R: 0, 0, 25, 50 % for the team's robots at levels 1 to 4."""
    game = bench(
        scenario={
            "time": 180,
            "robots": {
                "red-2": at(9.0, 11.5, heading=0.6),
                "blue-2": at(11.0, 12.9, ammo=100, heading=3.8),
            },
        },
        red={1: ENGINEER, 2: INFANTRY},
        blue={1: ENGINEER, 2: INFANTRY},
        shot_noise_pct=0,
        radar_gain=0,
        pick_s=0,
        assembly_s=[1, 1, 1, 1],
        dmg_17_robot=40,
    )
    rules = game.rules
    assemble_all(game, level)
    game.run(1, None, {"2": {"aim": {"target": "red-2"}, "fire": True}})
    defence = rules["tech_defence_pct"][level - 1] if level else 0
    hits = game.dealt("blue-2", "red-2")
    assert hits[0] == rules["dmg_17_robot"] * (100 - defence) // 100


def test_technology_raises_the_level_cap(bench: Any) -> None:
    """R (via T): caps 5, 5, 7, 10, 10 by technology level."""
    game = bench(
        scenario={"time": 180, "robots": {"red-2": {"level": 5, "ammo": 300}}},
        red={1: ENGINEER, 2: INFANTRY},
        pick_s=0,
        assembly_s=[1, 1, 1, 1],
        exp_shot_other=10000,
        heat_per_17=0,
    )
    caps = game.rules["level_cap_by_tech"]
    fire = {"2": {"aim": {"yaw": 0}, "fire": "free"}}
    for done in range(5):
        assemble_all(game, done)
        game.run(0.5, fire)
        assert game.robot("red-2")["level"] == caps[done]
