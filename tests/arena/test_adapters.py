"""Gymnasium and PettingZoo: their own tests, and equality with Gymnasium's own vectoriser."""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("pettingzoo")

from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402
from pettingzoo.test import parallel_api_test, parallel_seed_test  # noqa: E402
from rmuc_arena.gym import ArenaGymEnv, make, make_vec  # noqa: E402
from rmuc_arena.pettingzoo import parallel_env  # noqa: E402

from sysone.arena.errors import ArenaError  # noqa: E402

SHORT: dict[str, Any] = {"season": "2027", "duration": 3, "action_repeat": 6}
MODES = list(AutoresetMode)


class Strided(ArenaGymEnv):
    """Begins its next episodes with the seeds that an environment of several has."""

    def __init__(self, stride: int, **options: Any) -> None:
        super().__init__(**options)
        self.stride = stride

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(
            seed=int(self.fast.seeds[0]) + self.stride if seed is None else seed, options=options
        )


@pytest.fixture(autouse=True)
def _their_warnings() -> Iterator[None]:
    """Their checkers warn of what they only recommend."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield


def both_sides(**more: Any) -> Any:
    return parallel_env(**{**SHORT, **more})


@pytest.mark.parametrize(
    "options", [{}, {"opponent": "rush"}, {"season": "2026", "opponent": "hold"}, {"max_steps": 4}]
)
def test_pettingzoos_own_tests(options: dict[str, Any]) -> None:
    parallel_api_test(both_sides(**options), num_cycles=60)
    parallel_seed_test(lambda: both_sides(**options), num_cycles=60)


def test_the_same_seed_is_the_same_for_whole_episodes() -> None:
    """What the shipped seed test of some versions does not do: it stops after a step."""
    first, second = both_sides(duration=6), both_sides(duration=6)
    digests = set()
    for seed in (1, 2, 1):
        assert data_equivalence(first.reset(seed), second.reset(seed))
        for env in (first, second):
            for k, agent in enumerate(env.possible_agents):
                env.action_space(agent).seed(k)
        steps = 0
        while first.agents:
            acts = [
                {a: env.action_space(a).sample() for a in env.agents} for env in (first, second)
            ]
            assert data_equivalence(acts[0], acts[1])
            assert data_equivalence(first.step(acts[0]), second.step(acts[1]))
            assert (first.state() == second.state()).all()
            steps += 1
        assert steps == 20
        assert first.digest() == second.digest()
        digests.add(first.digest())
    assert len(digests) == 2


def test_agents_are_robots_that_stay_when_they_die() -> None:
    scenario = {
        "robots": {
            "red-3": {"x": 8.0, "y": 3.0, "heading": 0, "ammo": 300},
            "blue-3": {"x": 10.0, "y": 3.0, "heading": 3.1416, "hp": 20},
        }
    }
    env = both_sides(scenario=scenario, duration=10)
    env.reset(1)
    assert env.agents[:2] == ["red-1", "red-3"]
    fire = {"move": [0, 0], "spin": [0], "fire": 1, "aim": 0, "order": 0}
    died = False
    while env.agents:
        seen, rewards, *_ = env.step({"red-3": fire})
        died = died or seen["blue-3"]["own"][0] == 0
        assert set(seen) == set(env.possible_agents)
        assert sum(rewards.values()) == 0
    assert died
    assert rewards["red-3"] == rewards["red-7"] == 1
    env.reset()
    with pytest.raises(ArenaError, match="no agent"):
        env.step({"green-3": fire})


def test_gymnasiums_own_test_of_a_single_environment() -> None:
    check_env(make(opponent="rush", **SHORT), skip_render_check=True)


@pytest.mark.parametrize("mode", MODES)
def test_every_autoreset_mode_is_that_of_gymnasiums_own_vectoriser(mode: Any) -> None:
    envs = 3
    ours = make_vec(envs, threads=2, opponent="rush", autoreset_mode=mode, **SHORT)
    single = partial(Strided, envs, opponent="rush", **SHORT)
    theirs = SyncVectorEnv([single] * envs, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] == mode
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    for k in (ours, theirs):
        k.action_space.seed(3)
    assert data_equivalence(ours.reset(seed=5)[0], theirs.reset(seed=5)[0])
    ended = 0
    for step in range(35):
        action = ours.action_space.sample()
        mine, others = ours.step(action), theirs.step(action)
        assert ours.observation_space.contains(mine[0])
        for part in range(4):
            assert data_equivalence(mine[part], others[part]), (step, part)
        done = mine[2] | mine[3]
        ended += int(done.sum())
        assert ("final_obs" in mine[4]) == ("final_obs" in others[4])
        if "final_obs" in mine[4]:
            assert mode is AutoresetMode.SAME_STEP
            assert mine[4]["_final_obs"].tolist() == done.tolist()
            for k in np.flatnonzero(done):
                assert data_equivalence(mine[4]["final_obs"][k], others[4]["final_obs"][k])
                for name in ("winner", "digest"):
                    assert mine[4]["final_info"][name][k] == others[4]["final_info"][name][k]
        if mode is AutoresetMode.DISABLED and done.any():
            with pytest.raises(ArenaError, match="over"):
                ours.step(action)
            for each, kept in ((ours, mine), (theirs, others)):
                again, _ = each.reset(options={"reset_mask": done.copy()})
                assert again["globals"][done, 1].tolist() != kept[0]["globals"][done, 1].tolist()
    assert ended >= 3 * envs


def test_some_are_reset_and_the_others_are_left_alone() -> None:
    envs = make_vec(3, opponent="hold", autoreset_mode=AutoresetMode.DISABLED, **SHORT)
    before, _ = envs.reset(seed=[1, 2, 3])
    after = envs.step(envs.action_space.sample())[0]
    mixed, infos = envs.reset(options={"reset_mask": np.array([True, False, False])})
    assert (mixed["globals"][1:] == after["globals"][1:]).all()
    assert (mixed["globals"][0] == before["globals"][0]).all()
    assert infos["tick"].tolist() == [0, 6, 6]
    assert infos["seed"].tolist() == [4, 2, 3]
    with pytest.raises(ArenaError, match="reset_mask"):
        envs.reset(options={"reset_mask": np.zeros(3, np.bool_)})


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_gymnasiums_wrappers_count_whole_episodes(mode: Any) -> None:
    envs = RecordEpisodeStatistics(make_vec(2, opponent="random", autoreset_mode=mode, **SHORT))
    envs.reset(seed=1)
    lengths = []
    for _ in range(33):
        *_, infos = envs.step(envs.action_space.sample())
        if "episode" in infos:
            lengths += infos["episode"]["l"][infos["_episode"]].tolist()
    assert lengths
    assert set(lengths) == {10}


def test_blue_may_learn_and_needs_an_opponent() -> None:
    envs = make_vec(1, learner="blue", opponent="rush", **SHORT)
    seen, _ = envs.reset(seed=1)
    assert seen["own"][0, 0, 0] == 1
    with pytest.raises(ArenaError, match="opponent"):
        make_vec(1, opponent=None, **SHORT)
