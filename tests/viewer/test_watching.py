"""Watching costs a run nothing: its files are read, and nothing is written, locked or signalled."""

import hashlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sysone.arena import replay as replays
from sysone.arena.engine import Game
from sysone.arena.record import Recorder
from sysone.viewer.detect import open_path
from sysone.viewer.document import encode

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
SIGNALS = ("fcntl.flock", "fcntl.lockf", "os.kill", "os.killpg", "signal.pthread_kill")
READING = ("open", "os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr")
HEARD: list[tuple[str, tuple[Any, ...]]] | None = None


def hear(event: str, arguments: tuple[Any, ...]) -> None:
    if HEARD is not None and event.startswith(("open", "os.", "fcntl.", "shutil.", "signal.")):
        HEARD.append((event, arguments))


@contextmanager
def heard() -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """What this process asks of the system meanwhile, as the interpreter audits it."""
    global HEARD
    if hear not in HOOKED:
        sys.addaudithook(hear)
        HOOKED.append(hear)
    HEARD = []
    try:
        yield HEARD
    finally:
        HEARD = None


HOOKED: list[Any] = []


def state_of(folder: Path) -> dict[str, Any]:
    """Every name under a folder with its size, time and content."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None,
        )
        for path in sorted([folder, *folder.rglob("*")])
    }


def recording(outputs: Path, folder: Path) -> Path:
    """A T-Rex match in its middle."""
    path = folder / "match.jsonl"
    path.write_bytes((outputs / "late.jsonl").read_bytes()[:20_000])
    return path


def drives(outputs: Path, folder: Path) -> Path:
    """A run of drives that goes on."""
    run = folder / "run"
    shutil.copytree(outputs / "stub", run)
    state = json.loads((run / "state.json").read_bytes())
    (run / "state.json").write_text(json.dumps({**state, "state": "running"}))
    return run


def spool(outputs: Path, folder: Path) -> Path:
    """An arena match in its middle."""
    replay = replays.read(outputs / "replay.json")
    path = folder / "match.json"
    with path.with_name("match.json.spool").open("w+b") as file:
        game = Game(replay.setup())
        about = {"strategies": replay.strategies, "control": replay.control, "swapped": False}
        recorder = Recorder(game, about, file)
        for _ in range(80):
            recorder.advanced(game.advance())
    return path


@pytest.mark.parametrize("make", [recording, drives, spool])
def test_a_run_cannot_notice_that_it_is_watched(
    outputs: Path, tmp_path: Path, make: Callable[[Path, Path], Path]
) -> None:
    path = make(outputs, tmp_path)
    before = state_of(tmp_path)
    with heard() as events:
        opened = open_path(path)
        encode(opened.documents[opened.first]())
        growing = opened.live[""]()
        told = [growing.poll() for _ in range(3)]
    assert told[0] is not None
    assert state_of(tmp_path) == before
    # Modules that are loaded meanwhile do things of their own, elsewhere.
    there = [(event, words) for event, words in events if str(tmp_path) in str(words)]
    assert "open" in [event for event, _ in there], "nothing of it was read"
    assert [words for event, words in there if event == "open" and words[2] & WRITING] == []
    assert [event for event, _ in there if event not in READING] == []
    assert [event for event, _ in events if event in SIGNALS] == []


def test_the_ear_hears_what_would_be_noticed(tmp_path: Path) -> None:
    with heard() as events:
        (tmp_path / "file").write_text("x")
        (tmp_path / "file").rename(tmp_path / "other")
    assert [event for event, _ in events] == ["open", "os.rename"]
    assert events[0][1][2] & WRITING
