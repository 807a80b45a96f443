"""A run's server: where it is, how long to wait for it, and the map of its town."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sysone.drive.backend import Backend, Info, ServerLost, SimulationCrashed
from sysone.drive.carla import CarlaBackend, ServerAddress
from sysone.drive.carla.backend import DEADLINE_S
from sysone.drive.hosts import Host, find_host
from sysone.drive.inject import Fault
from sysone.drive.ports import DEFAULT_PORT
from sysone.drive.roadmap import RoadMap, map_text
from sysone.runs.errors import RunError

BACKENDS: Final = ("embedded", "carla", "stand-in")
SIDES: Final = ("ue5", "ue4")
LIDAR_CHANNELS: Final = 64
RETRY_S: Final = 2.0
OF_THE_EMBEDDED_WORLD: Final = ("collide", "run_red", "nan_compass", "sensor_gap")
"""Faults that change the world; a real one is left alone."""


class Blocked(RuntimeError):  # noqa: N818 - the state that it becomes
    """The server cannot be kept up."""


def make_backend(
    kind: str,
    side: str,
    host: str | None,
    port: int | None,
    tm_port: int,
    restore_async: str,
    script: Path | None,
    call_s: float = DEADLINE_S,
) -> tuple[CarlaBackend, Host]:
    """The backend of ``carla`` or ``stand-in``, and which rule chose its host.

    Raises:
        RunError: an option has no known value.
    """
    for name, value, choices in (
        ("--side", side, SIDES),
        ("--restore-async", restore_async, ("auto", "always", "never")),
    ):
        if value not in choices:
            raise RunError(f"{name} is {value!r}, expected {' or '.join(choices)}")
    number = DEFAULT_PORT[side] if port is None else port
    if kind == "stand-in":
        source = "stand-in" if script is None else f"stand-in:{script.absolute()}"
        address = ServerAddress("127.0.0.1", number, tm_port, restore_async, source)
        return CarlaBackend(address, deadlines={"*": call_s}), Host(
            "127.0.0.1", "the stand-in server"
        )
    found = find_host(host, number)
    address = ServerAddress(found.address, number, tm_port, restore_async)
    return CarlaBackend(address, deadlines={"*": call_s}), found


def await_server(
    backend: Backend,
    wait_s: float,
    note: Callable[[str], None],
    *,
    stopped: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] = time.sleep,
) -> Info:
    """Wait until there is a server; who it is.

    Raises:
        Blocked: there was none in time.
        RunError: there is one that this client cannot speak with: waiting would not help.
        KeyboardInterrupt: ``stopped`` said so.
    """
    deadline = time.monotonic() + wait_s
    told = False
    while True:
        if stopped():
            raise KeyboardInterrupt
        try:
            return backend.open()
        except ServerLost as error:
            if error.kind in ("version", "import"):
                raise RunError(str(error)) from error
            reason = str(error)
        except SimulationCrashed as error:
            reason = str(error)
        if time.monotonic() >= deadline:
            raise Blocked(reason)
        if not told:
            note(f"{reason}; waiting up to {wait_s:g} s")
            told = True
        sleep(min(RETRY_S, max(0.0, deadline - time.monotonic())))


def server_map(backend: CarlaBackend, town: str, xodr: Path | None) -> RoadMap:
    """The map of a town of the server's, or of a world that it is to build from a file.

    Raises:
        RunError: the server has no such town.
        Blocked: it failed.
    """
    try:
        if xodr is not None:
            return backend.own_map(map_text(xodr), xodr.stem)
        return backend.town_map(town)
    except ServerLost as error:
        if error.kind == "town":
            raise RunError(str(error)) from error
        raise Blocked(str(error)) from error
    except SimulationCrashed as error:
        raise Blocked(str(error)) from error


def check_faults(faults: tuple[Fault, ...]) -> None:
    """Faults of the world are the embedded one's.

    Raises:
        RunError: one of them was asked for.
    """
    for fault in faults:
        if fault.name in OF_THE_EMBEDDED_WORLD:
            raise RunError(f"--inject {fault.name} changes the world: --backend embedded only")
