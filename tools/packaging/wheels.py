"""Build the sdist, a wheel of it for each Python here, and try each in an empty environment.

    python tools/packaging/wheels.py 3.11 3.12 3.13

A wheel is made from the sdist and not from the checkout, so that a file which the sdist lacks is
noticed; auditwheel names the oldest glibc that it runs on. In the environment there is nothing but
the wheel and what it requires; the commands of every world run from a folder of their own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parent.parent.parent
WORK: Final = ROOT / "build" / "wheels"
"""A folder for each version: the environment that its wheel is alone in, which the bench uses."""
CONSTRAINTS: Final = ROOT / "constraints.txt"
ROUNDS: Final = 7
"""Starts of an interpreter, of which the fastest counts."""
IMPORTS: Final = {
    "sysone_core": (
        "sysone_core.trex, sysone_core.arena, sysone_core.frames, "
        "sysone_core.driving_score, sysone_core.grids"
    ),
    "sysone.trex": "sysone.trex.match, sysone.trex.virtual",
}
"""The whole of a package, where its own first file imports next to nothing."""
COMMANDS: Final = (
    ("sysone", "--version"),
    ("sysone", "trex", "--seeds", "1", "--duration", "6", "--out", "trex.json"),
    ("sysone", "arc", "eval", "--games", "mock", "--policy", "heuristic", "--max-actions", "20"),
    ("sysone", "drive", "run", "--agent", "autopilot", "--routes", "routes_mini.xml", "--out", "d"),
    (
        *("rmuc-arena", "run", "--season", "2026", "--red", "std_2026_hold"),
        *("--blue", "std_2026_rush", "--duration", "20", "--output", "match"),
        # On a busy machine a match ends too: only the commands are tried here.
        *("--timeout", "60", "--startup-timeout", "300"),
    ),
)
TESTS: Final = (
    *(f"tests/{world}/test_golden_*.py" for world in ("trex", "drive")),
    *("tests/arena/test_core_mirror.py", "tests/arena/test_core_field.py", "tests/runs"),
)
TEST_FILTER: Final = "not carla"
TEST_PACKAGES: Final = ("pytest", "pytest-timeout", "hypothesis")

app = typer.Typer(add_completion=False)
console = Console(stderr=True)


class FailedError(Exception):
    """A command ended with another status than 0; the text holds what it printed last."""


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Standard output of a command.

    Raises:
        FailedError: it failed.
    """
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd, env={**clean, **environment}, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        words = " ".join(map(str, command))
        raise FailedError(f"{words}: exit {done.returncode}\n{(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def interpreter(version: str) -> Path | None:
    """A CPython of this version: of the path, or one that pyenv keeps."""
    kept = Path.home() / ".pyenv" / "versions"
    named = shutil.which(f"python{version}")
    for path in [*([Path(named)] if named else []), *sorted(kept.glob(f"{version}.*/bin/python"))]:
        try:
            if (
                run(path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").strip()
                == version
            ):
                return path
        except FailedError:
            continue
    return None


@contextmanager
def step(words: str) -> Iterator[None]:
    """Say on stderr what is done now."""
    with console.status(words):
        yield
    console.print(f"  {words}: ok")


def sdist(out: Path) -> Path:
    """The sdist of this checkout."""
    run(sys.executable, "-m", "build", "-q", "--sdist", "--outdir", out, ".")
    (found,) = out.glob("*.tar.gz")
    return found


def wheel(python: Path, source: Path, out: Path) -> Path:
    """A wheel of the sdist, named for the oldest glibc that it runs on."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        run(
            *(python, "-m", "pip", "wheel", "-q", "--no-deps", "--wheel-dir", made, source),
            PIP_CONSTRAINT=str(CONSTRAINTS),
        )
        (plain,) = made.glob("*.whl")
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", out, plain)
    (found,) = out.glob(f"*-{plain.name.split('-')[2]}-*.whl")
    return found


def contents(path: Path) -> list[str]:
    """What should not be in a wheel."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    strange = (".pyx", ".cpp", ".h", ".nbi", ".nbc", ".pyc", ".o", ".a")
    return [name for name in names if name.endswith(strange) or name.startswith("tests/")]


def import_ms(python: Path, statement: str) -> float:
    """Fastest wall time of a start of the interpreter with this statement, in ms."""
    code = (
        "import subprocess, sys, time\n"
        "def once():\n"
        "    start = time.perf_counter()\n"
        "    subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)\n"
        "    return 1e3 * (time.perf_counter() - start)\n"
        f"print(min(once() for _ in range({ROUNDS})))"
    )
    return float(run(python, "-c", code, statement, cwd=Path("/")))


def tried(python: Path, source: Path, out: Path, work: Path, tests: bool) -> dict[str, Any]:
    """Build for one interpreter, install alone, run; what was found."""
    with step("wheel of the sdist"):
        made = wheel(python, source, out)
    if strange := contents(made):
        raise FailedError(f"{made.name} holds {', '.join(strange[:5])}")
    venv, folder = work / "venv", work / "folder"
    with step("empty environment"):
        run(python, "-m", "venv", venv)
        inside = venv / "bin" / "python"
        run(inside, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, made)
    folder.mkdir()  # no checkout beside it
    for command in COMMANDS:
        with step(" ".join(command)):
            run(venv / "bin" / command[0], *command[1:], cwd=folder)
    if compiled := [path.name for path in venv.rglob("sysone*/**/*.nbi")]:
        raise FailedError(f"the first use compiled: {', '.join(compiled[:5])}")
    times = {"interpreter": import_ms(inside, "pass")}
    times |= {name: import_ms(inside, f"import {what}") for name, what in IMPORTS.items()}
    found: dict[str, Any] = {
        "wheel": made.name,
        "bytes": made.stat().st_size,
        "start_ms": {name: round(ms, 1) for name, ms in times.items()},
        "times_empty": {
            name: round(times[name] / times["interpreter"], 2) for name in IMPORTS
        },
    }  # fmt: skip
    if tests:
        with step("golden tests on the wheel"):
            run(inside, "-m", "pip", "install", "-q", "-c", CONSTRAINTS, *TEST_PACKAGES)
            done = run(
                *(inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", TEST_FILTER),
                *(path for pattern in TESTS for path in sorted(ROOT.glob(pattern))),
            )
        found["tests"] = done.strip().splitlines()[-1]
    return found


@app.command()
def main(
    versions: Annotated[list[str], typer.Argument(help="CPython versions, as in 3.12.")],
    out: Annotated[Path, typer.Option(help="Where sdist and wheels go.")] = Path("dist"),
    tests: Annotated[bool, typer.Option(help="Run the golden tests on each wheel.")] = True,
) -> None:
    """Build and try; one JSON object a version on stdout. Exit 1 if one fails."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    failed = False
    table = Table("Python", "wheel", "start", *IMPORTS)
    with step("sdist"):
        source = sdist(out)
    for version in versions:
        python = interpreter(version)
        if python is None:
            console.print(f"CPython {version} is not here: left out")
            continue
        console.print(f"CPython {version}")
        work = WORK / version
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            found = tried(python, source, out, work, tests)
        except FailedError as error:
            console.print(f"[red]CPython {version}:[/red]", escape(str(error)))
            failed = True
            continue
        typer.echo(json.dumps({"python": version, **found}))
        times, empty = found["start_ms"], found["times_empty"]
        table.add_row(
            version, found["wheel"], f"{times['interpreter']} ms",
            *(f"{times[name]} ms, {empty[name]}×" for name in IMPORTS),
        )  # fmt: skip
    console.print(table)
    if failed:
        raise typer.Exit(1)


if __name__ == "__main__":
    app()
