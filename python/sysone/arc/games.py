"""Which games there are, and fetching the public ones: the only thing here that goes online."""

from pathlib import Path
from typing import Any, Final

from sysone.arc.toolkit import LOGGER, games_on_disk, import_toolkit
from sysone.runs.atomic import write_json
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

PUBLIC_LIST: Final = "public_games.json"
ENVIRONMENTS: Final = Path("environment_files")


def online_arcade(folder: Path) -> Any:
    """An arcade in the toolkit's normal mode, which fetches an anonymous key where none is set.

    Raises:
        RunError: the service cannot be reached, in one line.
    """
    arc_agi = import_toolkit()
    try:
        arcade = arc_agi.Arcade(
            operation_mode=arc_agi.OperationMode.NORMAL,
            environments_dir=str(folder),
            recordings_dir=str(folder / "recordings"),
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
    arcade = online_arcade(folder)
    ids = sorted({str(info.game_id) for info in arcade.get_environments() if not info.local_dir})
    ids += [str(info.game_id) for info in arcade.get_environments() if info.local_dir]
    if not ids:
        raise RunError("offline: the game service lists no games")
    return sorted(set(ids))


def fetch(folder: Path, wanted: list[str], progress: Progress) -> tuple[list[str], list[str]]:
    """Download games into ``folder`` and keep the service's list beside them.

    Games that are there stay as they are. Returns the ids that were fetched or there, and those
    that the service did not give.

    Raises:
        RunError: the service cannot be reached.
    """
    folder.mkdir(parents=True, exist_ok=True)
    before = {game.metadata.game_id for game in games_on_disk(folder)}
    arcade = online_arcade(folder)
    listed = sorted(
        {str(info.game_id) for info in arcade.get_environments()} - _own(before, folder)
    )
    write_json(folder / PUBLIC_LIST, {"games": listed}, indent=1)
    chosen = wanted or listed
    done, failed = [], []
    for game_id in progress.track(chosen, "fetch", len(chosen)):
        known = any(game_id in (kept, kept.split("-", 1)[0]) for kept in before)
        if known or arcade.make(game_id) is not None:
            done.append(game_id)
        else:
            failed.append(game_id)
    return done, failed


def _own(on_disk: set[str], folder: Path) -> set[str]:
    """Games of the folder that are practice games and not the service's."""
    return {
        game.metadata.game_id for game in games_on_disk(folder) if "practice" in game.metadata.tags
    } & on_disk


def _short(error: Exception) -> str:
    return type(error).__name__
