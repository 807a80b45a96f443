"""Strategies in containers, for those whose machines are set up for them."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import metadata

from sysone.arena.isolation.base import Launch, Sandbox, host_settings
from sysone.arena.isolation.sdk import sdk_folder

ASK_S = 20.0


def default_image() -> str:
    """The image that ``docker/strategy.Dockerfile`` makes for this version."""
    return f"rmuc-arena-strategy:{metadata.version('sysone-core')}"


class Docker:
    """Runs strategies with ``docker run``; the channel is standard input and output."""

    name = "docker"
    folder = "/strategy"
    over_standard_streams = True

    def __init__(self, image: str | None = None) -> None:
        self.image = image or default_image()

    @contextmanager
    def prepared(self, sandbox: Sandbox, channel: tuple[int, int]) -> Iterator[Launch]:
        """docker's command; the channel's descriptors are always the standard streams."""
        yield Launch(self.command(sandbox))

    def command(self, sandbox: Sandbox) -> list[str]:
        """docker's command line for a strategy."""
        memory = f"{sandbox.memory_mb}m"
        settings = host_settings(sandbox, (0, 1), memory=False, confined=True)
        return [
            *("docker", "run", "--rm", "-i", "--network", "none", "--read-only"),
            *("--tmpfs", "/tmp:rw,size=64m,noexec,nosuid,nodev"),
            *("--memory", memory, "--memory-swap", memory, "--cpus", "1", "--pids-limit", "64"),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", "65534:65534"),
            *("--ipc", "none", "--log-driver", "none", "--hostname", "strategy"),
            *("--workdir", "/strategy", "-v", f"{sandbox.folder.resolve()}:/strategy:ro"),
            *("-v", f"{sdk_folder()}:/sdk:ro", "-e", "PYTHONHASHSEED=0"),
            *("-e", "PYTHONDONTWRITEBYTECODE=1", "-e", "OMP_NUM_THREADS=1"),
            *(self.image, "python", "-I", "/sdk/host.py", settings),
        ]


@lru_cache(maxsize=4)
def unavailable(image: str) -> str | None:
    """Why docker cannot be used here, or None: a daemon must answer and have the image."""
    if shutil.which("docker") is None:
        return "docker is not installed"
    for question, why in (
        (
            ["docker", "version", "--format", "{{.Server.Version}}"],
            "docker's daemon does not answer",
        ),
        (["docker", "image", "inspect", image], f"docker has no image {image}"),
    ):
        try:
            done = subprocess.run(
                question,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=ASK_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return why
        if done.returncode != 0:
            return why
    return None
