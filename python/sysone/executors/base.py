"""What a scheduler may ask of the place where its work is done."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Work = Callable[[Any, Callable[[], bool]], Any]
"""One piece of work: an item, and a function that says whether to stop soon and return early. An
importable function; what goes in and comes out is pickled."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A piece of work that is over."""

    place: int
    """The number that it was submitted with."""
    result: Any = None
    error: str | None = None
    """Why there is no result: what was raised, or how the process ended."""


class Executor(Protocol):
    """Runs up to ``slots`` pieces of work at a time."""

    slots: int

    def submit(self, place: int, item: Any) -> None:
        """Begin a piece of work; there must be a free slot."""

    @property
    def running(self) -> int:
        """How many are under way."""

    def wait(self, timeout_s: float) -> list[Finished]:
        """What has ended; returns as soon as something has, or after ``timeout_s``."""

    def stop(self) -> None:
        """Ask everything that is under way to end soon; results still come."""

    def kill(self) -> None:
        """End everything now; nothing more comes."""

    def close(self) -> None:
        """Let go of the processes; nothing may be under way."""
