"""`FastVector`: the same matches as every other way of playing, without Python in between."""

import hashlib
import json
from typing import Any

import numpy as np
import pytest

from sysone.arena.engine import TEAMS, static
from sysone.arena.errors import ArenaError
from sysone.arena.fast import SEEN, WISHES, FastVector
from sysone.arena.sdk.arrays import ENEMY, GLOBAL, MATE, ORDERS, OWN, Arrays
from sysone.arena.vector_env import ArenaEnv, VectorArena

CALM: dict[str, Any] = {"timeout": 60.0, "startup_timeout": 120.0, "trusted_local": True}
FREE = {
    "red": [{"slot": 1, "model": 2733}, {"slot": 2, "model": 2711}],
    "blue": [{"slot": 1, "model": 2762}, {"slot": 3, "model": 2773}, {"slot": 4, "model": 2732}],
}


def wish(fast: FastVector, dice: np.random.Generator) -> None:
    """Random wishes of all rows: mostly forward, so that the sides meet."""
    shape = fast.spin.shape
    fast.move[:] = dice.uniform(-0.4, 1, fast.move.shape)
    fast.spin[:] = dice.uniform(-1, 1, shape)
    fast.fire[:] = dice.random(shape) < 0.7
    fast.aim[:] = dice.integers(0, fast.aims, shape) * (dice.random(shape) < 0.3)
    fast.order[:] = dice.integers(0, fast.orders, shape)
    if fast.plan.options.action_repeat == 2:  # what is held longer is steered anew meanwhile
        fast.go[:] = dice.integers(-1, 6, shape) * (dice.random(shape) < 0.5)


def converters(fast: FastVector) -> dict[int, Arrays]:
    """What makes a strategy's actions of a row of wishes, for each driven side."""
    told = static(fast.book)
    return {
        team: Arrays(
            {
                "team": side,
                "season": fast.plan.season,
                "slots": sorted(fast.plan.lineups[side]),
                "models": {str(k): v for k, v in fast.plan.lineups[side].items()},
                "settings": fast.book.settings,
                "static": told,
            },
            fast.rows,
        )
        for team, side in enumerate(TEAMS)
        if fast.opponent is None or side == fast.plan.learner
    }


def actions(fast: FastVector, env: int, sides: dict[int, Arrays]) -> dict[str, Any]:
    return {
        TEAMS[team]: arrays.act(*(getattr(fast, name)[env, team] for name in WISHES))
        for team, arrays in sides.items()
    }


@pytest.mark.parametrize(
    ("opponent", "learner", "repeat", "options"),
    [
        (None, "red", 6, {"season": "2027"}),
        (None, "red", 10, {"season": "2026"}),
        (None, "red", 4, {"season": "2027", "lineups": FREE}),
        (None, "red", 2, {"season": "2027", "duration": 12}),
        ("hold", "red", 2, {"season": "2027"}),
        ("rush", "red", 6, {"season": "2027"}),
        ("rush", "blue", 2, {"season": "2026"}),
    ],
)
def test_whole_episodes_are_those_of_the_strategies_interface(
    opponent: str | None, learner: str, repeat: int, options: dict[str, Any]
) -> None:
    """Actions, observations, rewards and digests; the opponents are the bundled strategies."""
    options = {"duration": 30, **options, "action_repeat": repeat, "reward": "score"}
    strategy = None if opponent is None else f"std_{options['season']}_{opponent}"
    dice = np.random.default_rng(repeat)
    fast = FastVector(2, 2, opponent=opponent, learner=learner, **options)
    sides = converters(fast)
    with ArenaEnv(compact=True, opponent=strategy, learner=learner, **CALM, **options) as env:
        state = env.reset(6)
        fast.reset([5, 6])
        while not state["terminated"]:
            for team, arrays in sides.items():
                seen = arrays.observe(state["observations"][TEAMS[team]])
                for name in SEEN:
                    # JSON has three decimals
                    np.testing.assert_allclose(
                        getattr(fast, name)[1, team], seen[name], atol=2e-3, err_msg=name
                    )
            wish(fast, dice)
            state = env.step(actions(fast, 1, sides))
            fast.step()
            rewards = [state["rewards"][side] for side in TEAMS]
            np.testing.assert_allclose(fast.rewards[1], rewards, atol=1e-6)
    assert fast.terminated.tolist() == [1, 1]
    assert fast.ticks[1] == state["info"]["tick"]
    assert fast.digest(1) == state["info"]["digest"]
    assert fast.digest(0) != fast.digest(1)


def test_every_way_of_playing_has_the_same_digest() -> None:
    """`FastVector`, `ArenaEnv`, `VectorArena` and the protocol, for the same actions."""
    options: dict[str, Any] = {"season": "2027", "duration": 20, "action_repeat": 4}
    dice = np.random.default_rng(3)
    fast = FastVector(2, **options)
    sides = converters(fast)
    with ArenaEnv(compact=True, **options) as one, VectorArena(2, compact=True, **options) as many:
        one.reset(8)
        many.reset([7, 8])
        fast.reset([7, 8])
        for arrays in sides.values():
            arrays.observe(one.observe()["observations"][arrays.tactics.team])
        while not fast.terminated[1]:
            wish(fast, dice)
            both = [actions(fast, env, sides) for env in (0, 1)]
            state = one.step(both[1])
            response = many.request(json.loads(json.dumps({"op": "step", "actions": both})))
            fast.step()
    digests = [row["result"]["info"]["digest"] for row in response["results"]]
    assert digests == [fast.digest(0), fast.digest(1)]
    assert state["info"]["digest"] == fast.digest(1)


def episode(fast: FastVector, steps: int, seed: int = 1) -> str:
    """A digest over everything that steps write."""
    dice = np.random.default_rng(seed)
    whole = hashlib.sha256()
    for _ in range(steps):
        wish(fast, dice)
        fast.step()
        for array in fast.arrays.values():
            whole.update(array.tobytes())
    return whole.hexdigest()


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    found = set()
    for threads in (1, 3):
        fast = FastVector(
            7, threads, opponent="random", duration=3, action_repeat=6, autoreset="same_step"
        )
        fast.reset()
        found.add(episode(fast, 25))
    assert len(found) == 1


def test_resetting_some_does_not_touch_the_others() -> None:
    digests = []
    for disturbed in (False, True):
        fast = FastVector(3, opponent="rush", season="2027", duration=4, action_repeat=2)
        fast.reset([1, 2, 3])
        dice = np.random.default_rng(5)
        for step in range(40):
            if disturbed and step == 11:
                before = fast.own[1].copy()
                fast.reset([9, 8], env_ids=[2, 0])
                assert fast.began.tolist() == [1, 0, 1]
                assert (fast.own[1] == before).all()
            wish(fast, dice)
            fast.step()
        digests.append(fast.digest(1))
    assert digests[0] == digests[1]


@pytest.mark.parametrize("autoreset", ["disabled", "next_step", "same_step"])
def test_what_follows_the_end_of_an_episode(autoreset: Any) -> None:
    fast = FastVector(2, opponent="hold", duration=1, action_repeat=10, autoreset=autoreset)
    fast.reset([4, 5])
    fast.step()
    assert (fast.ticks.tolist(), fast.terminated.tolist()) == ([10, 10], [0, 0])
    fast.step()
    assert fast.terminated.tolist() == [1, 1]
    ended = fast.digest(0, last=autoreset == "same_step")
    remaining = GLOBAL.index("remaining")
    if autoreset == "same_step":
        assert fast.ticks.tolist() == [0, 0]
        assert (fast.final["globals"][:, 0, remaining] == 0).all()
        assert (fast.globals[:, 0, remaining] > 0).all()
        assert fast.seeds.tolist() == [6, 7]
    else:
        assert fast.ticks.tolist() == [20, 20]
        assert (fast.globals[:, 0, remaining] == 0).all()
        fast.step()
        assert fast.ticks.tolist() == ([20, 20] if autoreset == "disabled" else [0, 0])
        assert fast.terminated.tolist() == ([1, 1] if autoreset == "disabled" else [0, 0])
        assert fast.rewards.tolist() == [[0, 0], [0, 0]]
        assert fast.began.tolist() == ([0, 0] if autoreset == "disabled" else [1, 1])
        if autoreset == "next_step":
            assert fast.seeds.tolist() == [6, 7]
    with ArenaEnv(season="2027", opponent="std_2027_hold", duration=1, **CALM) as env:
        env.reset(4)
        state = [env.step({}) for _ in range(10)][-1]
    assert ended == state["info"]["digest"]


def test_truncation_ends_an_episode_without_an_outcome() -> None:
    fast = FastVector(1, duration=5, max_steps=3)
    fast.reset()
    for _ in range(3):
        fast.step()
    assert (fast.truncated[0], fast.terminated[0]) == (1, 0)
    assert fast.rewards.tolist() == [[0, 0]]


def test_blue_sees_the_field_turned_round() -> None:
    fast = FastVector(1, season="2027", duration=10, settings={"shot_noise_pct": 0})
    fast.reset()
    for _ in range(30):
        fast.move[:] = [0.8, 0.1]
        fast.fire[:] = 1
        fast.step()
    # all but the ways: of two that are equally long the navigator takes the first it finds
    own = fast.own[0, :, :, : OWN.index("to_outpost_x")]
    np.testing.assert_allclose(own[0], own[1], atol=1e-5)
    np.testing.assert_allclose(fast.globals[0, 0], fast.globals[0, 1], atol=1e-5)


def test_columns_are_named_and_masks_say_what_a_robot_can() -> None:
    fast = FastVector(1, season="2027")
    assert [len(names) for names in (OWN, MATE, ENEMY, GLOBAL, ORDERS)] == [48, 24, 16, 40, 16]
    mask = fast.order_mask(0)
    can = {slot: {ORDERS[k] for k in np.flatnonzero(row)} for slot, row in enumerate(mask)}
    assert "mount" in can[0]
    assert "mount" not in can[1]
    assert can[3] == {"none", "aerial"}
    assert {"posture_attack", "rune"} <= can[4]


def test_wishes_that_are_no_numbers_count_as_none() -> None:
    digests = []
    for bad in (False, True):
        fast = FastVector(1, season="2027", duration=2)
        fast.reset([1])
        if bad:
            fast.move[:] = np.nan
            fast.spin[:] = np.inf
            fast.aim[:] = 1000
            fast.order[:] = -3
        for _ in range(20):
            fast.step()
        digests.append(fast.digest(0))
    assert digests[0] == digests[1]


def test_a_scenario_is_that_of_every_episode() -> None:
    scenario = {"robots": {"red-3": {"ammo": 77}}}
    fast = FastVector(
        1, season="2027", duration=1, action_repeat=20, scenario=scenario, autoreset="next_step"
    )
    fast.reset()
    ammo = OWN.index("ammo_17")
    for _ in range(2):
        np.testing.assert_allclose(fast.own[0, 0, 1, ammo], 77 / 500)
        fast.step()
        fast.step()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"num_envs": 0}, "num_envs"),
        ({"threads": 0}, "threads"),
        ({"opponent": "std_2027_team"}, "opponent"),
        ({"autoreset": "maybe"}, "autoreset"),
        ({"action_repeat": 3}, "action_repeat"),
        ({"duration": 0.01}, "duration"),
        ({"scenario": {"robots": {"red-9": {}}}}, "red-9"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ArenaError, match=named):
        FastVector(**{"num_envs": 1, **arguments})


def test_steps_need_a_reset_and_resets_right_numbers() -> None:
    fast = FastVector(2, duration=1)
    with pytest.raises(ArenaError, match="reset"):
        fast.step()
    for seeds, env_ids in (([1], None), ([1, 2], [0, 0]), ([-1, 2], None), ([1], [2])):
        with pytest.raises(ArenaError):
            fast.reset(seeds, env_ids)


def test_the_core_takes_no_other_arrays() -> None:
    fast = FastVector(1, duration=1)
    arrays = {**fast.arrays, "own": np.zeros((1, 2, 5, 47), np.float32)}
    with pytest.raises(ValueError, match="own"):
        type(fast._core)(
            fast.book.compiled, [(1, 2711)], [(1, 2711)], arrays, envs=1, threads=1, rows=5,
            duration_ticks=20, deck=True, action_repeat=2, max_steps=0, score=False,
            score_scale=1.0, autoreset="disabled", digests=True, bots=("none", "none"),
            driven=(True, True), scenario="",
        )  # fmt: skip
