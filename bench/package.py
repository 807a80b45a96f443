"""What an import costs, in an environment that holds the wheel and what it requires."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter_ns

from bench.measure import Pair
from bench.registry import Unavailable, promise
from tools.packaging.wheels import IMPORTS, WORK

ROUNDS = 11


def starts(package: str) -> Pair:
    """Starts of an interpreter that imports a package, and of one that does not."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    python = WORK / version / "venv" / "bin" / "python"
    if not python.exists():
        raise Unavailable(f"make wheels has not installed a wheel for CPython {version}")

    def start(statement: str) -> None:
        subprocess.run([python, "-c", statement], check=True, cwd=Path("/"))

    return Pair(
        partial(start, f"import {IMPORTS[package]}"), partial(start, "pass"),
        rounds=ROUNDS, reference_rounds=ROUNDS, clock=perf_counter_ns,
    )  # fmt: skip


@promise("package.import_core")
def import_core() -> Pair:
    return starts("sysone_core")


@promise("package.import_trex")
def import_trex() -> Pair:
    return starts("sysone.trex")
