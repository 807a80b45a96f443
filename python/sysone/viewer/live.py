"""Following what is still being written. The run knows nothing of it: its files are read."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.runs.errors import RunError, unreadable
from sysone.trex.recording import VERSION, End, Landed, Played, Record, Start
from sysone.trex.replay import play_frame, view_of
from sysone.viewer.document import Document
from sysone.viewer.trex import Lane, lanes_document
from sysone_core.trex import Game

QUIET_S: Final = 10.0
"""A file that nobody wrote to for so long is not taken for one that still grows."""


def is_fresh(path: Path) -> bool:
    """Whether a file was written to a moment ago."""
    try:
        return time.time() - path.stat().st_mtime < QUIET_S
    except OSError:
        return False


class Overview:
    """A document that is made anew; told when it differs from what was told last."""

    def __init__(self, make: Callable[[], Document]) -> None:
        self._make = make
        self._told: Any = None

    def poll(self) -> dict[str, Any] | None:
        """The document, if it changed."""
        document = self._make()
        # Parts of a document may be JSON already.
        plain = msgspec.json.decode(msgspec.json.encode(document))
        if plain == self._told:
            return None
        self._told = plain
        return {"document": plain, "ended": not document.live}


class Recording:
    """A T-Rex recording that grows: whole at first, then frame by frame.

    Raises (from `poll`):
        RunError: it is not what the engine plays, or no recording.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lanes: list[Lane] = []
        self._decoder = msgspec.json.Decoder(Record)
        self._at = 0
        self._rest = b""
        self._told: list[tuple[int, int, int]] | None = None
        self._landed: list[Landed] = []
        self._game: Game | None = None
        self._open = False
        """Whether a match has begun and not ended."""

    def poll(self) -> dict[str, Any] | None:
        """What came since the last call."""
        for line in self._new_lines():
            try:
                self._add(self._decoder.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise RunError(f"{self.path} has a line that is no record: {error}") from error
        ended = not self._open and not is_fresh(self.path)
        lanes = [lane for lane in self.lanes if lane.columns["frame"]]
        if not lanes:
            return None
        counts = [
            (len(lane.columns["frame"]), len(lane.answers), len(lane.marks)) for lane in lanes
        ]
        if self._told is None:
            document = lanes_document(lanes, self.path.name, None, live=not ended)
            self._told = counts
            return {"document": msgspec.to_builtins(document), "ended": ended}
        told = self._told + [(0, 0, 0)] * (len(counts) - len(self._told))
        if counts == self._told and not ended:
            return None
        self._told = counts
        return {
            "lanes": [lane.row(*since) for lane, since in zip(lanes, told, strict=True)],
            "ended": ended,
        }

    def _new_lines(self) -> list[bytes]:
        try:
            with self.path.open("rb") as file:
                file.seek(self._at)
                new = file.read()
        except OSError as error:
            raise unreadable(self.path, error) from error
        self._at += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        return whole

    def _add(self, record: Record) -> None:
        match record:
            case Start():
                if record.version != VERSION:
                    raise RunError(f"{self.path}: version {record.version}, expected {VERSION}")
                self.lanes.append(Lane(record, self.path.name))
                self._game = Game(record.seed, record.course_style, scenery=False)
                self._landed, self._open = [], True
            case Landed():
                self._landed.append(record)
            case Played():
                if self._game is None:
                    raise RunError(f"{self.path} does not begin with a match")
                lane = self.lanes[-1]
                play_frame(self._game, lane.start, record)
                lane.add(view_of(self._game, lane.start, record, self._landed), record.calls)
                self._landed = []
            case End():
                self._open = False
