"""Draw learning curves: the mean outcome of the last hundred matches against each opponent.

python examples/arena_ppo/curve.py curve1.jsonl curve2.jsonl curve3.jsonl --out curve.svg
"""

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

COLOURS = {"rush": "tab:red", "random": "tab:blue"}


def main() -> None:
    """Run as a program."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("curves", nargs="+", type=Path, help="files that train.py --curve wrote")
    parser.add_argument("--out", type=Path, required=True, help="picture: .svg or .png")
    given = parser.parse_args()
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    for k, path in enumerate(given.curves):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for name, colour in COLOURS.items():
            known = [row for row in rows if row[name] is not None]
            axes.plot(
                [row["steps"] / 1000 for row in known],
                [row[name] for row in known],
                color=colour,
                alpha=0.8,
                linestyle=("-", "--", ":")[k % 3],
                label=f"against {name}, seed {k + 1}",
            )
    axes.axhline(0, color="0.7", linewidth=0.8)
    axes.set(
        xlabel="thousand steps of a second",
        ylabel="mean outcome, last 100 matches",
        ylim=(-1.05, 1.05),
        title="PPO: from losing every match against rush to winning",
    )
    axes.legend(fontsize=8, loc="lower right")
    figure.savefig(given.out, metadata={"Date": None} if given.out.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
