"""What is done to a program: small and read-only disks, few descriptors, a preloaded library."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

PATIENCE_S = 900
"""For a hung program alone: a busy machine may be slow."""

# In a mount namespace of its own, so that nothing is left behind, and no rights are needed where
# users may have namespaces. What was on the small disk is carried out at the end.
SMALL_DISK = """
set -e
disk=$1; size=$2; kept=$3; shift 3
mkdir -p "$disk"
cp -a "$disk/." "$kept"
mount -t tmpfs -o size="$size" chaos "$disk"
cp -a "$kept/." "$disk"
code=0; "$@" || code=$?
rm -rf "$kept"; cp -a "$disk/." "$kept"
exit $code
"""
READ_ONLY = """
set -e
disk=$1; shift
mkdir -p "$disk"
mount --bind "$disk" "$disk"
mount -o remount,ro,bind "$disk"
exec "$@"
"""
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")


@dataclass(frozen=True)
class Done:
    """How a program ended."""

    code: int
    out: str
    err: str


def run(line: Sequence[str], home: Path, environment: Mapping[str, str] | None = None) -> Done:
    """Run a program in ``home`` to its end."""
    process = subprocess.run(
        list(line),
        cwd=home,
        env={**plain_environment(), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Done(process.returncode, process.stdout, process.stderr)


def plain_environment() -> dict[str, str]:
    """One thread for every library, lines as wide as they are, and `site/sitecustomize.py`."""
    paths = [str(Path(__file__).parent / "site"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "500",
        "NO_COLOR": "1",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }


@cache
def _namespaces() -> str:
    """Why there are no mount namespaces, or nothing."""
    if sys.platform != "linux":
        return "mount namespaces are Linux's"
    try:
        tried = subprocess.run(
            [*NAMESPACE, 'mount -t tmpfs -o size=64k chaos "$PWD"'], capture_output=True, text=True
        )
    except FileNotFoundError:
        return "no unshare (util-linux)"
    return tried.stderr.strip() if tried.returncode else ""


def need_namespaces() -> None:
    """Skip where no disk can be mounted."""
    reason = _namespaces()
    if reason:
        pytest.skip(f"no disk can be mounted here: {reason}")


def on_small_disk(line: Sequence[str], disk: Path, kilobytes: int, home: Path) -> Done:
    """Run with a disk of so many kilobytes at ``disk``, filled with what is there already."""
    need_namespaces()
    kept = disk.with_name(f"{disk.name}.kept")
    kept.mkdir(parents=True)
    done = run([*NAMESPACE, SMALL_DISK, "sh", str(disk), f"{kilobytes}k", str(kept), *line], home)
    subprocess.run(["rm", "-rf", str(disk)], check=True)
    kept.rename(disk)
    return done


def on_read_only_disk(line: Sequence[str], disk: Path, home: Path) -> Done:
    """Run with ``disk`` as it is and never otherwise."""
    need_namespaces()
    return run([*NAMESPACE, READ_ONLY, "sh", str(disk), *line], home)


def few_descriptors(line: Sequence[str], count: int) -> list[str]:
    """The command line that runs another one with at most so many files open at a time."""
    return ["sh", "-c", f'ulimit -n {count}; exec "$@"', "sh", *line]


def with_descriptors(line: Sequence[str], count: int, home: Path) -> Done:
    """Run with at most so many files open at a time."""
    return run(few_descriptors(line, count), home)
