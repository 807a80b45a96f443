"""Whole games played by a built-in policy on several threads, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sysone_core import _trex

Policy = Literal["planner_best", "random_safe", "random", "hold"]

MAX_THREADS = 256
# The planner takes timings of up to ten seconds.
MAX_FRAMES_PER_DECISION = 600


@dataclass(frozen=True)
class Games:
    """One row a game, G rows in the order of the seeds."""

    seed: NDArray[np.int64]
    deaths: NDArray[np.int32]
    best_score: NDArray[np.int32]
    """Points of the best run."""
    shield_interventions: NDArray[np.int32]


@dataclass(frozen=True)
class Decisions:
    """One row a decision, N rows, game after game; actions are indices into `ACTIONS`."""

    game: NDArray[np.int32]
    """Index into the games."""
    frame: NDArray[np.int32]
    """Frames played before the decision."""
    run: NDArray[np.int32]
    """Restarts before it."""
    speed: NDArray[np.float64]
    """Pixels per frame."""
    trex: NDArray[np.float64]
    """(N, 7): x, y, velocity, jumping, ducking, speed drop, reached the minimum height."""
    obstacles: NDArray[np.float64]
    """(N, 3, 6): x, y, width, height, speed offset, kind (0 none, 1 cactus, 2 bird)."""
    safe: NDArray[np.bool_]
    """(N, 3): proven safe, or best effort where not ``robust``."""
    robust: NDArray[np.bool_]
    airborne: NDArray[np.bool_]
    distance_px: NDArray[np.float64]
    """To the obstacle ahead; NaN for none."""
    eta_ms: NDArray[np.float64]
    """Until the crash if nothing is done; NaN for none."""
    best: NDArray[np.int8]
    """The planner's."""
    action: NDArray[np.int8]
    """The policy's."""
    executed: NDArray[np.int8]
    """What the shield made of it."""


@dataclass(frozen=True)
class Batch:
    """What `play_batch` returns."""

    games: Games
    decisions: Decisions
    plans: list[_trex.Plan] | None
    """One a decision if they were asked for; `sysone.trex.ask.build_question` words them."""


def play_batch(
    seeds: Sequence[int],
    policy: Policy = "planner_best",
    threads: int = 1,
    *,
    frames: int = 3600,
    frames_per_decision: int = 6,
    course: Literal["original", "staged"] = "original",
    shield: bool = True,
    plans: bool = False,
) -> Batch:
    """Play a game for each seed, in lockstep, without Python in the loop.

    A decision is made every ``frames_per_decision`` frames and acts at once. Random policies draw
    from CPython's stream ``Random(f"autoplay-{seed}")``. The result depends on the seeds and
    settings alone, not on ``threads``; the GIL is released while it plays.

    Raises:
        ValueError: names the setting, its value and what was expected.
    """
    if threads > MAX_THREADS:
        raise ValueError(f"threads must be at most {MAX_THREADS}, not {threads}")
    if frames_per_decision > MAX_FRAMES_PER_DECISION:
        raise ValueError(
            f"frames_per_decision must be at most {MAX_FRAMES_PER_DECISION}, "
            f"not {frames_per_decision}"
        )
    if policy not in get_args(Policy):
        raise ValueError(f"policy must be one of {get_args(Policy)}, not {policy!r}")
    games, decisions, kept = _trex.play_batch(
        list(seeds), policy, threads, frames, frames_per_decision, course, shield, plans
    )
    return Batch(Games(**games), Decisions(**decisions), kept)
