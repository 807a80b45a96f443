"""A whole loop over many arena environments: reset, step, reset only what ended, count.

    python examples/rl_rollout.py --envs 4 --steps 500 --duration 20
    python examples/rl_rollout.py --envs 2 --steps 200 --opponent std_2027_rush --trusted-local

Prints one line of JSON with the totals.
"""

import argparse
import json
from math import hypot
from time import perf_counter
from typing import Any

from rmuc_arena.vector_env import VectorArena


def simple(observation: dict[str, Any] | None) -> dict[str, Any]:
    """Everybody walks to the middle of the field and fires at what the engine finds."""
    if observation is None:
        return {}
    actions: dict[str, Any] = {}
    for slot, me in observation["robots"].items():
        if not me["alive"]:
            continue
        dx, dy = 14.0 - me["x"], 7.5 - me["y"]
        far = max(hypot(dx, dy), 1.0)
        actions[slot] = {"move": [round(dx / far, 3), round(dy / far, 3)]}
        if me["role"] in ("infantry", "sentry"):
            actions[slot]["fire"] = True
        if me["role"] == "infantry" and me["ammo_17"] == 0 and me["zones"]:
            actions[slot]["buy"] = {"ammo_17": 50}
    return actions


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--envs", type=int, required=True, help="environments, a process each")
    parser.add_argument("--steps", type=int, required=True, help="steps of each of them")
    parser.add_argument("--duration", type=float, help="simulated seconds of an episode")
    parser.add_argument("--season", choices=["2026", "2027"])
    parser.add_argument("--opponent", help="a strategy for the blue side")
    parser.add_argument(
        "--trusted-local", action="store_true", help="run the opponent without a sandbox"
    )
    given = parser.parse_args()
    totals: dict[str, Any] = {"steps": 0, "episodes": 0, "red": 0, "blue": 0, "draw": 0}
    reward = 0.0
    begin = perf_counter()
    with VectorArena(
        given.envs,
        duration=given.duration,
        season=given.season,
        opponent=given.opponent,
        trusted_local=given.trusted_local,
        compact=True,
        reward="score",
    ) as envs:
        states = envs.reset(seeds=list(range(given.envs)))
        for _ in range(given.steps):
            actions = [
                {side: simple(seen) for side, seen in state["observations"].items()}
                for state in states
            ]
            states = envs.step(actions)
            reward += sum(state["rewards"]["red"] for state in states)
            ended = [k for k, s in enumerate(states) if s["terminated"] or s["truncated"]]
            for k in ended:
                totals[states[k]["info"]["winner"] or "draw"] += 1
            if ended:
                for state in envs.reset(env_ids=ended):
                    states[state["env_id"]] = state
            totals["steps"] += given.envs
            totals["episodes"] += len(ended)
    seconds = perf_counter() - begin
    totals |= {"red_reward": round(reward, 6), "steps_per_s": round(totals["steps"] / seconds, 1)}
    print(json.dumps(totals))


if __name__ == "__main__":  # the environments are processes
    main()
