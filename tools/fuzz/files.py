"""A place for targets whose readers take a path."""

import tempfile
from functools import cache
from pathlib import Path


@cache
def folder() -> Path:
    """A folder of this process; in memory where the machine has such a place."""
    memory = Path("/dev/shm")
    place = tempfile.mkdtemp(prefix="fuzz-", dir=memory if memory.is_dir() else None)
    return Path(place)


def written(name: str, data: bytes) -> Path:
    """A file of that name with these bytes, in the place of the one before."""
    path = folder() / name
    path.write_bytes(data)
    return path
