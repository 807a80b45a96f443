"""A run's folder: one process at a time, and a manifest that says what made its files."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sysone.runs.atomic import dumps, write_json
from sysone.runs.errors import RunError, unreadable
from sysone.runs.lock import Lock

MANIFEST = "manifest.json"
LOCK = "lock"
_DISTRIBUTIONS = ("sysone-core", "numpy", "onnxruntime", "tokenizers")
_ABSENT = object()


class RunDirectory:
    """The folder at ``path``, held by this process until `close`.

    A new folder gets a manifest: the command, its settings, the versions and the start time. With
    ``resume`` a folder that has one is gone on with, if its settings are the same.

    Raises:
        RunError: another process holds the folder (the text says who); it holds a run already
            and ``resume`` is off; its settings differ (the text names the keys); it cannot be
            written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        command: Sequence[str],
        settings: Mapping[str, Any],
        resume: bool = False,
    ) -> None:
        self.path = Path(path)
        self._lock = Lock(self.path / LOCK, command)
        try:
            self.manifest = self._open_manifest(list(command), settings, resume)
        except BaseException:
            self.close()
            raise

    @property
    def resumed(self) -> bool:
        """Whether an earlier process began this run."""
        return bool(self.manifest["resumed"])

    def file(self, name: str) -> Path:
        """The path of a file in this folder."""
        return self.path / name

    def close(self) -> None:
        """Let another process have the folder."""
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _open_manifest(
        self, command: list[str], settings: Mapping[str, Any], resume: bool
    ) -> dict[str, Any]:
        path = self.file(MANIFEST)
        # As a reader will find them: tuples are lists and keys are strings.
        wanted: dict[str, Any] = json.loads(dumps(settings))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        if not path.exists():
            manifest: dict[str, Any] = {
                "command": command,
                "settings": wanted,
                "versions": versions(),
                "started": now,
                "resumed": [],
            }
        else:
            manifest = read_manifest(path)
            if not resume:
                raise RunError(
                    f"{self.path} already holds a run of {manifest['started']}; "
                    "resume it or choose another folder"
                )
            differing = differences(manifest["settings"], wanted)
            if differing:
                raise RunError(f"{self.path} was made with other settings: {'; '.join(differing)}")
            manifest["resumed"].append(now)
        write_json(path, manifest, indent=1)
        return manifest


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest at ``path``.

    Raises:
        RunError: it cannot be read or is not a manifest.
    """
    try:
        manifest = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise RunError(f"{path} is not a manifest: {error}") from error
    shape = {"settings": dict, "started": str, "resumed": list}
    for key, kind in shape.items():
        if not isinstance(manifest, dict) or not isinstance(manifest.get(key), kind):
            raise RunError(f"{path} is not a manifest: it has no {key}")
    return dict(manifest)


def versions() -> dict[str, str]:
    """What a result may depend on: interpreter, packages, system, processor type."""
    found = {"python": platform.python_version()}
    for name in _DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return {**found, "system": platform.platform(), "machine": platform.machine()}


def differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> list[str]:
    """One text for each setting that is not the same: its dotted key, then and now."""
    texts = []
    for key in [*before, *(key for key in now if key not in before)]:
        then, current = before.get(key, _ABSENT), now.get(key, _ABSENT)
        if isinstance(then, Mapping) and isinstance(current, Mapping):
            texts += differences(then, current, f"{prefix}{key}.")
        # True == 1 in Python, but not in a settings file.
        elif type(then) is not type(current) or then != current:
            texts.append(f"{prefix}{key} was {_shown(then)}, now {_shown(current)}")
    return texts


def _shown(value: Any) -> str:
    return "absent" if value is _ABSENT else json.dumps(value, ensure_ascii=False)
