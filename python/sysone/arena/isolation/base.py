"""What every kind of isolation is asked for."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec

FILE_BYTES = 64 << 20
"""Largest file, and size of ``/tmp``."""
OPEN_FILES = 64


@dataclass(frozen=True)
class Sandbox:
    """One strategy's process that is to be."""

    folder: Path
    """The strategy."""
    memory_mb: int
    cpu_s: float
    """Processor time: the wall time that the whole match may take."""


@dataclass(frozen=True)
class Launch:
    """A process to start."""

    command: list[str]
    descriptors: tuple[int, ...] = ()
    """Open files that it inherits beside the channel."""


class Isolation(Protocol):
    """A way to run a strategy's process."""

    @property
    def name(self) -> str:
        """As in ``--isolation`` and in results."""

    @property
    def folder(self) -> str | None:
        """Where the strategy sees itself; None: where it is."""

    @property
    def over_standard_streams(self) -> bool:
        """Whether the channel is standard input and output instead of a pair of descriptors."""

    def prepared(
        self, sandbox: Sandbox, channel: tuple[int, int]
    ) -> AbstractContextManager[Launch]:
        """How to start a strategy's process that talks on the descriptors of ``channel``. What
        was opened for the start is closed at the end of the context.
        """


def host_settings(
    sandbox: Sandbox,
    channel: tuple[int, int],
    *,
    paths: Sequence[str] = (),
    memory: bool = True,
    confined: bool,
) -> str:
    """What ``host.py`` is told on its command line, as JSON."""
    settings: dict[str, Any] = {
        "paths": list(paths),
        "channel": list(channel),
        "limits": {
            **({"AS": sandbox.memory_mb << 20} if memory else {}),
            "CORE": 0,
            "NOFILE": OPEN_FILES if confined else 256,
            "FSIZE": FILE_BYTES,
            **({"CPU": max(1, round(sandbox.cpu_s))} if confined else {}),
        },
        "confined": confined,
    }
    return msgspec.json.encode(settings).decode()


class TrustedLocal:
    """A plain process: protects the match from crashes and hangs, and nothing else."""

    name = "none"
    folder = None
    over_standard_streams = False

    @contextmanager
    def prepared(self, sandbox: Sandbox, channel: tuple[int, int]) -> Iterator[Launch]:
        """This interpreter with its own paths."""
        script = Path(__file__).with_name("host.py")
        settings = host_settings(sandbox, channel, confined=False)
        yield Launch([sys.executable, str(script), settings])
