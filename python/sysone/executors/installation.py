"""What is installed here, so that machines can be compared before they share work."""

import hashlib
import platform
from functools import cache
from importlib import metadata, resources
from pathlib import Path

_PACKAGES = ("sysone", "sysone_core")
_SOURCES = (".py", ".pyx", ".json", ".toml", ".xml", ".xodr")
_LIBRARIES = ("numpy", "onnxruntime", "tokenizers")


@cache
def installation() -> dict[str, str]:
    """Versions, and a SHA-256 over the packages' sources and rules.

    Compiled modules are left out: builds for two processors differ and play the same.
    """
    facts = {"python": ".".join(platform.python_version_tuple()[:2])}
    for name in ("sysone-core", *_LIBRARIES):
        try:
            facts[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            facts[name] = "absent"
    return {**facts, "sources": _digest()}


def _digest() -> str:
    digest = hashlib.sha256()
    for package in _PACKAGES:
        root = Path(str(resources.files(package)))
        for path in sorted(root.rglob("*")):
            if path.suffix in _SOURCES and path.is_file():
                digest.update(f"{package}/{path.relative_to(root).as_posix()}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]
