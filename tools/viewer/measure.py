"""Measure what docs/viewer.md says of speed: ``python tools/viewer/measure.py``.

How fast a 420 s replay, a report of nine hours' games and a trace of 20,000 steps open and move in
a real browser, and what it costs a match that somebody watches it.
"""

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from sysone.viewer.detect import open_path
from sysone.viewer.film import open_page
from sysone.viewer.server import bind, make_app

PAIRS = 5
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


def look(path: Path) -> None:
    """Open a file in the browser, scrub through it and play it."""
    with open_page(open_path(path), 1280, 720) as page:
        shown = page.evaluate("performance.getEntriesByName('shown')[0].startTime")
        print(f"{path.name}: on screen after {shown:.0f} ms", flush=True)
        if page.evaluate("Boolean(sysoneView.player)"):
            seeks, frames = page.evaluate(SCRUB)
            print(f"  a seek {quantiles(seeks)}; a frame of play {quantiles(frames)}", flush=True)


def match_cpu_s(folder: Path, name: str, *, watched: bool) -> float:
    """Processor seconds of a recorded match and its strategies, watched or not."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [sys.executable, "-m", "sysone.arena", "run", *MATCH, "--output", name]
    running = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL)
    if watched:
        watch(folder / name, running)
    if running.wait() != 0:
        raise SystemExit(f"the match failed: {running.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def watch(path: Path, running: subprocess.Popen[bytes]) -> None:
    """Follow a match as the page does, until it ends."""
    spool = path.with_name(path.name + ".spool")
    while not spool.exists() and running.poll() is None:
        threading.Event().wait(0.05)
    listening = bind(0)
    server = uvicorn.Server(uvicorn.Config(make_app(open_path(spool)), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    news = 0
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/live"
    with httpx.stream("GET", address, timeout=60) as stream:
        for line in stream.iter_lines():
            news += line.startswith("data:")
            if running.poll() is not None:
                break
    server.should_exit = True
    thread.join()
    print(f"  followed: {news} times something new", flush=True)


def main() -> None:
    """Everything, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        for file in ("replay.json", "report.json", "long.jsonl"):
            look(folder / file)
        alone, watched = [], []
        for i in range(PAIRS):
            alone.append(match_cpu_s(folder, f"alone{i}.json", watched=False))
            watched.append(match_cpu_s(folder, f"watched{i}.json", watched=True))
        ratio = statistics.median(b / a for a, b in zip(alone, watched, strict=True))
        print(
            f"processor time of a 420 s match: alone {statistics.median(alone):.2f} s, watched "
            f"{statistics.median(watched):.2f} s, median ratio of {PAIRS} pairs {ratio:.3f}"
        )


if __name__ == "__main__":
    main()
