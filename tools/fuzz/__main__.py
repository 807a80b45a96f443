"""Fuzzes the targets one after the other: ``python -m tools.fuzz --seconds 10 [TARGET …]``.

What libFuzzer finds is written to ``build/fuzz/findings/<target>/``, inputs that reach new code to
``build/fuzz/corpus/<target>/``, and the counts of every run to ``build/fuzz/runs.jsonl``. Exit code
1 tells of findings. ``--list`` prints the targets.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from typing import Any

from rich.console import Console
from rich.table import Table

from tools.fuzz.catalogue import BUILD, RULES, Target, build, targets

# A parser that takes longer for one input hangs; sanitizers and a busy machine slow it down.
TIMEOUT_S = 60
RSS_MB = 4096
STATUS = re.compile(rb"#(\d+)\t\S+ +cov: (\d+) ft: (\d+)")
CLANG = (
    *("-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_C_COMPILER=clang"),
    *("-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1"),
    "-DSYSONE_SANITIZE=address,undefined",
)


def fuzz(target: Target, seconds: float, max_len: int) -> dict[str, Any]:
    """Run one target; its counts."""
    found, kept = BUILD / "findings" / target.name, BUILD / "corpus" / target.name
    for folder in (found, kept, target.corpus):
        folder.mkdir(parents=True, exist_ok=True)
    before = set(found.iterdir())
    options = [
        *(f"-max_total_time={seconds:g}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={RSS_MB}"),
        *(
            f"-max_len={max_len}",
            f"-artifact_prefix={found}/",
            "-print_final_stats=1",
            f"-report_slow_units={TIMEOUT_S}",
        ),
    ]
    if target.dictionary.exists():
        options.append(f"-dict={target.dictionary}")
    begin, spent = time.monotonic(), os.times()
    log = BUILD / "logs" / f"{target.name}.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as out:
        done = subprocess.run(
            [*target.command(), *options, str(kept), str(target.corpus)],
            stdout=out, stderr=subprocess.STDOUT, env=environment(),
        )  # fmt: skip
    after, text = os.times(), log.read_bytes()
    last = STATUS.findall(text)
    runs = re.search(rb"number_of_executed_units: (\d+)", text) or re.search(
        rb"Done (\d+) runs", text
    )
    new = sorted(path.name for path in set(found.iterdir()) - before)
    if done.returncode != 0 and not new:
        new = [f"exit code {done.returncode}, see {log}"]
    return {
        "target": target.name,
        "seconds": round(time.monotonic() - begin, 1),
        "cpu_s": round(
            after.children_user - spent.children_user
            + after.children_system - spent.children_system, 1,
        ),
        "executions": int(runs[1]) if runs else int(last[-1][0]) if last else 0,
        "edges": int(last[-1][1]) if last else 0,
        "features": int(last[-1][2]) if last else 0,
        "corpus": sum(1 for _ in kept.iterdir()),
        "findings": new,
    }  # fmt: skip


def environment() -> dict[str, str]:
    """What the targets are run with."""
    return {
        **os.environ,
        "SYSONE_FUZZ_RULES": str(RULES),
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "OMP_NUM_THREADS": "1",
        # Numba's compiled code has no coverage, and compiling it is no part of a parser's time.
        "NUMBA_DISABLE_JIT": "1",
    }


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="TARGET", help="default: all")
    parser.add_argument("--seconds", type=float, default=10, help="for each target (10)")
    parser.add_argument("--max-len", type=int, default=4096, help="longest input in bytes (4096)")
    parser.add_argument("--list", action="store_true", help="print the targets and stop")
    options = parser.parse_args()
    known = {target.name: target for target in targets()}
    if options.list:
        for target in known.values():
            print(f"{target.name}\t{'libFuzzer' if target.native else 'atheris'}")
        return 0
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no target is named {unknown[0]!r}; there are {', '.join(known)}")
    chosen = [known[name] for name in options.names] or list(known.values())
    if any(target.native for target in chosen):
        if shutil.which("clang++") is None:
            parser.error("the native targets need clang++ with its fuzzer runtime")
        build("clang", *CLANG)
    console = Console(stderr=True)
    reports = []
    for target in chosen:
        console.print(f"{target.name} …")
        report = fuzz(target, options.seconds, options.max_len)
        reports.append(report)
        with (BUILD / "runs.jsonl").open("a") as file:
            file.write(json.dumps(report) + "\n")
    show(console, reports)
    return 1 if any(report["findings"] for report in reports) else 0


def show(console: Console, reports: list[dict[str, Any]]) -> None:
    """The table at the end."""
    table = Table("target", "CPU s", "executions", "edges", "features", "findings")
    for report in reports:
        table.add_row(
            report["target"],
            *(f"{report[key]:,}" for key in ("cpu_s", "executions", "edges", "features")),
            ", ".join(report["findings"]) or "none",
        )
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
