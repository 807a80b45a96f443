"""Replays of arena matches: read, told about, played again.

Input: the file's bytes, plain or gzip.

Properties: a file is verified, or refused with `ArenaError`, and nothing else, by every command
that reads one; what is read and verified whole is verified again.
"""

from sysone.arena.errors import ArenaError
from sysone.arena.replay import frames, info, show, verify
from tools.fuzz.files import written

INSTRUMENT = ("sysone.arena.replay", "sysone.arena.lineup")


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    path = written("match.replay", data)
    for read in (info, _rows, _start, _verify):
        try:
            read(path)
        except ArenaError as error:
            assert error.code


def _rows(path):
    columns, rows = frames(path)
    assert all(len(row) == len(columns) for row in rows)


def _start(path):
    show(path, 0)
    show(path, 1)


def _verify(path):
    report = verify(path, force=True)
    assert report["ok"] == verify(path, force=True)["ok"]
