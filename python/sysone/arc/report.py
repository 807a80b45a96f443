"""What a report says: means with intervals, a table, the difference of two reports."""

from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sysone.arc.endpoint import EMBEDDED
from sysone.arc.jobs import Options, read_json
from sysone.arc.models import MODELS, checkpoint_digest
from sysone.arc.observe import STATE_VERSION
from sysone.arc.score import UNIT, interval
from sysone.runs.errors import RunError


def summary_of(games: Mapping[str, Any]) -> dict[str, Any]:
    """Means and sums over games; of a game with several seeds the mean counts."""
    rows = [row for found in games.values() for row in as_rows(found)]
    scores = [float(np.mean([row["rhae"] for row in as_rows(found)])) for found in games.values()]
    low, high = interval(scores)
    return {
        "played": len(games),
        "wins": sum(row["win"] for row in rows),
        "levels": sum(sum(score > 0 for score in row["level_scores"]) for row in rows),
        "best_level_sum": sum(row["best_level"] for row in rows),
        "rhae_mean": round(float(np.mean(scores)), 6) if scores else 0.0,
        "rhae_interval": [round(low, 6), round(high, 6)],
    }


def as_rows(found: Any) -> list[dict[str, Any]]:
    """A game's rows, one a seed."""
    return list(found) if isinstance(found, list) else [found]


def meta(options: Options) -> dict[str, Any]:
    """What the numbers depend on, the same on every machine."""
    versions = {}
    for name in ("sysone-core", "arc-agi", "arcengine", "numpy"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "none"
    config = msgspec.to_builtins(options)
    config["environments_dir"] = Path(options.environments_dir).name
    config["models"]["system1"] = _place(options.models.system1)
    config["models"]["system2"] = _place(options.models.system2)
    return {
        "versions": versions,
        "seeds": options.seeds,
        "rules": options.rules,
        "unit": UNIT,
        "state_version": STATE_VERSION,
        "config": config,
        "checkpoint": checkpoint_digest(options.models),
        "system1": _system1(options),
        # An endpoint does not say whether it draws the picture; the grid is text too, and is read.
        "system1_picture": _picture(options),
        "exclusions": [],
    }


def _picture(options: Options) -> bool | None:
    """Whether the model that decides sees the picture; None without one."""
    if options.policy not in MODELS or not options.models.asks:
        return None
    return not options.models.system1


def _place(address: str) -> str:
    """Where a model is; an address is one machine's business and stays out of a report."""
    return address if address in ("", EMBEDDED) or "://" not in address else "endpoint"


def _system1(options: Options) -> str:
    """Which model decides."""
    models = options.models
    if options.policy not in MODELS or not models.asks:
        return "none"
    if models.system1:
        return f"{_place(models.system1)} {models.system1_model}".strip()
    if models.fresh:
        return f"fresh {models.backend}"
    return models.checkpoint if "/" not in models.checkpoint else Path(models.checkpoint).name


def compare(first: Path, second: Path) -> dict[str, Any]:
    """Two reports, game by game: B minus A, with its interval over the games that both played.

    Raises:
        RunError: a file is no report, or they have no game in common.
    """
    a, b = _report(first), _report(second)
    common = [game for game in a["games"] if game in b["games"]]
    if not common:
        raise RunError(f"{first} and {second} have no game in common")

    def score(report: dict[str, Any], game: str) -> float:
        return float(np.mean([row["rhae"] for row in as_rows(report["games"][game])]))

    pairs = {game: (score(a, game), score(b, game)) for game in common}
    differences = [after - before for before, after in pairs.values()]
    low, high = interval(differences)
    rules = [report["meta"]["rules"] for report in (a, b)]
    return {
        "unit": UNIT,
        "games": {
            game: {"a": before, "b": after, "difference": round(after - before, 6)}
            for game, (before, after) in pairs.items()
        },
        "only_a": sorted(set(a["games"]) - set(common)),
        "only_b": sorted(set(b["games"]) - set(common)),
        "difference": round(float(np.mean(differences)), 6),
        "interval": [round(low, 6), round(high, 6)],
        "same_rules": rules[0] == rules[1],
    }


def _report(path: Path) -> dict[str, Any]:
    found = read_json(path)
    missing = [key for key in ("meta", "games", "summary") if not isinstance(found.get(key), dict)]
    if missing:
        raise RunError(f"{path} is no report: it has no {' and no '.join(missing)}")
    return found


def table(report: Mapping[str, Any]) -> Iterable[str]:
    """The report as lines: a game each, then the means with their intervals."""
    config = report["meta"]["config"]
    who = config["agent"] or config["policy"]
    baselines = report["summary"].get("baselines", {})
    names = list(baselines)
    head = ["game", "levels", "actions", f"{who} %", *[f"{name} %" for name in names]]
    rows = [head]
    for game, found in report["games"].items():
        listed = as_rows(found)
        best = max(row["best_level"] for row in listed)
        actions = sum(row["actions"] for row in listed)
        cells = [game, f"{best}/{listed[0]['win_levels']}", str(actions), _mean(listed)]
        cells += [_mean(as_rows(baselines[n]["games"].get(game, []))) for n in names]
        rows.append(cells)
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        first = row[0].ljust(widths[0])
        yield "  ".join([first, *[c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]])
    for name, found in [(who, report["summary"]), *baselines.items()]:
        low, high = found["rhae_interval"]
        yield (
            f"RHAE {name}: {found['rhae_mean']:.3f} % (95 % interval {low:.3f} to {high:.3f}), "
            f"{found['best_level_sum']} levels, {found['wins']} wins, {found['played']} games"
        )
    if report["meta"]["rules"] != "competition":
        yield "rules: normal (full resets allowed); not what the competition counts"
    if report["summary"].get("degraded"):
        yield "DEGRADED: a model was asked for, and the heuristic decided in its place"


def _mean(rows: Sequence[Mapping[str, Any]]) -> str:
    return f"{np.mean([row['rhae'] for row in rows]):.2f}" if rows else "-"
