"""Measure what docs/viewer.md says of speed: ``python tools/viewer/measure.py``.

How fast a 420 s replay, a report of nine hours' games and a trace of 20,000 steps open and move in
a real browser. What watching costs a run is ``watching.py``'s.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sysone.viewer.film import blank_page

LONG_TRACE = 20_000
GAMES, SEEDS = 110, 3  # of a report: 330 games and as many of each baseline
MATCH = (
    "--red",
    "std_2027_team",
    "--blue",
    "std_2027_econ",
    "--trusted-local",
    "--duration",
    "420",
)

SCRUB = """async () => {
  const player = sysoneView.player, seeks = [];
  for (let i = 0; i < 120; i++) {
    await new Promise(requestAnimationFrame);
    const before = performance.now();
    player.seek(player.start + (player.duration - player.start) * ((i * 37) % 120) / 120);
    seeks.push(performance.now() - before);
  }
  player.seek(player.start);
  player.speed = 4;
  player.frameTimes.length = 0;
  player.play();
  await new Promise((resolve) => setTimeout(resolve, 4000));
  player.pause();
  return [seeks, player.frameTimes];
}"""


def run(folder: Path, *words: str) -> None:
    """Run one of our commands in a folder."""
    subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True, capture_output=True)


def make(folder: Path) -> None:
    """Files as long as the longest that are promised."""
    run(folder, "sysone.arena", "run", *MATCH, "--output", "replay.json")
    run(
        folder,
        *("sysone", "arc", "eval", "--games", "pkey", "--max-actions", "120"),
        *("--out", "short.json", "--record", "traces"),
    )
    report: dict[str, Any] = json.loads((folder / "short.json").read_bytes())
    row = report["games"]["pkey"]
    games = {f"game{i:03d}": [row] * SEEDS for i in range(GAMES)}
    report["games"] = games
    for baseline in report["summary"]["baselines"].values():
        baseline["games"] = games
    (folder / "report.json").write_text(json.dumps(report))
    lines = (folder / "traces/pkey/seed0.jsonl").read_text().splitlines(keepends=True)
    steps = lines[1:-1]
    long = [lines[0], *(steps[i % len(steps)] for i in range(LONG_TRACE)), lines[-1]]
    (folder / "long.jsonl").write_text("".join(long))


def quantiles(values: list[float]) -> str:
    """The middle and the 95th percentile."""
    ordered = sorted(values)
    half, most = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    return f"p50 {half:.1f} ms, p95 {most:.1f} ms"


@contextmanager
def served(path: Path) -> Iterator[str]:
    """The address at which `sysone view` shows a file."""
    words = (sys.executable, "-m", "sysone", "view", str(path), "--no-open")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as viewer:
        assert viewer.stdout is not None
        try:
            yield viewer.stdout.readline().strip()
        finally:
            viewer.send_signal(signal.SIGINT)


def look(path: Path, page: Any) -> None:
    """Open a file as a user does, in a browser that is there, scrub through it and play it."""
    begin = time.perf_counter()
    with served(path) as address:
        told = time.perf_counter()
        page.goto(address)
        page.wait_for_selector("body[data-ready]")
        whole = time.perf_counter() - begin
        shown = page.evaluate("performance.getEntriesByName('shown')[0].startTime")
        print(
            f"{path.name}: on screen {whole:.2f} s after the command was begun, "
            f"{told - begin:.2f} s of them before its address, {shown / 1000:.2f} s the page's",
            flush=True,
        )
        if page.evaluate("sysoneView.doc.more"):
            page.wait_for_selector("body[data-complete]")
            print(f"  whole after {time.perf_counter() - begin:.2f} s", flush=True)
        if page.evaluate("Boolean(sysoneView.player)"):
            seeks, frames = page.evaluate(SCRUB)
            print(f"  a seek {quantiles(seeks)}; a frame of play {quantiles(frames)}", flush=True)


def main() -> None:
    """Everything, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        with blank_page(1280, 720) as page:
            for file in ("replay.json", "report.json", "long.jsonl"):
                look(folder / file, page)


if __name__ == "__main__":
    main()
