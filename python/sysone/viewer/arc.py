"""ARC: an episode's trace step by step, the report over its games, and two reports compared."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action, click, simple
from sysone.arc.candidates import build_candidates
from sysone.arc.collect import read_trace
from sysone.arc.frame import Frame
from sysone.arc.observe import Observation, Watcher
from sysone.arc.report import as_rows
from sysone.runs.errors import RunError
from sysone.viewer.document import Document, Header, Item, Opened, Tone, Verdict
from sysone.viewer.reading import read_object
from sysone_core.grids import PALETTE_HEX

TRACE_VERSION: Final = 1
CANDIDATES_SHOWN: Final = 24
RESET: Final = "RESET"

MOST_VALUE: Final = 15
_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)

Grid = NDArray[np.uint8]


def _digits() -> Grid:
    """The value of each byte as a hexadecimal digit; 255 where it is none."""
    values = np.full(256, 255, np.uint8)
    values[_HEX] = np.arange(16)
    return values


_DIGITS: Final = _digits()


def grid_of(path: Path, text: Any) -> Grid:
    """A picture of a trace: rows of hexadecimal digits.

    Raises:
        RunError: it is none.
    """
    raw = str(text).encode(errors="replace") + b"\n"
    width = raw.index(b"\n")
    height, rest = divmod(len(raw), width + 1)
    if rest or not (1 <= height <= 64 and 1 <= width <= 64):
        raise RunError(f"{path} holds a picture that is none: its rows differ, or are too many")
    # A line's end is no digit: inside a row it would be told as a cell that is none.
    cells = _DIGITS[np.frombuffer(raw, np.uint8).reshape(height, width + 1)[:, :-1]]
    if raw.count(b"\n") != height or cells.max() > MOST_VALUE:
        raise RunError(f"{path} holds a picture that is none: a cell is no hexadecimal digit")
    return cells


class Episode:
    """A trace's steps as the page wants them: pictures as changes from the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[dict[str, Any]] = []
        self.start: Grid | None = None
        self.end: dict[str, Any] | None = None
        self.game_id = ""
        self._grid: Grid | None = None
        self._watcher = Watcher()
        self._states: dict[str, int] = {}
        self._mask: list[int] | None = None
        self._seen: Observation | None = None
        for number, line in enumerate(read_trace(path), start=1):
            self._add(number, line)
        if self.start is None:
            raise RunError(f"{path} has no first picture")

    def _add(self, number: int, line: Any) -> None:
        if not isinstance(line, dict) or line.get("v") != TRACE_VERSION:
            version = line.get("v") if isinstance(line, dict) else None
            raise RunError(
                f"{self.path}:{number}: version {version!r} of a trace, expected {TRACE_VERSION}"
            )
        if "end" in line:
            self.end = line["end"] if isinstance(line["end"], dict) else {}
        elif "step" in line:
            self._step(number, line)
        elif line.get("before") is not None:
            self.game_id = str(line.get("game_id", ""))
            self.start = self._grid = grid_of(self.path, line["before"])
            self._seen = self._watcher.observe(Frame(self.game_id, [self.start], "NOT_FINISHED"))

    def _step(self, number: int, line: Mapping[str, Any]) -> None:
        action, data = str(line.get("action", "")), line.get("data") or {}
        pictures = [grid_of(self.path, text) for text in line.get("frames_after") or ()]
        candidates = self._candidates()
        step: dict[str, Any] = {
            "action": action,
            "data": data,
            "level": line.get("levels_before", 0),
            "levels_after": line.get("levels_after", 0),
            "state": line.get("state_after", ""),
            "source": line.get("source", ""),
            "p": line.get("p"),
            "ms": line.get("ms"),
            "changed": line.get("changed", 0),
            "pictures": len(pictures),
            "from": self._state(line.get("hash_before")),
            "to": self._state(line.get("hash_after")),
            "candidates": candidates,
        }
        for name, kind in (("probabilities", dict), ("wake", str), ("report", dict)):
            if line.get(name) and isinstance(line[name], kind):
                step[name] = line[name]
        if pictures:
            step.update(self._change(pictures[-1]))
            self._watch(line, pictures, action, data)
        self.steps.append(step)

    def _change(self, grid: Grid) -> dict[str, Any]:
        before, self._grid = self._grid, grid
        if before is None or before.shape != grid.shape:
            return {"grid": text_of(grid)}
        cells = np.flatnonzero(before.ravel() != grid.ravel())
        if len(cells) > grid.size // 6:
            return {"grid": text_of(grid)}
        values = grid.ravel()[cells]
        return {"cells": np.stack([cells, values], axis=1).ravel().tolist()}

    def _watch(
        self, line: Mapping[str, Any], pictures: Sequence[Grid], action: str, data: Any
    ) -> None:
        frame = Frame(
            self.game_id,
            pictures,
            str(line.get("state_after", "")),
            int(line.get("levels_after") or 0),
            available_actions=[int(id_) for id_ in line.get("available") or ()],
        )
        self._seen = self._watcher.observe(frame, action_of(action, data))

    def _candidates(self) -> dict[str, Any] | None:
        seen = self._seen
        if seen is None or not seen.available_actions:
            return None
        found = build_candidates(seen)
        mask = np.flatnonzero(seen.mask.ravel()).tolist()
        told: dict[str, Any] = {
            "of": len(found),
            "first": [label_of(each.name, each.data) for each in found[:CANDIDATES_SHOWN]],
        }
        if mask != self._mask:
            self._mask = told["mask"] = mask
        return told

    def _state(self, hashes: Any) -> int | None:
        """The number of a state, by the hash that leaves the HUD out."""
        if not isinstance(hashes, list) or len(hashes) < 2:
            return None
        return self._states.setdefault(str(hashes[1]), len(self._states))


def action_of(name: str, data: Any) -> Action | None:
    """An action of a trace; None for one that is not known."""
    if name == RESET:
        return simple(0)
    number = name.removeprefix("ACTION")
    if not number.isdecimal() or not 1 <= int(number) <= 7:
        return None
    if int(number) == 6 and isinstance(data, dict) and {"x", "y"} <= data.keys():
        return click(int(data["x"]), int(data["y"]))
    return simple(int(number))


def label_of(name: str, data: Mapping[str, Any]) -> str:
    """An action in a line."""
    return " ".join([name, *(f"{key}={value}" for key, value in data.items() if key in ("x", "y"))])


def text_of(grid: Grid) -> str:
    """A picture as one row of hexadecimal digits."""
    return _HEX[np.minimum(grid.ravel(), MOST_VALUE)].tobytes().decode()


def trace_document(path: Path, title: str | None = None) -> Document:
    """The screen of an episode.

    Raises:
        RunError: it is no trace, or of another version.
    """
    episode = Episode(path)
    start, end, steps = episode.start, episode.end, episode.steps
    assert start is not None
    actions = len(steps)
    if end is None:
        verdict = Verdict("arc_trace_open", {"actions": actions})
    else:
        levels, of = end.get("best_level"), end.get("win_levels")
        tone: Tone = "good" if end.get("win") else "plain"
        verdict = Verdict("arc_trace", {"levels": levels, "of": of, "actions": actions}, tone)
    shown = ("final_state", "rhae", "resets", "level_actions", "baseline_actions", "errors")
    return Document(
        kind="arc",
        header=Header(
            world="arc",
            title=title or f"{path.parent.name}/{path.name}",
            about=[
                ("game", episode.game_id),
                *((name, str(end[name])) for name in shown if end and name in end),
            ],
            versions={"trace": str(TRACE_VERSION)},
            verdict=verdict,
        ),
        data={
            "height": start.shape[0],
            "width": start.shape[1],
            "palette": [f"#{value}" for value in PALETTE_HEX],
            "start": text_of(start),
            "steps": steps,
            "end": end,
        },
    )


# Reports --------------------------------------------------------------------------------------


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
    for name, trace in traces.items():
        documents[name] = partial(trace_document, trace, name)
    return Opened(path.name, documents)


def folder_opened(folder: Path, traces: Mapping[str, Path]) -> Opened:
    """A folder of traces."""
    documents: dict[str, Callable[[], Document]] = {"": lambda: folder_document(folder, traces)}
    for name, trace in traces.items():
        documents[name] = partial(trace_document, trace, name)
    return Opened(folder.name, documents)
