"""The first thing that runs in a strategy's process: limits and doors, then the SDK's host.

A script of its own: inside a sandbox it is ``/sdk/host.py`` and finds the SDK beside it. Nothing
of the strategy is imported before everything here is done.
"""

import ctypes
import errno
import fcntl
import json
import os
import resource
import struct
import sys

_FREE_FROM = 32  # descriptors that no channel uses; below the limit on open files
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446  # one number everywhere
_PR_SET_NO_NEW_PRIVS = 38
# Rights on files of Landlock's first version (linux/landlock.h): all that change something.
_WRITES = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))
_PATH_BENEATH = 1


def adopt(reader: int, writer: int) -> None:
    """Move the channel to descriptors 3 and 4; standard streams that it used are given up."""
    high = [fcntl.fcntl(number, fcntl.F_DUPFD, _FREE_FROM) for number in (reader, writer)]
    for number in {reader, writer}:
        os.close(number)
    for target, source in zip((3, 4), high, strict=True):
        os.dup2(source, target)
        os.close(source)
    if 0 in (reader, writer):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)


def limit(limits: dict[str, int]) -> None:
    """Hard limits: without capabilities nothing raises them again."""
    for name, value in limits.items():
        number = getattr(resource, f"RLIMIT_{name}")
        most = resource.getrlimit(number)[1]
        value = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(number, (value, value))


def forbid_writes(but: str) -> None:
    """Landlock, a second lock behind the mounts: nothing is written outside one folder.

    Kernels without it have the mounts alone.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    rules = struct.pack("Q", _WRITES)
    ruleset = libc.syscall(_LANDLOCK_CREATE, rules, len(rules), 0)
    if ruleset < 0:
        if ctypes.get_errno() in (errno.ENOSYS, errno.EOPNOTSUPP):
            return
        raise OSError(ctypes.get_errno(), "landlock_create_ruleset")
    folder = os.open(but, os.O_PATH | os.O_CLOEXEC)
    beneath = struct.pack("=Qi", _WRITES, folder)
    try:
        if libc.syscall(_LANDLOCK_ADD, ruleset, _PATH_BENEATH, beneath, 0):
            raise OSError(ctypes.get_errno(), "landlock_add_rule")
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0):
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
    finally:
        os.close(folder)
        os.close(ruleset)


def main() -> None:
    """Prepare the process and hand over."""
    settings = json.loads(sys.argv[1])
    del sys.argv[1:]
    if settings["confined"]:
        sys.path.insert(0, "/sdk")  # -I leaves a script's own folder out
    else:
        del sys.path[0]  # modules that lie beside this one are not to shadow anybody's
    sys.path += settings["paths"]
    adopt(*settings["channel"])
    if settings["confined"]:
        forbid_writes(but="/tmp")
    limit(settings["limits"])
    from sysone.arena.sdk.host import main as serve

    serve()


main()
