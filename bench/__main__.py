"""``python -m bench``: measure every promise, write build/bench/, and with --gate judge it."""

import os
import platform
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from bench import promises as promised
from bench.measure import Measurement, measure
from bench.registry import Entry, Unavailable, entries
from bench.report import markdown, print_table, row
from sysone.runs import RunError
from sysone.runs.atomic import write_json, write_text
from sysone.runs.progress import Progress

OUT = Path("build/bench")


def main(
    gate: Annotated[bool, typer.Option(help="Exit with 1 if a ratio is below its gate.")] = False,
    only: Annotated[
        str, typer.Option(help="Measure the promises whose name matches, as in 'trex.*'.")
    ] = "*",
    out: Annotated[Path, typer.Option(help="Where promises.json and table.md go.")] = OUT,
) -> None:
    """Measure every promise of bench/promises.toml against its reference."""
    try:
        wanted, measurements = matched(only)
    except ValueError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    rows: list[dict[str, Any]] = []
    broken: list[str] = []
    with Progress() as progress:
        task = progress.task("promises", total=len(wanted))
        for promise in wanted:
            task.advance(0, promise.name)
            try:
                rows.append(row(promise, twice(promise, measurements[promise.name], gate)))
            except Unavailable as reason:
                progress.note(f"{promise.name} is not measured here: {reason}")
            except Exception as error:  # the others are still worth knowing
                broken.append(promise.name)
                progress.note(f"{promise.name} could not be measured: {error!r}")
            task.advance(1)
    print_table(rows, Console(width=None if Console().is_terminal else 150))
    try:
        write_json(out / "promises.json", rows, indent=1)
        write_text(out / "table.md", markdown(rows, machine()))
    except RunError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    for entry in rows:
        if not entry["pass"]:
            typer.echo(
                f"{entry['name']}: {entry['ratio']:g} times its reference, "
                f"the gate is {entry['gate']:g}",
                err=True,
            )
    if broken or (gate and not all(entry["pass"] for entry in rows)):
        raise typer.Exit(1)


def matched(pattern: str) -> tuple[list[promised.Promise], dict[str, Entry]]:
    """The promises to measure and every measurement; both lists must agree.

    Raises:
        ValueError: promises.toml is wrong, or a promise or a measurement lacks the other.
    """
    wanted, measurements = promised.load(), entries()
    names = {promise.name for promise in wanted}
    for name in sorted(names ^ measurements.keys()):
        missing = "nothing measures it" if name in names else "bench/promises.toml lacks it"
        raise ValueError(f"{name}: {missing}")
    chosen = [promise for promise in wanted if fnmatch(promise.name, pattern)]
    if not chosen:
        raise ValueError(f"no promise matches {pattern!r}; there are {', '.join(sorted(names))}")
    return chosen, measurements


def twice(promise: promised.Promise, entry: Entry, gate: bool) -> Measurement:
    """A measurement; below the gate a second try counts, for a machine that was too busy."""
    first = measure(entry(), promise.unit, promise.better)
    if not gate or first.ratio >= promise.gate:
        return first
    second = measure(entry(), promise.unit, promise.better)
    return max(first, second, key=lambda found: found.ratio)


def machine() -> str:
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration, IndexError):
        pass
    load = os.getloadavg()[0]
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()}, "
        f"Python {platform.python_version()}, load {load:.1f}"
    )


if __name__ == "__main__":
    typer.run(main)
