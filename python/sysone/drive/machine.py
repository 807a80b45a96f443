"""What a watchdog does to this machine: probes, processes, graphics memory, ports."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, Protocol

from sysone.drive.ports import Ports, check_ports

PROBE_S: Final = 10.0
STOP_PAUSE_S: Final = 5.0


def start_arguments(
    server: tuple[str, ...], port: int, adapter: int, windows: bool = sys.platform == "win32"
) -> list[str]:
    """How a server is started. Rendering off screen fails on Windows, so a window it is there."""
    found = [
        *server,
        f"-carla-rpc-port={port}",
        f"-graphicsadapter={adapter}",
        "-quality-level=Epic",
        "-windowed",
        "-ResX=1280",
        "-ResY=720",
    ]
    if not windows and not os.environ.get("DISPLAY"):
        found.append("-RenderOffScreen")
    return found


def belongs(command_line: str, port: int) -> bool:
    """Whether a process is the server of a port: two instances share a program's name, and on UE4
    the launcher and the real program are two processes with the same arguments."""
    return f"-carla-rpc-port={port}" in command_line.split()


def gpu_memory_mb() -> int | None:
    """Memory in use on all cards together; None where it cannot be read."""
    try:
        found = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=10.0,
            check=True,
        )
        return sum(int(line) for line in found.stdout.split())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None


class System(Protocol):
    """What a watchdog does to the machine."""

    def probe(self, port: int) -> str | None:
        """None where the server lives, else refused, timeout, version, import or crashed."""

    def start(self, command: list[str]) -> int:
        """Start a program in a group of its own; its process id."""

    def stop_server(self, port: int) -> None:
        """End every process whose command line has that RPC port."""

    def stop_group(self, pid: int) -> None:
        """End a process and its children."""

    def running(self, pid: int) -> bool:
        """Whether a started program still runs."""

    def gpu_mb(self) -> int | None:
        """Graphics memory in use."""

    def ports(self, rpc: int, tm: int) -> Ports:
        """What is wrong with a server's ports."""

    def now(self) -> float:
        """Seconds since the epoch, as heartbeats have them."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class _Machine:
    """This machine."""

    def __init__(self, host: str | None) -> None:
        self.host = host
        self.children: dict[int, subprocess.Popen[bytes]] = {}

    def probe(self, port: int) -> str | None:
        from sysone.drive.backend import ServerLost, SimulationCrashed
        from sysone.drive.carla import CarlaBackend, ServerAddress
        from sysone.drive.hosts import find_host

        host = find_host(self.host, port).address
        backend = CarlaBackend(
            ServerAddress(host, port, restore_async="never"), deadlines={"*": 2 * PROBE_S}
        )
        try:
            backend.probe()
        except ServerLost as error:
            return error.kind
        except SimulationCrashed:
            return "timeout"
        finally:
            backend.close()
        return None

    def start(self, command: list[str]) -> int:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sys.stderr, start_new_session=True
        )
        self.children[child.pid] = child
        return child.pid

    def stop_server(self, port: int) -> None:
        for pid, command_line in processes():
            if belongs(command_line, port) and pid != os.getpid():
                _end(pid)
        self._collect()

    def stop_group(self, pid: int) -> None:
        if sys.platform == "win32":
            subprocess.run(["taskkill", "/F", "/T", "/PID", str(pid)], capture_output=True)
        else:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(os.getpgid(pid), number)
                except (ProcessLookupError, PermissionError):
                    break
                deadline = time.monotonic() + STOP_PAUSE_S
                while time.monotonic() < deadline and self.running(pid):
                    time.sleep(0.1)
                if not self.running(pid):
                    break
        self._collect()

    def _collect(self) -> None:
        self.children = {pid: one for pid, one in self.children.items() if one.poll() is None}

    def running(self, pid: int) -> bool:
        child = self.children.get(pid)
        if child is not None:
            return child.poll() is None
        try:
            os.kill(pid, 0)
        except OSError:
            return False
        return True

    def gpu_mb(self) -> int | None:
        return gpu_memory_mb()

    def ports(self, rpc: int, tm: int) -> Ports:
        return check_ports(rpc, tm)

    def now(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def system(host: str | None = None) -> System:
    """This machine, with its server at ``host``; where that is found if None."""
    return _Machine(host)


def processes() -> list[tuple[int, str]]:
    """Process id and command line of every process that may be looked at."""
    found = []
    if sys.platform == "win32":
        query = (
            "Get-CimInstance Win32_Process | ForEach-Object { "
            "[string]$_.ProcessId + ' ' + $_.CommandLine }"
        )
        listed = subprocess.run(
            ["powershell", "-NoProfile", "-Command", query], capture_output=True, text=True
        )
        for line in listed.stdout.splitlines():
            number, _, command = line.partition(" ")
            if number.isdigit():
                found.append((int(number), command))
        return found
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            raw = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        found.append((int(folder.name), raw.replace(b"\0", b" ").decode(errors="replace")))
    return found


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)
    except OSError:
        return
