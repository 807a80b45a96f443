"""A learnt policy as a strategy: the likeliest choice of every robot, once a second."""

from pathlib import Path
from typing import Any

import numpy as np

from sysone.arena.sdk.arrays import ORDERS, Arrays

CHOICES = (5, 3, 3)
ORDERED = ("none", "buy_much", "revive")
TICKS = 20

_weights = dict(np.load(Path(__file__).with_name("policy.npz")))
_arrays: Arrays


def reset(info: dict[str, Any]) -> None:
    """Take the side."""
    global _arrays
    _arrays = Arrays(info)


def act(observation: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Decide anew every second; in between keep to it."""
    seen = _arrays.observe(observation)
    if "chosen" not in state or observation["tick"] % TICKS == 0:
        state["chosen"] = choose(seen)
        orders = [ORDERS.index(ORDERED[k]) for k in state["chosen"][:, 2]]
    else:
        orders = [0] * _arrays.rows
    go, aim = state["chosen"][:, 0], state["chosen"][:, 1]
    rows = _arrays.rows
    return _arrays.act(
        np.zeros((rows, 2)),
        np.zeros(rows),
        np.ones(rows),
        np.where(aim > 0, rows + aim, 0),
        orders,
        go,
    )


def choose(seen: dict[str, Any]) -> Any:
    """The likeliest choices, [rows][3]."""
    shared = np.concatenate([seen["mates"].ravel(), seen["enemies"].ravel(), seen["globals"]])
    hidden = np.concatenate([seen["own"], np.tile(shared, (_arrays.rows, 1))], axis=-1)
    for name in ("first", "second"):
        hidden = np.tanh(hidden @ _weights[f"{name}.weight"].T + _weights[f"{name}.bias"])
    logits = hidden @ _weights["heads.weight"].T + _weights["heads.bias"]
    parts = np.split(logits, np.cumsum(CHOICES)[:-1], axis=-1)
    return np.stack([part.argmax(-1) for part in parts], axis=-1)
