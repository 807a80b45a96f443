"""T-Rex's results, sweeps and comparisons as tables and charts."""

from pathlib import Path
from typing import Any

import msgspec

from sysone.runs.errors import RunError
from sysone.trex.compare import Comparison
from sysone.trex.report import Results, read_results
from sysone.trex.sweep import Sweep, cliff_ms, read_sweep
from sysone.viewer.document import Document, Header, Opened, Tone, Verdict
from sysone.viewer.reading import read_file

_ROW = (
    *("seed", "survived", "deaths", "best_score", "decisions", "agreement_with_planner"),
    *("latency_ms_p50", "latency_ms_p95", "model_ms_p50", "answers_discarded", "errors"),
    *("shield_interventions", "arrival_saves", "emergency_saves"),
)


def results_document(path: Path) -> Document:
    """The screen of a results file.

    Raises:
        RunError: it is none.
    """
    found: Results = read_results(path)
    summary = found.summary
    rows: list[dict[str, Any]] = [
        {
            "tone": "good" if row.survived else "bad",
            "cells": [getattr(row, name) for name in _ROW],
        }
        for row in found.results
    ]
    baselines = found.baselines or {}
    seeds = [str(row.seed) for row in found.results]
    players = {
        summary.model: (summary.survived, summary.deaths, summary.mean_best_score),
        **{name: (b.survived, b.deaths, b.mean_best_score) for name, b in baselines.items()},
    }
    tone: Tone = "good" if summary.survived == summary.seeds else "bad"
    rules = found.rules
    about = [
        *((name, str(getattr(summary, name))) for name in ("mode", "shield", "course_style")),
        *((name, str(getattr(summary, name))) for name in ("prompt", "duration_s", "inflight")),
        *([("latency", rules.latency)] if rules and rules.latency else []),
    ]
    return Document(
        kind="report",
        header=Header(
            world="trex",
            title=path.name,
            about=about,
            versions={"model": summary.model, "endpoint": summary.endpoint},
            verdict=Verdict(
                "trex_results", {"survived": summary.survived, "seeds": summary.seeds}, tone
            ),
        ),
        data={
            "facts": [
                ["mean_best_score", summary.mean_best_score],
                ["agreement_with_planner", summary.mean_agreement_with_planner],
                ["latency_ms_p50", summary.latency_ms_p50_median],
                ["answers_discarded", summary.answers_discarded],
                ["interventions", summary.shield_interventions],
                ["errors", summary.errors],
            ],
            "tables": [
                {"title": "seeds", "columns": list(_ROW), "rows": rows},
                {
                    "title": "players",
                    "columns": ["player", "survived", "deaths", "mean_best_score"],
                    "rows": [{"cells": [name, *values]} for name, values in players.items()],
                },
            ],
            "charts": [
                _bars("best_score", seeds, [row.best_score for row in found.results]),
                {
                    "title": "latency_ms",
                    "kind": "bar",
                    "x": seeds,
                    "series": [
                        {"name": "p50", "y": [row.latency_ms_p50 for row in found.results]},
                        {"name": "p95", "y": [row.latency_ms_p95 for row in found.results]},
                    ],
                },
                _bars("mean_best_score", list(players), [values[2] for values in players.values()]),
            ],
        },
    )


def _bars(title: str, x: list[str], y: list[Any]) -> dict[str, Any]:
    return {"title": title, "kind": "bar", "x": x, "series": [{"name": title, "y": y}]}


def sweep_document(path: Path) -> Document:
    """The screen of a sweep.

    Raises:
        RunError: the file is none.
    """
    found: Sweep = read_sweep(path)
    curves = found.curves()
    grid = found.grid
    measures = ("survived", "mean_best_score", "agreement_with_planner", "answers_discarded")
    charts = [
        {
            "title": measure,
            "kind": "line",
            "xtitle": "latency_ms",
            "series": [
                {
                    "name": f"{curve.label}, ±{curve.jitter_ms:g} ms",
                    "x": [point.latency_ms for point in points],
                    "y": [getattr(point, measure) for point in points],
                }
                for curve, points in curves.items()
            ],
        }
        for measure in measures
    ]
    names = list(found.points[0].__struct_fields__) if found.points else []
    return Document(
        kind="report",
        header=Header(
            world="trex",
            title=path.name,
            about=[
                ("seeds", str(grid.seeds)),
                ("duration_s", f"{grid.duration_s:g}"),
                ("shield", str(grid.shield)),
                ("course_style", grid.course_style),
            ],
            versions={"model": found.model or "-", "endpoint": found.endpoint or "-"},
            verdict=Verdict("trex_sweep", {"points": len(found.points)}),
        ),
        data={
            "facts": [
                [f"{curve.label}, ±{curve.jitter_ms:g} ms", _cliff(cliff_ms(points))]
                for curve, points in curves.items()
            ],
            "facts_title": "cliff",
            "tables": [
                {
                    "title": "points",
                    "columns": names,
                    "rows": [
                        {"cells": [getattr(point, name) for name in names]}
                        for point in found.points
                    ],
                }
            ],
            "charts": charts,
        },
    )


def _cliff(value: float | None) -> str:
    return "-" if value is None else f"{value:g} ms"


def comparison_document(path: Path) -> Document:
    """The screen of two runs compared.

    Raises:
        RunError: the file is none.
    """
    try:
        found = msgspec.json.decode(read_file(path), type=Comparison)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"{path} is not a comparison: {error}") from error
    columns = ("name", "pairs", "mean_a", "mean_b", "difference", "low", "high")
    apart = [item for item in found.differences if item.told_apart]
    return Document(
        kind="report",
        header=Header(
            world="trex",
            title=path.name,
            about=[
                ("A", found.a),
                ("B", found.b),
                *((key, f"A {a}, B {b}") for key, (a, b) in found.across.items()),
            ],
            verdict=Verdict(
                "told_apart" if apart else "not_told_apart", {"seeds": len(found.seeds)}
            ),
        ),
        data={
            "facts": [["sentence", found.sentence]],
            "tables": [
                {
                    "title": "differences",
                    "columns": [*columns, "smallest_detectable", "told_apart"],
                    "rows": [
                        {
                            "cells": [
                                *(getattr(item, name) for name in columns),
                                item.smallest_detectable,
                                item.told_apart,
                            ]
                        }
                        for item in found.differences
                    ],
                }
            ],
            "charts": [
                {
                    "title": "differences_relative",
                    "kind": "interval",
                    "x": [item.name for item in found.differences],
                    "series": [
                        {
                            "name": "B - A",
                            "y": [
                                _share(item.difference, item.mean_a) for item in found.differences
                            ],
                            "low": [_share(item.low, item.mean_a) for item in found.differences],
                            "high": [_share(item.high, item.mean_a) for item in found.differences],
                        }
                    ],
                }
            ],
        },
    )


def _share(value: float, of: float) -> float | None:
    """A difference in percent of A's mean; None where that is 0."""
    return round(100 * value / of, 3) if of else None


def opened(path: Path, kind: str) -> Opened:
    """One of the three."""
    make = {
        "results": results_document,
        "sweep": sweep_document,
        "comparison": comparison_document,
    }[kind]
    return Opened(path.name, {"": lambda: make(path)})
