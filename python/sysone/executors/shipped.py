"""Files that work needs, on the machine where it is done: written once, named by content.

They are in the user's cache folder, so that no other user can put something else there.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def name_of(data: bytes) -> str:
    """The name that content is shipped under: its SHA-256."""
    return hashlib.sha256(data).hexdigest()


def folder() -> Path:
    """Where shipped files are kept: ``$XDG_CACHE_HOME/sysone/shipped``."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sysone" / "shipped"


def path_of(name: str) -> Path:
    """Where a file is, if it was shipped."""
    return folder() / name


def keep(name: str, fetch: Callable[[], bytes]) -> Path:
    """The file's path; it is fetched where it is not here yet.

    Raises:
        ValueError: what was fetched has another content.
    """
    path = path_of(name)
    if path.is_file():
        return path
    data = fetch()
    if name_of(data) != name:
        raise ValueError(f"shipped file {name} came with the content of {name_of(data)}")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    Path(temporary).replace(path)  # two tasks of a node may do this at once, with one content
    return path
