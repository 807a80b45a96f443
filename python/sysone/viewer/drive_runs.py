"""A run of drives: its overview, and every drive of it."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from sysone.drive.replay import FRAMES
from sysone.viewer.document import Document, Header, Item, Opened, Verdict
from sysone.viewer.drive import drive_document, kept_pictures, settings_of
from sysone.viewer.live import Overview
from sysone.viewer.reading import read_object


def drives_of(run: Path) -> dict[str, Path]:
    """The drives of a run that have a result, by their place in it."""
    return {
        f"{path.parent.name}/{path.name}": path
        for path in sorted(run.glob("seed_*/route_*"))
        if (path / "result.json").is_file() and (path / "ticks.jsonl.gz").is_file()
    }


def run_document(run: Path) -> Document:
    """The overview of a run.

    Raises:
        RunError: a file of it is broken.
    """
    settings = settings_of(run)
    summary = read_object(run / "summary.json") if (run / "summary.json").is_file() else {}
    state = _quietly(run / "state.json")
    beat = _quietly(run / "heartbeat.json")
    profile = str(settings.get("profile", "bench2drive"))
    rows, values = [], []
    for name, folder in drives_of(run).items():
        result = read_object(folder / "result.json")
        scores = result.get("scores") if isinstance(result.get("scores"), dict) else {}
        score = (scores or {}).get(profile) or {}
        status = str(score.get("status", "?"))
        values.append((name, score.get("score_composed"), scores or {}))
        moved = {
            kind: len(found)
            for kind, found in (score.get("infractions") or {}).items()
            if found and kind != "min_speed_infractions"
        }
        rows.append(
            {
                "item": name,
                "tone": "good" if status == "Perfect" else "bad" if "Failed" in status else "plain",
                "cells": [
                    *(result.get("route_id"), result.get("seed"), status),
                    *(score.get("score_route"), score.get("score_composed")),
                    *((other or {}).get("score_composed") for other in (scores or {}).values()),
                    ", ".join(f"{kind} ×{n}" for kind, n in moved.items()) or None,
                    result.get("ticks"),
                ],
            }
        )
    names = list(values[0][2]) if values else []
    asked = len(settings.get("route_ids") or rows) * max(1, len(settings.get("seeds") or [0]))
    asked *= int(settings.get("repetitions") or 1)
    running = state.get("state") not in (None, "done", "aborted")
    told = {"done": len(rows), "of": asked}
    facts = [
        *(
            [key, summary[key]]
            for key in ("score_composed", "sr_completed", "sr_bench2drive", "sr_full")
            if key in summary
        ),
        *([["route", beat.get("route_id")], ["tick", beat.get("tick")]] if running else []),
    ]
    return Document(
        kind="report",
        header=Header(
            world="drive",
            title=run.name,
            about=[
                (key, str(settings[key]))
                for key in ("agent", "profile", "lights", "traffic", "gps_model", "map_reader")
                if key in settings
            ],
            versions={k: str(v) for k, v in (settings.get("versions") or {}).items()},
            verdict=Verdict("drive_running", {"state": state.get("state"), **told})
            if running
            else Verdict("drive_run", {"score": summary.get("score_composed"), **told}),
        ),
        data={
            "facts": facts,
            "tables": [
                {
                    "title": "drives",
                    "columns": [
                        *("route", "seed", "status", "completion", "driving_score"),
                        *names,
                        *("infractions", "ticks"),
                    ],
                    "rows": rows,
                }
            ],
            "charts": [
                {
                    "title": "driving_score",
                    "kind": "bar",
                    "x": [name for name, _, _ in values],
                    "series": [
                        {
                            "name": name,
                            "y": [
                                (scores.get(name) or {}).get("score_composed")
                                for _, _, scores in values
                            ],
                        }
                        for name in names
                    ],
                }
            ]
            if values
            else [],
        },
        items=[Item(name=str(row["item"]), label=str(row["item"])) for row in rows],
        live=running,
    )


def _quietly(path: Path) -> dict[str, Any]:
    """A file that a run replaces while it goes on; empty when it is not there."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def run_opened(run: Path) -> Opened:
    """A run with all its drives, those that end while it is watched too."""
    documents = _Drives(run)
    return Opened(
        run.name,
        documents,
        picture=partial(_picture, run),
        pictures=partial(_pictures, run),
        live={"": lambda: Overview(partial(run_document, run))},
    )


class _Drives(dict[str, Callable[[], Document]]):
    """Documents of a run by drive; looks again when a name is missing."""

    def __init__(self, run: Path) -> None:
        super().__init__({"": partial(run_document, run)})
        self.run = run
        self._look()

    def _look(self) -> None:
        for name, folder in drives_of(self.run).items():
            self.setdefault(name, partial(drive_document, folder, self.run, name))

    def get(self, name: str, default: Any = None) -> Any:
        """A drive's document."""
        if name not in self:
            self._look()
        return super().get(name, default)


def _picture(run: Path, name: str) -> Path | None:
    """A camera frame of a drive, ``seed_0/route_1_rep0/000001``."""
    drive, _, tick = name.rpartition("/")
    folder = drives_of(run).get(drive)
    if folder is None or not tick.isdecimal():
        return None
    path = folder / FRAMES / f"{int(tick):06d}.png"
    return path if path.is_file() else None


def _pictures(run: Path) -> list[str]:
    """Names of all camera frames of a run's drives, drive after drive."""
    return [
        f"{drive}/{tick}"
        for drive, folder in drives_of(run).items()
        for tick in kept_pictures(folder)
    ]


def drive_opened(folder: Path) -> Opened:
    """One drive's folder, inside a run or alone."""
    run = folder.parent.parent
    inside = run if (run / "run.json").is_file() else None
    name = f"{folder.parent.name}/{folder.name}"
    opened = Opened(name, {"": lambda: drive_document(folder, inside, name)})
    if inside is None:
        return opened
    of_this = [f"{name}/{tick}" for tick in kept_pictures(folder)]
    return replace(opened, picture=partial(_picture, run), pictures=lambda: of_this)
