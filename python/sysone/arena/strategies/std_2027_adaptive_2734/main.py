"""One robot: fight what is near, resupply, retreat, take cover behind the own outpost."""

from typing import Any

from sysone.arena.sdk.solo import Solo
from sysone.arena.sdk.tactics import Action, Observation

_solo: Solo


def reset(info: dict[str, Any]) -> None:
    """Remember the side."""
    global _solo
    _solo = Solo(info)


def act(observation: Observation, state: dict[str, Any]) -> Action:
    """The robot's own action."""
    return _solo.act(observation, state)
