"""Reading files of unknown origin: bounded, and with one clear line for what is wrong."""

import gzip
import json
import zlib
from pathlib import Path
from typing import Any, Final

from sysone.runs.errors import RunError, unreadable

MOST_BYTES: Final = 1 << 30
"""Of a file, unpacked: more than any output of ours, and less than what would fill a laptop."""


def read_file(path: Path) -> bytes:
    """A file's bytes, unpacked when they are gzip.

    Raises:
        RunError: it cannot be read, is not whole, or is too large.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise RunError(f"{path} is larger than {MOST_BYTES >> 20} MiB")
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if raw[:2] != b"\x1f\x8b":
        return raw
    try:
        with gzip.open(path) as file:
            unpacked = file.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise RunError(f"{path} is not a whole gzip file: {error}") from error
    if len(unpacked) > MOST_BYTES:
        raise RunError(f"{path} unpacks to more than {MOST_BYTES >> 20} MiB")
    return unpacked


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        RunError: it cannot be read, or is something else.
    """
    return object_in(path, read_file(path))


def object_in(path: Path, raw: bytes) -> dict[str, Any]:
    """The JSON object in a text that was read from ``path``.

    Raises:
        RunError: it is something else.
    """
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise RunError(f"{path} holds a JSON {type(found).__name__}, expected an object")
    return found


def first_line(raw: bytes) -> dict[str, Any] | None:
    """The JSON object in the first line of a text of JSON lines, or None."""
    line, _, _ = raw.partition(b"\n")
    if not line.startswith(b"{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
