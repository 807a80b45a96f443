"""What the commands print: JSON on standard output, or in a file."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from sysone.runs.atomic import write_text

PrettyOption = Annotated[bool, typer.Option(help="Indent the JSON.")]
OutputOption = Annotated[Path | None, typer.Option(help="Write to this file instead.")]


def emit(value: Any, pretty: bool = False) -> None:
    """Print one JSON record."""
    print(json.dumps(value, indent=1 if pretty else None, allow_nan=False), flush=True)


def document(value: Any, output: Path | None, pretty: bool) -> None:
    """Print one JSON document, or write it to a file."""
    if output is None:
        emit(value, pretty)
    else:
        write_text(output, json.dumps(value, indent=1) + "\n")
