"""Ports of a CARLA server: which are reserved or taken, and which gap to take instead.

On Windows winNAT reserves ranges of ports that move at each reboot. A server that binds inside one
dies with 0xE06D7363 and a crash log that points at the graphics card, so ports are looked at before
every start.
"""

import re
import socket
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

PORTS_OF_A_SERVER: Final = 3
"""RPC, streaming and secondary: P, P + 1, P + 2."""
STEP: Final = 10
HIGHEST: Final = 65535
DEFAULT_PORT: Final = {"ue5": 2021, "ue4": 2031}
TM_PORT: Final = 8000
COMMAND: Final = ("netsh", "int", "ipv4", "show", "excludedportrange", "tcp")
COMMAND_S: Final = 10.0
_ROW: Final = re.compile(r"^\s*(\d{1,5})\s+(\d{1,5})(?:\s+\*)?\s*$")

Range = tuple[int, int]


def parse_excluded(text: str) -> list[Range]:
    """The excluded ranges in the text of ``netsh int ipv4 show excludedportrange tcp``.

    Headings are in the system's language, so only rows of two whole numbers count, with or without
    the ``*`` of an administered range.
    """
    found = []
    for line in text.splitlines():
        row = _ROW.match(line)
        if row is not None and int(row[1]) <= int(row[2]) <= HIGHEST:
            found.append((int(row[1]), int(row[2])))
    return sorted(set(found))


def read_excluded(
    command: Sequence[str] = COMMAND, run: Callable[..., bytes] | None = None
) -> list[Range]:
    """The host's excluded ranges; none where there is no such command.

    Works in WSL2 too, where Windows programs are on the path as ``netsh.exe``.
    """
    ask = run or _output
    for name in (command[0], f"{command[0]}.exe"):
        try:
            raw = ask([name, *command[1:]])
        except (OSError, subprocess.SubprocessError):
            continue
        # the console's code page is unknown here, and only digits matter
        return parse_excluded(raw.decode("ascii", errors="replace"))
    return []


def _output(command: Sequence[str]) -> bytes:
    return subprocess.run(list(command), capture_output=True, timeout=COMMAND_S, check=True).stdout


def is_bound(port: int, host: str = "127.0.0.1") -> bool:
    """Whether something listens on, or holds, a port of this machine."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((host, port))
        except OSError:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Problem:
    """One port that cannot be used."""

    port: int
    reason: str

    def __str__(self) -> str:
        return f"port {self.port} is {self.reason}"


@dataclass(frozen=True, slots=True)
class Ports:
    """A server's ports, what is wrong with them, and what to take instead."""

    rpc: int
    tm: int
    problems: tuple[Problem, ...]
    proposed_rpc: int | None
    proposed_tm: int | None

    @property
    def free(self) -> bool:
        """Whether the asked ones can be used."""
        return not self.problems

    def text(self) -> str:
        """For a person."""
        wanted = f"{self.rpc}-{self.rpc + PORTS_OF_A_SERVER - 1} and traffic manager {self.tm}"
        if self.free:
            return f"ports {wanted} are free"
        lines = [f"ports {wanted} cannot be used:", *(f"  {one}" for one in self.problems)]
        if self.proposed_rpc is None or self.proposed_tm is None:
            lines.append("  and no gap is free above them")
        else:
            lines.append(
                f"  free: --carla-port {self.proposed_rpc} --tm-port {self.proposed_tm} "
                "(or --auto-port)"
            )
        return "\n".join(lines)


def check_ports(
    rpc: int,
    tm: int = TM_PORT,
    *,
    excluded: Iterable[Range] | None = None,
    bound: Callable[[int], bool] = is_bound,
) -> Ports:
    """Look at P to P + 2 and the traffic manager's port; propose the first free ones above.

    Gaps are looked for in steps of 10 at or above the asked port.
    """
    ranges = list(read_excluded() if excluded is None else excluded)

    def reason(port: int) -> str | None:
        for low, high in ranges:
            if low <= port <= high:
                return f"reserved by the system ({low}-{high}; winNAT, moves at reboot)"
        return "taken by another process" if bound(port) else None

    asked = [*range(rpc, rpc + PORTS_OF_A_SERVER), tm]
    problems = tuple(Problem(port, why) for port in asked if (why := reason(port)) is not None)
    if not problems:
        return Ports(rpc, tm, (), rpc, tm)
    gap = next(
        (
            start
            for start in range(rpc, HIGHEST - PORTS_OF_A_SERVER + 2, STEP)
            if all(
                port != tm and reason(port) is None
                for port in range(start, start + PORTS_OF_A_SERVER)
            )
        ),
        None,
    )
    taken = range(0) if gap is None else range(gap, gap + PORTS_OF_A_SERVER)
    other = next(
        (port for port in range(tm, HIGHEST + 1, STEP) if port not in taken and not reason(port)),
        None,
    )
    return Ports(rpc, tm, problems, gap, other)
