"""Every reason to refuse an action, and that a refused one changes nothing."""

import json
from typing import Any

import pytest

from sysone.arena import lineup
from sysone.arena.engine import Game, Setup


def game(season: Any = "2026") -> Game:
    line = lineup.default(season)
    return Game(Setup(season, 1, {"red": line, "blue": line}))


DEEP: Any = []
for _ in range(9):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("action", "code", "path"),
    [
        ([], "not_object", ""),
        ({"3": []}, "not_object", "3"),
        ({"3": {"jump": 1}}, "unknown_field", "3.jump"),
        ({"3": {"aim": {"target": "base", "speed": 1}}}, "unknown_field", "3.aim.speed"),
        ({"3": {"buy": {"gold": 1}}}, "unknown_field", "3.buy.gold"),
        ({"team": {"flag": 1}}, "unknown_field", "team.flag"),
        ({"3": {"move": 1}}, "wrong_type", "3.move"),
        ({"3": {"fire": 1}}, "wrong_type", "3.fire"),
        ({"3": {"heading": "north"}}, "wrong_type", "3.heading"),
        ({"3": {"buy": {"ammo_17": 10.5}}}, "wrong_type", "3.buy.ammo_17"),
        ({"3": {"move": [1.5, 0]}}, "out_of_range", "3.move"),
        ({"3": {"spin": -1.01}}, "out_of_range", "3.spin"),
        ({"3": {"buy": {"ammo_17": 15}}}, "out_of_range", "3.buy.ammo_17"),
        ({"3": {"aim": {"target": "red-4"}}}, "out_of_range", "3.aim.target"),
        ({"3": {"power": "max"}}, "out_of_range", "3.power"),
        ({"3": {"move": [float("nan"), 0]}}, "not_finite", "3.move"),
        ({"3": {"aim": {"yaw": float("inf")}}}, "not_finite", "3.aim.yaw"),
        ({"red-3": {}}, "unknown_robot", "red-3"),
        ({"hero": {}}, "unknown_robot", "hero"),
        ({"03": {}}, "unknown_robot", "03"),
        ({"blue-3": {}}, "not_own_robot", "blue-3"),
        ({"5": {}}, "not_own_robot", "5"),
        ({"9": {}}, "not_own_robot", "9"),
        ({"3": {"deploy": True}}, "role_mismatch", "3.deploy"),
        ({"3": {"posture": "move"}}, "role_mismatch", "3.posture"),
        ({"1": {"assemble": True}}, "role_mismatch", "1.assemble"),
        ({"2": {"fire": True}}, "role_mismatch", "2.fire"),
        ({"3": {"buy": {"ammo_42": 1}}}, "role_mismatch", "3.buy.ammo_42"),
        ({"3": {"support": True}}, "role_mismatch", "3.support"),
        ({"6": {"sortie": {"mode": "recon", "to": [1, 1]}}}, "role_mismatch", "6.sortie"),
        ({"3": {"say": {"to": "all", "text": "x"}}}, "cross_team_message", "3.say.to"),
        ({"3": {"say": {"to": ["blue-1"], "text": "x"}}}, "cross_team_message", "3.say.to"),
        ({"3": {"say": {"to": "team", "text": "x" * 257}}}, "message_too_long", "3.say.text"),
        ({"3": {"buy": {"ammo_17": 10, "remote_heal": True}}}, "duplicate_order", "3.buy"),
        (
            {"7": {"posture": "attack"}, "team": {"sentry": {"posture": "attack"}}},
            "duplicate_order",
            "team.sentry.posture",
        ),
        ({"3": {"aim": {"target": "base", "yaw": 1}}}, "duplicate_order", "3.aim"),
        ({"team": {"dart": {"open": True, "target": "moon"}}}, "out_of_range", "team.dart.target"),
        ({"team": {"radar": {"focus": [1, 2, 3, 4]}}}, "out_of_range", "team.radar.focus"),
        ({"3": {"say": {"to": "team", "text": "x" * 70000}}}, "too_large", ""),
        (DEEP, "depth", ""),
    ],
)
def test_refusals(action: Any, code: str, path: str) -> None:
    played = game()
    before = played.core.canon()
    assert played.act("red", json.dumps(action)) == (code, path)
    assert played.core.canon() == before
    played.advance()
    held = game()
    held.advance()
    assert played.digest == held.digest, "a refused action is no action"
    errors = json.loads(played.observe("red"))["errors"]
    assert errors == [{"code": code, "path": path, "tick": 0}]
    assert json.loads(played.observe("blue"))["errors"] == []


def test_no_json_is_refused() -> None:
    for text in ("", "{", '{"3":{}', "{'3':{}}", '{"3":{"spin":01}}', "nil", '{"3":{}}x'):
        refusal = game().act("red", text)
        assert refusal is not None
        assert refusal.code == "bad_json", text


def test_one_bad_field_refuses_the_whole_side() -> None:
    played = game()
    bad = {"3": {"move": [1, 0]}, "4": {"jump": 1}}
    assert played.act("red", json.dumps(bad)) is not None
    played.advance(20)
    assert all(robot["vx"] == 0 for robot in played.state()["robots"])


def test_too_many_messages() -> None:
    played = game()
    say = json.dumps({"3": {"say": {"to": "team", "text": "hi"}}})
    for _ in range(4):
        assert played.act("red", say) is None
        played.advance()
    assert played.act("red", say) == ("too_many_messages", "3.say")
    for _ in range(6):
        played.advance()
    assert played.act("red", say) is None, "another second"


def test_a_robots_own_strategy_acts_for_it_alone() -> None:
    played = game()
    assert played.act("red", json.dumps({"4": {}}), 3) == ("robot_not_controlled", "4")
    assert played.act("red", json.dumps({"team": {}}), 3) == ("robot_not_controlled", "team")
    assert played.act("red", json.dumps({"3": {"move": [1, 0]}}), 3) is None
    assert played.act("red", json.dumps({"4": {"move": [1, 0]}}), 4) is None
    played.advance(20)
    moving = [r["slot"] for r in played.state()["robots"] if r["vx"] != 0]
    assert moving == [3, 4]


def test_orders_of_the_sentrys_own_strategy_are_free() -> None:
    played = game()
    assert played.act("red", json.dumps({"7": {"posture": "attack"}}), 7) is None
    played.advance()
    assert played.state()["teams"][0]["coins"] == 400
    team = game()
    assert team.act("red", json.dumps({"7": {"posture": "attack"}})) is None
    team.advance()
    assert team.state()["teams"][0]["coins"] == 350


def test_what_an_action_leaves_out_takes_its_default() -> None:
    played = game()
    assert played.act("red", json.dumps({"3": {"move": [1, 0]}})) is None
    played.advance(10)
    assert played.act("red", json.dumps({"3": {}})) is None
    played.advance(20)
    assert next(r for r in played.state()["robots"] if r["slot"] == 3)["vx"] == 0


def test_module_orders_belong_to_2027() -> None:
    assert game("2027").act("red", json.dumps({"1": {"mount": True}})) is None
    assert game("2026").act("red", json.dumps({"1": {"mount": True}})) == (
        "role_mismatch",
        "1.mount",
    )
    refused = game("2027").act("red", json.dumps({"team": {"radar": {"counter": True}}}))
    assert refused == ("role_mismatch", "team.radar.counter")
