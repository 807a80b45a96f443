"""``sysone serve``: the decision service on a port."""

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8700

app = typer.Typer(help="System One decision service.", no_args_is_help=True)


@app.callback()
def _main() -> None:
    """System One decision service."""


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = DEFAULT_PORT,
) -> None:
    """Serve POST /v1/systemone with the embedded models until interrupted."""
    from sysone.systemone.engine import Engine
    from sysone.systemone.serving import bind, make_server

    try:
        listener = bind(host, port)
    except OSError as error:
        reason = error.strerror or str(error)
        typer.echo(f"sysone serve: cannot listen on {host}:{port}: {reason}", err=True)
        raise typer.Exit(1) from None
    bound = listener.getsockname()[1]
    server = make_server(Engine())
    typer.echo(f"sysone serve: listening on http://{host}:{bound}", err=True)
    server.run(sockets=[listener])


def _seed_range(text: str) -> range:
    first, colon, end = text.partition(":")
    if not (colon and first.isdigit() and end.isdigit() and int(first) < int(end)):
        raise typer.BadParameter(f"expected FIRST:END with FIRST < END, got {text!r}")
    return range(int(first), int(end))


@app.command()
def train_heads(
    questions: Annotated[Path, typer.Option(help="Labelled questions to train on, JSONL.")],
    calibration: Annotated[
        Path, typer.Option(help="Labelled questions to fit the scale on; none from --questions.")
    ],
    name: Annotated[str, typer.Option(help="The model's name.")],
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and NAME.safetensors.")],
    description: Annotated[str, typer.Option(help="One line for the model list.")] = "",
    held_out_seeds: Annotated[
        str,
        typer.Option(help="Evaluation seeds, FIRST:END; an example of them is refused."),
    ] = "0:1000",
    rank: Annotated[int, typer.Option(min=1, help="Hidden units a side.")] = 32,
    epochs: Annotated[int, typer.Option(min=1)] = 30,
    seed: Annotated[int, typer.Option(help="Seed of the initial weights and the order.")] = 0,
) -> None:
    """Train a pair of residual heads on the embedded encoder (needs the train extra)."""
    try:
        from sysone.systemone.training import residual
    except ModuleNotFoundError as missing:
        typer.echo(
            f"sysone train-heads needs {missing.name}: pip install 'sysone-core[train]'", err=True
        )
        raise typer.Exit(1) from None
    from sysone.runs import RunError
    from sysone.systemone.training.examples import ExampleError
    from sysone.systemone.training.recipe import train_files

    config = residual.Config(rank=rank, epochs=epochs, seed=seed)
    try:
        report = train_files(
            questions, calibration, _seed_range(held_out_seeds), config, name, description, out
        )
    except (ExampleError, RunError) as error:
        typer.echo(f"sysone train-heads: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(report)


if __name__ == "__main__":
    app()
