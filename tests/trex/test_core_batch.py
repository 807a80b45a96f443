"""Batch play: the same games that Python plays with the core's parts, whatever the threads."""

import dataclasses
import random

import numpy as np
import pytest

from sysone_core import trex


def enforce(game, held):
    if held == "duck":
        if (game.jumping and not game.speed_drop) or (not game.jumping and not game.ducking):
            game.press_duck()
    elif game.speed_drop or (not game.jumping and game.ducking):
        game.release_duck()


def press(game, action):
    """The key's effect at once; returns what is held afterwards."""
    if action == "jump":
        if not game.jumping:
            if game.ducking:
                game.release_duck()
            game.press_jump()
        return "run"
    return action


def played_in_python(seed, policy, *, frames, every, course, shield):
    """The same game from the core's parts: (rows of decisions, deaths, best score)."""
    rng = random.Random(f"autoplay-{seed}")

    def pick(actions):
        return actions[int(rng.random() * len(actions))]

    game, planner = trex.Game(seed, course, scenery=False), trex.Planner()
    game.press_jump()
    held, since, best, rows = "run", every, 0, []
    for frame in range(frames):
        if game.crashed:
            game.step()
            if game.crash_ms >= trex.RESTART_DELAY_MS:
                best = max(best, game.score)
                held, since = "run", every
                game.restart()
            continue
        if policy != "hold" and since >= every:
            since = 0
            snap = trex.snapshot(game, held)
            plan = planner.plan(snap, (0, 0), (every, every))
            if policy == "planner_best":
                action = plan.best
            elif policy == "random_safe":
                action = pick(plan.safe_actions or list(trex.ACTIONS))
            else:
                action = pick(trex.ACTIONS)
            executed = trex.protect(snap, action) if shield else action
            held = press(game, executed)
            rows.append((frame, game.run_index, plan, action, executed))
        if shield and (saving := trex.protect(trex.snapshot(game, held), held)) != held:
            held = press(game, saving)
        enforce(game, held)
        game.step()
        since += 1
    return rows, game.deaths, max(best, game.score)


@pytest.mark.parametrize("policy", ["planner_best", "random_safe", "random", "hold"])
@pytest.mark.parametrize("shield", [True, False])
@pytest.mark.parametrize("course", ["original", "staged"])
def test_batch_equals_the_same_game_in_python(policy, shield, course):
    seeds = [0, 7]
    batch = trex.play_batch(
        seeds, policy, 2, frames=1500, frames_per_decision=5, course=course, shield=shield,
        plans=True,
    )  # fmt: skip
    d, at = batch.decisions, 0
    for number, seed in enumerate(seeds):
        rows, deaths, best = played_in_python(
            seed, policy, frames=1500, every=5, course=course, shield=shield
        )
        assert (batch.games.deaths[number], batch.games.best_score[number]) == (deaths, best)
        for frame, run, plan, action, executed in rows:
            assert (d.game[at], d.frame[at], d.run[at]) == (number, frame, run)
            assert batch.plans[at] == plan
            assert [trex.ACTIONS[i] for i in (d.best[at], d.action[at], d.executed[at])] == [
                plan.best,
                action,
                executed,
            ]
            assert d.safe[at].tolist() == [plan.safe[a] for a in trex.ACTIONS]
            assert np.isnan(d.distance_px[at]) == (plan.distance is None)
            at += 1
    assert at == len(d.frame) == len(batch.plans)


def test_threads_change_nothing():
    seeds = range(12)
    alone = trex.play_batch(seeds, "random_safe", 1, frames=1200)
    for threads in (2, 5, 16):
        together = trex.play_batch(seeds, "random_safe", threads, frames=1200)
        for part in ("games", "decisions"):
            for field in dataclasses.fields(getattr(alone, part)):
                left = getattr(getattr(alone, part), field.name)
                right = getattr(getattr(together, part), field.name)
                np.testing.assert_array_equal(left, right, err_msg=field.name)


def test_shapes_and_types():
    batch = trex.play_batch([3], frames=600)
    n = len(batch.decisions.frame)
    assert batch.plans is None
    assert batch.decisions.trex.shape == (n, 7)
    assert batch.decisions.obstacles.shape == (n, 3, 6)
    assert batch.decisions.safe.dtype == np.bool_
    assert batch.games.seed.tolist() == [3]
    empty = trex.play_batch([])
    assert len(empty.games.seed) == len(empty.decisions.frame) == 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"policy": "best"}, ["policy", "planner_best", "'best'"]),
        ({"threads": 0}, ["threads", "at least 1", "0"]),
        ({"threads": 10_000}, ["threads", "at most 256", "10000"]),
        ({"frames": 0}, ["frames", "at least 1", "0"]),
        ({"frames_per_decision": 0}, ["frames_per_decision", "at least 1"]),
        ({"frames_per_decision": 9999}, ["frames_per_decision", "at most 600", "9999"]),
        ({"course": "hard"}, ["course style", "'hard'"]),
    ],
)
def test_bad_settings(changes, words):
    with pytest.raises(ValueError, match=r".+") as caught:
        trex.play_batch([0], **changes)
    for word in words:
        assert word in str(caught.value)
