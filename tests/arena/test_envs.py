"""`ArenaEnv` and `VectorArena`: episodes, rewards, opponents, scenarios, replays, faults."""

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from sysone.arena import replay
from sysone.arena.errors import ActionError, ArenaError, ScenarioError
from sysone.arena.vector_env import ArenaEnv, VectorArena, VectorEnvError

FREE = {"red": [{"slot": 1, "model": 2731}], "blue": [{"slot": 1, "model": 2771}]}
CALM: dict[str, Any] = {"timeout": 60.0, "startup_timeout": 120.0, "trusted_local": True}
Policy = Callable[[int], dict[str, Any]]


def policy(seed: int) -> Policy:
    """Actions of both sides by step, the same for the same seed, with orders that act once."""

    def side(dice: Random, step: int) -> dict[str, Any]:
        robots: dict[str, Any] = {
            slot: {
                "move": [round(dice.uniform(-1, 1), 3), round(dice.uniform(-1, 1), 3)],
                "fire": dice.random() < 0.5 if slot != "1" else False,
            }
            for slot in ("1", "3", "4", "7")
        }
        robots["3"]["buy"] = {"ammo_17": 10}
        robots["7"]["posture"] = dice.choice(["move", "attack"])
        if step % 20 == 0:
            robots["4"]["say"] = {"to": "team", "text": "here"}
        return robots

    def act(step: int) -> dict[str, Any]:
        dice = Random(seed * 100003 + step)
        return {"red": side(dice, step), "blue": side(dice, step)}

    return act


def play(env: ArenaEnv, seed: int, act: Policy) -> dict[str, Any]:
    state = env.reset(seed)
    step = 0
    while not state["terminated"] and not state["truncated"]:
        state = env.step(act(step))
        step += 1
    return state


def outcome(state: Mapping[str, Any]) -> dict[str, Any]:
    """What must be the same wherever an episode is played."""
    return {
        "observations": state["observations"],
        "rewards": state["rewards"],
        "digest": state["info"]["digest"],
        "winner": state["info"]["winner"],
    }


def test_the_example_of_the_manual_runs_as_it_stands() -> None:
    from rmuc_arena.vector_env import ArenaEnv as Aliased

    env = Aliased(season="2027", duration=30, compact=True)
    state = env.reset(seed=100)
    assert state["info"]["tick"] == 0
    assert state["info"]["seed"] == 100
    state = env.step({"red": {"3": {"move": [1, 0], "fire": True}}, "blue": {}})
    assert state["info"]["tick"] == 2
    assert state["observations"]["red"]["robots"]["3"]["vx"] > 0
    assert state["observations"]["blue"]["team"] == "blue"


def test_an_episode_ends_with_its_last_observation_and_its_digest() -> None:
    with ArenaEnv(season="2027", duration=3, compact=True) as env:
        state = play(env, 1, policy(1))
        assert (state["terminated"], state["truncated"]) == (True, False)
        assert state["observations"]["red"]["phase"] == "ended"
        assert state["info"]["tick"] == 60
        assert len(state["info"]["digest"]) == 64
        with pytest.raises(ArenaError, match="over") as raised:
            env.step({})
        assert raised.value.code == "episode_over"
        assert env.observe() == state
        again = play(env, 1, policy(1))
        assert outcome(again) == outcome(state)
        assert again["info"]["episode"] == 1


@pytest.mark.parametrize("repeat", [2, 6, 10])
def test_orders_act_once_and_commands_stay_for_the_whole_step(repeat: int) -> None:
    with ArenaEnv(season="2027", duration=3, compact=True, action_repeat=repeat) as env:
        env.reset(5)
        env.step({})  # zones are occupied from the first tick on
        state = env.step({"red": {"3": {"buy": {"ammo_17": 10}, "move": [1, 0]}}})
        robot = state["observations"]["red"]["robots"]["3"]
        assert robot["ammo_17"] == 10
        assert robot["vx"] > 0
        bought = [e for e in state["info"]["events"] if e["type"] == "purchase"]
        assert len(bought) == 1
        assert state["info"]["tick"] == 2 * repeat


def test_a_step_is_as_long_as_the_match() -> None:
    with ArenaEnv(season="2027", duration=1, action_repeat=14) as env:
        env.reset(0)
        env.step({})
        state = env.step({})
        assert state["info"]["tick"] == 20
        assert state["terminated"]


def test_a_refused_action_advances_nothing() -> None:
    act = policy(2)
    with ArenaEnv(season="2027", duration=2, compact=True) as env:
        plain = play(env, 9, act)
        env.reset(9)
        for step in range(20):
            for wrong, code in (
                ({"3": {"jump": True}}, "unknown_field"),
                ({"3": {"move": [float("nan"), 0]}}, "not_finite"),
                ({"blue-3": {}}, "unknown_robot"),
            ):
                with pytest.raises(ActionError) as raised:
                    env.step({"red": act(step + 1)["red"], "blue": wrong})
                assert (raised.value.code, raised.value.side) == (code, "blue")
            state = env.step(act(step))
    assert outcome(state) == outcome(plain)


def test_rewards_are_zero_sum_and_score_counts_damage() -> None:
    scenario = {
        "robots": {
            "red-3": {"x": 8.0, "y": 3.0, "heading": 0, "ammo": 300},
            "blue-3": {"x": 11.0, "y": 3.0, "heading": 3.1416},
        }
    }
    options: dict[str, Any] = {"season": "2027", "duration": 5, "compact": True}
    with ArenaEnv(reward="score", score_scale=0.01, **options) as env:
        env.reset(1, scenario)
        gained = 0.0
        while True:
            state = env.step({"red": {"3": {"fire": True}}})
            assert state["rewards"]["red"] == -state["rewards"]["blue"]
            gained += state["rewards"]["red"]
            if state["terminated"]:
                break
    assert state["info"]["test"]
    assert state["info"]["winner"] == "red"
    assert gained > 1.0, "damage is rewarded beside the victory"


def test_truncation_gives_no_outcome_and_the_end_by_the_rules_comes_first() -> None:
    with ArenaEnv(season="2027", duration=2, max_steps=3) as env:
        env.reset(0)
        states = [env.step({}) for _ in range(3)]
        assert [s["truncated"] for s in states] == [False, False, True]
        assert not states[-1]["terminated"]
        assert states[-1]["rewards"] == {"red": 0.0, "blue": 0.0}
        with pytest.raises(ArenaError, match="over"):
            env.step({})
    with ArenaEnv(season="2027", duration=1, max_steps=10) as env:
        env.reset(0)
        last = [env.step({}) for _ in range(10)][-1]
        assert (last["terminated"], last["truncated"]) == (True, False)


def test_static_comes_once_with_compact_and_always_without() -> None:
    for compact in (True, False):
        with ArenaEnv(season="2026", duration=1, compact=compact) as env:
            first = env.reset(0)["observations"]["red"]
            assert first["static"]["format"] == "arena-static-v1"
            later = env.step({})["observations"]["red"]
            assert ("static" in later) is not compact


def test_the_full_state_is_named_privileged() -> None:
    with ArenaEnv(season="2027", duration=1, full_state=True) as env:
        state = env.reset(3)["info"]["state"]
        assert state["privileged"] is True
        assert len(state["robots"]) == 10


def test_an_opponent_drives_the_other_side_over_all_episodes() -> None:
    with ArenaEnv(opponent="std_2027_rush", duration=2, compact=True, **CALM) as env:
        digests = []
        for _ in range(2):
            state = play(env, 7, lambda step: {"red": policy(4)(step)["red"]})
            assert state["observations"]["blue"] is None
            assert state["info"]["strategy_errors"] == {"red": {}, "blue": {}}
            digests.append(state["info"]["digest"])
        assert digests[0] == digests[1], "the strategy begins each episode anew"
        env.reset(7)
        with pytest.raises(ActionError) as raised:
            env.step({"blue": {"3": {"fire": True}}})
        assert raised.value.code == "side_not_controlled"
        assert env.step({"blue": {}})["info"]["tick"] == 2
    with ArenaEnv(season="2027", duration=2, compact=True) as env:
        idle = play(env, 7, lambda step: {"red": policy(4)(step)["red"]})
    assert idle["info"]["digest"] != digests[0]


def test_the_opponent_decides_every_two_ticks_whatever_a_step_is() -> None:
    digests = set()
    for repeat in (2, 10):
        with ArenaEnv(
            opponent="std_2027_rush", learner="blue", duration=2, action_repeat=repeat, **CALM
        ) as env:
            state = play(env, 3, lambda step: {"blue": {"3": {"move": [-1, 0]}}})
            digests.add(state["info"]["digest"])
    assert len(digests) == 1


def test_a_broken_opponent_is_counted_and_holds(tmp_path: Path) -> None:
    (tmp_path / "arena.toml").write_text(
        '[strategy]\nkey = "broken"\nname = "Broken"\nversion = "1"\nseason = "2027"\n'
        'mode = "team"\nentry = "main:act"\nsdk = 1\n'
    )
    (tmp_path / "main.py").write_text("def act(observation, state):\n    return 1 / 0\n")
    with ArenaEnv(opponent=str(tmp_path), duration=1, **CALM) as env:
        broken = play(env, 1, lambda step: {})
    assert broken["info"]["strategy_errors"]["blue"] == {"exception": 10}
    with ArenaEnv(season="2027", duration=1) as env:
        assert play(env, 1, lambda step: {})["info"]["digest"] == broken["info"]["digest"]


def test_free_lineups_are_acted_through_the_teams_dictionaries() -> None:
    with ArenaEnv(season="2027", lineups=FREE, duration=1) as env:
        state = env.reset(1)
        assert list(state["observations"]["red"]["robots"]) == ["1"]
        assert state["observations"]["red"]["robots"]["1"]["model"] == 2731
        assert state["observations"]["blue"]["robots"]["1"]["model"] == 2771
        state = env.step({"red": {"1": {"move": [1, 0]}}, "blue": {"1": {"posture": "attack"}}})
        assert state["info"]["tick"] == 2


def test_decks_give_their_models_and_the_opponents_roster_is_its_own() -> None:
    decks = {"red_deck": ["std_2027_adaptive_2731"], "blue_deck": ["std_2027_adaptive_2771"]}
    with ArenaEnv(mode="deck", duration=1, **decks) as env:
        assert env.plan.lineups == {"red": {1: 2731}, "blue": {1: 2771}}
    small = [{"slot": 1, "model": 2712}, {"slot": 3, "model": 2733}, {"slot": 7, "model": 2772}]
    with ArenaEnv(opponent="std_2027_hold", lineup=small, duration=1, **CALM) as env:
        assert env.plan.lineups["red"] == {1: 2712, 3: 2733, 7: 2772}
        assert env.plan.lineups["blue"][7] == 2771
    with ArenaEnv(opponent="std_2026_hold", duration=1, **CALM) as env:
        assert env.plan.season == "2026"
        assert env.plan.lineups["red"] == env.plan.lineups["blue"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"seasons": "2027"}, "seasons"),
        ({"season": "2030"}, "2030"),
        ({"duration": 0.05}, "duration"),
        ({"action_repeat": 3}, "action_repeat"),
        ({"learner": "green"}, "learner"),
        ({"reward": "money"}, "reward"),
        ({"max_steps": 0}, "max_steps"),
        ({"timeout": 0}, "timeout"),
        ({"lineup": [{"slot": 1, "model": 2731}]}, "slot 1"),
        ({"lineups": {"red": []}}, "lineups"),
        ({"lineups": FREE, "lineup": [{"slot": 1, "model": 2711}]}, "exclude"),
        ({"mode": "deck"}, "red_deck"),
        ({"opponent": "nobody"}, "nobody"),
        ({"opponent": "std_2026_hold", "season": "2027"}, "season"),
        ({"settings": {"base_hp": -1}}, "base_hp"),
        ({"compact": 1}, "compact"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ArenaError, match=named):
        ArenaEnv(**options)


def test_scenarios_mark_the_episode_and_their_errors_leave_no_episode() -> None:
    scenario = {"robots": {"red-3": {"x": 4.7, "y": 5.1, "heading": 0, "ammo": 200}}}
    with ArenaEnv(season="2027", duration=1) as env:
        state = env.reset(7, scenario)
        assert state["info"]["test"]
        assert state["observations"]["red"]["robots"]["3"]["ammo_17"] == 200
        with pytest.raises(ScenarioError) as raised:
            env.reset(7, {"robots": {"red-9": {}}})
        assert raised.value.code == "unknown_robot"
        with pytest.raises(ArenaError, match="reset"):
            env.step({})
        assert not env.reset(7)["info"]["test"]


@pytest.mark.parametrize(("repeat", "scenario"), [(2, None), (10, {"time": 60.0})])
def test_replays_verify_also_of_an_episode_that_is_not_over(
    tmp_path: Path, repeat: int, scenario: dict[str, Any] | None
) -> None:
    act = policy(6)
    with ArenaEnv(
        season="2027", duration=64, compact=True, record=True, action_repeat=repeat
    ) as env:
        env.reset(4, scenario)
        for step in range(4):
            env.step(act(step))
        early = env.save_replay(tmp_path / "early.json")
        for step in range(4, 4 if scenario is None else 1000):
            if env.step(act(step))["terminated"]:
                break
        late = env.save_replay(tmp_path / "late.json.gz")
    for saved in (early, late):
        report = replay.verify(Path(saved["path"]))
        assert report["ok"], report
    assert late["ticks"] == (8 if scenario is None else 1280)
    assert replay.read(tmp_path / "late.json.gz").digest == late["digest"]


def test_nothing_is_saved_that_was_not_recorded(tmp_path: Path) -> None:
    with ArenaEnv(season="2027", duration=1) as env:
        env.reset(0)
        with pytest.raises(ArenaError, match="record"):
            env.save_replay(tmp_path / "x.json")


@pytest.fixture(scope="module")
def alone() -> dict[int, dict[str, Any]]:
    """Whole episodes of one environment by seed, to compare with."""
    with ArenaEnv(season="2027", duration=3, compact=True, record=True) as env:
        return {seed: outcome(play(env, seed, policy(seed))) for seed in (100, 101, 102)}


def test_many_play_what_one_plays(alone: dict[int, dict[str, Any]], tmp_path: Path) -> None:
    with VectorArena(3, season="2027", duration=3, compact=True, record=True) as envs:
        states = envs.reset(seeds=[100, 101, 102])
        assert [s["info"]["seed"] for s in states] == [100, 101, 102]
        assert len({s["info"]["sim_pid"] for s in states} - {os.getpid()}) == 3
        for step in range(30):
            states = envs.step([policy(100 + k)(step) for k in range(3)])
        assert [outcome(s) for s in states] == list(alone.values())
        saved = envs.save_replay([tmp_path / "0.json"], env_ids=[2])
        assert replay.verify(Path(saved[0]["path"]))["ok"]
        pids = envs.pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_resetting_some_does_not_touch_the_others(alone: dict[int, dict[str, Any]]) -> None:
    with VectorArena(3, season="2027", duration=3, compact=True) as envs:
        envs.reset([100, 101, 102])
        for step in range(30):
            if step == 11:
                assert [s["env_id"] for s in envs.reset([5, 6], env_ids=[2, 0])] == [2, 0]
            order = [1] if step == 20 else [2, 1, 0]
            states = envs.step([policy(100 + k)(step) for k in order], env_ids=order)
            assert [s["env_id"] for s in states] == order
        kept = envs.observe([1])[0]
        assert outcome(kept) == alone[101]


def test_one_error_leaves_the_others_advanced_and_is_told(alone: dict[int, dict[str, Any]]) -> None:
    with VectorArena(3, season="2027", duration=3, compact=True) as envs:
        with pytest.raises(VectorEnvError) as raised:
            envs.step([{}] * 3)
        assert {e["code"] for e in raised.value.errors.values()} == {"not_reset"}
        envs.reset([100, 101, 102])
        actions = [policy(100 + k)(0) for k in range(3)]
        with pytest.raises(VectorEnvError) as raised:
            envs.step([actions[0], {"red": {"3": {"jump": 1}}}, actions[2]])
        error = raised.value
        assert list(error.errors) == [1]
        assert error.errors[1]["code"] == "unknown_field"
        assert error.errors[1]["path"] == "red.3.jump"
        assert [row["ok"] for row in error.responses["results"]] == [True, False, True]
        assert error.responses["results"][0]["result"]["info"]["tick"] == 2
        assert envs.observe([1])[0]["info"]["tick"] == 0
        envs.step([actions[1]], env_ids=[1])
        for step in range(1, 30):
            states = envs.step([policy(100 + k)(step) for k in range(3)])
        assert [outcome(s) for s in states] == list(alone.values())


def test_wrong_requests_ask_nobody() -> None:
    with VectorArena(2, season="2027", duration=1) as envs:
        for request, code in (
            ({"op": "step", "actions": [{}]}, "bad_length"),
            ({"op": "step"}, "bad_type"),
            ({"op": "reset", "seeds": 3}, "bad_type"),
            ({"op": "reset", "env_ids": [0, 0]}, "duplicate_env_id"),
            ({"op": "reset", "env_ids": [2]}, "env_id_out_of_range"),
            ({"op": "reset", "env_ids": [True]}, "bad_type"),
            ({"op": "sing"}, "unknown_op"),
            ({"op": "reset", "seed": [1, 2]}, "unknown_field"),
        ):
            response = envs.request(request)
            assert (response["ok"], response["type"]) == (False, "error")
            assert response["error"]["code"] == code
        with pytest.raises(VectorEnvError, match="2 items") as raised:
            envs.reset([1])
        assert raised.value.errors == {}
        seeds = [s["info"]["seed"] for _ in range(2) for s in envs.reset()]
        assert seeds == [0, 1, 2, 3]
        bad = envs.request({"op": "reset", "seeds": [-1, "many"]})
        assert [row["error"]["code"] for row in bad["results"]] == ["out_of_range", "bad_type"]
        assert envs.reset(["18446744073709551615"], [0])[0]["info"]["seed"] == str(2**64 - 1)


@pytest.mark.parametrize("fault", ["killed", "hung", "garbage"])
def test_a_lost_environment_is_replaced_and_the_others_go_on(
    fault: str, alone: dict[int, dict[str, Any]]
) -> None:
    patience = 5.0 if fault == "hung" else 60.0
    with VectorArena(3, season="2027", duration=3, compact=True, rpc_timeout=patience) as envs:
        envs.reset([100, 101, 102])
        lost = 0
        step = 0
        while step < 30:
            actions = [policy(100 + k)(step) for k in range(3)]
            if step == 7:
                break_one(envs, fault)
                with pytest.raises(VectorEnvError) as raised:
                    envs.step(actions)
                assert list(raised.value.errors) == [1]
                assert raised.value.errors[1]["code"] == "env_failed"
                lost += 1
                with pytest.raises(VectorEnvError) as raised:
                    envs.step([{}], env_ids=[1])
                assert raised.value.errors[1]["code"] == "not_reset"
                # it begins anew and catches up
                envs.reset([101], env_ids=[1])
                for past in range(8):
                    envs.step([policy(101)(past)], env_ids=[1])
            else:
                envs.step(actions)
            step += 1
        assert lost == 1
        assert [outcome(s) for s in envs.observe()] == list(alone.values())


def break_one(envs: VectorArena, fault: str) -> None:
    worker = envs._pool.workers[1]
    if fault == "killed":
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.process.wait()
    elif fault == "hung":
        os.kill(worker.process.pid, signal.SIGSTOP)
    else:
        # bytes that are no message: the process ends, as it cannot know what was meant
        os.set_blocking(worker.channel.writer, True)
        os.write(worker.channel.writer, json.dumps({"not": "a message"}).encode() * 10)
