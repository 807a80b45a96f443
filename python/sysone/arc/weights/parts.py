"""Large files in parts, each with its digest: put together under a temporary name, then renamed."""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.runs.atomic import sync_folder, write_json
from sysone.runs.errors import RunError, unreadable, unwritable

FOLDER: Final = "parts"
MANIFEST: Final = "manifest.json"
PART_BYTES: Final = 1 << 30
PIECE: Final = 1 << 20
_LINE: Final = re.compile(r"([0-9a-f]{64})  (\S+)")
_NUMBER: Final = re.compile(r"(.+)\.part(\d+)")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a file."""

    name: str
    sha256: str
    size: int = -1
    """Bytes; -1: not said."""


class Whole(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file that travels in parts."""

    parts: list[Part]
    sha256: str = ""
    size: int = -1


def digest_of(path: Path) -> str:
    """SHA-256 of a file.

    Raises:
        RunError: it cannot be read.
    """
    hashed = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE):
                hashed.update(piece)
    except OSError as error:
        raise unreadable(path, error) from error
    return hashed.hexdigest()


def split(path: Path, out: Path, part_bytes: int = PART_BYTES) -> Whole:
    """Cut a file into parts below ``out``; what the manifest says of it.

    Raises:
        RunError: it cannot be read, or a part cannot be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    parts: list[Part] = []
    try:
        with path.open("rb") as file:
            while data := file.read(part_bytes):
                name = f"{path.name}.part{len(parts):03d}"
                (out / name).write_bytes(data)
                parts.append(Part(name, hashlib.sha256(data).hexdigest(), len(data)))
    except OSError as error:
        raise unwritable(out, error) from error
    return Whole(parts, digest_of(path), path.stat().st_size)


def write_manifest(out: Path, files: dict[str, Whole]) -> None:
    """Write what `read_manifest` reads."""
    write_json(out / MANIFEST, msgspec.to_builtins(files), indent=1)


def read_manifest(folder: Path) -> dict[str, Whole]:
    """Files that travel in parts; a list of ``<sha256>  <name>`` lines is read as well.

    Raises:
        RunError: the file cannot be read, or is neither form.
    """
    path = folder / MANIFEST
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    try:
        found = msgspec.convert(json.loads(text), dict[str, Whole])
    except msgspec.ValidationError as error:
        raise RunError(f"{path}: {error}") from None
    except ValueError:
        found = _listed(path, text)
    for name in [*found, *[part.name for whole in found.values() for part in whole.parts]]:
        if Path(name).name != name or name in ("", ".", ".."):
            raise RunError(f"{path} names {name!r}, which is no plain file name")
    return found


def _listed(path: Path, text: str) -> dict[str, Whole]:
    found: dict[str, list[tuple[int, Part]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        match = _LINE.fullmatch(line.rstrip())
        numbered = _NUMBER.fullmatch(match[2]) if match else None
        if match is None or numbered is None:
            raise RunError(f"{path}:{number} is {line[:60]!r}, expected <sha256>  <file>.part<n>")
        found.setdefault(numbered[1], []).append((int(numbered[2]), Part(match[2], match[1])))
    return {name: Whole([part for _, part in sorted(rows)]) for name, rows in found.items()}


def assemble(folder: Path) -> list[str]:
    """Put every file of ``folder/parts`` together in ``folder``; their names.

    Each part is checked first, and the whole before it takes its name.

    Raises:
        RunError: a part is missing or a digest is wrong; the text names file and both digests.
    """
    parts = folder / FOLDER
    if not (parts / MANIFEST).is_file():
        return []
    made = []
    for name, whole in read_manifest(parts).items():
        target = folder / name
        if target.is_file() and whole.sha256 and digest_of(target) == whole.sha256:
            continue
        for part in whole.parts:
            _check(parts / part.name, part.sha256, part.size)
        temporary = target.with_name(f".{name}.assembling")
        try:
            with temporary.open("wb") as file:
                for part in whole.parts:
                    with (parts / part.name).open("rb") as source:
                        while piece := source.read(PIECE):
                            file.write(piece)
            if whole.sha256:
                _check(temporary, whole.sha256, whole.size, shown=target)
            temporary.replace(target)
            sync_folder(folder)
        except OSError as error:
            raise unwritable(target, error) from error
        finally:
            temporary.unlink(missing_ok=True)
        made.append(name)
    return made


def _check(path: Path, sha256: str, size: int = -1, shown: Path | None = None) -> None:
    named = shown or path
    if not path.is_file():
        raise RunError(f"{named} is missing")
    if size >= 0 and path.stat().st_size != size:
        raise RunError(f"{named} has {path.stat().st_size} bytes, expected {size}")
    found = digest_of(path)
    if found != sha256:
        raise RunError(f"{named} has SHA-256 {found}, expected {sha256}")


def verify(folder: Path) -> dict[str, Any]:
    """Check a checkpoint folder: parts where there are any, and weights against the record.

    Raises:
        RunError: something is missing or wrong; the text names file and both digests.
    """
    if not folder.is_dir():
        raise RunError(f"{folder} is no folder")
    checked: dict[str, str] = {}
    if (folder / FOLDER / MANIFEST).is_file():
        for name, whole in read_manifest(folder / FOLDER).items():
            for part in whole.parts:
                _check(folder / FOLDER / part.name, part.sha256, part.size)
                checked[f"{FOLDER}/{part.name}"] = part.sha256
            if (folder / name).is_file() and whole.sha256:
                _check(folder / name, whole.sha256, whole.size)
    record = folder / "qwenjev_s1.json"
    if record.is_file():
        try:
            wanted = json.loads(record.read_bytes())["sha256"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{record} has no sha256: {error}") from None
        _check(folder / "qwenjev_s1.safetensors", str(wanted))
        checked["qwenjev_s1.safetensors"] = str(wanted)
    if not checked:
        raise RunError(f"{folder} holds neither a checkpoint nor parts with a manifest")
    return {"folder": folder.name, "files": checked}


def large(folder: Path, limit: int) -> Iterable[Path]:
    """Files of a folder above ``limit`` bytes, not looking into parts."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [p for p in found if FOLDER not in p.parts and p.stat().st_size > limit]
