"""Strategies as files: packed the same way every time, and unpacked with suspicion.

```
submission.json      who it is, fingerprints, results
strategy/            the strategy's files, sorted, with one date
```
"""

import io
import json
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

from sysone.arena import manifest as manifests
from sysone.arena.errors import ArenaError
from sysone.runs.atomic import write_bytes

FORMAT: Final = "arena-submission-v1"
SUBMISSION: Final = "submission.json"
FOLDER: Final = "strategy"
MOST_BYTES: Final = 200_000_000
"""Unpacked, all files together."""
MOST_FILES: Final = 2_000
_DATE: Final = (1980, 1, 1, 0, 0, 0)
"""The oldest that the format knows."""


def pack(folder: Path, submission: Mapping[str, Any]) -> bytes:
    """A strategy's directory as a zip; the same files give the same bytes.

    Raises:
        ArenaError: a file is too large or leads outside.
    """
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        text = json.dumps(dict(submission), indent=1, sort_keys=True) + "\n"
        _add(archive, SUBMISSION, text.encode())
        for name, path in manifests.files(folder):
            _add(archive, f"{FOLDER}/{name}", path.read_bytes())
    return body.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3  # Unix, wherever it is packed
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    archive.writestr(entry, content)


def read_submission(content: bytes, name: str) -> dict[str, Any]:
    """What an archive says of itself.

    Raises:
        ArenaError: it is no archive of a strategy.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if archive.getinfo(SUBMISSION).file_size > manifests.MOST_FILE_BYTES:
                raise ArenaError("archive", f"{name}: {SUBMISSION} is too large")
            found = json.loads(archive.read(SUBMISSION))
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, NotImplementedError) as error:
        raise ArenaError("archive", f"{name} is no packed strategy: {error}") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ArenaError("archive", f"{name}: {SUBMISSION} is not of the format {FORMAT}")
    return found


def unpack(content: bytes, folder: Path, name: str) -> None:
    """Write an archive's strategy to a new directory.

    Raises:
        ArenaError: it is no archive; it holds links, names that lead outside, files twice, too
            many of them, or more than they may have. Nothing is written then.
    """
    found: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check(entries, name)
            left = MOST_BYTES
            for entry in entries:
                if entry.is_dir() or entry.filename == SUBMISSION:
                    continue
                # What the entry says of its size is not believed: a bomb lies about it.
                with archive.open(entry) as file:
                    data = file.read(min(manifests.MOST_FILE_BYTES, left) + 1)
                left -= len(data)
                if len(data) > manifests.MOST_FILE_BYTES or left < 0:
                    raise ArenaError("archive", f"{name}: {entry.filename} is too large")
                found[entry.filename.removeprefix(f"{FOLDER}/")] = data
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
        if isinstance(error, ArenaError):
            raise
        raise ArenaError("archive", f"{name} is no packed strategy: {error}") from error
    for place, data in found.items():
        write_bytes(folder / place, data)


def _check(entries: list[zipfile.ZipInfo], name: str) -> None:
    if len(entries) > MOST_FILES:
        raise ArenaError("archive", f"{name}: {len(entries)} files, at most {MOST_FILES}")
    seen: set[str] = set()
    for entry in entries:
        path = PurePosixPath(entry.filename)
        if entry.filename in seen:
            raise ArenaError("archive", f"{name}: {entry.filename} is there twice")
        seen.add(entry.filename)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise ArenaError("archive", f"{name}: {entry.filename} is a link or a device")
        inside = path.parts[:1] == (FOLDER,) or entry.filename == SUBMISSION
        if not inside or ".." in path.parts or path.is_absolute() or "\\" in entry.filename:
            raise ArenaError("archive", f"{name}: {entry.filename!r} leads outside")
    if sum(entry.file_size for entry in entries) > MOST_BYTES:
        raise ArenaError("archive", f"{name}: unpacked more than {MOST_BYTES // 10**6} MB")


def write(path: Path, folder: Path, submission: Mapping[str, Any]) -> None:
    """Pack to a file."""
    write_bytes(path, pack(folder, submission))
