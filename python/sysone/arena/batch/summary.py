"""What the results of a run add up to."""

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any, Literal

State = Literal["running", "finished", "interrupted", "failed_fast"]
FORMAT = "arena-summary-v1"
COMPLETED = ("ok", "strategy_error", "failed", "timeout")
Z_95 = 1.959963984540054
"""The standard normal's 97.5th percentile."""


def latest(results: Iterable[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The newest line of each job, by index."""
    found: dict[int, Mapping[str, Any]] = {}
    for line in results:
        found[line["index"]] = line
    return found


def wilson(wins: int, games: int) -> list[float] | None:
    """The 95 % score interval of a share (Wilson 1927); None without games."""
    if games == 0:
        return None
    share, z2 = wins / games, Z_95**2
    middle = (share + z2 / (2 * games)) / (1 + z2 / games)
    half = Z_95 / (1 + z2 / games) * sqrt(share * (1 - share) / games + z2 / (4 * games**2))
    return [round(max(0.0, middle - half), 6), round(min(1.0, middle + half), 6)]


def summarise(
    total: int,
    results: Mapping[int, Mapping[str, Any]],
    *,
    state: State,
    workers: int,
    elapsed_s: float,
    played: int,
) -> dict[str, Any]:
    """The summary of a run of ``total`` jobs; only games that are ``ok`` count as valid.

    ``played`` games were finished in ``elapsed_s`` by this process, for the rate.
    """
    lines = list(results.values())
    count = {status: sum(line["status"] == status for line in lines) for status in COMPLETED}
    valid = [line for line in lines if line["status"] == "ok"]
    outcomes = {name: sum(line["outcome"] == name for line in valid) for name in _OUTCOMES}
    by_side = {
        name: {
            letter: sum(line["outcome"] == outcome for line in valid if line["swapped"] == swapped)
            for outcome, letter in _OUTCOMES.items()
        }
        for name, swapped in (("A_red", False), ("A_blue", True))
    }
    return {
        "format": FORMAT,
        "total": total,
        "completed": sum(count.values()),
        "valid": len(valid),
        "wins": outcomes["win"],
        "losses": outcomes["loss"],
        "draws": outcomes["draw"],
        "win_rate": round(outcomes["win"] / len(valid), 6) if valid else None,
        "win_rate_ci95": wilson(outcomes["win"], len(valid)),
        "by_side": by_side,
        "errors": count["strategy_error"] + count["failed"] + count["timeout"],
        "strategy_errors": count["strategy_error"],
        "failed": count["failed"],
        "timeouts": count["timeout"],
        "interrupted": sum(line["status"] == "interrupted" for line in lines),
        "pending": total - len(lines),
        "workers": workers,
        "elapsed_s": round(elapsed_s, 3),
        "games_per_s": round(played / elapsed_s, 4) if elapsed_s > 0 else None,
        "state": state,
    }


_OUTCOMES = {"win": "w", "loss": "l", "draw": "d"}
