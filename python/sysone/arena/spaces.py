"""The array spaces of `sysone.arena.fast` as Gymnasium spaces."""

from typing import Any

import numpy as np
from gymnasium import spaces

from sysone.arena.fast import FastVector
from sysone_core import arena as core


def _box(*shape: int) -> spaces.Box:
    return spaces.Box(-1.0, 1.0, shape, np.float32)


def robot_observation(fast: FastVector) -> spaces.Dict:
    """What one robot sees: itself, its side, the enemies, the match."""
    return spaces.Dict(
        {
            "own": _box(core.OWN_COLUMNS),
            "mates": _box(fast.rows, core.MATE_COLUMNS),
            "enemies": _box(fast.rows, core.ENEMY_COLUMNS),
            "globals": _box(core.GLOBAL_COLUMNS),
        }
    )


def robot_action(fast: FastVector) -> spaces.Dict:
    """What one robot does."""
    return spaces.Dict(
        {
            "move": _box(2),
            "spin": _box(1),
            "fire": spaces.Discrete(2),
            "aim": spaces.Discrete(fast.aims),
            "order": spaces.Discrete(fast.orders),
        }
    )


def side_observation(fast: FastVector) -> spaces.Dict:
    """What a side sees."""
    return spaces.Dict(
        {
            "own": _box(fast.rows, core.OWN_COLUMNS),
            "mates": _box(fast.rows, core.MATE_COLUMNS),
            "enemies": _box(fast.rows, core.ENEMY_COLUMNS),
            "globals": _box(core.GLOBAL_COLUMNS),
        }
    )


def side_action(fast: FastVector) -> spaces.Dict:
    """What a side's robots do, a row each."""
    return spaces.Dict(
        {
            "move": _box(fast.rows, 2),
            "spin": _box(fast.rows),
            "fire": spaces.MultiBinary(fast.rows),
            "aim": spaces.MultiDiscrete([fast.aims] * fast.rows),
            "order": spaces.MultiDiscrete([fast.orders] * fast.rows),
        }
    )


def write_side(fast: FastVector, team: int, action: dict[str, Any]) -> None:
    """Put a side's actions of all environments where the next step reads them."""
    for name in ("move", "spin", "fire", "aim", "order"):
        getattr(fast, name)[:, team] = action[name]
