"""``sysone arc games``: list, fetch and make games."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sysone.arc.cli_common import GAMES_DIR, USAGE, Environments, fail, words
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

games_app = typer.Typer(help="List, fetch and make games.", no_args_is_help=True)


@games_app.command("list")
def games_list(
    environments_dir: Environments = GAMES_DIR,
    online: Annotated[
        bool, typer.Option("--online", help="Ask the game service what it lists.")
    ] = False,
) -> None:
    """Which games there are; the practice suite and the mocks always are."""
    if online:
        from sysone.arc.games import listed_online

        try:
            for game_id in listed_online(environments_dir):
                typer.echo(game_id)
        except RunError as error:
            typer.echo(f"sysone arc: {error}; what is on disk:", err=True)
        else:
            return
    list_games(environments_dir)


def list_games(folder: Path) -> None:
    """Print the mocks, the practice suite and the games of a folder."""
    from sysone.arc.env import MOCKS
    from sysone.arc.practice.build import SUITE
    from sysone.arc.toolkit import games_on_disk

    try:
        typer.echo(f"mock: {' '.join(MOCKS)}")
        places = [("practice", SUITE)]
        if folder.is_dir():
            places.append((str(folder), folder))
        for name, place in places:
            for game in games_on_disk(place):
                data = game.metadata
                levels = len(data.baseline_actions)
                typer.echo(
                    f"{name}: {data.game_id}  {levels} levels, baselines {data.baseline_actions}, "
                    f"{' '.join(data.tags)}"
                )
        if not folder.is_dir():
            typer.echo(f"{folder} is not there; games fetch makes it", err=True)
    except RunError as error:
        fail(error)


@games_app.command("fetch")
def games_fetch(
    ids: Annotated[list[str] | None, typer.Argument(help="Games; none: all listed.")] = None,
    environments_dir: Environments = GAMES_DIR,
    yes: Annotated[bool, typer.Option("--yes", help="Go online without asking.")] = False,
) -> None:
    """Download public games once; everything after that is offline."""
    if not yes:
        asked = "This contacts the public game service with an anonymous key. Go online?"
        if not sys.stdin.isatty():
            fail("games fetch goes online; --yes is consent", USAGE)
        typer.confirm(asked, abort=True, err=True)
    try:
        fetch_games(environments_dir, words(ids or []))
    except RunError as error:
        fail(error)


def fetch_games(folder: Path, ids: list[str]) -> None:
    """Download games, and say how many there are.

    Raises:
        RunError: the service cannot be reached.
    """
    from sysone.arc.games import fetch

    with Progress() as progress:
        done, failed = fetch(folder, ids, progress)
    typer.echo(f"{len(done)} games in {folder}")
    if failed:
        fail(f"the service did not give {', '.join(failed)}")


@games_app.command("make")
def games_make(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")],
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other games.")] = 0,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Of the three mechanics that no training sees.")
    ] = False,
) -> None:
    """Make training games that combine mechanics; three mechanics are never among them."""
    from sysone.arc.practice.build import generate
    from sysone.arc.practice.levels import HELD_OUT

    try:
        written = generate(out, seed, count, held_out)
    except RunError as error:
        fail(error)
    for folder in written:
        typer.echo(str(folder))
    if not held_out:
        typer.echo(f"held out: {', '.join(HELD_OUT)}", err=True)
