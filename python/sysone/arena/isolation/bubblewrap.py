"""Strategies in a sandbox of bubblewrap: own namespaces, read-only files, no network."""

import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path

from sysone.arena.isolation import pids
from sysone.arena.isolation.base import FILE_BYTES, Launch, Sandbox, host_settings
from sysone.arena.isolation.sdk import sdk_folder
from sysone_core.arena import seccomp_filter

PROBE_S = 30.0
_NOBODY = "65534"
_PROBE = """
import os, socket
for name, attempt in (
    ("make a socket", lambda: socket.socket()),
    ("start a process", os.fork),
    ("write outside /tmp", lambda: open("/probe", "w")),
):
    try:
        attempt()
    except OSError:
        continue
    raise SystemExit(f"a strategy could {name}")
print("contained")
"""


class Bubblewrap:
    """Runs strategies under ``bwrap``."""

    name = "bubblewrap"
    folder = "/strategy"
    over_standard_streams = False

    @contextmanager
    def prepared(self, sandbox: Sandbox, channel: tuple[int, int]) -> Iterator[Launch]:
        """bwrap around the SDK's host."""
        settings = host_settings(sandbox, channel, paths=site_folders(), confined=True)
        with launch(sandbox.folder, ["/sdk/host.py", settings]) as found:
            yield found


@contextmanager
def launch(folder: Path, arguments: Sequence[str]) -> Iterator[Launch]:
    """Python in a sandbox with a strategy's folder.

    bwrap reads its options from a file: on its command line, which can be seen from inside, they
    would tell where things are on this machine.
    """
    with ExitStack() as files:
        opened = []
        options = walls(folder)
        program = seccomp_filter()
        if program:
            opened.append(files.enter_context(_held(program)))
            options += ["--seccomp", str(opened[0])]
        opened.append(files.enter_context(_held("\0".join(options).encode() + b"\0")))
        command = ["bwrap", "--args", str(opened[-1]), "--"]
        command += [sys.executable, "-I", "-S", *arguments]
        yield Launch(pids.entered(command), tuple(opened))


@contextmanager
def _held(content: bytes) -> Iterator[int]:
    """A descriptor of a file in memory, at its start."""
    descriptor = os.memfd_create("bwrap", 0)
    try:
        os.write(descriptor, content)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def walls(folder: Path) -> list[str]:
    """bwrap's options."""
    options = [
        *("--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
        *("--cap-drop", "ALL", "--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "strategy"),
        *("--ro-bind", "/usr", "/usr"),
        # Before the interpreter, which may be somewhere below it.
        *("--size", str(FILE_BYTES), "--tmpfs", "/tmp"),
    ]
    for link in ("lib", "lib64", "bin"):
        if Path("/", link).exists():
            options += ["--symlink", f"usr/{link}", f"/{link}"]
    options += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for path in _interpreter():
        options += ["--ro-bind", path, path]
    # Where the package is installed, so are all the bundled strategies.
    for hidden in _hidden():
        options += ["--tmpfs", hidden]
    options += [
        *("--ro-bind", str(folder.resolve()), "/strategy"),
        *("--ro-bind", str(sdk_folder()), "/sdk"),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--chdir", "/strategy"),
        *("--setenv", "PYTHONHASHSEED", "0", "--setenv", "PYTHONDONTWRITEBYTECODE", "1"),
        *("--setenv", "OMP_NUM_THREADS", "1", "--setenv", "HOME", "/tmp"),
    ]
    options += ["--remount-ro", "/"]  # the root that the mounts stand in is a file system, too
    return options


def site_folders() -> list[str]:
    """Where third-party packages are: of this environment, and of others that it looks into."""
    found = [*site.getsitepackages(), *(path for path in sys.path if path.endswith("-packages"))]
    return [path for path in dict.fromkeys(found) if Path(path).is_dir()]


@lru_cache(maxsize=1)
def _interpreter() -> tuple[str, ...]:
    """Folders outside ``/usr`` that the interpreter needs, outer ones first."""
    wanted = [sys.base_prefix, sys.prefix, *site_folders()]
    found: list[str] = []
    for path in sorted(dict.fromkeys(str(Path(path)) for path in wanted), key=len):
        if not any(Path(path).is_relative_to(outer) for outer in ("/usr", *found)):
            found.append(path)
    return tuple(found)


def _hidden() -> list[str]:
    return [
        str(Path(folder, name))
        for folder in site_folders()
        for name in ("sysone", "rmuc_arena")
        if Path(folder, name).is_dir()
    ]


@lru_cache(maxsize=1)
def unavailable() -> str | None:
    """Why bubblewrap cannot be used here, or None; a sandbox is really started, once."""
    if shutil.which("bwrap") is None:
        return "bwrap is not installed"
    with launch(sdk_folder(), ["-c", _PROBE]) as found:
        try:
            done = subprocess.run(
                found.command,
                capture_output=True,
                text=True,
                timeout=PROBE_S,
                stdin=subprocess.DEVNULL,
                pass_fds=found.descriptors,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"bwrap does not run: {error}"
    if done.returncode != 0 or done.stdout.strip() != "contained":
        words = (done.stderr or done.stdout).strip().splitlines()
        return f"bwrap does not hold here: {words[-1] if words else done.returncode}"
    return None
