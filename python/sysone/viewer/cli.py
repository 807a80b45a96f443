"""``sysone view``: look at what a run left behind, or at one that goes on."""

import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from sysone.runs.errors import RunError

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

USAGE = 2

PathsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="PATH...", help="A file or folder; several T-Rex recordings."),
]
PortOption = Annotated[
    int, typer.Option(min=0, max=65535, help="On 127.0.0.1; 0: choose one that is free.")
]
NoOpenOption = Annotated[bool, typer.Option("--no-open", help="Start no browser.")]
HtmlOption = Annotated[
    Path | None,
    typer.Option(metavar="OUT.html", help="Write one self-contained file instead of serving."),
]
FilmOption = Annotated[
    Path | None,
    typer.Option(metavar="OUT.gif|OUT.mp4", help="Write a film instead (extra: film)."),
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Arena replays: simulate again first, and say so.")
]


@app.command()
def view(
    paths: PathsArgument,
    port: PortOption = 0,
    no_open: NoOpenOption = False,
    html: HtmlOption = None,
    verify: VerifyOption = False,
    gif: FilmOption = None,
    mp4: FilmOption = None,
    begin: Annotated[float, typer.Option("--from", min=0.0, help="Of a film, in seconds.")] = 0.0,
    end: Annotated[float | None, typer.Option("--to", min=0.0, help="Of a film.")] = None,
    speed: Annotated[float, typer.Option(min=0.05, max=60.0, help="Of a film.")] = 1.0,
    fps: Annotated[int, typer.Option(min=1, max=60, help="Of a film.")] = 20,
) -> None:
    """Show recordings, traces, drives, replays, reports and whole runs in a local page.

    Ctrl+C ends it. A run that goes on is followed as it writes.
    """
    if gif is None and mp4 is None:
        show(paths, port, no_open=no_open, html=html, verify=verify)
        return
    from sysone.runs.progress import Progress
    from sysone.viewer.detect import open_paths
    from sysone.viewer.film import Cut, write_film

    try:
        opened = open_paths(paths)
        for out, ending in ((gif, ".gif"), (mp4, ".mp4")):
            if out is None:
                continue
            if out.suffix.lower() != ending:
                raise RunError(f"{out} should end in {ending}")
            with Progress() as progress:
                count = write_film(opened, out, Cut(begin, end, speed, fps), progress)
                progress.note(f"{count} frames in {out}")
    except RunError as error:
        typer.echo(f"sysone view: {error}", err=True)
        raise typer.Exit(USAGE) from None


def show(
    paths: list[Path], port: int, *, no_open: bool, html: Path | None, verify: bool = False
) -> None:
    """What `view` does, for other commands that lead to the same page."""
    from sysone.viewer.detect import open_paths
    from sysone.viewer.server import bind, serve, write_html

    try:
        opened = open_paths(paths, verify=verify)
        # What cannot be shown is told here and not in the page.
        made = opened.documents[opened.first]()
        if len(opened.documents) == 1 and not made.live:
            opened = replace(opened, documents={opened.first: lambda: made})
        if html is not None:
            write_html(opened, html)
            typer.echo(f"{opened.title}: {html}", err=True)
            return
        listening = bind(port)
    except RunError as error:
        typer.echo(f"sysone view: {error}", err=True)
        raise typer.Exit(USAGE) from None
    address = f"http://{listening.getsockname()[0]}:{listening.getsockname()[1]}/"
    typer.echo(address)
    typer.echo(f"{opened.title} is shown there; Ctrl+C ends it", err=True)
    if not no_open:
        webbrowser.open(address)
    serve(opened, listening)
