"""A training's numbers beside those of the shipped model: ``python -m sysone.arc.learn.card``.

Reads the calibration and the evaluation of a run; the shipped model's lie beside its weights.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

from sysone.arc.system1.checkpoint import SHIPPED

NUMBERS: Final = "numbers.json"


def lines(calibration: dict[str, Any], report: dict[str, Any], card: dict[str, Any]) -> list[str]:
    """What both say, one line a number: this run, the shipped model."""
    rows = ["measure: this run | shipped"]
    for family, found in calibration.get("families", {}).items():
        theirs = card.get("calibration", {}).get("families", {}).get(family, {})
        for key in ("accuracy", "nll", "brier", "ece"):
            shipped = theirs.get("after", {}).get(key, "-")
            rows.append(f"{family} {key}: {found['after'].get(key, '-')} | {shipped}")
    for name, found in calibration.get("ablations", {}).items():
        theirs = card.get("ablations", {}).get(name, {})
        for family, row in found.items():
            shipped = theirs.get(family, {}).get("nll", "-")
            rows.append(f"{name}, {family} nll: {row.get('nll', '-')} | {shipped}")
    summary = report["summary"]
    low, high = summary["rhae_interval"]
    rows.append(
        f"held-out, system1: {summary['rhae_mean']:.3f} % ({low:.3f} to {high:.3f}) | "
        f"{card.get('held_out', {}).get('system1', '-')}"
    )
    for name, found in summary.get("baselines", {}).items():
        low, high = found["rhae_interval"]
        rows.append(
            f"held-out, {name}: {found['rhae_mean']:.3f} % ({low:.3f} to {high:.3f}) | "
            f"{card.get('held_out', {}).get(name, '-')}"
        )
    return rows


def main(arguments: list[str]) -> int:
    """Print the lines; 2 for files that are none."""
    try:
        calibration, report = (json.loads(Path(path).read_bytes()) for path in arguments)
        card = json.loads((SHIPPED / NUMBERS).read_bytes())
    except (OSError, ValueError) as error:
        print(f"card: {error}", file=sys.stderr)
        return 2
    print("\n".join(lines(calibration, report, card)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
