"""How far a command is, on stderr: bars on a terminal, plain lines elsewhere, stdout untouched.

>>> with Progress() as progress:
...     seed = progress.task("seed 0", total=3600)
...     seed.advance(60, "score 12")
...     progress.note("warm answer 7 ms")  # stderr
...     progress.result("[local seed=0] ...")  # stdout
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Self, TextIO, TypeVar

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

PLAIN_EVERY_S = 10.0
"""Plain lines of one task are at least this far apart: they end up in log files."""

Item = TypeVar("Item")


class Task:
    """One thing that goes on; made by `Progress.task`."""

    def __init__(self, progress: "Progress", description: str, total: float | None) -> None:
        self.description = description
        self.total = total
        self.completed = 0.0
        self.detail = ""
        self._progress = progress
        self._started_s = self._printed_s = progress.clock()
        self._bar = progress._add_bar(self)

    def advance(self, amount: float = 1, detail: str | None = None) -> None:
        """Count ``amount`` more as done, and show ``detail`` behind it from now on."""
        self._progress._advanced(self, self.completed + amount, detail)

    def update(self, completed: float, detail: str | None = None) -> None:
        """Set how much is done."""
        self._progress._advanced(self, completed, detail)

    def finish(self, detail: str | None = None) -> None:
        """Say that nothing more will come, and take the bar away."""
        self._progress._finished(self, detail)

    def line(self, now_s: float) -> str:
        """The state as one plain line, such as ``seed 0: 120/3600 (3 %), 2 s, score 4``."""
        done = f"{self.completed:g}"
        if self.total:
            done += f"/{self.total:g} ({100 * self.completed / self.total:.0f} %)"
        parts = [done, f"{now_s - self._started_s:.0f} s"]
        if self.detail:
            parts.append(self.detail)
        return f"{self.description}: {', '.join(parts)}"


class Progress:
    """Progress of any number of tasks, from any thread.

    ``plain`` chooses lines (true) or bars (false); by default bars are for terminals. ``stderr``,
    ``stdout`` and ``clock`` (monotonic seconds) are for tests.
    """

    def __init__(
        self,
        *,
        plain: bool | None = None,
        stderr: TextIO | None = None,
        stdout: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._stderr = stderr if stderr is not None else sys.stderr
        self._stdout = stdout if stdout is not None else sys.stdout
        self._lock = threading.RLock()
        console = Console(file=self._stderr)
        self.plain = not console.is_terminal if plain is None else plain
        self._bars: Bars | None = None
        if not self.plain:
            # rich would otherwise send what is printed to stdout to its own console: to stderr.
            self._bars = Bars(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[detail]}"),
                console=console,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )

    def task(self, description: str, total: float | None = None) -> Task:
        """Begin to show a task; ``total`` is what `Task.advance` will add up to, if known."""
        with self._lock:
            return Task(self, description, total)

    def track(self, items: Iterable[Item], description: str, total: int) -> Iterator[Item]:
        """The items, each counted when the next one is asked for."""
        task = self.task(description, total)
        for item in items:
            yield item
            task.advance()
        task.finish()

    def note(self, text: str) -> None:
        """Print one line to stderr, above the bars."""
        with self._lock:
            if self._bars is not None:
                self._bars.console.print(escape(text), highlight=False, soft_wrap=True)
            else:
                print(text, file=self._stderr, flush=True)

    def result(self, text: str) -> None:
        """Print a line of results to stdout; bars on the same screen make room for it."""
        with self._lock:
            running = self._bars is not None and self._bars.live.is_started
            if self._bars is not None and running:
                self._bars.stop()
            print(text, file=self._stdout, flush=True)
            if self._bars is not None and running:
                self._bars.start()

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def _add_bar(self, task: Task) -> TaskID | None:
        if self._bars is None:
            return None
        return self._bars.add_task(escape(task.description), total=task.total, detail="")

    def _advanced(self, task: Task, completed: float, detail: str | None) -> None:
        with self._lock:
            task.completed = completed
            if detail is not None:
                task.detail = detail
            if self._bars is not None and task._bar is not None:
                self._bars.update(
                    task._bar,
                    completed=completed,
                    detail=escape(task.detail),
                )
            elif self.clock() - task._printed_s >= PLAIN_EVERY_S:
                self._print_line(task)

    def _finished(self, task: Task, detail: str | None) -> None:
        with self._lock:
            if detail is not None:
                task.detail = detail
            if self._bars is not None and task._bar is not None:
                self._bars.remove_task(task._bar)
            else:
                self._print_line(task)

    def _print_line(self, task: Task) -> None:
        task._printed_s = self.clock()
        print(task.line(task._printed_s), file=self._stderr, flush=True)
