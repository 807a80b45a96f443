"""Where a CARLA server is: as told, on this machine, or on the Windows host of a WSL2 guest."""

import os
import platform
import socket
import struct
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

VARIABLE: Final = "DRIVE_CARLA_HOST"
LOCAL: Final = "127.0.0.1"
CONNECT_S: Final = 1.0
ROUTES: Final = Path("/proc/net/route")


@dataclass(frozen=True, slots=True)
class Host:
    """An address and the rule that chose it."""

    address: str
    rule: str


def is_wsl2(release: str) -> bool:
    """Whether a kernel's release string is WSL2's."""
    return "microsoft" in release.lower()


def gateway_of_ip_route(text: str) -> str | None:
    """The third word of the ``default`` line of ``ip route show``."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 3 and words[:2] == ["default", "via"]:
            return words[2]
    return None


def gateway_of_route_table(text: str) -> str | None:
    """The gateway of the row with destination 00000000 in the kernel's route table.

    Addresses there are hexadecimal and little-endian.
    """
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 3 and words[1] == "00000000":
            try:
                return socket.inet_ntoa(struct.pack("<I", int(words[2], 16)))
            except (ValueError, struct.error):
                return None
    return None


def default_gateway() -> str | None:
    """This machine's, by either way."""
    try:
        found = subprocess.run(
            ["ip", "route", "show"], capture_output=True, text=True, timeout=5.0, check=True
        )
        gateway = gateway_of_ip_route(found.stdout)
    except (OSError, subprocess.SubprocessError):
        gateway = None
    if gateway is None and ROUTES.exists():
        gateway = gateway_of_route_table(ROUTES.read_text(encoding="ascii", errors="replace"))
    return gateway


def answers(host: str, port: int) -> bool:
    """Whether a TCP connection to it is accepted within a second."""
    try:
        socket.create_connection((host, port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True


def find_host(
    given: str | None,
    port: int,
    *,
    environment: Mapping[str, str] | None = None,
    release: str | None = None,
    gateway: Callable[[], str | None] = default_gateway,
    answers: Callable[[str, int], bool] = answers,
    mirrored: bool | None = None,
) -> Host:
    """Where the server is, by the first rule that fits: option, environment, WSL2, this machine.

    In WSL2 the Windows host is the default gateway, but in mirrored networking it is this
    machine's own address: both are tried, and of two that answer the gateway is taken unless
    ``mirrored`` is known to be so.
    """
    values = os.environ if environment is None else environment
    if given:
        return Host(given, "--carla-host")
    if values.get(VARIABLE):
        return Host(values[VARIABLE], f"the variable {VARIABLE}")
    if not is_wsl2(platform.release() if release is None else release):
        return Host(LOCAL, "this machine")
    there = gateway()
    if there is None:
        return Host(LOCAL, "WSL2 without a default gateway: this machine")
    local, remote = answers(LOCAL, port), answers(there, port)
    if local and (mirrored or not remote):
        return Host(LOCAL, "WSL2, mirrored networking: this machine answers")
    if remote:
        return Host(there, "WSL2: the default gateway answers")
    return Host(there, "WSL2: the default gateway (nothing answers yet)")
