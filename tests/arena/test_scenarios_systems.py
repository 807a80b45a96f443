"""Radar, darts, drones and runes, each in a situation made for it.

What is expected comes from the rules' data; the rule itself is named in each test by the season's
source and its tag (R rulebook of 2026, P preview of 2027, T telemetry, A assumption).
"""

from typing import Any

import pytest

from arena.words import at

INFANTRY, SENTRY, AERIAL = 2631, 2671, 2661
HEAVY, INFANTRY_2027, RECON = 2711, 2731, 2761


def final(base: int, attack_pct: int = 0, defence_pct: int = 0) -> int:
    """Damage after buffs, rounded half up (R, 5.1): base * (1 + attack) * (1 - defence)."""
    return (base * (100 + attack_pct) * (100 - defence_pct) + 5000) // 10000


def duel(bench: Any, **settings: Any) -> Any:
    """Red shoots at a blue robot that stands still in open ground, seen by red's radar."""
    return bench(
        scenario={
            "robots": {
                "red-1": at(9.0, 11.5, ammo=400, heading=0.6),
                "blue-1": at(11.0, 12.9, heading=3.8),
            }
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        heat_per_17=0,
        infantry_power_hp=[10000] * 10,
        **settings,
    )


SHOOT = {"1": {"aim": {"target": "blue-1"}, "fire": True}}
WAIT = {"1": {"aim": {"target": "blue-1"}}}


def one_hit(game: Any, extra: dict[str, Any] | None = None) -> int:
    """The damage of the next hit on blue."""
    game.forget()
    order = extra or {}
    for _ in range(20):
        game.once({**SHOOT, **order})
        order = {}
        if hits := game.dealt("red-1", "blue-1"):
            game.run(0.5, WAIT)  # what is still in the air
            return int(hits[0])
    raise AssertionError("nothing hit")


def test_marked_robots_are_vulnerable_and_doubly_so_twice_a_match(bench: Any) -> None:
    """R: marked from progress 100, vulnerability 25 %. A: gains, two doublings of 10 s."""
    game = duel(bench)
    rules = game.rules
    base = rules["dmg_17_robot"]
    game.once(WAIT | {"team": {"radar": {"focus": [1], "double": True}}})
    assert game.team("red")["radar_doubles"] == rules["radar_doubles"], "nobody is marked yet"
    assert [e["reason"] for e in game.seen("refused")] == ["no_chance"]
    assert one_hit(game) == final(base)
    seconds = -(-rules["radar_marked"] // rules["radar_focus_gain"])
    game.run(seconds - game.game.tick / 20 - 0.2, WAIT)
    assert game.observe()["radar"]["marked"] == []
    game.run(0.4, WAIT)
    assert game.observe()["radar"]["marked"] == ["blue-1"]
    vulnerable = rules["radar_vulnerability_pct"]
    assert one_hit(game) == final(base, defence_pct=-vulnerable)
    double = {"team": {"radar": {"double": True}}}
    for k in range(rules["radar_doubles"]):
        begin = game.game.tick
        assert one_hit(game, double) == final(base, defence_pct=-2 * vulnerable)
        assert game.team("red")["radar_doubles"] == rules["radar_doubles"] - 1 - k
        game.run(rules["radar_double_s"] - 1 - (game.game.tick - begin) / 20, WAIT)
        if k == 0:
            assert one_hit(game) == final(base, defence_pct=-2 * vulnerable), "the last second"
            game.run(1, WAIT)
        else:
            game.run(1.5, WAIT)
    assert one_hit(game) == final(base, defence_pct=-vulnerable)
    game.forget().once(WAIT | double)
    assert [e["reason"] for e in game.seen("refused")] == ["no_chance"], "both are used up"


def test_a_mark_rises_with_sight_and_falls_without_it(bench: Any) -> None:
    """R: 0 to 120. A: 4 a second when seen, 8 in the focus, 6 lost when hidden."""
    game = duel(bench)
    rules = game.rules
    game.run(5, WAIT)
    assert game.team("red")["radar_progress"][1] == 5 * rules["radar_gain"]
    game.run(5, WAIT | {"team": {"radar": {"focus": [1]}}})
    gained = 5 * (rules["radar_gain"] + rules["radar_focus_gain"])
    assert game.team("red")["radar_progress"][1] == gained
    game.run(20, WAIT)
    assert game.team("red")["radar_progress"][1] == rules["radar_max"]
    # behind its own base, which hides it from a tower at the far end
    hidden = bench(
        scenario={"robots": {"blue-1": at(26.72, 7.5)}}, red={1: INFANTRY}, blue={1: INFANTRY}
    )
    hidden.run(5)
    assert hidden.team("red")["radar_progress"][1] == 0


def test_radar_counters_aerial_support(bench: Any) -> None:
    """T: five counters a match, a lock of 45 s, from the 4th on a way out at double price."""
    game = bench(
        scenario={"coins": {"blue": 100000}},
        red={1: INFANTRY},
        blue={1: AERIAL},
        support_start_s=1000,
    )
    rules = game.rules
    counter = {"team": {"radar": {"counter": True}}}
    game.once(counter)
    assert [e["reason"] for e in game.seen("refused")] == ["no_chance"], "nobody supports"
    for k in range(1, rules["radar_counters"] + 1):
        game.once(None, {"1": {"support": True}}).run(1)
        assert game.observe("blue")["aerial"]["supporting"]
        game.forget().once(counter)
        assert len(game.seen("radar_counter")) == 1
        aerial = game.observe("blue")["aerial"]
        assert not aerial["supporting"]
        assert aerial["counters_suffered"] == k
        assert aerial["locked"] == pytest.approx(rules["radar_counter_lock_s"], abs=0.11)
        game.once(None, {"1": {"support": True}})
        assert game.observe("blue")["robots"]["1"]["last_error"] == "locked"
        game.once(None, {"1": {"support": "paid"}})
        error = game.observe("blue")["robots"]["1"]["last_error"]
        if k < rules["radar_buyout_from"]:
            assert error == "locked"
        else:
            assert error is None
            before = game.team("blue")["coins"]
            game.run(9.9)
            price = rules["support_coins_s"] * rules["radar_buyout_pct"] // 100
            assert before - game.team("blue")["coins"] in (9 * price, 10 * price)
            game.once(None, {"1": {"support": False}})
        left = game.observe("blue")["aerial"]["locked"]
        assert left > 0
        game.run(left + 0.1)
    game.once(None, {"1": {"support": True}}).run(1)
    game.forget().once(counter)
    assert game.observe("blue")["aerial"]["supporting"], "no counter is left"


def interception(bench: Any, drone: bool, to: tuple[float, float], **settings: Any) -> Any:
    """Blue's heavy fires at red's outpost, over which a red drone hovers or not."""
    game = bench(
        "2027",
        scenario={
            "time": 300,
            "robots": {"blue-1": at(25.05, 13.6, ammo=60), "blue-2": at(24.1, 8.4)},
        },
        red={1: RECON, 2: INFANTRY_2027},
        blue={1: HEAVY, 2: INFANTRY_2027},
        heat_per_42=0,
        mount_s=0,
        **settings,
    )
    game.once().once(None, {"1": {"mount": True}}).run(0.2)
    assert game.robot("blue-1")["mounted"] == 1
    game.once({"1": {"sortie": {"mode": "intercept", "to": list(to)}}} if drone else None)
    game.run(3)
    free = {"1": {"aim": {"yaw": 3.6, "pitch": 0.3}, "fire": "free", "fire_guard": False}}
    game.run(2, None, {"1": {"aim": free["1"]["aim"]}})
    return game.forget().run(5, None, free)


def test_an_intercepting_drone_removes_large_projectiles_near_it(bench: Any) -> None:
    """A: radius 3 m, up to 10 s; P says only that drones intercept 42 mm."""
    near = (23.5, 12.7)
    game = interception(bench, True, near, drone_intercept_pct=100)
    fired = game.robot("blue-1")["shots"]
    assert fired >= 8
    assert len(game.seen("drone_intercept")) >= fired - 1
    assert not interception(bench, True, near, drone_intercept_pct=0).seen("drone_intercept")
    far = (5.0, 3.0)
    assert not interception(bench, True, far, drone_intercept_pct=100).seen("drone_intercept")
    assert not interception(bench, False, near, drone_intercept_pct=100).seen("drone_intercept")


def test_an_interception_ends_after_its_hover_time(bench: Any) -> None:
    """A: at most 10 s at the point, then back to the hangar and 20 s of charging."""
    game = bench("2027", red={1: RECON, 2: INFANTRY_2027}, blue={2: INFANTRY_2027})
    rules = game.rules
    game.once({"1": {"sortie": {"mode": "intercept", "to": [8.225, 7.525]}}})
    team = game.team("red")
    assert team["sortie_leave"] - team["sortie_arrive"] == rules["drone_intercept_s"] * 20
    # five metres at 5 m/s, to and fro
    assert team["sortie_arrive"] - team["sortie_start"] == 20
    game.run(1 + rules["drone_intercept_s"] + 1 + 0.2)
    drone = game.observe()["aerial"]["drones"][0]
    assert (drone["state"], game.observe()["aerial"]["sortie"]) == ("charging", None)
    assert drone["left"] == pytest.approx(rules["drone_recharge_s"], abs=0.5)
    game.once({"1": {"sortie": {"mode": "recon", "to": [8.0, 7.5]}}})
    assert game.observe()["aerial"]["drones"][1]["state"] == "out", "the next one that is ready"


@pytest.mark.parametrize(
    ("to", "left_pct", "hits"),
    [((16.9, 11.1), 0, 0), ((16.9, 11.1), 100, 2), ((4.0, 4.0), 0, 2)],
)
def test_an_intercepting_drone_spoils_darts(
    bench: Any, to: tuple[float, float], left_pct: int, hits: int
) -> None:
    """A: darts on a building within 3 m of the drone keep this share of their hit chance."""
    game = bench(
        "2027",
        scenario={"time": 30},
        red={2: INFANTRY_2027},
        blue={1: RECON, 2: INFANTRY_2027},
        dart_hit_pct_outpost=100,
        drone_dart_pct=left_pct,
    )
    rules = game.rules
    game.once()
    game.once({"team": {"dart": {"open": True, "target": "outpost"}}})
    game.run(rules["dart_gate_s"] - 2)
    game.once(None, {"1": {"sortie": {"mode": "intercept", "to": list(to)}}})
    game.run(rules["dart_gap_s"] + 3)
    assert len(game.seen("dart_launch")) == rules["darts_per_window"] == 2
    assert len(game.seen("dart_hit")) == hits


def test_a_dart_on_the_base_blinds_its_team(bench: Any) -> None:
    """A: the victims' sight range is halved for 5 s."""
    game = bench(
        scenario={
            "time": 30,
            "buildings": {"blue": {"outpost_hp": 0}},
            # more than eight metres apart: within the range, not within half of it
            "robots": {"red-1": at(4.2, 14.0), "blue-1": at(12.8, 14.0, heading=3.14)},
        },
        red={1: INFANTRY},
        blue={1: INFANTRY},
        dart_hit_pct_base_fixed=100,
        darts_per_window=1,
    )
    rules = game.rules
    assert rules["vision_blind_mm"] * 2 == rules["vision_range_mm"]
    game.once()
    assert [e["seen"] for e in game.observe("blue")["enemies"]] == ["sight"]
    game.once({"team": {"dart": {"open": True, "target": "base_fixed"}}})
    blind = 0
    look = {"1": {"aim": {"yaw": 3.14}}}
    for _ in range(round((rules["dart_gate_s"] + rules["dart_blind_s"] + 2) * 10)):
        game.once(None, look)
        blind += not [e for e in game.observe("blue")["enemies"] if e["seen"] == "sight"]
    assert blind == rules["dart_blind_s"] * 10
    assert [e["kind"] for e in game.seen("dart_hit")] == ["base_fixed"]
    lost = rules["base_hp"] + rules["base_shield"] - rules["dart_dmg_base_fixed"]
    assert game.team("blue")["base_hp"] == lost


@pytest.mark.parametrize("target", ["base_random_moving", "base_end_moving"])
def test_a_dart_on_a_moving_target_opens_the_base(bench: Any, target: str) -> None:
    """R (via T): these two targets open the armour. A: their hit chances."""
    chance = {f"dart_hit_pct_{target}": 100}
    game = bench(
        scenario={"time": 30, "buildings": {"blue": {"outpost_hp": 0}}}, red={1: INFANTRY}, **chance
    )
    game.once().run(14, {"team": {"dart": {"open": True, "target": target}}})
    hits = game.seen("dart_hit")
    assert len(hits) == 2
    assert game.team("blue")["base_open"] == 1
    left = game.rules["base_hp"] + game.rules["base_shield"] - 2 * game.rules[f"dart_dmg_{target}"]
    assert game.team("blue")["base_hp"] == left


def test_a_dart_does_nothing_to_a_base_behind_its_outpost(bench: Any) -> None:
    """R: while an outpost stands, its base takes no damage at all."""
    game = bench(scenario={"time": 30}, red={1: INFANTRY}, dart_hit_pct_base_end_moving=100)
    game.once().run(14, {"team": {"dart": {"open": True, "target": "base_end_moving"}}})
    team = game.team("blue")
    assert (team["base_hp"], team["base_open"], team["blind_end"]) == (game.rules["base_hp"], 0, 0)


def test_the_large_rune_raises_attack_by_its_row(bench: Any) -> None:
    """R: rows by average ring, length by hits, experience shared. A: x2 read as +100 %."""
    game = bench(
        scenario={
            "time": 180,
            "robots": {
                "red-1": at(8.2, 7.5, ammo=400),
                "red-2": at(9.0, 11.5, ammo=100, heading=0.6),
                "blue-1": at(11.0, 12.9, heading=3.8),
            },
        },
        red={1: INFANTRY, 2: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        heat_per_17=0,
        radar_gain=0,
        exp_shot_other=0,
        infantry_power_hp=[10000] * 10,
    )
    rules = game.rules
    aim = {"1": {"aim": {"target": "rune"}}}
    game.once({"1": {**aim["1"], "rune": "activate"}})
    for _ in range(30):
        if game.seen("rune_success"):
            break
        game.once({"1": {**aim["1"], "fire": True}}).run(0.7, aim)
    success = game.seen("rune_success")[0]
    row = next(
        k for k, most in enumerate(rules["rune_ring_upper"]) if success["ring_tenths"] <= most
    )
    buff = game.observe()["rune"]["buff"]
    assert (buff["kind"], buff["attack"], buff["defence"], buff["cooling"]) == (
        "large",
        rules["rune_attack_pct"][row] / 100,
        rules["rune_def_pct"][row] / 100,
        rules["rune_cooling_pct"][row] / 100,
    )
    length = rules["rune_large_s"][min(success["hits"], 10) - 5]
    passed = (game.game.tick - success["tick"]) / 20
    assert buff["left"] == pytest.approx(length - passed, abs=0.11)
    assert [game.robot(f"red-{k}")["exp"] for k in (1, 2)] == [rules["exp_rune"] * 10 // 2] * 2
    cooling = game.observe()["robots"]["2"]["cooling"]
    assert cooling == rules["burst_cooling"][0] * rules["rune_cooling_pct"][row] / 100
    # what the buff does: to a robot, to the outpost, and to what red itself takes
    game.forget().run(1, {"2": {"aim": {"target": "blue-1"}, "fire": True}})
    hits = game.dealt("red-2", "blue-1")
    assert set(hits) == {final(rules["dmg_17_robot"], rules["rune_attack_pct"][row])}
    game.run(length + 1)
    assert game.observe()["rune"]["buff"] is None
    game.forget().run(1, {"2": {"aim": {"target": "blue-1"}, "fire": True}})
    assert set(game.dealt("red-2", "blue-1")) <= {rules["dmg_17_robot"]}


def test_a_small_rune_defends_team_and_buildings_and_doubles_experience(bench: Any) -> None:
    """R: 25 % for 45 s for robots, outpost and base; experience doubled up to 1200 more."""
    game = bench(
        scenario={
            "robots": {
                "red-1": at(8.2, 7.5, ammo=400),
                "red-2": at(9.0, 11.5, ammo=100, heading=0.6),
                "blue-1": at(11.0, 12.9, ammo=100, heading=3.8),
            }
        },
        red={1: INFANTRY, 2: INFANTRY},
        blue={1: INFANTRY},
        shot_noise_pct=0,
        heat_per_17=0,
        radar_gain=0,
        exp_shot_other=0,
    )
    rules = game.rules
    aim = {"1": {"aim": {"target": "rune"}}}
    game.once({"1": {**aim["1"], "rune": "activate"}})
    for _ in range(24):
        if game.seen("rune_success"):
            break
        game.once({"1": {**aim["1"], "fire": True}}).run(0.7, aim)
    assert [e["kind"] for e in game.seen("rune_success")] == ["small"]
    buff = game.observe()["rune"]["buff"]
    assert (buff["kind"], buff["attack"], buff["defence"]) == (
        "small",
        0,
        rules["rune_small_def_pct"] / 100,
    )
    assert buff["left"] == pytest.approx(rules["rune_small_s"], abs=1)
    game.forget().run(0.6, {}, {"1": {"aim": {"target": "red-2"}, "fire": True}})
    hurt = final(rules["dmg_17_robot"], defence_pct=rules["rune_small_def_pct"])
    assert set(game.dealt("blue-1", "red-2")) == {hurt}
    before = game.robot("red-2")["exp"]
    game.forget().run(0.6, {"2": {"aim": {"target": "blue-1"}, "fire": True}})
    dealt = sum(game.dealt("red-2", "blue-1"))
    assert dealt > 0
    gained = game.robot("red-2")["exp"] - before
    assert gained == 2 * dealt * rules["exp_per_robot_hp"] * 10
