"""The official toolkit, without what it does by itself: reading .env, printing, going online."""

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.runs.errors import RunError

LOGGER: Final = logging.getLogger("sysone.arc.toolkit")
ONLY_RESET_LEVELS: Final = "ONLY_RESET_LEVELS"
_environment = threading.Lock()


class Metadata(msgspec.Struct, frozen=True):
    """What a game's metadata.json says and we use."""

    game_id: str
    title: str = ""
    tags: list[str] = []
    baseline_actions: list[int] = []
    class_name: str = ""
    date_downloaded: str = ""


class GameOnDisk(msgspec.Struct, frozen=True):
    """One version of a game below a folder of games."""

    metadata: Metadata
    folder: Path

    @property
    def id(self) -> str:
        """The id without the version."""
        return self.metadata.game_id.split("-", 1)[0]


def available() -> bool:
    """Whether the toolkit is installed."""
    return find_spec("arc_agi") is not None and find_spec("arcengine") is not None


def import_toolkit() -> Any:
    """The module ``arc_agi``, imported without its effects on this process.

    It would take settings from a .env and a .env.example in the current directory, and write to
    stdout through log handlers of its own.

    Raises:
        RunError: it is not installed.
    """
    loaded = sys.modules.get("arc_agi")
    if loaded is not None:
        return loaded
    before = dict(os.environ)
    try:
        import arc_agi
        import arc_agi.scorecard
    except ImportError as error:
        raise RunError(
            f"the ARC toolkit is not installed ({error}); docs/arc.md says how to install it"
        ) from None
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)
    for name in ("arc_agi.scorecard", "arc_agi.base", "arc_agi"):
        logging.getLogger(name).setLevel(logging.WARNING)
        for handler in logging.getLogger(name).handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream is sys.stdout:
                handler.setStream(sys.stderr)
    return arc_agi


def games_on_disk(folder: Path) -> list[GameOnDisk]:
    """Every game below a folder, newest version first, by id.

    Raises:
        RunError: the folder is not there, or a metadata.json cannot be read.
    """
    if not folder.is_dir():
        raise RunError(f"{folder} is not a folder of games")
    found = []
    for path in sorted(folder.rglob("metadata.json")):
        try:
            found.append(
                GameOnDisk(msgspec.json.decode(path.read_bytes(), type=Metadata), path.parent)
            )
        except (OSError, msgspec.MsgspecError) as error:
            raise RunError(f"{path} cannot be read: {error}") from error
    found.sort(key=lambda game: game.metadata.date_downloaded, reverse=True)
    return sorted(found, key=lambda game: game.id)


def offline_arcade(folder: Path, recordings: Path | None = None) -> Any:
    """An arcade over the games of a folder that makes no network call.

    Raises:
        RunError: the toolkit is not installed, or the environment forces competition mode.
    """
    if os.environ.get("OPERATION_MODE", "").strip().lower() == "competition":
        raise RunError(
            "OPERATION_MODE is 'competition', which wins over offline work; unset it to play here"
        )
    arc_agi = import_toolkit()
    LOGGER.setLevel(logging.ERROR)
    return arc_agi.Arcade(
        operation_mode=arc_agi.OperationMode.OFFLINE,
        # Absolute: the toolkit lets ENVIRONMENTS_DIR win over its own default name.
        environments_dir=str(folder.resolve()),
        recordings_dir=str((recordings or folder / "recordings").resolve()),
        logger=LOGGER,
    )


@contextmanager
def level_resets_only() -> Iterator[None]:
    """The competition's rule for one call: the engine reads it when a RESET is handled."""
    with _environment:
        before = os.environ.get(ONLY_RESET_LEVELS)
        os.environ[ONLY_RESET_LEVELS] = "true"
        try:
            yield
        finally:
            if before is None:
                del os.environ[ONLY_RESET_LEVELS]
            else:
                os.environ[ONLY_RESET_LEVELS] = before
