"""The SDK as a folder of its own: all that a strategy can import of ours, and nothing else."""

import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_MODULES = ("__init__", "errors", "frames", "lineup")
_FOLDERS = ("rules", "sdk")


def _files() -> Iterator[tuple[str, Path]]:
    yield "host.py", Path(__file__).with_name("host.py")
    yield "sysone/__init__.py", _PACKAGE / "__init__.py"
    arena = _PACKAGE / "arena"
    for name in _MODULES:
        yield f"sysone/arena/{name}.py", arena / f"{name}.py"
    for folder in _FOLDERS:
        for path in sorted((arena / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield f"sysone/arena/{path.relative_to(arena).as_posix()}", path
    for module in ("sysone_core", "sysone_core.arena", "sysone_core._arena"):
        found = importlib.util.find_spec(module)
        if found is None or found.origin is None:
            raise ImportError(f"{module} is not installed")
        yield f"sysone_core/{Path(found.origin).name}", Path(found.origin)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "rmuc-arena" / "sdk"


@lru_cache(maxsize=1)
def sdk_folder() -> Path:
    """The folder, made once for each content; named by its hash, so that it never changes.

    Where the user's cache cannot be written it is a temporary folder.
    """
    files = list(_files())
    digest = hashlib.sha256(sys.version.encode())
    for name, path in files:
        digest.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    base = _cache()
    target = base / digest.hexdigest()[:32]
    if target.is_dir():
        return target
    try:
        base.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=base, prefix=".making-"))
    except OSError:
        made = target = Path(tempfile.mkdtemp(prefix="rmuc-arena-sdk-"))
    made.chmod(0o755)
    for name, path in files:
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, made / name)
    if made != target:
        try:
            made.rename(target)
        except OSError:  # another process was faster; its content is the same
            shutil.rmtree(made, ignore_errors=True)
    return target
