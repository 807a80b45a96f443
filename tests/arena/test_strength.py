"""How strong the bundled strategies are against each other, over seeds and both sides.

Matches run in this process, without budgets. ``ARENA_PROOF=full`` (``make arena-proof``) plays 64
seeds of every pair; otherwise one pair plays one seed.
"""

import os

import pytest

from arena import minds
from sysone.arena.engine import TEAMS

FULL = os.environ.get("ARENA_PROOF") == "full"
SEEDS = 64 if FULL else 1
LEAST_SHARE = 0.6


def winner(red: str, blue: str, seed: int) -> str | None:
    won = minds.played(red, blue, seed).result()["winner"]
    return None if won is None else (red, blue)[TEAMS.index(won)]


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("better", "other"),
    [("rush", "hold"), ("team", "rush"), ("team", "econ"), ("econ", "random")],
)
def test_strength(better: str, other: str) -> None:
    if not FULL and (better, other) != ("team", "rush"):
        pytest.skip("make arena-proof plays every pair")
    a, b = f"std_2027_{better}", f"std_2027_{other}"
    wins = losses = 0
    for seed in range(SEEDS):
        for pair in ((a, b), (b, a)):
            won = winner(*pair, seed)
            wins += won == a
            losses += won == b
    assert wins + losses > 0
    assert wins >= LEAST_SHARE * (wins + losses), (wins, losses)
