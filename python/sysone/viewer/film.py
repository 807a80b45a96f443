"""A film of what the page shows: its own canvas, frame by frame, in a browser without a window."""

import base64
import importlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sysone.runs.atomic import write_bytes
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress
from sysone.viewer.document import Opened
from sysone.viewer.page import self_contained

FLAGS: Final = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome", "chrome")
MOST_FRAMES: Final = 20_000
HINT: Final = "pip install 'sysone-core[film]'"
PATIENCE_MS: Final = 120_000


@dataclass(frozen=True, slots=True)
class Cut:
    """Which part is filmed, and how."""

    begin_s: float = 0.0
    end_s: float | None = None
    """None: to the end."""
    speed: float = 1.0
    fps: int = 20
    width: int = 960
    height: int = 540


def find_browser() -> str:
    """The browser's program: ``SYSONE_CHROMIUM``, or the first of the usual names.

    Raises:
        RunError: there is none.
    """
    named = os.environ.get("SYSONE_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise RunError("no Chromium was found: install one, or name it in SYSONE_CHROMIUM")
    return found


@contextmanager
def blank_page(width: int, height: int, *, scheme: str = "dark") -> Iterator[Any]:
    """A page in a browser of its own that nobody sees.

    Raises:
        RunError: playwright or the browser is missing.
    """
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ModuleNotFoundError:
        raise RunError(f"this needs the package playwright: {HINT}") from None
    browser = find_browser()
    with tempfile.TemporaryDirectory() as folder, playwright.sync_playwright() as run:
        context = run.chromium.launch_persistent_context(
            folder,
            executable_path=browser,
            headless=True,
            args=list(FLAGS),
            viewport={"width": width, "height": height},
            color_scheme=scheme,
            timeout=PATIENCE_MS,
        )
        context.set_default_timeout(PATIENCE_MS)
        try:
            yield context.pages[0]
        finally:
            context.close()


@contextmanager
def open_page(opened: Opened, width: int, height: int, *, scheme: str = "dark") -> Iterator[Any]:
    """The page of what was opened, as one file, in a browser of its own that nobody sees.

    Raises:
        RunError: playwright or the browser is missing, or the page cannot be shown.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        blank_page(width, height, scheme=scheme) as page,
    ):
        file = Path(folder) / "view.html"
        file.write_text(self_contained(opened), encoding="utf-8")
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-ready], #refused")
        if page.locator("#refused").count():
            raise RunError(f"{opened.title}: {page.inner_text('#refused')}")
        yield page


def write_film(opened: Opened, out: Path, cut: Cut, progress: Progress) -> int:
    """Write a GIF or an MP4 file, by the name's ending; the number of its frames.

    Raises:
        RunError: something that it needs is missing, there is nothing that moves, or the file
            cannot be written.
    """
    kind = out.suffix.lower()
    if kind not in (".gif", ".mp4"):
        raise RunError(f"{out} ends in {kind!r}, expected .gif or .mp4")
    encode = _gif if kind == ".gif" else _mp4
    ffmpeg = "" if kind == ".gif" else _find_ffmpeg()
    with open_page(opened, cut.width, cut.height) as page:
        if not page.evaluate("Boolean(sysoneView.player)"):
            raise RunError(f"{opened.title} is a report: there is nothing that moves")
        begin, end, step = page.evaluate(
            "[sysoneView.player.start, sysoneView.player.duration, sysoneView.player.step]"
        )
        begin = max(begin, cut.begin_s)
        end = end if cut.end_s is None else min(end, cut.end_s)
        count = int((end - begin) / cut.speed * cut.fps + 1e-9) + 1
        if not 1 <= count <= MOST_FRAMES:
            raise RunError(f"the film would have {count} frames, expected 1 to {MOST_FRAMES}")
        page.evaluate("document.body.dataset.bare = 'yes'")
        page.wait_for_timeout(100)
        task = progress.task("frames", count)

        def frames() -> Iterator[bytes]:
            for i in range(count):
                time = min(end, begin + i * cut.speed / cut.fps)
                # on the step itself, so that no frame falls between two
                time = round(time / step) * step
                found = page.evaluate(
                    f"(sysoneView.player.seek({time}),"
                    " document.getElementById('stage').toDataURL('image/png'))"
                )
                task.advance()
                yield base64.b64decode(found.partition(",")[2])

        data = encode(frames(), cut.fps, ffmpeg)
        task.finish()
    write_bytes(out, data)
    return count


def _gif(frames: Iterator[bytes], fps: int, _: str) -> bytes:
    try:
        imageio = importlib.import_module("imageio.v3")
    except ModuleNotFoundError:
        raise RunError(f"GIF files need the package imageio: {HINT}") from None
    pictures = [imageio.imread(frame)[:, :, :3] for frame in frames]
    # GIF counts in hundredths of a second
    delay_ms = max(20, round(100 / fps) * 10)
    data: bytes = imageio.imwrite("<bytes>", pictures, extension=".gif", duration=delay_ms, loop=0)
    return data


def _find_ffmpeg() -> str:
    found = shutil.which("ffmpeg")
    if found is not None:
        return found
    try:
        program: str = importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except (ModuleNotFoundError, RuntimeError):
        raise RunError(f"MP4 files need ffmpeg, or the package imageio-ffmpeg: {HINT}") from None
    return program


def _mp4(frames: Iterator[bytes], fps: int, ffmpeg: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "film.mp4"
        words = [
            ffmpeg,
            "-loglevel",
            "error",
            "-f",
            "image2pipe",
            "-framerate",
            str(fps),
            "-i",
            "-",
        ]
        # even sides, and the pixel format that every player knows
        words += ["-vf", "crop=trunc(iw/2)*2:trunc(ih/2)*2", "-pix_fmt", "yuv420p"]
        words += ["-movflags", "+faststart", str(out)]
        with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdin is not None
            assert running.stderr is not None
            try:
                for frame in frames:
                    running.stdin.write(frame)
                running.stdin.close()
            except BrokenPipeError:
                pass
            said = running.stderr.read().decode(errors="replace").strip()
            if running.wait() != 0:
                raise RunError(f"ffmpeg: {said.splitlines()[-1] if said else 'failed'}")
        return out.read_bytes()
