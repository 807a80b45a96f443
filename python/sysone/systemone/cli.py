"""``sysone serve``: the decision service on a port."""

from typing import Annotated

import typer

from sysone.systemone.server import DEFAULT_HOST, DEFAULT_PORT

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
    from sysone.systemone.server import bind, make_server

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


if __name__ == "__main__":
    app()
