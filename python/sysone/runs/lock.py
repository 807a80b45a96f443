"""One process at a time: a file that is held as long as its holder lives, and says who that is."""

import fcntl
import json
import os
import socket
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from sysone.runs.atomic import dumps
from sysone.runs.errors import RunError, unwritable


class LockedError(RunError):
    """Another process has it; the text says which."""


class Lock:
    """Holds the file at ``path`` until `close`; the folder is made.

    The file stays: removing it would let two processes lock two different files.

    Raises:
        LockedError: another process holds it.
        RunError: it cannot be written.
    """

    def __init__(self, path: Path, command: Sequence[str] = ()) -> None:
        self._descriptor = _take(path, command)

    def close(self) -> None:
        """Let another process have it."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def open_alone(path: Path, flags: int = 0) -> int:
    """A descriptor of the file at ``path`` that no other process has; file and folder are made.

    Raises:
        BlockingIOError: another process has it.
        OSError: it cannot be opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # The descriptor is not inherited, so a child that outlives us does not hold the lock.
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _take(path: Path, command: Sequence[str]) -> int:
    descriptor = -1
    try:
        descriptor = open_alone(path)
        holder = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "command": " ".join(command) or sys.argv[0],
            "since": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, dumps(holder).encode() + b"\n", 0)
    except BlockingIOError as error:
        raise LockedError(f"{path.parent} is in use by {_holder(path)}") from error
    except OSError as error:
        if descriptor >= 0:
            os.close(descriptor)
        raise unwritable(path, error) from error
    return descriptor


def _holder(path: Path) -> str:
    """Who wrote the file; the holder may not have done so yet."""
    try:
        holder = json.loads(path.read_bytes())
        return (
            f"process {holder['pid']} on {holder['host']} "
            f"({holder['command']}, since {holder['since']})"
        )
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
