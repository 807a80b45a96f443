"""What a scheduler may ask of the place where its work is done."""

import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from sysone.runs.errors import RunError
from sysone.runs.owner import end_with_owner

ATTEMPTS: Final = 3
"""How often a piece of work is begun whose machine is lost each time."""


class EngineError(RunError):
    """Work cannot be done at the place that was asked for; the text is one line and says why."""


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
    lost: bool = False
    """Whether the machine or process was taken away, so that another try may well succeed."""


class Executor(Protocol):
    """Runs up to `slots` pieces of work at a time."""

    @property
    def slots(self) -> int:
        """How many pieces may be under way now; of a cluster it may change, even to 0."""

    def submit(self, place: int, item: Any) -> None:
        """Begin a piece of work; there must be a free slot."""

    @property
    def running(self) -> int:
        """How many are under way."""

    def wait(self, timeout_s: float) -> list[Finished]:
        """What has ended; returns as soon as something has, or after ``timeout_s``.

        Raises:
            EngineError: nothing is left to do work at.
        """

    def stop(self) -> None:
        """Ask everything that is under way to end soon; results still come."""

    def kill(self) -> None:
        """End everything now; nothing more comes."""

    def close(self) -> None:
        """Let go of the processes; nothing may be under way."""


def die_with_parent(parent: int) -> None:
    """End this process when the thread that began it ends; ``parent`` is its process."""
    end_with_owner()
    if os.getppid() != parent:
        os._exit(1)  # it ended before we asked to end with it


def answer(work: Work, item: Any, stopping: Callable[[], bool]) -> tuple[Any, str | None]:
    """The result of a piece of work, or why there is none."""
    try:
        return work(item, stopping), None
    except RunError as error:
        return None, str(error)
    except OSError as error:  # the machine's affair, which a traceback makes no clearer
        return None, f"{type(error).__name__}: {error}"
    except Exception as error:
        traceback.print_exc()
        return None, f"{type(error).__name__}: {error}"
