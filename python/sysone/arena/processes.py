"""Child processes of a match, each with a channel of its own."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from sysone.arena.frames import Channel
from sysone.arena.isolation.base import Isolation, Sandbox

_FREE_FROM = 64  # descriptors that no channel uses


def start(module: str, *, log: IO[bytes] | None) -> tuple[subprocess.Popen[bytes], Channel]:
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
        process_group=0,
        env={**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
    )
    os.close(to_child)
    os.close(from_child)
    return process, Channel(ours_in, ours_out)


def start_strategy(
    isolation: Isolation, sandbox: Sandbox, log: IO[bytes] | None
) -> tuple[subprocess.Popen[bytes], Channel]:
    """Run the SDK's host for a strategy, with a channel to it."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
    if isolation.over_standard_streams:
        with isolation.prepared(sandbox, (0, 1)) as launch:
            process = subprocess.Popen(
                launch.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log or subprocess.DEVNULL,
                pass_fds=launch.descriptors,
                process_group=0,
                env=environment,
            )
        assert process.stdin is not None
        assert process.stdout is not None
        # The channel's own, so that two owners do not close one descriptor.
        ours = (os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))
        process.stdout.close()
        process.stdin.close()
        return process, Channel(*ours)
    to_child, ours_out = os.pipe()
    ours_in, from_child = os.pipe()
    try:
        with isolation.prepared(sandbox, (to_child, from_child)) as launch:
            process = subprocess.Popen(
                launch.command,
                stdin=subprocess.DEVNULL,
                stdout=log or subprocess.DEVNULL,
                stderr=log or subprocess.DEVNULL,
                pass_fds=(to_child, from_child, *launch.descriptors),
                cwd=sandbox.folder,
                process_group=0,
                env=environment,
            )
    except BaseException:
        os.close(ours_in)
        os.close(ours_out)
        raise
    finally:
        os.close(to_child)
        os.close(from_child)
    return process, Channel(ours_in, ours_out)


def innermost(pid: int) -> int:
    """The process at the end of a chain of only children: a sandbox's wrappers lead to it."""
    while True:
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return pid
        if not children:
            return pid
        pid = int(children[0])


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
