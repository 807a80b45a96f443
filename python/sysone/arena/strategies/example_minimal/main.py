"""Infantry and sentry walk out, shoot and buy."""

from typing import Any


def act(observation: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Return one action for each robot that should do something."""
    forward = 0.5 if observation["team"] == "red" else -0.5
    actions: dict[str, Any] = {}
    for slot, robot in observation["robots"].items():
        if robot["role"] in ("infantry", "sentry"):
            walk = [forward, 0] if observation["time"] < 3 else [0, 0]
            actions[slot] = {"move": walk, "fire": True}
            if robot["role"] == "infantry" and robot["ammo_17"] < 20 and robot["zones"]:
                actions[slot] |= {"buy": {"ammo_17": 50}}
    return actions
