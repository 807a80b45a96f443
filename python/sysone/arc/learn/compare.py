"""Checkpoints beside each other on rows that none of them was trained on.

``python -m sysone.arc.learn.compare DATA CHECKPOINT CHECKPOINT … [--rows N]`` asks each checkpoint
the same choices, evenly over the games of ``DATA`` (what `sysone arc build-data` made), and prints
one line of JSON: of each checkpoint, and of a uniform choice, the share of rows whose likeliest
candidate is right and the cross-entropy; of each pair the mean difference over games with its 95 %
bootstrap interval. Rows of a game are alike, so that games are what is drawn.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from sysone.arc.learn.calibrate import cross_entropy, truth_of
from sysone.arc.learn.pipeline import PARTS
from sysone.arc.learn.rows import Row, question_of, read_rows
from sysone.arc.score import interval
from sysone.arc.system1 import checkpoint
from sysone.arc.system1.model import System1Model
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

UNIFORM: Final = "uniform"
MEASURES: Final = ("right", "nll")

ByGame = dict[str, NDArray[np.float64]]
"""Means of `MEASURES` over a game's rows, float64 [2], by the game's name."""


def chosen_rows(folder: Path, per_game: int) -> list[Row]:
    """At most ``per_game`` choices of every game, the same ones every time.

    Choices that cannot be wrong are left out.

    Raises:
        RunError: there are no rows, or they cannot be read.
    """
    games: dict[str, list[Row]] = defaultdict(list)
    for part in PARTS:
        for row in read_rows(folder / f"{part}.jsonl"):
            if row.family == "choice" and not all(truth_of(row.target, len(row.candidates)) > 0):
                games[row.game].append(row)
    if not games:
        raise RunError(f"{folder} holds no choice that can be wrong")
    found: list[Row] = []
    for name in sorted(games):
        drawn = sorted(games[name], key=lambda row: (crc32(row.key.encode()), row.key))
        found += drawn[:per_game]
    return found


def by_game(rows: Sequence[Row], shares: Sequence[NDArray[np.float64]]) -> ByGame:
    """What a model's distributions over each row's candidates are worth."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row, given in zip(rows, shares, strict=True):
        right = truth_of(row.target, len(given)) > 0
        # Of candidates that are equally likely any may be the one that is taken.
        best = given >= given.max()
        found[row.game].append((float(right[best].mean()), cross_entropy(given, row.target)))
    return {game: np.array(values).mean(0) for game, values in found.items()}


def answers(
    model: System1Model, rows: Sequence[Row], progress: Progress
) -> list[NDArray[np.float64]]:
    """The model's distribution over each row's candidates, float64 [candidates]."""
    found = []
    task = progress.task("asking", len(rows))
    for row in rows:
        shares = model.probabilities([question_of(row, model.backend.compact)])[0]
        found.append(np.array(shares))
        task.advance()
    task.finish()
    return found


def summary(measured: Mapping[str, ByGame]) -> dict[str, Any]:
    """Every model's means over games, and every pair's mean difference with its interval."""
    models = {
        name: dict(zip(MEASURES, np.mean(list(games.values()), axis=0).round(4), strict=True))
        for name, games in measured.items()
    }
    pairs: dict[str, Any] = {}
    for one, other in combinations(measured, 2):
        gaps = np.array([measured[one][game] - measured[other][game] for game in measured[one]])
        pairs[f"{one} - {other}"] = {
            name: [round(float(value), 4) for value in (column.mean(), *interval(list(column)))]
            for name, column in zip(MEASURES, gaps.T, strict=True)
        }
    return {"games": len(next(iter(measured.values()))), "models": models, "pairs": pairs}


def main(arguments: list[str]) -> int:
    """Print the line; 2 for what cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m sysone.arc.learn.compare", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("data", type=Path, help="a folder of `sysone arc build-data`")
    parser.add_argument("checkpoints", type=Path, nargs="+", metavar="checkpoint")
    parser.add_argument("--rows", type=int, default=10, help="of each game (10)")
    asked = parser.parse_args(arguments)
    try:
        rows = chosen_rows(asked.data, asked.rows)
        even = [np.full(len(row.candidates), 1 / len(row.candidates)) for row in rows]
        measured = {}
        with Progress() as progress:
            for path in asked.checkpoints:
                model = checkpoint.load(path)
                measured[str(path)] = by_game(rows, answers(model, rows, progress))
        measured[UNIFORM] = by_game(rows, even)
    except RunError as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    print(json.dumps({"rows": len(rows), **summary(measured)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
