"""What it costs a run that somebody watches it: ``python tools/viewer/watching.py``.

The same run is played alone and watched in turns: by a viewer in a process of its own, whose news a
client reads to the end. Compared are the processor seconds, the bytes and the calls of the run's
own processes (its strategies and workers among them), which a busy machine does not change much,
and the seconds that went by, which it does.
"""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx

from sysone.trex.compare import interval

PAIRS = 8
PATIENCE_S = 120.0
"""For a viewer to come up."""

ARENA = ("sysone.arena", "run", "--red", "std_2027_team", "--blue", "std_2027_econ")
ARENA += ("--trusted-local", "--duration", "300", "--timeout", "30", "--startup-timeout", "120")
TREX = ("sysone", "trex", "--no-baselines", "--seeds", "1", "--duration", "20")
DRIVE = ("sysone", "drive", "run", "--subset", "10000-10005", "--agent", "stub", "--traffic", "8")
DRIVE += ("--seeds", "0,1")


@dataclass(frozen=True)
class World:
    """A run of it, and which of its options names what is watched."""

    words: tuple[str, ...]
    watched: str
    ending: str
    first: str
    """What is there as soon as there is something to see, beside or inside what is watched."""


WORLDS = {
    "arena": World(ARENA, "--output", ".json", ".json.spool"),
    "trex": World((*TREX, "--out", "trex.json"), "--record", ".jsonl", ".jsonl"),
    "drive": World(DRIVE, "--out", ".run", ".run/state.json"),
}


@dataclass(frozen=True)
class Cost:
    """What a run's own processes took."""

    cpu_s: float
    wall_s: float
    writes: int
    written: int
    news: int = 0
    viewer_cpu_s: float = 0.0


def play(folder: Path, world: World, name: str, *, watched: bool) -> Cost:
    """Play once. Whatever goes wrong, no process of ours stays behind."""
    words = [sys.executable, "-m", *world.words, world.watched, name + world.ending]
    log = (folder / f"{name}.log").open("wb")
    begun = time.monotonic()
    running = subprocess.Popen(
        words, cwd=folder, stdout=log, stderr=log, start_new_session=True, env=os.environ
    )
    watcher = Watcher(folder / (name + world.ending), folder / (name + world.first), running.pid)
    try:
        if watched:
            watcher.start()
        # Ended and not yet taken note of: what it wrote can still be asked for.
        os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)
        wall_s = time.monotonic() - begun
        wrote = dict(
            line.split(": ") for line in Path(f"/proc/{running.pid}/io").read_text().splitlines()
        )
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    finally:
        watcher.stop()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        if running.returncode is None:
            running.wait()
        log.close()
    if running.returncode != 0:
        said = (folder / f"{name}.log").read_text(errors="replace").strip()[-400:]
        raise SystemExit(f"{' '.join(words)} ended with {running.returncode}: {said}")
    if watched and not watcher.news:
        raise SystemExit(f"{name}: nothing was seen of it: {watcher.failure or 'it was too short'}")
    return Cost(
        used.ru_utime + used.ru_stime,
        wall_s,
        int(wrote["syscw"]),
        int(wrote["wchar"]),
        watcher.news,
        watcher.cpu_s,
    )


class Watcher(threading.Thread):
    """Opens the viewer on a run as soon as there is something to see, and reads its news."""

    def __init__(self, path: Path, first: Path, pid: int) -> None:
        super().__init__(daemon=True)
        self.path, self.first, self.pid = path, first, pid
        self.news = 0
        self.cpu_s = 0.0
        self.failure = ""
        self._viewer: subprocess.Popen[str] | None = None
        self._stop_asked = threading.Event()

    def run(self) -> None:
        """Until the run or its news end."""
        while not (self.first.exists() and self.first.stat().st_size):
            if self._stop_asked.wait(0.02):
                return
        for _ in range(100):
            try:
                with self._view() as address:
                    self._follow(address)
                return
            except (httpx.HTTPError, OSError) as error:
                self.failure = str(error)
            if self._stop_asked.wait(0.05):  # not yet enough of it to be shown
                return

    @contextlib.contextmanager
    def _view(self) -> Iterator[str]:
        words = [sys.executable, "-m", "sysone", "view", str(self.path), "--no-open"]
        self._viewer = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        viewer = self._viewer
        assert viewer.stdout is not None
        assert viewer.stderr is not None
        try:
            address = viewer.stdout.readline().strip()
            if not address:
                raise OSError(viewer.stderr.read().strip())
            yield address
        finally:
            viewer.terminate()
            _, _, used = os.wait4(viewer.pid, 0)
            viewer.returncode = 0
            self.cpu_s += used.ru_utime + used.ru_stime

    def _follow(self, address: str) -> None:
        with httpx.stream("GET", f"{address}live", timeout=PATIENCE_S) as stream:
            stream.raise_for_status()  # between two matches nothing is live for a moment
            for line in stream.iter_lines():
                self.news += line.startswith("data:")
                if self._stop_asked.is_set():
                    return

    def stop(self) -> None:
        """The run is over."""
        self._stop_asked.set()
        if self.is_alive():
            self.join(PATIENCE_S)


def told(name: str, alone: list[float], watched: list[float], unit: str) -> str:
    """Both means, and the mean difference with its 95 % interval."""
    low, high = interval([b / a - 1 for a, b in zip(alone, watched, strict=True)])
    middle = statistics.mean(b / a - 1 for a, b in zip(alone, watched, strict=True))
    return (
        f"  {name}: alone {statistics.mean(alone):.2f} {unit}, watched "
        f"{statistics.mean(watched):.2f} {unit}, difference {100 * middle:+.1f} % "
        f"({100 * low:+.1f} to {100 * high:+.1f})"
    )


def measure(name: str, world: World, pairs: int) -> None:
    """A world's pairs, the order of a pair changing from one to the next."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        play(folder, world, "first", watched=False)  # what is kept for later runs is kept now
        alone: list[Cost] = []
        watched: list[Cost] = []
        for number in range(pairs):
            for both in (False, True) if number % 2 else (True, False):
                cost = play(
                    folder, world, f"{'watched' if both else 'alone'}{number}", watched=both
                )
                (watched if both else alone).append(cost)
                print(f"{name}{' watched' if both else ''}: {cost}", file=sys.stderr, flush=True)
    print(f"{name}: {pairs} pairs, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(told("processor", [c.cpu_s for c in alone], [c.cpu_s for c in watched], "s"))
    print(told("wall", [c.wall_s for c in alone], [c.wall_s for c in watched], "s"))
    print(
        told("written", [c.written / 1e6 for c in alone], [c.written / 1e6 for c in watched], "MB")
    )
    print(
        f"  calls of write: alone {sorted(c.writes for c in alone)}, "
        f"watched {sorted(c.writes for c in watched)}"
    )
    print(
        f"  the viewer itself: {statistics.mean(c.viewer_cpu_s for c in watched):.2f} s of "
        f"processor, {statistics.mean(c.news for c in watched):.0f} times something new",
        flush=True,
    )


def main() -> None:
    """Every world that is asked for, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), choices=[*WORLDS, []])
    parser.add_argument("--pairs", type=int, default=PAIRS)
    asked = parser.parse_args()
    for name in asked.worlds:
        measure(name, WORLDS[name], asked.pairs)


if __name__ == "__main__":
    main()
