"""Each rule in a situation made for it."""

from typing import Any

import pytest

from sysone.arena.engine import static
from sysone.arena.errors import ScenarioError
from sysone.arena.sdk.tactics import Tactics

HERO, ENGINEER, INFANTRY, LEGGED, SENTRY = 2612, 2621, 2631, 2632, 2671


def at(x: float, y: float, **more: Any) -> dict[str, Any]:
    return {"x": x, "y": y, **more}


def test_a_base_takes_no_damage_while_its_outpost_stands(bench: Any) -> None:
    scenario = {"robots": {"red-1": at(20.3, 7.5, ammo=30)}}
    shoot = {"1": {"aim": {"target": "base"}, "fire": True}}
    game = bench(scenario=scenario, red={1: HERO}, heat_per_42=0, shot_noise_pct=0)
    assert game.run(3, shoot).team("blue")["base_hp"] == 5000
    assert game.robot("red-1")["shots"] > 3
    scenario["buildings"] = {"blue": {"outpost_hp": 0}}
    game = bench(scenario=scenario, red={1: HERO}, heat_per_42=0, shot_noise_pct=0)
    game.run(3, shoot)
    hits = [e for e in game.seen("hit") if e["target"] == "blue:base"]
    assert hits
    # the shield is absorbed first
    assert game.team("blue")["base_hp"] == 5000 + 150 - 200 * len(hits)
    assert game.team("red")["attack_damage"] == 200 * len(hits)


@pytest.mark.parametrize(("builder", "seconds"), [(INFANTRY, 10), (ENGINEER, 5)])
def test_an_outpost_is_rebuilt_for_every_1000_hp_the_base_lost(
    bench: Any, builder: int, seconds: int
) -> None:
    game = bench(
        scenario={
            "robots": {"red-1": at(20.3, 7.5, ammo=30), "blue-1": at(18.0, 11.1)},
            "buildings": {"blue": {"outpost_hp": 0}},
        },
        red={1: HERO},
        blue={1: builder},
        base_shield=0,
        heat_per_42=0,
        shot_noise_pct=0,
    )
    shoot = {"1": {"aim": {"target": "base"}, "fire": True}}
    while game.team("blue")["base_lost"] < 800:
        game.once(shoot)
    assert game.team("blue")["base_lost"] == 800
    game.run(seconds + 2)
    assert game.team("blue")["outpost_hp"] == 0, "800 lost is no chance"
    while game.team("blue")["base_lost"] < 1000:
        game.once(shoot)
    assert game.observe("blue")["buildings"]["own"]["outpost"]["rebuilds"] == 1
    game.run(seconds - 0.3)
    assert game.team("blue")["outpost_hp"] == 0
    game.run(0.6)
    outpost = game.team("blue")
    assert (outpost["outpost_hp"], outpost["outpost_rebuilds"], outpost["outpost_rate"]) == (
        750, 1, 0)  # fmt: skip
    assert game.seen("outpost_rebuilt")
    assert game.observe("blue")["buildings"]["own"]["outpost"]["rebuilds"] == 0


def test_leaving_breaks_the_rebuilding(bench: Any) -> None:
    game = bench(
        scenario={
            "robots": {"red-1": at(20.3, 7.5, ammo=30), "blue-1": at(18.0, 11.1)},
            "buildings": {"blue": {"outpost_hp": 0}},
        },
        red={1: HERO},
        blue={1: INFANTRY},
        outpost_rebuild_per_base_loss=100,
        heat_per_42=0,
        shot_noise_pct=0,
    )
    shoot = {"1": {"aim": {"target": "base"}, "fire": True}}
    while game.team("blue")["base_lost"] < 100:
        game.once(shoot)
    game.run(8)
    assert game.team("blue")["outpost_clock"] > 100
    game.run(2, None, {"1": {"move": [1, 0]}})
    assert game.team("blue")["outpost_clock"] == 0
    assert game.team("blue")["outpost_hp"] == 0


def test_a_fast_robot_jumps_the_fly_ramp(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(7.5, 0.425)}}, red={1: INFANTRY})
    game.run(6, {"1": {"move": [1, 0]}})
    robot = game.robot("red-1")
    assert robot["x"] > 15_300_000
    assert [e["kind"] for e in game.seen("crossing")] == ["fly"]
    buff = game.observe()["robots"]["1"]["buffs"][0]
    assert (buff["kind"], buff["value"], buff["source"]) == ("defence", 0.25, "fly")
    assert robot["exp"] == 3000  # 300 for the first crossing, in tenths


def test_a_slow_robot_is_refused_at_the_ramps_end(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(11.0, 0.425)}}, red={1: INFANTRY})
    game.run(6, {"1": {"move": [0.5, 0]}})
    robot = game.robot("red-1")
    assert 14_000_000 < robot["x"] < 14_300_000
    assert robot["z"] > 450
    assert robot["stuck"] == 1


def test_the_fly_ramp_works_for_blue_too(bench: Any) -> None:
    game = bench(
        scenario={"robots": {"blue-1": at(20.5, 14.575, heading=3.14159)}}, red={1: INFANTRY}
    )
    game.run(6, None, {"1": {"move": [-1, 0]}})
    assert game.robot("blue-1")["x"] < 12_700_000


def test_a_mecanum_hero_may_not_jump(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(11.0, 0.425)}}, red={1: 2611})
    game.run(6, {"1": {"move": [1, 0]}})
    assert game.robot("red-1")["x"] < 14_300_000


def test_launcher_locks_until_zero_and_unlocks(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": {"ammo": 50, "heat": 171}}}, red={1: INFANTRY})
    game.once()
    assert game.robot("red-1")["lock"] == 1
    assert [e["until"] for e in game.seen("launcher_locked")] == ["until_zero"]
    game.run(10, {"1": {"aim": {"yaw": 0}, "fire": True}})
    assert game.robot("red-1")["shots"] == 0
    game.run(26)
    assert game.robot("red-1")["lock"] == 0
    assert game.once({"1": {"aim": {"yaw": 0}, "fire": "free"}}).robot("red-1")["shots"] == 1


def test_launcher_locks_for_the_match(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": {"ammo": 50, "heat": 271}}}, red={1: INFANTRY})
    game.run(60)
    assert (game.robot("red-1")["lock"], game.robot("red-1")["heat"]) == (2, 0)
    game.once({"1": {"aim": {"yaw": 0}, "fire": "free"}})
    assert game.robot("red-1")["shots"] == 0


def test_the_guard_refuses_overheating_shots(bench: Any) -> None:
    scenario = {"robots": {"red-1": {"ammo": 100}}}
    fire = {"1": {"aim": {"yaw": 0}, "fire": "free"}}
    guarded = bench(scenario=scenario, red={1: INFANTRY}).run(3, fire).robot("red-1")
    assert guarded["lock"] == 0
    assert guarded["shots"] == 18
    free = {"1": {**fire["1"], "fire_guard": False}}
    assert bench(scenario=scenario, red={1: INFANTRY}).run(3, free).robot("red-1")["lock"] == 1


def test_power_is_cut_for_five_seconds(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(8.3, 11.5)}}, red={1: INFANTRY})
    drive = {"1": {"move": [0, 1], "power": "raw", "spin": 1}}
    for k in range(40):
        game.run(0.5, {"1": {**drive["1"], "move": [0, (-1) ** k]}})
        if game.seen("power_cut"):
            break
    assert game.run(3, drive).robot("red-1")["vx"] == 0
    game.run(2.2)
    assert game.robot("red-1")["cut"] == 0
    assert game.robot("red-1")["buffer"] > 50_000


def test_safe_mode_never_touches_the_buffer(bench: Any) -> None:
    game = bench(red={1: INFANTRY})
    game.run(5, {"1": {"move": [0.3, 1], "spin": 0.5}})
    assert game.robot("red-1")["buffer"] == 60_000


def test_a_fortress_held_for_twenty_seconds_opens_the_base(bench: Any) -> None:
    game = bench(
        scenario={
            "time": 180,
            "robots": {"red-1": at(21.3, 7.5)},
            "buildings": {"blue": {"outpost_hp": 0}},
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
    )
    game.run(19.5)
    assert game.team("blue")["base_open"] == 0
    assert game.observe()["zones"]["blue:fortress"]["holder"] == "red-1"
    game.run(1)
    assert game.team("blue")["base_open"] == 1
    assert game.seen("base_armour_open")


def test_remote_orders_come_six_seconds_later(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(9.0, 11.0)}}, red={1: INFANTRY})
    game.once({"1": {"buy": {"remote_ammo": True}}})
    assert game.team("red")["coins"] == 250
    game.run(5.8)
    assert game.robot("red-1")["ammo_17"] == 0
    game.run(0.3)
    assert game.robot("red-1")["ammo_17"] == 100


def test_purchases_and_their_refusals(bench: Any) -> None:
    game = bench(red={1: INFANTRY}, blue={1: INFANTRY})
    game.once()
    game.once({"1": {"buy": {"ammo_17": 100}}})
    assert (game.team("red")["coins"], game.robot("red-1")["ammo_17"]) == (300, 100)
    game.once({"1": {"buy": {"ammo_17": 310}}})
    assert game.observe()["robots"]["1"]["last_error"] == "insufficient_coins"
    assert game.team("red")["coins"] == 300
    game.run(3, {"1": {"move": [1, 0.3]}})
    game.once({"1": {"buy": {"ammo_17": 10}}})
    assert game.observe()["robots"]["1"]["last_error"] == "not_in_zone"


def test_caps_refuse_a_purchase_whole(bench: Any) -> None:
    game = bench(scenario={"coins": {"red": 100000}}, red={1: INFANTRY})
    game.once()
    game.once({"1": {"buy": {"ammo_17": 510}}})
    assert game.observe()["robots"]["1"]["last_error"] == "cap"
    assert game.once({"1": {"buy": {"ammo_17": 500}}}).robot("red-1")["ammo_17"] == 500


def test_income(bench: Any) -> None:
    game = bench(scenario={"time": 59.9}, red={1: INFANTRY})
    assert game.once().team("red")["coins"] == 400
    assert game.once().team("red")["coins"] == 450
    late = bench(scenario={"time": 359.9}, red={1: INFANTRY})
    assert late.run(0.2).team("red")["coins"] == 550


def test_a_tunnel_needs_end_middle_end(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(12.5, 1.325)}}, red={1: INFANTRY})
    game.run(2.5, {"1": {"move": [1, 0]}})
    assert {e["kind"] for e in game.seen("crossing")} == {"tunnel", "tunnel_passage"}
    buffs = {b["kind"]: b for b in game.observe()["robots"]["1"]["buffs"]}
    assert buffs["defence"]["value"] == 0.5
    assert buffs["cooling"]["value"] == 2.0


def test_a_tunnel_of_2027_gives_both_rows(bench: Any) -> None:
    game = bench("2027", scenario={"robots": {"red-1": at(12.5, 1.325)}}, red={1: 2731})
    game.run(2.5, {"1": {"move": [1, 0]}})
    buffs = {b["kind"]: b["value"] for b in game.observe()["robots"]["1"]["buffs"]}
    assert buffs == {"defence": 0.25, "cooling": 1.5}


def test_a_legged_robot_is_refused_by_the_tunnel(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(12.3, 1.325)}}, red={1: LEGGED})
    game.run(2, {"1": {"move": [1, 0]}})
    assert game.robot("red-1")["x"] < 12_700_000


def test_supply_heals_ten_percent_a_second_and_more_late(bench: Any) -> None:
    hurt = {"robots": {"red-1": at(2.0, 2.0, hp=50)}}
    game = bench(scenario=hurt, red={1: INFANTRY})
    game.run(2.05)
    assert game.robot("red-1")["hp"] in (79, 80)
    late = bench(scenario={**hurt, "time": 240}, red={1: INFANTRY})
    late.run(1.05)
    assert 85 <= late.robot("red-1")["hp"] <= 88


def killer(bench: Any, time: float = 0, **settings: Any) -> Any:
    """A red robot shot by a blue one in open ground; one hit kills."""
    return bench(
        scenario={
            "time": time,
            "robots": {
                "red-1": at(9.0, 11.5, hp=1, heading=0.61),
                "blue-1": at(11.0, 12.9, ammo=50, heading=-2.5),
            },
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        **settings,
    )


SHOOT = {"1": {"aim": {"target": "red-1"}, "fire": True}}


def die(game: Any) -> Any:
    for _ in range(100):
        if not game.robot("red-1")["alive"]:
            return game
        game.once({"1": {"revive": False}}, SHOOT)
    raise AssertionError("nobody died")


def test_revival_takes_ten_seconds_and_a_tenth_of_the_time(bench: Any) -> None:
    game = die(killer(bench, time=100))
    robot = game.robot("red-1")
    assert robot["deaths"] == 1
    assert robot["revive_required"] == 20 * 20  # 10 + 100/10 s
    game.run(20.2, {"1": {"revive": True}})
    robot = game.robot("red-1")
    assert robot["alive"] == 1
    assert robot["hp"] == 15  # a tenth of the cap
    assert robot["weak"] == 1
    assert game.seen("revived")[0]["mode"] == "free"
    assert game.seen("kill")[0] == {**game.seen("kill")[0], "killer": "blue-1", "victim": "red-1"}


def test_a_weak_robot_cannot_fire_until_it_touches_its_own_zone(bench: Any) -> None:
    game = die(killer(bench))
    game.run(11, {"1": {"revive": True}})
    assert game.observe()["robots"]["1"]["weak"]
    game.run(4, {"1": {"move": [-0.95, -0.8]}})
    for _ in range(8):
        game.run(1, {"1": {"move": [-1, -0.4]}})
    assert not game.observe()["robots"]["1"]["weak"]
    assert game.observe()["robots"]["1"]["invulnerable"] == 0


def test_a_bought_revival_costs_coins_and_time_later(bench: Any) -> None:
    game = die(killer(bench, time=100))
    coins = game.team("red")["coins"]
    game.once({"1": {"revive": "buy"}})
    robot = game.robot("red-1")
    assert coins - game.team("red")["coins"] == 80 * 2 + 20
    assert (robot["alive"], robot["hp"], robot["revivals_bought"]) == (1, 150, 1)
    assert game.observe()["robots"]["1"]["power_limit"] == 120
    game.run(3.2)
    assert game.robot("red-1")["weak"] == 0


def test_kill_and_damage_give_experience(bench: Any) -> None:
    game = die(killer(bench))
    shots = game.robot("blue-1")["shots"]
    # a shot each, four for the one HP, fifty for a level-1 victim
    assert game.robot("blue-1")["exp"] == (shots + 4 + 50) * 10
    assert game.team("blue")["attack_damage"] == 1


def test_levels_follow_experience_up_to_the_technology_cap(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": {"level": 4}}}, red={1: INFANTRY})
    assert game.robot("red-1")["max_hp"] == 225
    game = bench(
        scenario={"robots": {"red-1": {"level": 5, "ammo": 300}}},
        red={1: INFANTRY},
        exp_shot_other=10000,
    )
    game.run(1, {"1": {"aim": {"yaw": 0}, "fire": "free"}})
    assert game.robot("red-1")["level"] == 5, "technology level 0 caps at 5"


def test_central_highland_belongs_to_the_first_alone(bench: Any) -> None:
    game = bench(
        scenario={"robots": {"red-1": at(12.0, 8.0), "blue-1": at(24.0, 7.0)}},
        red={1: INFANTRY},
        blue={1: INFANTRY},
    )
    game.once()
    assert game.observe()["zones"]["central_highland"] == "red"
    both = bench(
        scenario={"robots": {"red-1": at(12.0, 8.0), "blue-1": at(16.0, 7.0)}},
        red={1: INFANTRY},
        blue={1: INFANTRY},
    )
    both.run(3)
    assert both.observe()["zones"]["central_highland"] == "none"


def test_a_hero_deploys_on_its_highground(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(4.2, 11.3)}}, red={1: HERO})
    game.once({"1": {"deploy": True}})
    assert game.observe()["robots"]["1"]["last_error"] == "not_in_zone", "not captured yet"
    game.run(2.2)
    assert game.observe()["zones"]["red:highground"] == "red"
    game.run(3, {"1": {"deploy": True, "move": [1, 0]}})
    robot = game.robot("red-1")
    assert (robot["deploy"], robot["vx"]) == (1, 0)
    assert robot["deploy_ticks"] == 40


def test_assembly_pays_every_ten_seconds(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(1.35, 0.8)}}, red={1: ENGINEER})
    game.once()
    game.run(3.2, {"1": {"pick": True}})
    assert game.robot("red-1")["carrying"] == 1
    game = bench(
        scenario={"robots": {"red-1": at(12.4, 8.6)}}, red={1: ENGINEER}, pick_s=0, blue={1: HERO}
    )
    game.once({"1": {"assemble": True}})
    assert game.observe()["robots"]["1"]["last_error"] == "no_chance", "it carries nothing"


def test_the_whole_way_of_an_energy_unit(bench: Any) -> None:
    game = bench(red={1: ENGINEER}, blue={1: HERO})
    tactics = Tactics(
        {"team": "red", "season": "2026", "static": static(game.game.book), "settings": {}}
    )
    for _ in range(900):
        if game.team("red")["tech_level"]:
            break
        me = game.observe()["robots"]["1"]
        game.once({"1": tactics.assemble(me)})
    assert game.team("red")["tech_level"] == 1
    assert game.team("red")["tech_income"] == 50
    assert [e["level"] for e in game.seen("assembly_done")] == [1]
    coins = game.team("red")["coins"]
    income = sum(e["coins"] for e in game.seen("income"))
    assert coins == 400 + income
    game.run(10)
    assert game.team("red")["coins"] >= coins + 50


@pytest.mark.parametrize(("time", "kind"), [(0, 1), (180, 2)])
def test_a_rune_without_dispersion_succeeds(bench: Any, time: int, kind: int) -> None:
    game = bench(
        scenario={"time": time, "robots": {"red-1": at(8.2, 7.5, ammo=400)}},
        red={1: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        heat_per_17=0,
    )
    aim = {"1": {"aim": {"target": "rune"}, "fire": True}}
    game.once({"1": {**aim["1"], "rune": "activate"}})
    game.once()
    assert game.team("red")["rune_active"] == kind
    # one shot at a time: the next one at the same arm would find it unlit
    for _ in range(24):
        game.once(aim).run(0.7, {"1": {"aim": {"target": "rune"}}})
    success = game.seen("rune_success")
    assert len(success) == 1, game.seen("rune_fail")
    assert success[0]["hits"] >= 5
    assert success[0]["ring_tenths"] >= 70
    team = game.team("red")
    assert team["rune_buff"] == kind
    rings = success[0]["ring_tenths"]
    assert team["rune_defence"] == (500 if kind == 2 and rings > 90 else 250)
    assert team["rune_attack"] == (
        0 if kind == 1 else 2000 if rings > 90 else 1000 if rings > 70 else 500
    )


def test_a_rune_left_alone_fails(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(8.2, 7.5)}}, red={1: INFANTRY})
    game.once().once({"1": {"rune": "activate"}})
    assert game.team("red")["rune_small"] == 0
    game.run(3)
    assert len(game.seen("rune_fail")) == 1
    game.once({"1": {"rune": "activate"}})
    assert game.observe()["robots"]["1"]["last_error"] == "no_chance"


def test_darts_hit_the_outpost_then_the_base(bench: Any) -> None:
    game = bench(
        scenario={"time": 30},
        red={1: INFANTRY},
        dart_hit_pct_outpost=100,
        dart_hit_pct_base_fixed=100,
    )
    game.once()
    game.run(13, {"team": {"dart": {"open": True, "target": "outpost"}}})
    assert [e["damage"] for e in game.seen("dart_hit")] == [750, 750]
    assert game.team("blue")["outpost_hp"] == 0
    assert game.team("red")["dart_left"] == 2
    refused = [e for e in game.seen("refused") if e["order"] == "dart"]
    assert refused, "a second opening needs a second chance"
    game.run(230)
    game.run(13, {"team": {"dart": {"open": True, "target": "base_fixed"}}})
    assert game.team("blue")["base_hp"] == 5000 + 150 - 400
    assert game.team("blue")["blind_end"] > 0


def test_a_dart_that_never_hits(bench: Any) -> None:
    game = bench(scenario={"time": 30}, red={1: INFANTRY}, dart_hit_pct_outpost=0)
    game.once().run(20, {"team": {"dart": {"open": True, "target": "outpost"}}})
    assert len(game.seen("dart_miss")) == 2
    assert game.team("blue")["outpost_hp"] == 1500


def test_radar_marks_what_it_sees(bench: Any) -> None:
    game = bench(
        scenario={"robots": {"red-1": at(4.0, 7.0), "blue-1": at(12.0, 8.0)}},
        red={1: INFANTRY},
        blue={1: INFANTRY},
    )
    game.once({"team": {"radar": {"focus": [1]}}})
    game.run(13)
    assert game.team("red")["radar_progress"][1] in (104, 112)
    assert game.observe()["radar"]["marked"] == ["blue-1"]
    enemy = game.observe()["enemies"][0]
    assert abs(enemy["x"] - 12.0) <= 0.301
    assert game.seen("radar_marked")


def test_aerial_support_lasts_thirty_seconds(bench: Any) -> None:
    game = bench(red={1: 2661}, blue={1: INFANTRY})
    on = {"1": {"support": True}}
    game.run(29.9, on)
    assert game.observe()["aerial"]["supporting"]
    game.run(0.5, on)
    assert not game.observe()["aerial"]["supporting"]
    game.run(3, {"1": {"support": "paid"}})
    assert game.team("red")["coins"] == 400 - 3


def test_an_aerial_robot_fires_only_while_supporting(bench: Any) -> None:
    fire = {"1": {"aim": {"yaw": 0}, "fire": "free"}}
    game = bench(red={1: 2661}, blue={1: INFANTRY})
    assert game.run(1, fire).robot("red-1")["shots"] == 0
    game.run(1, {"1": {**fire["1"], "support": True}})
    assert game.robot("red-1")["shots"] > 5


def test_an_aerial_robot_stays_over_its_half_and_three_metres(bench: Any) -> None:
    game = bench(red={1: 2661}, blue={1: INFANTRY})
    game.run(10, {"1": {"move": [1, 0]}})
    assert game.robot("red-1")["x"] == 17_000_000
    assert game.robot("red-1")["z"] == 1800


def test_a_recon_drone_reports_when_it_is_back(bench: Any) -> None:
    game = bench(
        "2027",
        scenario={"robots": {"blue-2": at(24.5, 5.0)}},
        red={1: 2761, 2: 2731},
        blue={2: 2731},
        radar_gain=0,
    )
    game.once({"1": {"sortie": {"mode": "recon", "to": [22.0, 7.5]}}})
    game.run(10)
    assert game.observe()["enemies"] == []
    game.run(21)
    enemies = game.observe()["enemies"]
    assert [e["seen"] for e in enemies] == ["recon"]
    assert enemies[0]["age"] > 0
    assert game.observe()["aerial"]["drones"][0]["state"] == "charging"


def test_a_strike_costs_the_drone(bench: Any) -> None:
    game = bench("2027", red={1: 2762, 2: 2731}, blue={2: 2731}, drone_strike_pct=100)
    game.once({"1": {"sortie": {"mode": "strike", "target": "outpost"}}})
    game.run(5)
    assert game.team("blue")["outpost_hp"] == 1300
    assert game.observe()["aerial"]["drones"][0]["state"] == "lost"


def test_the_module_is_mounted_at_the_workbench(bench: Any) -> None:
    game = bench(
        "2027",
        scenario={"time": 299, "robots": {"red-1": at(2.95, 1.4, ammo=5)}},
        red={1: 2711},
        blue={1: 2731},
    )
    game.once().once({"1": {"mount": True}})
    assert game.observe()["robots"]["1"]["last_error"] == "locked"
    game.run(1)
    assert game.seen("module_unlocked")
    game.once({"1": {"mount": True}})
    game.run(5.2)
    assert game.robot("red-1")["mounted"] == 1
    game.run(0.3, {"1": {"aim": {"yaw": 0}, "fire": "free"}})
    assert game.robot("red-1")["shots"] == 1


def test_postures_cost_coins_and_time(bench: Any) -> None:
    game = bench(red={1: SENTRY}, blue={1: INFANTRY})
    game.once({"1": {"posture": "attack"}})
    assert game.team("red")["coins"] == 350
    assert game.observe()["robots"]["1"]["cooling"] == 90
    assert game.observe()["robots"]["1"]["power_limit"] == 50
    game.once({"1": {"posture": "defence"}})
    assert game.observe()["robots"]["1"]["last_error"] == "cooldown"
    game.run(5)
    game.once({"team": {"sentry": {"posture": "defence"}}})
    assert game.team("red")["coins"] == 300


def test_a_posture_weakens_after_three_minutes(bench: Any) -> None:
    game = bench(red={1: SENTRY}, blue={1: INFANTRY})
    assert game.once().observe()["robots"]["1"]["power_limit"] == 150
    game.run(180)
    assert game.observe()["robots"]["1"]["power_limit"] == 120


def test_sentry_minutes_are_saved_and_collected(bench: Any) -> None:
    game = bench(scenario={"time": 125, "robots": {"red-1": at(2.0, 2.0)}}, red={1: SENTRY})
    game.once()
    game.once({"1": {"buy": {"sentry_minute": True}}})
    assert game.robot("red-1")["ammo_17"] == 300 + 200
    assert game.team("red")["coins"] == 350


def test_penalty_in_the_enemy_supply(bench: Any) -> None:
    game = bench(scenario={"robots": {"red-1": at(26.0, 13.0)}}, red={1: INFANTRY})
    game.run(3.1)
    assert [e["kind"] for e in game.seen("penalty")] == ["warning"]
    game.run(3)
    assert game.robot("red-1")["hp"] == 150 - 7


def test_a_collision_hurts_both(bench: Any) -> None:
    game = bench(
        scenario={"robots": {"red-1": at(7.6, 11.0), "blue-1": at(10.4, 11.0)}},
        red={1: INFANTRY},
        blue={1: INFANTRY},
    )
    game.run(1.2, {"1": {"move": [1, 0]}}, {"1": {"move": [-1, 0]}})
    assert len(game.seen("collision")) >= 2
    assert game.robot("red-1")["hp"] == game.robot("blue-1")["hp"] == 148
    assert game.team("red")["attack_damage"] == 2


def test_time_out_is_judged_in_order(bench: Any) -> None:
    game = bench(
        scenario={"time": 419, "buildings": {"blue": {"base_hp": 4000}}}, red={1: INFANTRY}
    )
    game.run(1)
    assert game.game.ended
    assert (game.game.result()["winner"], game.game.result()["reason"]) == ("red", "base_hp")
    outpost = {"time": 419, "buildings": {"red": {"outpost_hp": 700}}}
    result = bench(scenario=outpost, red={1: INFANTRY}).run(1).game.result()
    assert (result["winner"], result["reason"]) == ("blue", "outpost_hp")
    fallen = {"time": 419, "buildings": {"red": {"outpost_hp": 0}}}
    result = bench(scenario=fallen, red={1: INFANTRY}).run(1).game.result()
    assert (result["winner"], result["reason"]) == ("blue", "outpost_destroyed")
    hurt = {"time": 419, "robots": {"red-1": {"hp": 9}}}
    result = bench(scenario=hurt, red={1: INFANTRY}).run(1).game.result()
    assert (result["winner"], result["reason"]) == ("blue", "robots_hp")


def test_a_fallen_base_ends_the_match(bench: Any) -> None:
    game = bench(
        scenario={
            "robots": {"red-1": at(20.3, 7.5, ammo=30)},
            "buildings": {"blue": {"outpost_hp": 0, "base_hp": 100}},
        },
        red={1: HERO},
        base_shield=0,
        shot_noise_pct=0,
    )
    for _ in range(100):
        if game.game.ended:
            break
        game.once({"1": {"aim": {"target": "base"}, "fire": True}})
    assert game.game.result()["reason"] == "base_destroyed"
    assert game.game.result()["winner"] == "red"


def test_messages_reach_the_own_team_alone(bench: Any) -> None:
    game = bench(red={1: INFANTRY, 2: LEGGED}, blue={1: INFANTRY})
    game.once({"1": {"say": {"to": [2], "text": "hello \u00e9"}}})
    assert [m["text"] for m in game.observe()["messages"]] == ["hello \u00e9"]
    assert game.observe("blue")["messages"] == []
    assert game.once().observe()["messages"] == []


def test_observations_keep_the_enemys_secrets(bench: Any) -> None:
    game = bench(
        scenario={
            "robots": {"red-1": at(12.0, 8.0), "blue-1": at(12.9, 9.4)},
            "coins": {"blue": 7777},
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
    )
    seen = game.once().observe()
    assert [e["id"] for e in seen["enemies"]] == ["blue-1"]
    assert not {"ammo_17", "heat", "buffs"} & set(seen["enemies"][0])
    assert "7777" not in game.game.observe("red").decode()


@pytest.mark.parametrize(
    ("scenario", "code", "path"),
    [
        ({"robots": {"red-9": {}}}, "unknown_robot", "robots.red-9"),
        ({"robots": {"red-1": {"x": 2.5, "y": 7.5}}}, "position_blocked", "robots.red-1"),
        ({"robots": {"red-1": {"x": 99, "y": 7.5}}}, "position_blocked", "robots.red-1"),
        ({"robots": {"red-1": {"hp": 0}}}, "out_of_range", "robots.red-1.hp"),
        ({"robots": {"red-1": {"ammo_42": 1}}}, "role_mismatch", "robots.red-1.ammo_42"),
        ({"robots": {"red-1": {"colour": 1}}}, "unknown_field", "robots.red-1.colour"),
        ({"time": 0.05}, "out_of_range", "time"),
        ({"coins": {"red": -1}}, "out_of_range", "coins.red"),
        ({"remove": ["red-4"]}, "unknown_robot", "remove"),
        ({"weather": 1}, "unknown_field", "weather"),
        ({"robots": []}, "not_object", "robots"),
    ],
)
def test_bad_scenarios_name_the_place(bench: Any, scenario: Any, code: str, path: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        bench(scenario=scenario, red={1: INFANTRY})
    assert (caught.value.code, caught.value.path) == (code, path)


def test_removed_robots_are_gone(bench: Any) -> None:
    game = bench("2027", scenario={"remove": ["blue-1", "blue-3", "red-7"]})
    state = game.run(1).game.state()
    assert len(state["robots"]) == 7
    assert "7" not in game.observe()["robots"]
