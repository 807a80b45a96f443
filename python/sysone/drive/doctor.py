"""What a machine has and lacks for driving, with the next step for each."""

import importlib.util
import socket
import sys
from dataclasses import dataclass
from typing import Final

from sysone.drive.clientmap import client_versions
from sysone.drive.hosts import answers, find_host
from sysone.drive.machine import gpu_memory_mb
from sysone.drive.ports import DEFAULT_PORT, TM_PORT, check_ports
from sysone_core import frames

AGENT_PORT: Final = 5555


@dataclass(frozen=True, slots=True)
class Check:
    """One line: good is None where it must be mended."""

    name: str
    good: bool | None
    found: str
    next_step: str = ""


def examine() -> list[Check]:
    """Look at everything; starts nothing and imports no client."""
    return [_core(), _embedded(), _client(), *_servers(), _gpu(), _agent_port(), _python()]


def _core() -> Check:
    levels = ", ".join(frames.simd_levels())
    return Check("compiled core", True, f"yes, {frames.simd_level()} (of {levels})")


def _embedded() -> Check:
    return Check(
        "embedded backend",
        True,
        "yes, no server needed",
        "sysone drive run --agent autopilot",
    )


def _client() -> Check:
    found = client_versions()
    if len(found) > 1:
        return Check(
            "carla client",
            None,
            f"more than one ({', '.join(found)}): they share the module's name",
            "pip uninstall all but the one of your server's version",
        )
    if found:
        return Check(
            "carla client",
            True,
            f"{found[0]}: maps and GPS are its own",
            "rehearse a run over it without a server: sysone drive run --backend stand-in",
        )
    return Check(
        "carla client",
        False,
        "none: maps and GPS by the own reader, no CARLA server can be used",
        "pip install 'sysone-core[ue5]' (server 0.10), [ue4] (0.9.15) or [map] (0.9.16)",
    )


def _servers() -> list[Check]:
    found = []
    for side, port in DEFAULT_PORT.items():
        where = find_host(None, port)
        name = f"server {side}"
        if answers(where.address, port):
            text = f"something answers at {where.address}:{port} ({where.rule})"
            found.append(Check(name, True, text, f"sysone drive probe --side {side}"))
            continue
        ports = check_ports(port, TM_PORT)
        text = f"none at {where.address}:{port} ({where.rule})"
        step = f"start one: sysone drive watch --side {side} --server /path/to/its/program"
        if not ports.free:
            text += f"; {ports.problems[0]}"
            step = f"sysone drive preflight --side {side}"
        found.append(Check(name, False, text, step))
    return found


def _gpu() -> Check:
    used = gpu_memory_mb()
    if used is None:
        return Check(
            "graphics card",
            False,
            "memory cannot be read (no nvidia-smi): drive watch cannot tell a wrong card",
        )
    return Check("graphics card", True, f"{used} MB in use")


def _agent_port() -> Check:
    with socket.socket() as probe:
        if sys.platform != "win32":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", AGENT_PORT))
        except OSError:
            return Check(
                "agent port",
                False,
                f"{AGENT_PORT} is taken: by an executor, or a model's own listener?",
                "sysone drive run --agent-bind 127.0.0.1:0 takes another",
            )
    return Check("agent port", True, f"{AGENT_PORT} is free")


def _python() -> Check:
    fast = [name for name in ("orjson", "pybase64") if importlib.util.find_spec(name)]
    return Check(
        "model's side",
        True,
        f"Python {sys.version.split()[0]}" + (f" with {', '.join(fast)}" if fast else ""),
        "sysone drive serve --adapter stub; older Python: sysone drive agent-kit DIR",
    )
