"""Make the pictures of docs/viewer.md and the README: ``make screenshots``.

Everything is played anew with fixed seeds, opened in a real browser and photographed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

from sysone.viewer.detect import open_paths
from sysone.viewer.film import open_page

DOCS = Path(__file__).parents[2] / "docs"
SIZE = (1280, 720)
COLOURS = 96
"""Of a picture's palette: enough for flat colours, a quarter of the bytes."""


def run(folder: Path, *words: str) -> None:
    """Run one of our commands in a folder."""
    subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True, capture_output=True)


def play(folder: Path) -> None:
    """What is photographed."""
    trex = ("sysone", "trex", "--clock", "virtual", "--seeds", "1", "--duration", "30")
    run(folder, *trex, "--no-baselines", "--latency", "normal:100,20", "--record", "quick.jsonl")
    run(
        folder,
        *(*trex, "--no-baselines", "--latency", "normal:500,300", "--no-shield"),
        *("--record", "slow.jsonl"),
    )
    run(
        folder,
        *("sysone.arena", "run", "--red", "std_2027_team", "--blue", "std_2027_rush"),
        *("--duration", "60", "--trusted-local", "--timeout", "30", "--startup-timeout", "120"),
        *("--output", "replay.json"),
    )
    run(
        folder,
        *("sysone", "arc", "eval", "--games", "pmaz", "--max-actions", "200"),
        *("--out", "report.json", "--record", "traces"),
    )
    run(
        folder,
        *("sysone", "drive", "run", "--agent", "autopilot", "--subset", "10001"),
        *("--traffic", "8", "--out", "drive"),
    )


# name: what is opened, and what is done in the page before the picture is taken
PICTURES = {
    "viewer_trex": (("quick.jsonl", "slow.jsonl"), "sysoneView.player.seek(5.6)"),
    "viewer_arena": (
        ("replay.json",),
        "(sysoneView.view.selected = 'red-3', sysoneView.player.seek(11.2))",
    ),
    "viewer_arc": (("traces/pmaz/seed0.jsonl",), "sysoneView.player.seek(40)"),
    "viewer_drive": (("drive/seed_0/route_10001_rep0",), "sysoneView.player.seek(14)"),
}


def main() -> None:
    """Play, open, photograph."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        play(folder)
        for picture, (paths, act) in PICTURES.items():
            with open_page(open_paths([folder / path for path in paths]), *SIZE) as page:
                page.wait_for_selector("#charts[data-ready]")
                if page.evaluate("sysoneView.doc.more"):
                    page.wait_for_selector("body[data-complete]")
                page.evaluate(act)
                page.wait_for_timeout(500)
                out = DOCS / f"{picture}.png"
                page.screenshot(path=str(out))
                small = Image.open(out).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
                small.save(out, optimize=True)
                print(out.name, out.stat().st_size)


if __name__ == "__main__":
    main()
