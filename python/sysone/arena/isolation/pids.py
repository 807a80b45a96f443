"""A limit on a strategy's tasks, threads included, by a control group where one can be written.

RLIMIT_NPROC does not bind root, and the system call filter allows threads. A group is made for
each strategy below the group that this process is in, and removed when its strategy is gone. The
process enters it by itself before it becomes the sandbox, so nothing of it is ever outside.
"""

import contextlib
import itertools
import os
import time
from functools import lru_cache
from pathlib import Path
from typing import Final

MOST_TASKS: Final = 64
KEEP_S: Final = 60.0
"""A group may be empty so long because its process has not entered it yet."""
_PREFIX: Final = "sysone"
_ROOT: Final = Path("/sys/fs/cgroup")
_ENTER: Final = 'echo $$ > "$0"/cgroup.procs; exec "$@"'

_numbers = itertools.count()
_made: dict[Path, float] = {}


def entered(command: list[str]) -> list[str]:
    """A command that does the same inside a new group, or the same where none can be made."""
    group = _new()
    return command if group is None else ["/bin/sh", "-c", _ENTER, str(group), *command]


def _new() -> Path | None:
    folder = parent()
    if folder is None:
        return None
    _sweep(folder)
    group = folder / f"{_PREFIX}-{os.getpid()}-{next(_numbers)}"
    try:
        _make(group)
    except OSError:
        return None
    _made[group] = time.monotonic()
    return group


@lru_cache(maxsize=1)
def parent() -> Path | None:
    """Where groups can be made: tried once, with the group removed again."""
    if not Path("/bin/sh").exists():
        return None
    for folder in _own():
        trial = folder / f"{_PREFIX}-{os.getpid()}-trial"
        try:
            _make(trial)
        except OSError:
            continue
        finally:
            with contextlib.suppress(OSError):
                trial.rmdir()
        return folder
    return None


def _make(group: Path) -> None:
    group.mkdir()
    try:
        # Version 2 has this file only where the parent hands the controller down.
        (group / "pids.max").write_text(str(MOST_TASKS))
    except OSError:
        group.rmdir()
        raise


def _own() -> list[Path]:
    """This process's group: of version 1's controller, and of version 2."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if "pids" in controllers.split(","):
                found.append(_ROOT / "pids" / path.lstrip("/"))
            elif not controllers:
                found.append(_ROOT / path.lstrip("/"))
    return [folder for folder in found if folder.is_dir()]


def _sweep(folder: Path) -> None:
    """Remove groups whose strategies are gone: ours, and those of processes that are."""
    now = time.monotonic()
    for group in folder.glob(f"{_PREFIX}-*"):
        owner = group.name.split("-")[1]
        if group in _made:
            if now - _made[group] < KEEP_S:
                continue
        elif not owner.isdecimal() or Path("/proc", owner).exists():
            continue
        with contextlib.suppress(OSError):  # something is in it still
            group.rmdir()
            _made.pop(group, None)
