"""Which games there are, and fetching the public ones: the only thing here that goes online."""

import logging
import os
from pathlib import Path
from typing import Any, Final

from sysone.arc.toolkit import LOGGER, games_on_disk, import_toolkit
from sysone.runs.atomic import write_json
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

PUBLIC_LIST: Final = "public_games.json"
"""Written beside fetched games: the ids that the service lists."""


def online_arcade(folder: Path) -> Any:
    """An arcade in the toolkit's normal mode, which fetches an anonymous key where none is set.

    Raises:
        RunError: the service cannot be reached, in one line, or the environment forbids it.
    """
    mode = os.environ.get("OPERATION_MODE", "").strip().lower()
    if mode not in ("", "normal"):
        raise RunError(f"OPERATION_MODE is {mode!r}, and fetching needs normal; unset it")
    arc_agi = import_toolkit()
    # What goes wrong is said here in one line; the toolkit would log it with its traceback.
    LOGGER.setLevel(logging.CRITICAL)
    try:
        arcade = arc_agi.Arcade(
            operation_mode=arc_agi.OperationMode.NORMAL,
            environments_dir=str(folder.resolve()),
            recordings_dir=str(folder.resolve() / "recordings"),
            logger=LOGGER,
        )
    except Exception as error:
        raise RunError(f"offline: the game service cannot be reached ({_short(error)})") from None
    if not arcade.arc_api_key:
        raise RunError("offline: the game service gave no key")
    return arcade


def listed_online(folder: Path) -> list[str]:
    """The ids that the service lists.

    Raises:
        RunError: it cannot be reached, or lists none.
    """
    return _listed(online_arcade(folder), folder)


def fetch(folder: Path, wanted: list[str], progress: Progress) -> tuple[list[str], list[str]]:
    """Download games into ``folder`` and keep the service's list beside them.

    Games that are there stay as they are. Returns the ids that were fetched or there, and those
    that the service did not give.

    Raises:
        RunError: the service cannot be reached, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error.strerror}") from error
    _drop_halves(folder)
    before = {game.metadata.game_id for game in games_on_disk(folder)}
    arcade = online_arcade(folder)
    listed = _listed(arcade, folder)
    write_json(folder / PUBLIC_LIST, {"games": listed}, indent=1)
    chosen = wanted or listed
    done, failed = [], []
    for game_id in progress.track(chosen, "fetch", len(chosen)):
        known = any(game_id in (kept, kept.split("-", 1)[0]) for kept in before)
        if known or arcade.make(game_id) is not None:
            done.append(game_id)
        else:
            failed.append(game_id)
    _drop_halves(folder)
    return done, failed


def _listed(arcade: Any, folder: Path) -> list[str]:
    """The service's ids; games of ours that lie in the same folder are not among them."""
    own = (
        {
            game.metadata.game_id
            for game in games_on_disk(folder)
            if "practice" in game.metadata.tags
        }
        if folder.is_dir()
        else set()
    )
    listed = sorted({str(info.game_id) for info in arcade.get_environments()} - own)
    if not listed:
        raise RunError("offline: the game service lists no games")
    return listed


def _drop_halves(folder: Path) -> None:
    """Forget games of which the description came and the source did not."""
    for game in games_on_disk(folder):
        if not any(game.folder.glob("*.py")):
            (game.folder / "metadata.json").unlink(missing_ok=True)


def _short(error: Exception) -> str:
    return type(error).__name__
