"""That the gates catch what they are there for: three faults, put into copies, each refused.

    make prove-gates

A slower search must be seen by the counts of instructions, a wrong penalty by the golden scores,
a descriptor that stays open by the descriptor tests. Each gate passes before the fault is put in
and must fail after it; nothing in the checkout is touched. The Python faults are put into a copy
of what `make wheels` installed.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer
from rich.console import Console
from rich.table import Table

from tools.packaging.wheels import WORK

ROOT: Final = Path(__file__).resolve().parent.parent.parent
VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
VENV: Final = WORK / VERSION / "venv"
"""Where `make wheels` left this Python's wheel alone."""
PACKAGES: Final = ("sysone", "sysone_core")
console = Console(stderr=True)


@dataclass(frozen=True, slots=True)
class Fault:
    """A change of one place, and the tests that must notice it; none: counts of instructions."""

    name: str
    file: str
    """From ``csrc`` or from the folder of the packages."""
    right: str
    wrong: str
    tests: tuple[str, ...] = ()

    def put(self, tree: Path) -> None:
        """Make the change in a copy.

        Raises:
            ValueError: the place is not there exactly once.
        """
        path = tree / self.file
        text = path.read_text()
        if text.count(self.right) != 1:
            raise ValueError(f"{self.file} holds {self.right!r} {text.count(self.right)} times")
        path.write_text(text.replace(self.right, self.wrong))


FAULTS: Final = (
    Fault(
        "a slower search",
        "csrc/trex/search.cpp",
        "return (mixed ^ (mixed >> 29)) * kGolden;",
        "return flags * kGolden;",  # neighbouring states meet in the table
    ),
    Fault(
        "a wrong penalty",
        "sysone/drive/profiles.py",
        '"red_light": 0.7,',
        '"red_light": 0.75,',
        ("tests/drive/test_golden_drive_scoring_ticks.py",),
    ),
    Fault(
        "a descriptor that stays open",
        "sysone/runs/atomic.py",
        "        os.close(descriptor)\n",
        "        pass\n",
        ("tests/test_descriptors.py",),
    ),
)


def counted(tree: Path) -> subprocess.CompletedProcess[str]:
    """Build the program of hot paths from a copy of the sources, and compare its counts."""
    build = tree / "build"
    options = ("-DCMAKE_BUILD_TYPE=Release", "-DSYSONE_PYTHON=OFF", "-DSYSONE_INSTRUCTIONS=ON")
    made = run("cmake", "-S", tree, "-B", build, "-G", "Ninja", *options)
    made = made if made.returncode else run("cmake", "--build", build, "--target", "hot_paths")
    if made.returncode:
        raise ValueError(made.stdout[-1000:] + made.stderr[-1000:])
    return run(sys.executable, "-m", "bench.instructions", "--build", build)


def tested(tree: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    """Run tests with the packages of a copy, in the environment that holds a wheel alone."""
    return run(
        *(VENV / "bin" / "python", "-m", "pytest", "-q", "-x", "--no-header", "--tb=line"),
        *("-p", "no:cacheprovider", *tests),
        PYTHONPATH=str(tree),
    )


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in the checkout, with its output kept."""
    return subprocess.run(
        [str(word) for word in command],
        cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True,
    )  # fmt: skip


def copy(fault: Fault, tree: Path) -> None:
    """What the fault is put into."""
    if not fault.tests:
        shutil.copytree(ROOT / "csrc", tree / "csrc")
        shutil.copy(ROOT / "CMakeLists.txt", tree)
        return
    installed = VENV / "lib" / f"python{VERSION}" / "site-packages"
    for package in PACKAGES:
        shutil.copytree(installed / package, tree / package)


def verdicts(fault: Fault) -> Iterator[tuple[bool, str]]:
    """Whether the gate passed, and its last words: without the fault, then with it."""
    with tempfile.TemporaryDirectory(prefix="sysone-gates-") as folder:
        tree = Path(folder)
        copy(fault, tree)
        for put in (False, True):
            if put:
                fault.put(tree)
            done = tested(tree, fault.tests) if fault.tests else counted(tree)
            said = (done.stderr.strip() or done.stdout.strip()).splitlines() or [""]
            failed = (line for line in said if line.startswith("FAILED"))
            yield done.returncode == 0, next(failed, said[-1])


def main() -> None:
    """Put each fault in; exit 1 if a gate is silent about one, or fails without it."""
    table = Table("fault", "without it", "with it", "what the gate says")
    wrong = False
    for fault in FAULTS:
        console.print(f"{fault.name}: {fault.file}")
        (before, words), (after, said) = verdicts(fault)
        table.add_row(
            fault.name, "passes" if before else f"fails: {words}",
            "passes" if after else "refused", said,
        )  # fmt: skip
        wrong = wrong or not before or after
    Console().print(table)
    if wrong:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
