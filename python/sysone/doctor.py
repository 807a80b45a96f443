"""``sysone doctor``: what of everything is here, what is missing, and the next step for each."""

import importlib
import importlib.util
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Annotated, Final, Literal

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

State = Literal["ok", "missing", "broken"]
"""What is missing is not needed by everybody; what is broken is."""
DISTRIBUTION: Final = "sysone-core"
CORE: Final = ("trex", "arena", "frames", "driving_score")
EXTRAS: Final = {
    "arc": ("torch", "numba", "yaml"),
    "drive": ("numba",),
    "arena": ("gymnasium", "pettingzoo"),
    "cluster": ("ray",),
    "hf": ("torch", "transformers", "peft"),
    "train": ("torch", "onnx"),
    "plot": ("matplotlib",),
    "view": ("plotly",),
    "film": ("playwright", "imageio", "imageio_ffmpeg"),
}
"""What tells that an extra is there."""

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


class Check(msgspec.Struct, frozen=True):
    """A row of the report."""

    area: str
    name: str
    state: State
    found: str
    next_step: str = ""


def checks() -> Iterator[Check]:
    """Every check, in the order in which they matter."""
    yield _package()
    yield _owner()
    yield from (_tried("core", name, lambda name=name: _core(name)) for name in CORE)  # type: ignore[misc]
    yield _grids()
    yield _tried("systemone", "embedded model", _model)
    yield from _extras()
    yield _torchao()
    yield from _arena()
    yield from _drive()


def _package() -> Check:
    found = f"{version()} on {platform.python_implementation()} {platform.python_version()}"
    return Check("package", DISTRIBUTION, "ok", found)


def version() -> str:
    """The installed version and its build: compiler's name, processor type, instruction sets."""
    try:
        number = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        number = "not installed"
    try:
        frames = importlib.import_module("sysone_core.frames")
        arena = importlib.import_module("sysone_core.arena")
    except ImportError as error:
        return f"{number} (core missing: {error})"
    return (
        f"{number} (arena {arena.VERSION}, sources {arena.SOURCES_SHA256[:12]}, "
        f"{platform.machine()}, {frames.simd_level()})"
    )


def _owner() -> Check:
    """Whether somebody else's distribution has modules under our import name, too."""
    owners = sorted(set(metadata.packages_distributions().get("sysone", [])))
    others = [name for name in owners if name != DISTRIBUTION]
    if others:
        return Check(
            "package",
            "import name",
            "broken",
            f"the name sysone belongs to {', '.join(others)}, too: its files may be ours or theirs",
            f"pip uninstall {' '.join(others)}; then pip install --force-reinstall {DISTRIBUTION}",
        )
    return Check("package", "import name", "ok", "sysone is ours alone")


def _tried(area: str, name: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(area, name, "ok", attempt())
    except Exception as error:
        step = f"pip install --force-reinstall {DISTRIBUTION}"
        return Check(area, name, "broken", f"{type(error).__name__}: {error}", step)


def _core(name: str) -> str:
    module = importlib.import_module(f"sysone_core.{name}")
    return f"loads ({(module.__doc__ or '').splitlines()[0].rstrip('.')})"


def _grids() -> Check:
    from sysone_core import grids

    if grids.backend() == "numba":
        return Check("core", "grids", "ok", "kernels compiled by numba")
    return Check(
        "core", "grids", "ok", "NumPy twins, the same bits and slower",
        "pip install 'sysone-core[arc]', then python -c "
        "'from sysone_core.grids import warm; warm()'",
    )  # fmt: skip


def _model() -> str:
    from sysone.systemone.engine import Engine

    question = {"type": "choice", "criteria": {"yes": "it is", "no": "it is not"}}
    answer = Engine().answer("The light is green.", {"q": question})
    return f"{answer['model']} answers"


def _extras() -> Iterator[Check]:
    for extra, modules in EXTRAS.items():
        absent = [name for name in modules if importlib.util.find_spec(name) is None]
        if absent:
            step = f"pip install 'sysone-core[{extra}]'"
            yield Check("extra", extra, "missing", f"without {', '.join(absent)}", step)
        else:
            yield Check("extra", extra, "ok", ", ".join(modules))


def _torchao() -> Check:
    """transformers refuses an old torchao while it loads a vision model, wanted or not."""
    try:
        found = metadata.version("torchao")
    except metadata.PackageNotFoundError:
        return Check("extra", "torchao", "ok", "not installed, not needed")
    numbers = [int(part) for part in found.split("+")[0].split(".")[:2] if part.isdecimal()]
    if numbers <= [0, 16]:
        step = "pip install 'torchao>0.16', or pip uninstall torchao"
        return Check("extra", "torchao", "broken", f"{found}: vision models refuse it", step)
    return Check("extra", "torchao", "ok", found)


def _arena() -> Iterator[Check]:
    from sysone.arena import doctor

    for row in doctor.checks():
        state: State = "ok" if row.ok else "broken" if row.required else "missing"
        yield Check("arena", row.name, state, row.detail, "" if row.ok else row.hint)


def _drive() -> Iterator[Check]:
    from sysone.drive import doctor

    for row in doctor.examine():
        state: State = "ok" if row.good else "broken" if row.good is None else "missing"
        yield Check("drive", row.name, state, row.found, "" if row.good else row.next_step)


@app.command("doctor")
def report(
    json_: Annotated[bool, typer.Option("--json", help="Rows as JSON lines.")] = False,
) -> None:
    """What of all worlds is here and what is missing, with the next step for each.

    Exit codes: 0 everything that all need is here, 1 something is broken.
    """
    rows = list(checks())
    if json_:
        for row in rows:
            typer.echo(msgspec.json.encode(row).decode())
    else:
        Console(file=sys.stdout).print(_table(rows))
    if any(row.state == "broken" for row in rows):
        raise typer.Exit(1)


def _table(rows: list[Check]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("", "part", "found", "next step"):
        table.add_column(name, overflow="fold")
    for row in rows:
        mark = {"ok": "[green]ok[/]", "missing": "[yellow]--[/]", "broken": "[red]!![/]"}[row.state]
        words = (f"{row.area}: {row.name}", row.found, row.next_step)
        table.add_row(mark, *map(escape, words))
    return table
