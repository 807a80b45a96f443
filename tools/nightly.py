"""What is too long for every change, one after the other: ``make nightly``.

Each step is a make target of its own; its output goes to ``build/nightly/<step>.log``, progress to
stderr, and a table of all steps to stdout at the end, also as ``build/nightly/report.json``. A step
that fails does not keep the others from running. Exit code 1 tells of a failure.
``FUZZ_SECONDS`` (60) is what each fuzz target gets; step names as arguments choose some.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
LOGS = ROOT / "build" / "nightly"
STEPS = ("asan", "tsan", "fuzz", "chaos", "arc-soak", "arena-proof", "drive-faults", "drive-proof")


def run(step: str) -> dict[str, Any]:
    """Run one step; how it went, with the last line that it printed."""
    log = LOGS / f"{step}.log"
    begin = time.monotonic()
    environment = {"FUZZ_SECONDS": "60", **os.environ}
    # Make hands its own flags on in the environment, which would make a step of ours their child,
    # and ARGS, which names the steps here and something else to each of them.
    for name in ("ARGS", "MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
        environment.pop(name, None)
    with log.open("wb") as out:
        done = subprocess.run(
            ["make", step], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT, env=environment
        )
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    return {
        "step": step,
        "ok": done.returncode == 0,
        "exit_code": done.returncode,
        "seconds": round(time.monotonic() - begin, 1),
        "last_line": next((line for line in reversed(lines) if line), ""),
    }


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.nightly", description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join(STEPS))
    chosen = parser.parse_args().steps or STEPS
    for step in chosen:
        if step not in STEPS:
            parser.error(f"no step is named {step!r}; there are {', '.join(STEPS)}")
    LOGS.mkdir(parents=True, exist_ok=True)
    progress = Console(stderr=True)
    reports = []
    for step in chosen:
        progress.print(f"make {step} …")
        reports.append(run(step))
        (LOGS / "report.json").write_text(json.dumps(reports, indent=1) + "\n")
    table = Table("step", "result", "seconds", "last line")
    for report in reports:
        result = "ok" if report["ok"] else f"failed ({report['exit_code']})"
        table.add_row(report["step"], result, f"{report['seconds']:.0f}", report["last_line"][:90])
    Console(width=140).print(table)
    return 0 if all(report["ok"] for report in reports) else 1


if __name__ == "__main__":
    sys.exit(main())
