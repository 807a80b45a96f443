"""ARC: an episode's trace step by step."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import Action, click, simple
from sysone.arc.candidates import build_candidates
from sysone.arc.collect import read_trace
from sysone.arc.frame import Frame
from sysone.arc.observe import Observation, Watcher
from sysone.runs.errors import RunError
from sysone.viewer.document import Document, Header, Tone, Verdict
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


def lines_of(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The lines of a trace with their numbers.

    Raises:
        RunError: one is of another version, or none at all.
    """
    for number, line in enumerate(read_trace(path), start=1):
        if not isinstance(line, dict) or line.get("v") != TRACE_VERSION:
            version = line.get("v") if isinstance(line, dict) else None
            raise RunError(
                f"{path}:{number}: version {version!r} of a trace, expected {TRACE_VERSION}"
            )
        yield number, line


def pictures_of(line: Mapping[str, Any]) -> list[Any]:
    """The texts of the pictures after a step."""
    found = line.get("frames_after")
    return found if isinstance(found, list) else []


class Episode:
    """A trace's steps as the page wants them: pictures as changes from the one before."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[dict[str, Any]] = []
        self.start: Grid | None = None
        self.end: dict[str, Any] | None = None
        self.game_id = ""
        self._grid: Grid | None = None
        self._text: Any = None
        self._states: dict[str, int] = {}
        for _, line in lines_of(path):
            self._add(line)
        if self.start is None:
            raise RunError(f"{path} has no first picture")

    def _add(self, line: Mapping[str, Any]) -> None:
        if "end" in line:
            self.end = line["end"] if isinstance(line["end"], dict) else {}
        elif "step" in line:
            self._step(line)
        elif line.get("before") is not None:
            self.game_id = str(line.get("game_id", ""))
            self.start = self._grid = grid_of(self.path, line["before"])
            self._text = line["before"]

    def _step(self, line: Mapping[str, Any]) -> None:
        pictures = pictures_of(line)
        step: dict[str, Any] = {
            "action": str(line.get("action", "")),
            "data": line.get("data") or {},
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
        }
        for name, kind in (("probabilities", dict), ("wake", str), ("report", dict)):
            if line.get(name) and isinstance(line[name], kind):
                step[name] = line[name]
        if pictures and pictures[-1] != self._text:
            self._text = pictures[-1]
            step.update(self._change(grid_of(self.path, self._text)))
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

    def _state(self, hashes: Any) -> int | None:
        """The number of a state, by the hash that leaves the HUD out."""
        if not isinstance(hashes, list) or len(hashes) < 2:
            return None
        return self._states.setdefault(str(hashes[1]), len(self._states))


class Offered:
    """What could be chosen before each step, and the mask of the HUD there: as the agent saw it.

    Found by watching the whole episode again, which takes longer than to show it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.steps: list[dict[str, Any] | None] = []
        self._game_id = ""
        self._watcher = Watcher()
        self._mask: list[int] | None = None
        self._seen: Observation | None = None
        for _, line in lines_of(path):
            if "step" in line and "end" not in line:
                self.steps.append(self._candidates())
                self._watch(line)
            elif line.get("before") is not None:
                self._game_id = str(line.get("game_id", ""))
                start = grid_of(path, line["before"])
                self._seen = self._watcher.observe(Frame(self._game_id, [start], "NOT_FINISHED"))

    def _watch(self, line: Mapping[str, Any]) -> None:
        pictures = [grid_of(self.path, text) for text in pictures_of(line)]
        if not pictures:
            return
        frame = Frame(
            self._game_id,
            pictures,
            str(line.get("state_after", "")),
            int(line.get("levels_after") or 0),
            available_actions=[int(id_) for id_ in line.get("available") or ()],
        )
        action = action_of(str(line.get("action", "")), line.get("data") or {})
        self._seen = self._watcher.observe(frame, action)

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


def trace_offers(path: Path) -> dict[str, Any]:
    """What the screen of an episode is told later: ``offers``, one a step.

    Raises:
        RunError: see `lines_of`.
    """
    return {"offers": Offered(path).steps}


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
        more=True,
    )
