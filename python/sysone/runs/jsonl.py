"""A log of one JSON value a line, appended to, that survives a kill in the middle of a line.

A record counts once its line end is on the file: a last line without one is a record that was
cut, even where what is left happens to parse (``12`` may have been ``123``). Readers leave such
a tail out and a writer removes it before it appends. Damage anywhere else is not a cut and is
reported with its file and line.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sysone.runs.atomic import dumps, sync_folder
from sysone.runs.errors import RunError, unreadable, unwritable
from sysone.runs.lock import open_alone

_BLOCK = 1 << 16


def read(path: str | os.PathLike[str]) -> list[Any]:
    """Every complete record of the log at ``path`` (see `iterate`)."""
    return list(iterate(path))


def iterate(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The complete records of the log at ``path``, in order; a cut last line is left out.

    Raises:
        RunError: the file cannot be read, or a complete line is not JSON in UTF-8.
    """
    try:
        with Path(path).open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):
                    yield _parse(line, path, number)
    except OSError as error:
        raise unreadable(path, error) from error


def _parse(line: bytes, path: str | os.PathLike[str], number: int) -> Any:
    try:
        return json.loads(line)
    except UnicodeDecodeError as error:
        raise RunError(f"{path}, line {number} is damaged: not UTF-8 ({error.reason})") from error
    except json.JSONDecodeError as error:
        raise RunError(
            f"{path}, line {number} is damaged: {error.msg} at column {error.colno}"
        ) from error
    except RecursionError:
        raise RunError(f"{path}, line {number} is damaged: nested too deeply") from None
    except ValueError as error:
        # int() refuses digits by the thousand, as CPython's guard against quadratic time.
        raise RunError(f"{path}, line {number} is damaged: a number has too many digits") from error


class JsonlWriter:
    """Appends records to the log at ``path``; one writer at a time.

    ``cut_bytes`` tells how much of a half-written last record was removed on opening. With
    ``durable`` each record is on the disk before `append` returns; without, it outlives a killed
    process but not a power cut, until `sync` or `close`.

    Raises:
        RunError: the path cannot be written, or another process is writing it.
    """

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = False) -> None:
        self.path = Path(path)
        self.durable = durable
        self.cut_bytes = 0
        self._descriptor = -1
        try:
            self._descriptor = open_alone(self.path, os.O_APPEND)
            self.cut_bytes = _cut_tail(self._descriptor)
            sync_folder(self.path.parent)
        except BlockingIOError as error:
            self.close()
            raise RunError(f"{self.path} is being written by another process") from error
        except OSError as error:
            self.close()
            raise unwritable(self.path, error) from error

    def append(self, value: Any) -> None:
        """Add one record; the values that `sysone.runs.atomic.write_json` takes.

        Raises:
            RunError: the disk refused it; the log stays readable, without this record.
            ValueError, TypeError: ``value`` has no JSON form; nothing was written.
        """
        if self._descriptor < 0:
            raise ValueError(f"{self.path} is closed")
        line = dumps(value).encode() + b"\n"
        try:
            # One call for the whole line, so that a kill finds it written or not. A short write
            # (a full disk) is taken back, or the next record would continue this one's line.
            if os.write(self._descriptor, line) != len(line):
                _cut_tail(self._descriptor)
                raise RunError(f"cannot write {self.path}: the disk is full")
            if self.durable:
                os.fsync(self._descriptor)
        except OSError as error:
            raise unwritable(self.path, error) from error

    def sync(self) -> None:
        """Bring everything appended so far to the disk.

        Raises:
            RunError: the disk refused it.
        """
        if self._descriptor >= 0:
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                raise unwritable(self.path, error) from error

    def close(self) -> None:
        """Bring everything to the disk and let another writer in.

        Raises:
            RunError: the disk refused it.
        """
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise unwritable(self.path, error) from error
            finally:
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


def _cut_tail(descriptor: int) -> int:
    """Remove what follows the last line end; the number of bytes removed."""
    size = os.fstat(descriptor).st_size
    end = size
    while end > 0:
        start = max(0, end - _BLOCK)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end < size:
        os.ftruncate(descriptor, end)
    return size - end
