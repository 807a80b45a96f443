"""``python -m bench.instructions``: what the hottest functions cost in instructions.

callgrind counts what a program executes, so that neither other work nor the processor's mood moves
the number: a second gate beside the ratios, which sees a change of two per cent. Counts depend on
the compiler; they are compared where it is the one that they were taken with.
"""

import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from sysone.arena.rules.book import Book
from sysone.runs import RunError
from sysone.runs.atomic import write_text

ROOT = Path(__file__).resolve().parent.parent
STORED = Path(__file__).with_suffix(".json")
BUILD = Path("build/instructions")
TOLERANCE: Final = 0.02
"""Two runs of one build differ by less than a thousandth; other memcpys of glibc by about one."""

_DUMP = re.compile(r"Trigger: Client Request: (\S+)\n.*?\nsummary: (\d+)", re.DOTALL)


class Count(msgspec.Struct, frozen=True):
    """One function's work."""

    instructions: int
    result: int
    """What the work came to: another result means other work, whose count says nothing."""


class Counts(msgspec.Struct, frozen=True):
    """All of them, by one compiler."""

    compiler: str
    counts: dict[str, Count]


class CannotCountError(Exception):
    """The program failed, or callgrind did not count it; the text says what."""


def take(program: Path, rules: Path, out: Path) -> dict[str, Count]:
    """Run the program under callgrind.

    Raises:
        CannotCountError: the program failed, or not everything was counted.
    """
    for old in out.glob("callgrind.*"):
        old.unlink()
    done = subprocess.run(
        [
            *("valgrind", "--tool=callgrind", "--collect-atstart=no"),
            f"--callgrind-out-file={out / 'callgrind'}",
            *(program, rules),
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise CannotCountError(f"{program} failed under callgrind: {done.stderr[-500:]}")
    results = {name: int(value) for name, value in map(str.split, done.stdout.splitlines())}
    counts: dict[str, Count] = {}
    for dump in out.glob("callgrind.*"):
        for name, instructions in _DUMP.findall(dump.read_text()):
            counts[name] = Count(int(instructions), results[name])
    if counts.keys() != results.keys():
        raise CannotCountError(f"callgrind counted {sorted(counts)} of {sorted(results)}")
    return {name: counts[name] for name in results}


def compare(stored: dict[str, Count], found: dict[str, Count]) -> list[str]:
    """What is wrong with new counts: a line each; none if all is well."""
    wrong = [f"{name}: counted and not stored" for name in found.keys() - stored.keys()]
    for name, before in stored.items():
        if name not in found:
            wrong.append(f"{name}: stored and no longer counted")
            continue
        now = found[name]
        if now.result != before.result:
            wrong.append(
                f"{name}: its work came to {now.result}, stored is {before.result}; "
                "if it was meant to change, store the counts anew"
            )
        elif now.instructions > before.instructions * (1 + TOLERANCE):
            wrong.append(
                f"{name}: {now.instructions:,} instructions, {change(before, now)} "
                f"the stored {before.instructions:,}; allowed is +{TOLERANCE:.0%}"
            )
    return wrong


def change(before: Count, now: Count) -> str:
    """The difference in per cent, with its sign."""
    return f"{now.instructions / before.instructions - 1:+.2%}"


def compiler(build: Path) -> str:
    """Name, version and processor kind, as CMake saw them."""
    text = next(build.glob("CMakeFiles/*/CMakeCXXCompiler.cmake")).read_text()
    named = dict(re.findall(r'set\(CMAKE_CXX_COMPILER_(ID|VERSION) "([^"]*)"\)', text))
    return f"{named['ID']} {named['VERSION']} {platform.machine()}"


def main(
    build: Annotated[Path, typer.Option(help="Folder that CMake built hot_paths in.")] = BUILD,
    record: Annotated[bool, typer.Option(help="Store the counts in place of the old.")] = False,
) -> None:
    """Count, print, compare; exit 1 above the tolerance."""
    if shutil.which("valgrind") is None:
        typer.echo("instructions are not counted here: valgrind is not installed", err=True)
        return
    rules = build / "rules.json"
    try:
        write_text(rules, Book.of("2026").text)
        found = Counts(compiler(build), take(build / "hot_paths", rules, build))
    except CannotCountError as reason:
        typer.echo(str(reason), err=True)
        raise typer.Exit(1) from reason
    except (StopIteration, RunError) as error:
        typer.echo(f"{build} holds no build; make instructions makes one ({error})", err=True)
        raise typer.Exit(2) from error
    stored = msgspec.json.decode(STORED.read_bytes(), type=Counts) if STORED.exists() else None
    for name, count in found.counts.items():
        before = stored.counts.get(name) if stored else None
        typer.echo(
            f"{name:<16}{count.instructions:>14,}  {change(before, count) if before else 'new':>8}"
        )
    if record:
        write_text(STORED, msgspec.json.format(msgspec.json.encode(found)).decode() + "\n")
    elif stored is None or stored.compiler != found.compiler:
        taken = stored.compiler if stored else "none"
        typer.echo(f"not compared: {found.compiler} here, stored counts are of {taken}", err=True)
    elif wrong := compare(stored.counts, found.counts):
        typer.echo("\n".join(wrong), err=True)
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
