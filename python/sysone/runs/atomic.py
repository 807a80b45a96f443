"""Whole files, written so that a reader sees the old content or the new and never a part.

The new content goes to a temporary file in the same folder, reaches the disk, and takes the old
file's name in one step. A process killed in between leaves the old file as it was, and at worst
a hidden ``.NAME.*.tmp`` beside it.
"""

import json
import math
import os
import secrets
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sysone.runs.errors import RunError, unwritable


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at ``path`` by ``data``; folders that are missing are made.

    A symbolic link stays one: the file that it points to is replaced. An existing file's
    permissions are kept.

    Raises:
        RunError: the path cannot be written, or is there and not a regular file.
    """
    named = Path(path)
    try:
        target = named.resolve()
        _replace(target, data)
    except OSError as error:
        raise unwritable(named, error) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file at ``path`` by ``text`` in UTF-8, line ends as given (see `write_bytes`)."""
    write_bytes(path, text.encode())


def write_json(
    path: str | os.PathLike[str],
    value: Any,
    indent: int | None = None,
    *,
    ensure_ascii: bool = False,
) -> None:
    """Replace the file at ``path`` by ``value`` as JSON and a line end (see `write_bytes`).

    Keys keep their order and, unless ``ensure_ascii`` is set, characters beyond ASCII stay as
    they are. Dataclasses and msgspec structs are written as objects.

    Raises:
        RunError: the path cannot be written.
        ValueError: a number in ``value`` is NaN or infinite; the text names its place.
        TypeError: something in ``value`` has no JSON form.
    """
    write_text(path, dumps(value, indent, ensure_ascii=ensure_ascii) + "\n")


def dumps(value: Any, indent: int | None = None, *, ensure_ascii: bool = False) -> str:
    """``value`` as JSON text that any reader accepts: no NaN, no infinity (see `write_json`)."""
    try:
        return json.dumps(
            value,
            indent=indent,
            ensure_ascii=ensure_ascii,
            allow_nan=False,
            default=msgspec.to_builtins,
        )
    except ValueError:
        for place, number in _not_finite(value, ""):
            raise ValueError(
                f"{place or 'the value'} is {number}; JSON takes finite numbers only"
            ) from None
        raise


def _replace(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = None
    if target.exists():
        kept = target.stat().st_mode
        if not stat.S_ISREG(kept):
            raise RunError(f"cannot write {target}: it is there and not a regular file")
        mode = stat.S_IMODE(kept)
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(6)}.tmp")
    # 0o666 leaves the permissions to the umask, where tempfile would make a private file.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Bring a new name in ``folder`` to the disk, which a file's own fsync does not do."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _not_finite(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """The place and value of each number that JSON cannot hold."""
    if isinstance(value, float):
        if not math.isfinite(value):
            yield place, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _not_finite(item, f"{place}.{key}" if place else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for index, item in enumerate(value):
            yield from _not_finite(item, f"{place}[{index}]")
    elif isinstance(value, msgspec.Struct) or hasattr(value, "__dataclass_fields__"):
        yield from _not_finite(msgspec.to_builtins(value), place)
