"""``rmuc-arena replay``: what recorded matches hold, and whether they can be played again."""

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, TextIO

import numpy as np
import typer

from sysone.arena import cli_run
from sysone.arena import record as records
from sysone.arena import replay as replays
from sysone.arena.cli_output import PrettyOption, emit
from sysone.arena.errors import ArenaError
from sysone.runs.atomic import write_bytes, write_text

app = typer.Typer(help="Look at recorded matches and verify them.", no_args_is_help=True)
NOT_OK = 1


@app.command("info")
def replay_info(
    file: Path,
    repair: Annotated[
        bool, typer.Option("--repair", help="Close the spool of a match that was killed first.")
    ] = False,
    pretty: PrettyOption = False,
) -> None:
    """Header, sizes, strategies and result."""
    if repair:
        file = repaired(file)
    emit(replays.info(file), pretty)


@app.command("verify")
def replay_verify(
    file: Annotated[list[Path], typer.Argument(help="Replays.")],
    force: Annotated[bool, typer.Option("--force", help="Also another engine's replay.")] = False,
) -> None:
    """Simulate recorded matches again and compare every tick."""
    ok = True
    for path in file:
        report = replays.verify(path, force=force)
        emit(report)
        ok = ok and report["ok"]
    if not ok:
        raise typer.Exit(NOT_OK)


@app.command("show")
def replay_show(
    file: Path,
    at: Annotated[float, typer.Option(help="Seconds from the start.")] = 0.0,
    pretty: PrettyOption = False,
) -> None:
    """The full state at a time."""
    emit(replays.show(file, at), pretty)


@app.command("export")
def replay_export(
    file: Path,
    format_: Annotated[str, typer.Option("--format", help="jsonl, csv or npz.")] = "jsonl",
    output: Annotated[Path | None, typer.Option(help="File; npz needs one.")] = None,
) -> None:
    """Robots' positions and numbers over time, for analysis."""
    if format_ not in ("jsonl", "csv", "npz"):
        raise ArenaError("usage", f"--format must be jsonl, csv or npz, not {format_!r}")
    if format_ == "npz" and output is None:
        raise ArenaError("usage", "--format npz needs --output")
    columns, rows = replays.frames(file)
    if format_ == "npz":
        packed = io.BytesIO()
        np.savez_compressed(packed, **dict(zip(columns, np.array(list(rows)).T, strict=True)))
        assert output is not None
        write_bytes(output, packed.getvalue())
        return
    if output is None:
        _write_rows(sys.stdout, format_, columns, rows)
        return
    text = io.StringIO()
    _write_rows(text, format_, columns, rows)
    write_text(output, text.getvalue())


def _write_rows(
    out: TextIO, format_: str, columns: Sequence[str], rows: Iterable[Sequence[int]]
) -> None:
    if format_ == "csv":
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
    else:
        out.writelines(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows)


def repaired(file: Path) -> Path:
    """The replay made of a spool; ``file`` is the spool, or the replay that it belongs to."""
    if file.name.endswith(records.SPOOL_SUFFIX):
        file = file.with_name(file.name.removesuffix(records.SPOOL_SUFFIX))
    spool = records.spool_of(file)
    if not spool.exists() and file.exists():
        print(f"note: {file} needs no repair", file=sys.stderr)
    elif file.exists():
        raise cli_run.Refusal(
            "output_exists", f"{file} is already there beside {spool}", cli_run.EXISTS
        )
    elif not records.close(file):
        raise ArenaError("replay", f"{spool} has no whole decision in it")
    return file
