"""Progress: bars for terminals, lines for files, and nothing of it on stdout."""

import io
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sysone.runs.progress import Progress

SHOW = """
from sysone.runs.progress import Progress
with Progress() as progress:
    task = progress.task("seed [0]", total=4)
    for count in range(4):
        task.advance(1, "score [12]")
    progress.note("a [note]")
    progress.result("a result")
    print("printed")
    task.finish()
"""


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def plain() -> tuple[Progress, io.StringIO, io.StringIO, Clock]:
    stderr, stdout, clock = io.StringIO(), io.StringIO(), Clock()
    return Progress(stderr=stderr, stdout=stdout, clock=clock), stderr, stdout, clock


def test_plain_lines_are_few_and_tell_all() -> None:
    progress, stderr, stdout, clock = plain()
    assert progress.plain
    with progress:
        task = progress.task("seed 0", total=400)
        for _ in range(400):
            clock.now_s += 0.125
            task.advance(1, f"score {task.completed:g}")
        progress.note("[warm] answer 7 ms")
        progress.result("[local seed=0]")
        task.finish("done")
    assert stderr.getvalue().splitlines() == [
        "seed 0: 80/400 (20 %), 10 s, score 79",
        "seed 0: 160/400 (40 %), 20 s, score 159",
        "seed 0: 240/400 (60 %), 30 s, score 239",
        "seed 0: 320/400 (80 %), 40 s, score 319",
        "seed 0: 400/400 (100 %), 50 s, score 399",
        "[warm] answer 7 ms",
        "seed 0: 400/400 (100 %), 50 s, done",
    ]
    assert stdout.getvalue() == "[local seed=0]\n"


def test_a_task_without_a_known_end() -> None:
    progress, stderr, _, clock = plain()
    with progress:
        task = progress.task("waiting")
        clock.now_s = 12.4
        task.update(3)
        task.finish()
    assert stderr.getvalue() == "waiting: 3, 12 s\nwaiting: 3, 12 s\n"


def test_track_counts_items_and_hands_them_on() -> None:
    progress, stderr, _, _ = plain()
    with progress:
        assert list(progress.track(iter("abc"), "letters", total=3)) == ["a", "b", "c"]
    assert stderr.getvalue() == "letters: 3/3 (100 %), 0 s\n"


def test_tasks_may_advance_from_many_threads() -> None:
    progress, stderr, _, _ = plain()
    with progress:
        task = progress.task("calls", total=4000)
        threads = [
            threading.Thread(target=lambda: [task.advance() for _ in range(1000)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        task.finish()
    assert stderr.getvalue() == "calls: 4000/4000 (100 %), 0 s\n"


def test_stdout_gets_results_alone_when_piped() -> None:
    done = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert done.stdout == "a result\nprinted\n"
    assert done.stderr == "a [note]\nseed [0]: 4/4 (100 %), 0 s, score [12]\n"


@pytest.mark.parametrize("stdout_too", [False, True])
def test_bars_on_a_terminal_leave_stdout_alone(tmp_path: Path, stdout_too: bool) -> None:
    parent, child = pty.openpty()
    with (tmp_path / "stdout").open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", SHOW],
            stdout=child if stdout_too else file,
            stderr=child,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        os.close(child)
        screen = b""
        while True:
            try:
                block = os.read(parent, 4096)
            except OSError:  # how a pseudo-terminal says that its other end is closed
                break
            if not block:
                break
            screen += block
        assert process.wait() == 0
    os.close(parent)
    assert b"4/4" in screen
    assert b"seed [0]" in screen
    assert b"score [12]" in screen
    assert b"a [note]" in screen
    written = (tmp_path / "stdout").read_text()
    assert written == ("" if stdout_too else "a result\nprinted\n")
    assert (b"a result" in screen) == stdout_too
