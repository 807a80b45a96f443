"""How strong strategies are, from the results of runs: a report that changes nothing.

Bradley and Terry's model (1952): strategy i beats j with probability ``p_i / (p_i + p_j)``; a draw
is half a win for each. The strengths are the most likely ones, found by Hunter's minorisation
(2004), with one imagined draw between each two that met, which keeps the strength of somebody who
won everything finite. They are told on Elo's scale, where 400 points are odds of ten to one and
the mean is 1500; intervals come from the curvature of the likelihood there.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from sysone.arena.batch.store import RESULTS, RefusedError, folder_of, stored
from sysone.arena.batch.summary import Z_95, latest
from sysone.arena.errors import ArenaError
from sysone.runs import RunError, jsonl

MEAN: Final = 1500.0
SCALE: Final = 400 / math.log(10)
"""Elo points of one unit of log odds."""
IMAGINED_DRAWS: Final = 1.0
"""Between each two strategies that met."""
STEPS: Final = 10_000
CLOSE: Final = 1e-10


class Game(msgspec.Struct, frozen=True):
    """A decided or drawn game between two strategies."""

    a: str
    b: str
    score: float
    """Of a: 1, 0.5 or 0."""


class Rating(msgspec.Struct, frozen=True):
    """A strategy's row."""

    strategy: str
    rating: float
    ci95: tuple[float, float]
    games: int
    wins: int
    losses: int
    draws: int


def games_of(output: Path) -> list[Game]:
    """The games of a run that are ``ok``; strategies are named by key and version hash.

    Raises:
        ArenaError: there is no run, or it is of decks, which have no single name.
    """
    try:
        run = stored(output)
        if run is None:
            raise ArenaError("usage", f"{output} holds no run")
        lines = latest(jsonl.iterate(folder_of(output) / RESULTS))
    except (RefusedError, RunError) as error:
        raise ArenaError("usage", str(error)) from error
    found = []
    for job in run["jobs"]:
        line = lines.get(job["index"])
        if line is None or line["status"] != "ok":
            continue
        sides = (job["red"], job["blue"])
        if any("version_hash" not in side for side in sides):
            raise ArenaError("usage", f"{output}: decks cannot be rated, only team strategies")
        red, blue = (f"{side['key']}@{side['version_hash'][:8]}" for side in sides)
        if red != blue:
            score = {"red": 1.0, "blue": 0.0, None: 0.5}[line["winner"]]
            found.append(Game(red, blue, score))
    return found


def rate(games: Iterable[Game]) -> list[Rating]:
    """Ratings of everybody who played, the strongest first.

    Raises:
        ArenaError: there is no game, or the games fall into groups that never met.
    """
    games = list(games)
    if not games:
        raise ArenaError("usage", "the runs hold no game between two strategies that is ok")
    names = sorted({name for game in games for name in (game.a, game.b)})
    place = {name: index for index, name in enumerate(names)}
    wins = np.zeros((len(names), len(names)))
    for game in games:
        wins[place[game.a], place[game.b]] += game.score
        wins[place[game.b], place[game.a]] += 1 - game.score
    met = wins + wins.T > 0
    groups = _groups(met)
    if len(groups) > 1:
        told = "; ".join(", ".join(names[index] for index in group) for group in groups)
        raise ArenaError("usage", f"these never met each other and cannot be compared: {told}")
    padded = wins + IMAGINED_DRAWS / 2 * met
    strength = _strengths(padded)
    spread = _standard_errors(padded, strength)
    ratings = MEAN + SCALE * (strength - strength.mean())
    counts = _counts(games)
    rows = [
        Rating(
            name,
            round(float(ratings[i]), 1),
            (
                round(float(ratings[i] - Z_95 * SCALE * spread[i]), 1),
                round(float(ratings[i] + Z_95 * SCALE * spread[i]), 1),
            ),
            *counts[name],
        )
        for i, name in enumerate(names)
    ]
    return sorted(rows, key=lambda row: (-row.rating, row.strategy))


def _counts(games: Sequence[Game]) -> dict[str, tuple[int, int, int, int]]:
    found: dict[str, Counter[float]] = {}
    for game in games:
        found.setdefault(game.a, Counter())[game.score] += 1
        found.setdefault(game.b, Counter())[1 - game.score] += 1
    return {
        name: (count.total(), count[1.0], count[0.0], count[0.5]) for name, count in found.items()
    }


def _groups(met: NDArray[np.bool_]) -> list[list[int]]:
    """Strategies that are linked by games, each group in order."""
    left = set(range(len(met)))
    groups = []
    while left:
        group, edge = set(), {min(left)}
        while edge:
            group |= edge
            edge = {int(j) for i in edge for j in np.flatnonzero(met[i])} - group
        groups.append(sorted(group))
        left -= group
    return groups


def _strengths(wins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log strengths (N,) of the largest likelihood, with mean 0; ``wins[i, j]`` of i over j."""
    played = wins + wins.T
    won = wins.sum(axis=1)
    p = np.ones(len(wins))
    for _ in range(STEPS):
        new = won / (played / (p[:, None] + p[None, :])).sum(axis=1)
        new /= math.exp(np.log(new).mean())
        if np.abs(np.log(new / p)).max() < CLOSE:
            p = new
            break
        p = new
    return np.asarray(np.log(p))


def _standard_errors(
    wins: NDArray[np.float64], strength: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Standard errors (N,) of log strengths about their mean."""
    played = wins + wins.T
    chance = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    weight = played * chance * (1 - chance)
    information = np.diag(weight.sum(axis=1)) - weight
    # Only differences are known: the information has no weight on a common shift.
    return np.asarray(np.sqrt(np.diag(np.linalg.pinv(information))))


def round_robin(refs: Sequence[str], fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Games for ``run --jobs``: each two strategies once a seed on each side.

    ``fields`` has ``seed``, ``games`` and whatever else each game is to have.

    Raises:
        ArenaError: there are fewer than two strategies, or one is there twice.
    """
    if len(set(refs)) < len(refs) or len(refs) < 2:
        raise ArenaError("usage", f"a round robin needs two or more strategies, not {list(refs)}")
    rest = {key: value for key, value in fields.items() if key not in ("seed", "games")}
    return [
        {"red": a, "blue": b, "seed": fields["seed"] + game, "swap_sides": True, **rest}
        for game in range(fields["games"])
        for a, b in combinations(refs, 2)
    ]
