"""A strategy's directory: its manifest and the hash that identifies it."""

import hashlib
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from sysone.arena import lineup
from sysone.arena.errors import ArenaError
from sysone.arena.rules import models

MANIFEST = "arena.toml"
KEY = re.compile(r"[a-z0-9_]{3,64}")
MOST_FILE_BYTES = 50_000_000
IGNORED_FOLDERS = frozenset({"__pycache__", ".git", "logs"})


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[strategy]``."""

    key: str
    name: str
    version: str
    season: Literal["2026", "2027"]
    mode: Literal["team", "robot"]
    entry: str
    sdk: Literal[1]
    authors: list[str] = []


class Roster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[roster]`` of a team strategy."""

    robots: list[dict[str, int]]
    lock: bool = False
    """Whether this line-up is always used; otherwise it is a suggestion."""


class Robot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[robot]`` of a robot strategy."""

    model: int


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[limits]``: wishes, never above the runner's."""

    memory_mb: int = 512


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table ``[data]``."""

    files: list[str] = []


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``arena.toml``."""

    strategy: Head
    roster: Roster | None = None
    robot: Robot | None = None
    limits: Limits = Limits()
    data: Data = Data()


def read(folder: Path) -> Manifest:
    """The manifest of a strategy's directory.

    Raises:
        ArenaError: it is missing, or says something that it may not; the text names the field.
    """
    path = folder / MANIFEST
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArenaError("manifest", f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArenaError("manifest", f"{path}: {error}") from error
    try:
        manifest = msgspec.convert(raw, Manifest)
    except msgspec.ValidationError as error:
        raise ArenaError("manifest", f"{path}: {error}") from error
    _check(manifest, path)
    return manifest


def _check(manifest: Manifest, path: Path) -> None:
    head = manifest.strategy

    def refuse(text: str) -> ArenaError:
        return ArenaError("manifest", f"{path}: {text}")

    if not KEY.fullmatch(head.key):
        raise refuse(f"strategy.key must be 3 to 64 of a-z, 0-9 and _, not {head.key!r}")
    module, _, attribute = head.entry.partition(":")
    if not module.isidentifier() or not attribute.isidentifier():
        raise refuse(f"strategy.entry must be module:attribute, not {head.entry!r}")
    if head.mode == "team":
        if manifest.robot is not None:
            raise refuse("[robot] is for mode = 'robot'")
        if manifest.roster is not None:
            lineup.validate(lineup.read(manifest.roster.robots), head.season)
        return
    if manifest.roster is not None:
        raise refuse("[roster] is for mode = 'team'")
    if manifest.robot is None:
        raise refuse("mode = 'robot' needs [robot] with a model")
    if manifest.robot.model not in models.numbers(head.season):
        raise refuse(f"robot.model {manifest.robot.model} is no model of season {head.season}")


def files(folder: Path) -> list[tuple[str, Path]]:
    """The files that belong to a strategy, sorted by their relative path.

    Raises:
        ArenaError: a link leads outside the directory, or a file is too large.
    """
    root = folder.resolve()
    found = []
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if IGNORED_FOLDERS.intersection(relative.parts[:-1]) or path.suffix == ".pyc":
            continue
        if relative.name in IGNORED_FOLDERS and path.is_dir():
            continue
        if not path.resolve().is_relative_to(root):
            raise ArenaError("manifest", f"{path}: leads outside the strategy's directory")
        if not path.is_file():
            continue
        if path.stat().st_size > MOST_FILE_BYTES:
            raise ArenaError("manifest", f"{path}: larger than 50 MB")
        found.append((relative.as_posix(), path))
    return sorted(found)


def version_hash(folder: Path) -> str:
    """SHA-256 over path, size and content hash of every file of a strategy."""
    digest = hashlib.sha256()
    for name, path in files(folder):
        content = path.read_bytes()
        line = f"{name}\0{len(content)}\0{hashlib.sha256(content).hexdigest()}\n"
        digest.update(line.encode())
    return digest.hexdigest()


def describe(manifest: Manifest, folder: Path, source: str) -> dict[str, Any]:
    """A row of ``strategies list``."""
    head = manifest.strategy
    return {
        "ref": f"{source}:{head.key}" if source != "path" else str(folder),
        "key": head.key,
        "name": head.name,
        "version": head.version,
        "season": head.season,
        "mode": head.mode,
        "model": None if manifest.robot is None else manifest.robot.model,
        "version_hash": version_hash(folder),
        "source": source,
    }
