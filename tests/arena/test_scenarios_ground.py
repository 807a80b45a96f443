"""Crossings, fortress, postures, penalties and outposts, each in a situation made for it.

What is expected comes from the rules' data; the rule itself is named in each test by the season's
source and its tag (R rulebook of 2026, P preview of 2027, T telemetry, A assumption).
"""

from typing import Any

import pytest

from arena.words import at, until
from sysone.arena.engine import static
from sysone.arena.sdk.tactics import Tactics

HERO, ENGINEER, INFANTRY, MECANUM, SENTRY = 2612, 2621, 2631, 2634, 2671
HEAVY, INFANTRY_2027 = 2711, 2731


def defences(game: Any, side: str = "red") -> dict[str, tuple[float, float]]:
    """Value and seconds left of a robot's defence buffs, by source."""
    buffs = game.observe(side)["robots"]["1"]["buffs"]
    return {b["source"]: (b["value"], b["left"]) for b in buffs if b["kind"] == "defence"}


def test_a_road_crossing_protects_for_five_seconds_and_locks_for_fifteen(bench: Any) -> None:
    """R: low card, then high card within 3 s; defence 25 % for 5 s; 15 s lock."""
    game = bench(scenario={"robots": {"red-1": at(8.32, 2.7)}}, red={1: INFANTRY})
    rules = game.rules
    up, down = {"1": {"move": [0, -1]}}, {"1": {"move": [0, 1]}}
    until(game, up, lambda: game.seen("crossing"))
    crossing = game.seen("crossing")[0]
    assert crossing["kind"] == "road"
    value, left = defences(game)["road"]
    assert value == rules["crossing_road_def_pct"] / 100
    assert left == pytest.approx(rules["crossing_road_buff_s"], abs=0.11)
    assert game.robot("red-1")["exp"] == rules["exp_terrain"] * 10
    # down and up again: locked
    until(game, down, lambda: game.robot("red-1")["y"] > 2_500_000)
    until(game, up, lambda: game.robot("red-1")["y"] < 1_700_000)
    assert len(game.seen("crossing")) == 1
    until(game, down, lambda: game.robot("red-1")["y"] > 2_500_000)
    game.run(rules["crossing_road_lock_s"] - (game.game.tick - crossing["tick"]) / 20 + 0.1)
    assert "road" not in defences(game)
    until(game, up, lambda: len(game.seen("crossing")) == 2)
    assert defences(game)["road"][0] == rules["crossing_road_def_pct"] / 100
    assert game.robot("red-1")["exp"] == rules["exp_terrain"] * 10, "only the first one counts"


def test_a_slow_road_crossing_is_none(bench: Any) -> None:
    """R: the two cards within 3 s."""
    game = bench(scenario={"robots": {"red-1": at(8.32, 2.7)}}, red={1: INFANTRY})
    up = {"1": {"move": [0, -1]}}
    until(game, up, lambda: game.robot("red-1")["y"] < 2_400_000)
    game.run(game.rules["crossing_road_s"])
    until(game, up, lambda: game.robot("red-1")["y"] < 1_700_000)
    assert not game.seen("crossing")


def test_the_road_step_refuses_who_may_not_take_it(bench: Any) -> None:
    """A: every ground chassis takes the road step, a mecanum one no central step."""
    step = bench(scenario={"robots": {"red-1": at(8.32, 2.7)}}, red={1: MECANUM})
    until(step, {"1": {"move": [0, -1]}}, lambda: step.seen("crossing"))
    central = bench(scenario={"robots": {"red-1": at(8.0, 7.5)}}, red={1: MECANUM})
    central.run(5, {"1": {"move": [1, 0]}})
    assert central.robot("red-1")["z"] == 0
    assert not central.seen("crossing")


def test_a_highland_crossing_repeated_while_active_protects_more(bench: Any) -> None:
    """R: low then high within 5 s, 25 % for 30 s; repeated while active 50 %."""
    game = bench(scenario={"robots": {"red-1": at(8.0, 7.5)}}, red={1: INFANTRY})
    rules = game.rules
    on, off = {"1": {"move": [1, 0]}}, {"1": {"move": [-1, 0]}}
    until(game, on, lambda: game.seen("crossing"))
    assert game.seen("crossing")[0]["kind"] == "highland"
    value, left = defences(game)["highland"]
    assert value == rules["crossing_highland_def_pct"] / 100
    assert left == pytest.approx(rules["crossing_highland_buff_s"], abs=0.11)
    until(game, off, lambda: game.robot("red-1")["x"] < 8_800_000)
    until(game, on, lambda: len(game.seen("crossing")) == 2)
    value, left = defences(game)["highland"]
    assert value == rules["crossing_repeat_def_pct"] / 100
    assert left == pytest.approx(rules["crossing_highland_buff_s"], abs=0.11)
    game.run(rules["crossing_highland_buff_s"] + 0.2)
    assert defences(game) == {}


def test_a_crossing_of_another_kind_repeats_too_and_keeps_the_longer_time(bench: Any) -> None:
    """R: a repeated ground crossing (road, highland, fly ramp) raises it to 50 % for the longer."""
    game = bench(scenario={"robots": {"red-1": at(8.0, 7.5)}}, red={1: INFANTRY})
    rules = game.rules
    tactics = Tactics(
        {"team": "red", "season": "2026", "settings": rules, "static": static(game.game.book)}
    )
    until(game, {"1": {"move": [1, 0]}}, lambda: game.seen("crossing"))
    first = game.seen("crossing")[0]["tick"]

    def walk(x: float, y: float) -> None:
        for _ in range(300):
            me = game.observe()["robots"]["1"]
            move = tactics.go(me, (x, y))
            if move == [0.0, 0.0]:
                return
            game.once({"1": {"move": move}})
        raise AssertionError("the way is too long")

    until(game, {"1": {"move": [-1, 0]}}, lambda: game.robot("red-1")["x"] < 8_200_000)
    walk(8.32, 2.9)
    until(game, {"1": {"move": [0, -1]}}, lambda: len(game.seen("crossing")) == 2)
    assert [e["kind"] for e in game.seen("crossing")] == ["highland", "road"]
    value, left = defences(game)["road"]
    assert value == rules["crossing_repeat_def_pct"] / 100
    remaining = rules["crossing_highland_buff_s"] - (game.game.tick - first) / 20
    assert remaining > rules["crossing_road_buff_s"]
    assert left == pytest.approx(remaining, abs=0.11)


def test_death_takes_personal_buffs(bench: Any) -> None:
    """R: death removes all personal buffs."""
    kill = bench(
        scenario={
            "robots": {
                "red-1": at(8.0, 7.5, hp=1),
                "blue-1": at(8.0, 10.5, ammo=50, heading=-1.2),
            }
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        infantry_power_hp=[400] * 10,
    )
    until(kill, {"1": {"move": [1, 0]}}, lambda: kill.seen("crossing"))
    assert defences(kill)
    shoot = {"1": {"aim": {"target": "red-1"}, "fire": True}}
    for k in range(200):
        if not kill.robot("red-1")["alive"]:
            break
        kill.once({"1": {"move": [-1 if k < 30 else 0, 0], "revive": False}}, shoot)
    assert kill.robot("red-1")["alive"] == 0
    assert defences(kill) == {}


def lane(bench: Any, **more: Any) -> Any:
    return bench(scenario={"robots": {"red-1": at(13.6, 0.425, **more)}}, red={1: INFANTRY})


def test_staying_in_a_fly_ramp_lane_is_punished(bench: Any) -> None:
    """A: a warning after 5 s, 3 s later 5 % of the cap each second; nobody is credited."""
    game = lane(bench)
    rules = game.rules
    game.run(rules["penalty_fly_s"] - 0.1)
    assert not game.seen("penalty")
    game.run(0.2)
    assert [e["kind"] for e in game.seen("penalty")] == ["warning"]
    game.run(rules["penalty_warning_s"] - 0.2)
    full = game.robot("red-1")["max_hp"]
    assert game.robot("red-1")["hp"] == full
    loss = full * rules["penalty_pct"] // 100
    game.run(0.2)
    assert game.robot("red-1")["hp"] == full - loss
    game.run(2)
    assert game.robot("red-1")["hp"] == full - 3 * loss
    assert game.team("blue")["attack_damage"] == 0
    # leaving starts the clock anew
    until(game, {"1": {"move": [-1, 0]}}, lambda: game.robot("red-1")["x"] < 12_900_000)
    hurt = game.robot("red-1")["hp"]
    game.run(3)
    assert game.robot("red-1")["hp"] == hurt
    assert game.robot("red-1")["penalty_fly"] == 0


def test_a_penalty_may_kill_without_a_killer(bench: Any) -> None:
    """A: section on penalties; nobody gets the kill."""
    game = lane(bench, hp=5)
    game.run(game.rules["penalty_fly_s"] + game.rules["penalty_warning_s"] + 0.2)
    assert game.robot("red-1")["alive"] == 0
    assert game.seen("death")
    assert not game.seen("kill")


def test_passing_a_fly_ramp_lane_is_free_also_for_the_other_team(bench: Any) -> None:
    """A: both lanes forbid staying, to either team."""
    game = bench(scenario={"robots": {"blue-1": at(13.6, 0.425, heading=0)}}, red={1: INFANTRY})
    game.run(game.rules["penalty_fly_s"] + 0.1)
    assert [e["robot"] for e in game.seen("penalty")] == ["blue-1"]
    jump = bench(scenario={"robots": {"red-1": at(7.5, 0.425)}}, red={1: INFANTRY})
    until(jump, {"1": {"move": [1, 0]}}, lambda: jump.seen("crossing"))
    assert not jump.seen("penalty")


def test_there_is_no_such_lane_in_2027(bench: Any) -> None:
    """P: tunnels instead of fly ramps."""
    game = bench("2027", scenario={"robots": {"red-1": at(13.6, 0.425)}}, red={1: INFANTRY_2027})
    game.run(9)
    assert not game.seen("penalty")
    assert game.robot("red-1")["z"] < 200


@pytest.mark.parametrize("loss", [0, 10, 150, 1234, 3500, 4990])
def test_the_fortress_reserve_grows_with_the_bases_loss(bench: Any, loss: int) -> None:
    """R: min(500, 100 + 2 floor(loss/15)) rounds, cooling + min(75, loss/40), defence 50 %."""
    game = bench(
        scenario={
            "buildings": {"red": {"outpost_hp": 0, "base_hp": 5000 - loss}},
            "robots": {"red-1": at(6.8, 7.5, ammo=5)},
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
    )
    rules = game.rules
    game.once()
    assert game.observe()["zones"]["red:fortress"]["holder"] == "red-1"
    me = game.observe()["robots"]["1"]
    size = min(
        rules["fortress_reserve_max"],
        rules["fortress_reserve_base"]
        + rules["fortress_reserve_step"] * (loss // rules["fortress_reserve_div"]),
    )
    assert me["reserve"] == size
    more = min(rules["fortress_cooling_max"], loss // rules["fortress_cooling_div"])
    assert me["cooling"] == rules["burst_cooling"][0] + more
    # the reserve is used before the own rounds
    game.run(0.5, {"1": {"aim": {"yaw": 0}, "fire": "free"}})
    shots = game.robot("red-1")["shots"]
    me = game.observe()["robots"]["1"]
    assert shots > 0
    assert (me["reserve"], me["ammo_17"]) == (size - shots, 5)
    # and lost with the fortress, which is kept for a moment after leaving
    game.run(1.2, {"1": {"move": [0, 1]}})
    game.run(rules["occupy_release_s"] + 0.5, {"1": {"move": [0, 1]}})
    assert game.observe()["zones"]["red:fortress"]["holder"] is None
    me = game.observe()["robots"]["1"]
    assert (me["reserve"], me["ammo_17"]) == (0, 5)


def test_an_own_fortress_needs_a_fallen_outpost_and_has_one_holder(bench: Any) -> None:
    """R: infantry and sentry, one holder, only after the own outpost was destroyed once."""
    place = {"red-1": at(6.8, 7.5), "red-2": at(6.8, 8.3), "red-3": at(6.8, 6.8)}
    line = {1: HERO, 2: INFANTRY, 3: SENTRY}
    game = bench(scenario={"robots": place}, red=line)
    game.run(1)
    assert game.observe()["zones"]["red:fortress"]["holder"] is None
    fallen = bench(scenario={"robots": place, "buildings": {"red": {"outpost_hp": 0}}}, red=line)
    fallen.run(1)
    assert fallen.observe()["zones"]["red:fortress"]["holder"] == "red-2"
    reserves = [fallen.observe()["robots"][k]["reserve"] for k in "123"]
    assert reserves == [0, fallen.rules["fortress_reserve_base"], 0]


def test_an_enemy_fortress_is_open_from_180_seconds_and_makes_vulnerable(bench: Any) -> None:
    """R: from 180 s, when that outpost is down; vulnerability 100 %; 3 s grace."""
    scenario = {
        "time": 178,
        "robots": {
            "red-1": at(21.3, 7.5, heading=1.57),
            "blue-1": at(21.3, 10.2, ammo=50, heading=-1.57),
        },
        "buildings": {"blue": {"outpost_hp": 0}},
    }
    game = bench(
        scenario=scenario,
        red={1: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        radar_gain=0,
        infantry_power_hp=[10000] * 10,
    )
    rules = game.rules
    shoot = {"1": {"aim": {"target": "red-1"}, "fire": True}}
    game.run(1, None, shoot).run(0.5)
    assert set(game.dealt("blue-1", "red-1")) == {rules["dmg_17_robot"]}
    assert game.observe()["zones"]["blue:fortress"]["progress"] == 0
    game.run(1).forget().run(1, None, shoot)
    doubled = rules["dmg_17_robot"] * (100 + rules["fortress_vulnerability_pct"]) // 100
    assert set(game.dealt("blue-1", "red-1")) == {doubled}
    progress = game.observe()["zones"]["blue:fortress"]["progress"]
    assert progress > 1
    out, back = {"1": {"move": [0, -1]}}, {"1": {"move": [0, 1]}}
    until(game, out, lambda: "blue:fortress" not in game.observe()["robots"]["1"]["zones"])
    kept = game.observe()["zones"]["blue:fortress"]["progress"]
    game.run(rules["fortress_grace_s"] - 1.5)
    until(game, back, lambda: "blue:fortress" in game.observe()["robots"]["1"]["zones"])
    assert game.observe()["zones"]["blue:fortress"]["progress"] >= kept
    until(game, out, lambda: "blue:fortress" not in game.observe()["robots"]["1"]["zones"])
    game.run(rules["fortress_grace_s"] + 0.1)
    assert game.observe()["zones"]["blue:fortress"]["progress"] == 0


def strong(bench: Any, posture: str, **more: Any) -> Any:
    game = bench(
        scenario={
            "robots": {
                "red-1": at(9.0, 11.5, heading=0.6, **more),
                "blue-1": at(11.0, 12.9, ammo=400, heading=3.8),
            }
        },
        red={1: SENTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        radar_gain=0,
        sentry_auto_hp=10000,
        dmg_17_robot=40,
    )
    game.once({"1": {"posture": posture, "strong": True}})
    return game


def test_a_strong_attack_posture_holds_the_heat_at_zero(bench: Any) -> None:
    """R: shots add no heat for 15 s of the match in all, then the posture is a plain one."""
    game = strong(bench, "attack", ammo=1000, heat=100)
    rules = game.rules
    fire = {"1": {"aim": {"yaw": 3.0}, "fire": "free"}}
    game.once(fire)
    assert game.robot("red-1")["heat"] == 0
    game.run(rules["posture_strong_s"] - 0.5, fire)
    assert game.robot("red-1")["heat"] == 0
    # the attack posture's rate: a shot each tick
    assert game.robot("red-1")["shots"] >= (rules["posture_strong_s"] - 1) * 20
    game.run(1.5, fire)
    assert game.robot("red-1")["heat"] > 0
    assert game.robot("red-1")["strong_ticks"][1] == rules["posture_strong_s"] * 20


@pytest.mark.parametrize("posture", ["move", "attack", "defence"])
def test_strong_postures_and_their_drawbacks(bench: Any, posture: str) -> None:
    """R: drawbacks stay. A: strong defence 75 %, strong move power x2."""
    game = strong(bench, posture)
    rules = game.rules
    k = ["move", "attack", "defence"].index(posture)
    shoot = {"1": {"aim": {"target": "red-1"}, "fire": True}}

    def damage() -> int:
        game.forget().run(1, None, shoot).run(0.3)
        return int(game.dealt("blue-1", "red-1")[0])

    def expected(defence: str, power: str) -> tuple[int, float]:
        lack = rules["posture_vulnerability_pct"][k]
        hurt = rules["dmg_17_robot"] * (100 - rules[defence][k] + lack) // 100
        return hurt, rules["sentry_auto_power_w"] * rules[power][k] / 100

    def now() -> tuple[int, float]:
        power = game.observe()["robots"]["1"]["power_limit"]
        return damage(), power

    assert now() == expected("posture_defence_strong_pct", "posture_power_strong_pct")
    game.run(rules["posture_strong_s"])
    assert now() == expected("posture_defence_pct", "posture_power_pct")
    assert game.robot("red-1")["strong_ticks"][k] == rules["posture_strong_s"] * 20


def test_strength_is_kept_for_each_posture_and_while_switched_off(bench: Any) -> None:
    """R: at most 15 s in total per posture and match. A: `strong` is kept until changed."""
    game = strong(bench, "attack")
    rules = game.rules
    game.run(5)
    game.once({"1": {"strong": False}})
    used = game.robot("red-1")["strong_ticks"][1]
    game.run(5)
    assert game.robot("red-1")["strong_ticks"][1] == used
    game.once({"1": {"posture": "defence", "strong": True}})
    game.run(3)
    ticks = game.robot("red-1")["strong_ticks"]
    assert ticks[1] == used
    assert 0 < ticks[2] < rules["posture_strong_s"] * 20
    assert game.observe()["robots"]["1"]["strong"]


@pytest.mark.parametrize("model", [INFANTRY, ENGINEER, HEAVY])
def test_an_enemy_in_the_zone_stops_the_rebuilding(bench: Any, model: int) -> None:
    """R: staying for the time without a break. A: an engineer or heavy is quicker, an enemy stops
    the clock."""
    season, foe = ("2027", INFANTRY_2027) if model == HEAVY else ("2026", INFANTRY)
    line = {1: model, 2: foe}
    game = bench(
        season,
        scenario={
            "robots": {
                "red-1": at(10.4, 4.3),
                "blue-2": at(9.0, 3.7),
            },
            "buildings": {"red": {"outpost_hp": 0}},
            "remove": ["red-2", "blue-1"],
        },
        red=line,
        dart_hit_pct_base_fixed=100,
        dart_dmg_base_fixed=1000,
        darts_per_window=1,
        base_shield=0,
        dart_gate_s=0,
        dart_open_at_s=[0, 240],
    )  # fmt: skip
    rules = game.rules
    seconds = (
        rules["outpost_rebuild_s"] if model == INFANTRY else rules["outpost_rebuild_engineer_s"]
    )
    game.once(None, {"team": {"dart": {"open": True, "target": "base_fixed"}}})
    for _ in range(50):
        if game.team("red")["base_lost"] >= rules["outpost_rebuild_per_base_loss"]:
            break
        game.once()
    game.run(seconds / 2)
    half = game.team("red")["outpost_clock"]
    assert half > 0
    until(
        game,
        {},
        lambda: "red:outpost" in game.observe("blue")["robots"]["2"]["zones"],
        blue={"2": {"move": [0.5, 0]}},
    )
    stopped = game.team("red")["outpost_clock"]
    game.run(seconds)
    assert game.team("red")["outpost_clock"] == stopped
    assert game.team("red")["outpost_hp"] == 0
    until(
        game,
        {},
        lambda: "red:outpost" not in game.observe("blue")["robots"]["2"]["zones"],
        blue={"2": {"move": [-1, 0]}},
    )
    game.run(seconds)
    team = game.team("red")
    assert (team["outpost_hp"], team["outpost_rebuilds"]) == (rules["outpost_rebuild_hp"], 1)
    assert (team["outpost_rate"], team["outpost_stopped"]) == (0, 1)


def test_nothing_is_rebuilt_after_the_deadline(bench: Any) -> None:
    """R: only before 300 s, one chance for every full 1000 HP."""

    def after(time: int) -> int:
        game = bench(
            scenario={
                "time": time,
                "robots": {"red-1": at(10.0, 3.9)},
                "buildings": {"red": {"outpost_hp": 0}},
            },
            red={1: INFANTRY},
            blue={1: INFANTRY},
            dart_hit_pct_base_fixed=100,
            dart_dmg_base_fixed=1000,
            base_shield=0,
            dart_gate_s=0,
        )
        order = {"team": {"dart": {"open": True, "target": "base_fixed"}}}
        game.once(None, order)
        game.run(game.rules["outpost_rebuild_s"] + 1)
        assert game.team("red")["base_lost"] == 2000
        return int(game.team("red")["outpost_hp"])

    assert after(270) > 0
    assert after(292) == 0


def test_a_bought_revival_is_weak_for_its_time_alone(bench: Any) -> None:
    """R: weak and invulnerable for 3 s; a weakened robot occupies nothing, so it cannot buy."""
    game = bench(
        scenario={
            "coins": {"red": 1000},
            "robots": {
                "red-1": at(4.3, 7.5, hp=1, heading=0),
                "blue-1": at(6.6, 7.5, ammo=50, heading=3.14),
            },
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
    )
    shoot = {"1": {"aim": {"target": "red-1"}, "fire": True}}
    for _ in range(50):
        if not game.robot("red-1")["alive"]:
            break
        game.once({"1": {"revive": False}}, shoot)
    game.once({"1": {"revive": "buy"}})
    assert game.observe()["robots"]["1"]["weak"]
    assert game.observe()["robots"]["1"]["zones"] == []
    game.once({"1": {"buy": {"ammo_17": 10}}})
    assert game.observe()["robots"]["1"]["last_error"] == "not_in_zone"
    game.run(game.rules["revive_now_weak_s"])
    assert not game.observe()["robots"]["1"]["weak"]
    assert "red:base" in game.observe()["robots"]["1"]["zones"]
    assert game.once({"1": {"buy": {"ammo_17": 10}}}).robot("red-1")["ammo_17"] == 10
