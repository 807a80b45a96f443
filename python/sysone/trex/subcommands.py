"""The commands beside playing: ``sysone trex replay`` and the like."""

from pathlib import Path
from typing import Annotated

import typer

from sysone.runs.progress import Progress
from sysone.trex.cli_options import check_writable, one_line_errors


def add_to(app: typer.Typer) -> None:
    """Put the commands under ``sysone trex``."""
    app.command()(replay)


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Made with --record.")],
    frames: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write every frame for a viewer, one JSON a line."),
    ] = None,
) -> None:
    """Play a recording again and verify every frame and every plan."""
    with one_line_errors():
        if frames is not None:
            check_writable(frames, "--frames")
        from sysone.trex.replay import Replay, write_frames

        with Progress() as progress:
            player = Replay(file)
            if frames is None:
                found = player.run()
            else:
                found = write_frames(player, frames)
                progress.note(f"frames in {frames}")
        cut = f", {found.cut} of them cut short" if found.cut else ""
        typer.echo(
            f"{file}: {found.matches} matches{cut}; {found.frames} frames and the plans of "
            f"{found.answers} answers are what engine and planner say"
        )
