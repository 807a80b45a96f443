"""Collections of packed strategies: an index with hashes, and a cache of what was fetched."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec

from sysone.arena import manifest as manifests
from sysone.arena import sources
from sysone.arena.agents import archive
from sysone.arena.errors import ArenaError
from sysone.runs.atomic import write_bytes, write_json

FORMAT: Final = "arena-index-v1"
INDEX: Final = "index.json"
TIMEOUT_S: Final = 60.0


class Entry(msgspec.Struct, frozen=True):
    """A strategy of an index."""

    key: str
    version_hash: str
    url: str
    """Of its archive; relative to the index."""
    size: int
    """Bytes of the archive."""
    season: str
    mode: str


class Index(msgspec.Struct, frozen=True):
    """``index.json``."""

    format: str
    strategies: list[Entry]


def read_index(content: bytes, name: str) -> Index:
    """An index.

    Raises:
        ArenaError: it is none; the text names the field.
    """
    try:
        index = msgspec.json.decode(content, type=Index)
    except msgspec.MsgspecError as error:
        raise ArenaError("index", f"{name}: {error}") from error
    if index.format != FORMAT:
        raise ArenaError("index", f"{name}: format is {index.format!r}, expected {FORMAT!r}")
    return index


def add(folder: Path, content: bytes) -> Entry:
    """Put an archive into a registry that is a directory, and into its index.

    Raises:
        ArenaError: it is no archive, or the index is damaged.
    """
    told = archive.read_submission(content, "the archive")
    path = folder / INDEX
    index = read_index(path.read_bytes(), str(path)) if path.exists() else Index(FORMAT, [])
    name = f"{told['key']}-{told['version_hash'][:16]}.arena"
    entry = Entry(
        told["key"], told["version_hash"], name, len(content), told["season"], told["mode"]
    )
    write_bytes(folder / name, content)
    others = [other for other in index.strategies if other.key != entry.key]
    rows = sorted([*others, entry], key=lambda row: row.key)
    write_json(path, Index(FORMAT, rows), indent=1)
    return entry


def sync(index: str, note: Callable[[str], None] = lambda text: None) -> list[dict[str, Any]]:
    """Fetch what an index lists and the cache lacks; a row for each strategy says what was done.

    ``index`` is an address (http, https) or a file.

    Raises:
        ArenaError: the index cannot be read. What is wrong with one strategy is in its row.
    """
    cache = sources.cache_folder()
    rows = []
    for entry in read_index(_fetch(index, None), index).strategies:
        row: dict[str, Any] = {"key": entry.key, "version_hash": entry.version_hash}
        try:
            fetched = _sync_one(entry, index, cache)
            row |= {"ok": True, "fetched": fetched}
        except ArenaError as error:
            row |= {"ok": False, "error": str(error)}
        note(f"{entry.key}: {'ok' if row['ok'] else row['error']}")
        rows.append(row)
    return rows


def _sync_one(entry: Entry, index: str, cache: Path) -> bool:
    if not manifests.KEY.fullmatch(entry.key):
        raise ArenaError("index", f"key must be 3 to 64 of a-z, 0-9 and _, not {entry.key!r}")
    target = cache / entry.key
    if target.is_dir() and manifests.version_hash(target) == entry.version_hash:
        return False
    content = _fetch(_beside(index, entry.url), entry.size)
    if len(content) != entry.size:
        raise ArenaError("index", f"{entry.url} has {len(content)} bytes, not {entry.size}")
    cache.mkdir(parents=True, exist_ok=True)
    making = Path(tempfile.mkdtemp(dir=cache, prefix=".making-"))
    try:
        archive.unpack(content, making / entry.key, entry.url)
        found = manifests.version_hash(making / entry.key)
        if found != entry.version_hash:
            raise ArenaError(
                "index", f"{entry.url} unpacks to {found[:16]}, not {entry.version_hash[:16]}"
            )
        if manifests.read(making / entry.key).strategy.key != entry.key:
            raise ArenaError("index", f"{entry.url} holds another key than {entry.key}")
        # Two names change; a kill in between leaves no strategy, and the next sync fetches it.
        old = making / "old"
        if target.exists():
            target.replace(old)
        (making / entry.key).replace(target)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return True


def _beside(index: str, url: str) -> str:
    if urlsplit(index).scheme in ("http", "https"):
        return urljoin(index, url)
    if urlsplit(url).scheme in ("http", "https"):
        return url
    return str(Path(index).parent / url)


def _fetch(place: str, size: int | None) -> bytes:
    """The content of an address or a file; at most ``size`` bytes, or as many as may be."""
    most = archive.MOST_BYTES if size is None else size
    if urlsplit(place).scheme not in ("http", "https"):
        try:
            return Path(place).read_bytes()
        except OSError as error:
            raise ArenaError("index", f"{place}: {error.strerror}") from error
    content = bytearray()
    try:
        with httpx.stream("GET", place, timeout=TIMEOUT_S, follow_redirects=True) as reply:
            reply.raise_for_status()
            for part in reply.iter_bytes():
                content += part
                if len(content) > most:
                    raise ArenaError("index", f"{place} is longer than {most} bytes")
    except httpx.HTTPError as error:
        raise ArenaError("index", f"{place}: {error}") from error
    return bytes(content)
