"""Child processes of a match, each with a channel of its own."""

import contextlib
import fcntl
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import IO

from sysone.arena.frames import Channel

_FREE_FROM = 64  # descriptors that no channel uses


def start(
    module: str, *, log: IO[bytes] | None, folder: Path | None = None, memory_mb: int | None = None
) -> tuple[subprocess.Popen[bytes], Channel]:
    """Run a module's ``main`` with a channel on its descriptors 3 and 4."""
    to_child, ours_out = os.pipe()
    ours_in, from_child = os.pipe()
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from sysone.arena.processes import adopt; "
            "adopt(int(sys.argv[1]), int(sys.argv[2])); "
            f"from {module} import main; main()",
            str(to_child),
            str(from_child),
        ],
        stdin=subprocess.DEVNULL,
        stdout=log or subprocess.DEVNULL,
        stderr=log or subprocess.DEVNULL,
        pass_fds=(to_child, from_child),
        cwd=folder,
        process_group=0,
        env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
    )
    os.close(to_child)
    os.close(from_child)
    if memory_mb is not None:
        with contextlib.suppress(OSError, ValueError):
            limit = memory_mb << 20
            resource.prlimit(process.pid, resource.RLIMIT_AS, (limit, limit))
    return process, Channel(ours_in, ours_out)


def adopt(reader: int, writer: int) -> None:
    """Move the channel's pipes to descriptors 3 and 4, in the child."""
    high = [fcntl.fcntl(d, fcntl.F_DUPFD, _FREE_FROM) for d in (reader, writer)]
    os.close(reader)
    os.close(writer)
    for target, source in zip((3, 4), high, strict=True):
        os.dup2(source, target)
        os.close(source)


def stop(process: subprocess.Popen[bytes], patience_s: float = 1.0) -> None:
    """End a child: it may finish by itself for a moment, then it is killed."""
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
