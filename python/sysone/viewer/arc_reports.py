"""ARC: the report over an evaluation's games, a folder of traces, and two reports compared."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from sysone.arc.report import as_rows
from sysone.runs.errors import RunError
from sysone.viewer.arc import trace_document, trace_offers
from sysone.viewer.document import Document, Header, Item, Opened, Verdict
from sysone.viewer.reading import read_object


def find_traces(folder: Path) -> dict[str, Path]:
    """Episodes under a folder, as ``game/file``."""
    return {
        f"{path.parent.name}/{path.name}": path
        for path in sorted(folder.glob("*/*.jsonl"))
        if path.is_file()
    }


def report_document(path: Path, traces: Mapping[str, Path]) -> Document:
    """The screen of an evaluation's report; games whose trace was found open it.

    Raises:
        RunError: it is no report.
    """
    report = read_object(path)
    meta, games, summary = (report.get(key) for key in ("meta", "games", "summary"))
    if not (isinstance(meta, dict) and isinstance(games, dict) and isinstance(summary, dict)):
        raise RunError(f"{path} is no ARC report")
    config = meta.get("config") or {}
    who = str(config.get("agent") or config.get("policy") or "?")
    try:
        rows, charts = _rows(games, traces), _charts(games, summary, who)
    except (KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is an ARC report that lacks {error}") from error
    baselines = summary.get("baselines") or {}
    low, high = summary.get("rhae_interval") or (None, None)
    return Document(
        kind="report",
        header=Header(
            world="arc",
            title=path.name,
            about=[
                ("player", who),
                *((key, str(meta[key])) for key in ("rules", "seeds", "system1") if key in meta),
                *((key, str(config[key])) for key in ("max_actions",) if key in config),
            ],
            versions={key: str(value) for key, value in (meta.get("versions") or {}).items()}
            | {"checkpoint": str(meta.get("checkpoint", "none"))},
            verdict=Verdict(
                "arc_report",
                {"rhae": summary.get("rhae_mean")}
                | {key: summary.get(key) for key in ("wins", "played")},
                "bad" if summary.get("degraded") else "plain",
            ),
        ),
        data={
            "facts": [
                ["rhae", summary.get("rhae_mean")],
                ["interval_95", None if low is None else f"{low:.3g} – {high:.3g}"],
                *([name, summary[name]] for name in ("levels", "wins", "played", "requested")),
                *([name, found.get("rhae_mean")] for name, found in baselines.items()),
                ["degraded", summary.get("degraded")],
            ],
            "tables": [{"title": "games", "columns": _COLUMNS, "rows": rows}],
            "charts": charts,
        },
        items=[
            Item(name=row["item"], label=str(row["cells"][0])) for row in rows if row.get("item")
        ],
    )


_COLUMNS: Final = (
    *("game", "seed", "rhae", "levels", "actions", "resets", "win", "system2_calls"),
    *("seconds", "p50_ms", "p95_ms", "errors"),
)


def _rows(games: Mapping[str, Any], traces: Mapping[str, Path]) -> list[dict[str, Any]]:
    rows = []
    for game, found in games.items():
        for index, row in enumerate(as_rows(found)):
            names = [f"{game}/seed{index}.jsonl", f"{game}/ep{index}.jsonl"]
            name = next((name for name in names if name in traces), None)
            calls = {key: n for key, n in (row.get("system2_calls") or {}).items() if n}
            rows.append(
                {
                    "item": name,
                    "tone": "good" if row["win"] else "plain",
                    "cells": [
                        *(game, index, row["rhae"]),
                        f"{row['best_level']}/{row['win_levels']}",
                        *(row["actions"], row["resets"], row["win"]),
                        ", ".join(f"{key} {n}" for key, n in calls.items()) or None,
                        *(row.get(key) for key in ("seconds", "p50_ms", "p95_ms")),
                        ", ".join(f"{k} {n}" for k, n in (row.get("errors") or {}).items()) or None,
                    ],
                }
            )
    return rows


def _charts(games: Mapping[str, Any], summary: Mapping[str, Any], who: str) -> list[dict[str, Any]]:
    def mean(found: Any, name: str) -> float | None:
        listed = as_rows(found) if found else []
        return sum(float(row[name]) for row in listed) / len(listed) if listed else None

    players = {who: games}
    for name, found in (summary.get("baselines") or {}).items():
        players[name] = found.get("games") or {}
    charts: list[dict[str, Any]] = [
        {
            "title": "rhae",
            "kind": "bar",
            "x": list(games),
            "series": [
                {"name": name, "y": [mean(found.get(game), "rhae") for game in games]}
                for name, found in players.items()
            ],
        }
    ]
    # Levels gained, and how many actions each took, over all games that got so far.
    listed = [row for found in games.values() for row in as_rows(found)]
    most = max((len(row["level_actions"]) for row in listed), default=0)
    levels = list(range(1, most + 1))
    gained = [sum(row["best_level"] >= level for row in listed) for level in levels]
    taken = [
        [row["level_actions"][level - 1] for row in listed if row["best_level"] >= level]
        for level in levels
    ]
    charts += [
        {
            "title": "levels",
            "kind": "bar",
            "x": [str(level) for level in levels],
            "series": [{"name": "levels", "y": gained}],
        },
        {
            "title": "actions_per_level",
            "kind": "bar",
            "x": [str(level) for level in levels],
            "series": [
                {"name": "actions", "y": [sum(t) / len(t) if t else None for t in taken]},
            ],
        },
        {
            "title": "system2_calls",
            "kind": "bar",
            "x": list(games),
            "series": [
                {
                    "name": reason,
                    "y": [
                        sum(
                            (row.get("system2_calls") or {}).get(reason, 0)
                            for row in as_rows(found)
                        )
                        for found in games.values()
                    ],
                }
                for reason in ("novel", "level", "stall", "failed")
            ],
        },
    ]
    return charts


def comparison_document(path: Path) -> Document:
    """The screen of two reports compared."""
    found = read_object(path)
    try:
        games = found["games"]
        rows = [
            {"cells": [game, row["a"], row["b"], row["difference"]]} for game, row in games.items()
        ]
        values = {key: found[key] for key in ("difference", "interval")}
    except (KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{path} is an ARC comparison that lacks {error}") from error
    return Document(
        kind="report",
        header=Header(
            world="arc", title=path.name, verdict=Verdict("arc_comparison", values, "plain")
        ),
        data={
            "facts": [[key, value] for key, value in values.items()],
            "tables": [
                {"title": "games", "columns": ["game", "A", "B", "difference"], "rows": rows}
            ],
            "charts": [
                {
                    "title": "rhae",
                    "kind": "bar",
                    "x": list(games),
                    "series": [
                        {"name": name.upper(), "y": [row[name] for row in games.values()]}
                        for name in ("a", "b")
                    ],
                }
            ],
        },
    )


def folder_document(folder: Path, traces: Mapping[str, Path]) -> Document:
    """The episodes under a folder."""
    rows = [{"item": name, "cells": [name, path.stat().st_size]} for name, path in traces.items()]
    return Document(
        kind="report",
        header=Header(
            world="arc",
            title=folder.name,
            verdict=Verdict("arc_traces", {"episodes": len(rows)}),
        ),
        data={"tables": [{"title": "games", "columns": ["game", "bytes"], "rows": rows}]},
        items=[Item(name=name, label=name) for name in traces],
    )


def report_opened(path: Path) -> Opened:
    """A report, with the traces that it recorded where they are still there."""
    report = read_object(path)
    meta = report.get("meta")
    config = meta.get("config") if isinstance(meta, dict) else None
    record = config.get("record") if isinstance(config, dict) else None
    traces: dict[str, Path] = {}
    if isinstance(record, str) and record:
        # the folder is written as it was given: from where the run was, mostly beside the report
        for folder in (path.parent / record, path.parent / Path(record).name):
            if folder.is_dir() and not traces:
                traces = find_traces(folder)
    documents: dict[str, Callable[[], Document]] = {"": lambda: report_document(path, traces)}
    return _with_traces(path.name, documents, traces)


def folder_opened(folder: Path, traces: Mapping[str, Path]) -> Opened:
    """A folder of traces."""
    documents: dict[str, Callable[[], Document]] = {"": lambda: folder_document(folder, traces)}
    return _with_traces(folder.name, documents, traces)


def _with_traces(
    title: str, documents: dict[str, Callable[[], Document]], traces: Mapping[str, Path]
) -> Opened:
    for name, trace in traces.items():
        documents[name] = partial(trace_document, trace, name)
    more = {name: partial(trace_offers, trace) for name, trace in traces.items()}
    return Opened(title, documents, more=more)
