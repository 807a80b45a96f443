"""Where strategies come from: a directory, the package, the user's own folder, or a cache."""

import hashlib
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from sysone.arena import manifest as manifests
from sysone.arena.errors import ArenaError
from sysone.arena.manifest import Manifest

Source = Literal["path", "local", "bundled", "remote", "systemone"]
ASKING: Final = "systemone:"


@dataclass(frozen=True)
class Strategy:
    """A strategy that was found."""

    folder: Path
    manifest: Manifest
    source: Source
    version_hash: str
    options: Mapping[str, str] = field(default_factory=dict)
    """What its ``info`` has beside the match: the endpoint of a System One strategy."""

    @property
    def key(self) -> str:
        """Its key."""
        return self.manifest.strategy.key

    def identity(self) -> dict[str, str]:
        """How results and replays name it."""
        return {
            "key": self.key,
            "version": self.manifest.strategy.version,
            "version_hash": self.version_hash,
        }


def bundled_folder() -> Path:
    """The folder of the package's own strategies."""
    return Path(str(resources.files("sysone.arena").joinpath("strategies")))


def local_folder() -> Path:
    """``$ARENA_HOME/strategies``; ARENA_HOME defaults to the user's data folder."""
    home = os.environ.get("ARENA_HOME")
    if home:
        return Path(home) / "strategies"
    data = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data) / "rmuc-arena" / "strategies"


def cache_folder() -> Path:
    """What ``strategies sync`` fetched: ``$ARENA_CACHE``, by default in the user's cache folder."""
    given = os.environ.get("ARENA_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rmuc-arena" / "strategies"


def asking(ref: str, season: str) -> Strategy:
    """The strategy that asks a System One endpoint: ``systemone:URL`` or ``systemone:URL#MODEL``.

    Endpoint and model are part of its version: another one is another player.

    Raises:
        ArenaError: the address is none.
    """
    address, _, model = ref.removeprefix(ASKING).partition("#")
    if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).netloc:
        raise ArenaError("strategy", f"{ref!r}: expected systemone:http://HOST:PORT[#MODEL]")
    found = load(bundled_folder().with_name("asking") / f"systemone_{season}", "systemone")
    options = {"url": address, **({"model": model} if model else {})}
    text = f"{found.version_hash} {address} {model}"
    return replace(found, version_hash=hashlib.sha256(text.encode()).hexdigest(), options=options)


def _folders() -> dict[Source, Path]:
    return {"local": local_folder(), "bundled": bundled_folder(), "remote": cache_folder()}


def _in(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if (path / manifests.MANIFEST).is_file():
                yield path


def load(folder: Path, source: Source = "path") -> Strategy:
    """The strategy in a directory."""
    return Strategy(folder, manifests.read(folder), source, manifests.version_hash(folder))


def aliases() -> list[dict[str, str]]:
    """Other names of bundled strategies: patterns with a replacement."""
    text = (bundled_folder() / "aliases.toml").read_text(encoding="utf-8")
    rows: list[dict[str, str]] = tomllib.loads(text)["alias"]
    return rows


def resolved_key(key: str) -> str:
    """The key that an alias stands for, with a note on stderr; any other key as it is."""
    for row in aliases():
        match = re.fullmatch(row["pattern"], key)
        if match:
            target = match.expand(row["key"])
            print(f"note: {key} is an alias of {target}", file=sys.stderr)
            return target
    return key


def find(ref: str) -> Strategy:
    """The strategy that a reference names.

    A path (with a slash, or a directory that is there), ``local:KEY``, ``bundled:KEY``,
    ``remote:KEY``, or a bare key, which is looked up in this order.

    Raises:
        ArenaError: there is none, or two sources have it with different contents.
    """
    prefix, _, key = ref.partition(":")
    source = next((name for name in _folders() if name == prefix), None)
    if source is not None:
        found = _lookup(source, resolved_key(key))
        if found is None:
            raise ArenaError("strategy", f"no {prefix} strategy has the key {key!r}")
        return found
    if "/" in ref or (Path(ref) / manifests.MANIFEST).is_file():
        return load(Path(ref))
    key = resolved_key(ref)
    every = [hit for source in _folders() if (hit := _lookup(source, key)) is not None]
    if not every:
        raise ArenaError(
            "strategy", f"no strategy is named {ref!r}; `rmuc-arena strategies list` shows them"
        )
    if len({hit.version_hash for hit in every}) > 1:
        refs = ", ".join(f"{hit.source}:{key}" for hit in every)
        raise ArenaError("strategy", f"{ref!r} names different strategies: {refs}")
    return every[0]


def _lookup(source: Source, key: str) -> Strategy | None:
    for path in _in(_folders()[source]):
        if path.name == key or source == "local":
            manifest = manifests.read(path)
            if manifest.strategy.key == key:
                return Strategy(path, manifest, source, manifests.version_hash(path))
    return None


def listing(
    season: str | None = None,
    mode: str | None = None,
    source: str | None = None,
    search: str | None = None,
) -> list[dict[str, Any]]:
    """Every known strategy that fits, as rows."""
    rows = [
        manifests.describe(manifests.read(path), path, name)
        for name, folder in _folders().items()
        if source in (None, name)
        for path in _in(folder)
    ]
    wanted = None if search is None else search.lower()
    return [
        row
        for row in rows
        if season in (None, row["season"])
        and mode in (None, row["mode"])
        and (
            wanted is None
            or wanted in row["key"].lower()
            or wanted in row["name"].lower()
            or _alias_fits(wanted, row["key"])
        )
    ]


def _alias_fits(text: str, key: str) -> bool:
    return any(
        (match := re.fullmatch(row["pattern"], text)) is not None
        and match.expand(row["key"]) == key
        for row in aliases()
    )
