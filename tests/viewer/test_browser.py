"""The page in a real Chromium: it loads, plays, seeks and tells, and nothing of a file runs."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from sysone.viewer.detect import open_paths
from sysone.viewer.server import bind, make_app, write_html

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = os.environ.get("SYSONE_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
if CHROMIUM is None:
    pytest.skip("there is no Chromium here", allow_module_level=True)

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)
PATIENCE_MS = 60_000
FONTS = shutil.which("fc-list") and subprocess.run(
    ["fc-list", ":lang=zh"], capture_output=True, text=True, check=False
)
HAS_CHINESE = bool(FONTS and FONTS.stdout.strip())
SHOTS = os.environ.get("SYSONE_VIEW_SHOTS")
"""A folder in which pictures of every test are kept."""


@dataclass
class Look:
    """A page and what it complained about."""

    page: Any
    complaints: list[str] = field(default_factory=list)

    def shot(self, name: str) -> None:
        if SHOTS:
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))

    def pixels(self) -> str:
        """The stage as a picture; another text when it differs by a pixel."""
        return str(self.page.evaluate("document.getElementById('stage').toDataURL()"))

    def until(self, true: str) -> None:
        """Wait until an expression is true; the page's policy lets nothing poll inside it."""
        for _ in range(PATIENCE_MS // 50):
            if self.page.evaluate(f"Boolean({true})"):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"never {true}")

    def time(self) -> float:
        return float(self.page.evaluate("sysoneView.player.time"))


class Browser:
    """One Chromium for all tests, and another one where it is gone.

    A test in which it ends has failed and says so; the tests after it are about other pages.
    """

    def __init__(self, playwright: Any, make_profile: Callable[[], Path]) -> None:
        self._playwright, self._make_profile = playwright, make_profile
        self.context: Any = None
        self.crashed = ""

    def new_page(self) -> Any:
        """A page of a browser that runs."""
        if self.context is None:
            self.context = self._launch()
        page = self.context.new_page()
        page.on("crash", self._crash)
        return page

    def _crash(self, page: Any) -> None:
        self.crashed = page.url or "of no address"

    def _launch(self) -> Any:
        context = self._playwright.chromium.launch_persistent_context(
            str(self._make_profile()),
            executable_path=CHROMIUM,
            headless=True,
            args=list(FLAGS),
            viewport={"width": 1280, "height": 720},
            color_scheme="dark",
            timeout=PATIENCE_MS,
        )
        context.set_default_timeout(PATIENCE_MS)
        context.on("close", self._gone)
        return context

    def _gone(self, _: Any) -> None:
        self.context = None

    def lost(self) -> str:
        """What is known of a browser or a page that ended by itself; empty where none did."""
        if self.crashed:
            page, self.crashed = self.crashed, ""
            return f"the page {page} crashed; {room()}"
        return "" if self.context is not None else f"the browser is gone; {room()}"

    def close(self) -> None:
        """End it."""
        if self.context is not None:
            self.context.close()


def room() -> str:
    """How much memory there is left, of which a browser dies."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    free = next(line for line in lines if line.startswith("MemAvailable"))
    shared = os.statvfs("/dev/shm")
    return f"{free.strip()}, /dev/shm {shared.f_bavail * shared.f_frsize >> 20} MiB free"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        running = Browser(playwright, lambda: tmp_path_factory.mktemp("profile"))
        yield running
        running.close()


@pytest.fixture
def look(browser: Browser) -> Iterator[Look]:
    page = browser.new_page()
    found = Look(page)
    page.on(
        "console",
        lambda message: (
            found.complaints.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: found.complaints.append(str(error)))
    yield found
    lost = browser.lost()
    if lost:
        pytest.fail(lost)
    page.close()


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[Any]:
    """``served(*paths)``: the address of a server that shows them."""
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(*paths: Path) -> str:
        listening = bind(0)
        app = make_app(open_paths(list(paths)), poll_s=0.05)
        server = uvicorn.Server(
            uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, lifespan="off")
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{listening.getsockname()[1]}/"

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join()


def go(look: Look, address: str) -> None:
    look.page.goto(address)
    look.page.wait_for_selector("body[data-ready], #refused")


TIMED = {
    "trex": ("shielded.jsonl",),
    "trex-lanes": ("shielded.jsonl", "late.jsonl"),
    "arena": ("replay.json",),
    "arc": ("traces/hcyc/seed0.jsonl",),
    "drive": ("filmed/seed_0/route_10003_rep0",),
}
STILL = {
    "results": "shielded.json",
    "sweep": "sweep.json",
    "comparison": "comparison.json",
    "games": "games",
    "arc-report": "report.json",
    "drive-run": "stub",
}


@pytest.mark.parametrize("name", TIMED)
def test_it_loads_plays_seeks_and_tells(look: Look, served: Any, outputs: Path, name: str) -> None:
    go(look, served(*(outputs / path for path in TIMED[name])))
    page = look.page
    page.wait_for_selector("#charts[data-ready]")
    before = look.pixels()
    page.click("#play")
    look.until("sysoneView.player.time > sysoneView.player.start + 1")
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "data-state") == "paused"
    assert look.pixels() != before, "nothing moved"
    at = look.time()
    page.keyboard.press("ArrowRight")
    step = page.evaluate("sysoneView.player.step")
    assert 0 < look.time() - at <= 1.51 * step
    # A press in the middle of the time line seeks there.
    box = page.locator("#timeline").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] - 14)
    middle = page.evaluate("(sysoneView.player.start + sysoneView.player.duration) / 2")
    assert abs(look.time() - middle) < 1
    look.shot(f"{name}-middle")
    page.keyboard.press("n")
    marks = page.evaluate("sysoneView.view.marks.map((mark) => mark.time)")
    assert look.time() in [pytest.approx(time) for time in marks]
    assert look.time() > middle - 1
    assert page.locator("#inspector dt").count() > 5
    page.keyboard.press("End")
    assert look.time() == page.evaluate("sysoneView.player.duration")
    assert page.inner_text("#language") == ("中文" if HAS_CHINESE else "ZH")
    page.keyboard.press("l")
    assert page.inner_text("aside h2 >> nth=0") == "检视"
    assert page.inner_text("#language") == "English"
    page.keyboard.press("l")
    page.keyboard.press("t")
    assert page.get_attribute("html", "data-theme") == "light"
    page.wait_for_selector("#charts[data-ready]")
    look.shot(f"{name}-light")
    assert look.complaints == []


@pytest.mark.parametrize("name", STILL)
def test_reports_are_tables_and_charts(look: Look, served: Any, outputs: Path, name: str) -> None:
    go(look, served(outputs / STILL[name]))
    look.page.wait_for_selector("#charts[data-ready] .main-svg")
    assert look.page.locator("tbody tr").count() >= 1
    look.shot(name)
    assert look.complaints == []


def test_a_run_leads_to_its_games_and_back(look: Look, served: Any, outputs: Path) -> None:
    go(look, served(outputs / "games"))
    look.page.click("tr.opens >> nth=1")
    look.page.wait_for_selector('body[data-ready="arena"]')
    look.page.click("#verify")
    look.page.wait_for_selector("#verified.good")
    look.page.click("#back")
    look.page.wait_for_selector('body[data-ready="report"]')
    assert look.complaints == []


def test_a_robot_is_inspected_by_a_click(look: Look, served: Any, outputs: Path) -> None:
    go(look, served(outputs / "replay.json"))
    page = look.page
    page.evaluate("sysoneView.player.seek(5)")
    # where the first robot stands on the canvas, found by asking what is under each place
    place = page.evaluate("""() => {
      const {width, height} = sysoneView.surface;
      const found = [];
      for (let y = 80; y < height; y += 4) for (let x = 0; x < width; x += 4) {
        const text = sysoneView.view.hover(x, y);
        if (text && text.startsWith("red-3")) found.push([x, y]);
      }
      return found[found.length >> 1];
    }""")
    box = page.locator("#stage").bounding_box()
    page.mouse.click(box["x"] + place[0], box["y"] + place[1])
    assert page.inner_text("#inspector h3 >> nth=0").startswith("red-3")
    page.mouse.move(box["x"] + place[0], box["y"] + place[1])
    assert page.inner_text(".tip").startswith("red-3")
    look.shot("arena-robot")


def test_a_report_leads_to_its_traces(look: Look, served: Any, outputs: Path) -> None:
    go(look, served(outputs / "report.json"))
    look.page.click("tr.opens >> nth=0")
    look.page.wait_for_selector('body[data-ready="arc"]')
    look.page.wait_for_selector('body[data-complete="arc"]')
    look.page.keyboard.press("ArrowRight")
    assert look.page.inner_text("#inspector h3 >> nth=0").startswith("ACTION")
    assert look.page.locator("#inspector .bar.chosen").count() == 1
    assert look.complaints == []


def test_a_browser_that_ended_is_said_and_the_next_test_has_another(browser: Browser) -> None:
    browser.new_page()
    assert browser.lost() == ""
    browser.context.close()
    assert browser.lost().startswith("the browser is gone; MemAvailable")
    page = browser.new_page()
    assert page.evaluate("1 + 1") == 2
    with page.expect_event("crash"), pytest.raises(sync_api.Error):
        page.goto("chrome://crash")
    assert browser.lost().startswith("the page ")
    browser.context.close()


def test_what_two_models_said_of_a_step_is_told(look: Look, served: Any, advised: Path) -> None:
    go(look, served(advised))
    page = look.page
    page.wait_for_selector('body[data-complete="arc"]')
    page.keyboard.press("n")
    told = page.inner_text("#inspector")
    for text in ("System-2 woken", "something new", "a <b>maze</b> with a door", "reach the door"):
        assert text in told
    assert "ACTION4: the door is on the right" in told
    assert "red door (3, 4) goal" in told
    step = json.loads(advised.read_text().splitlines()[1])
    shown = page.locator("#inspector .bar .number").all_inner_texts()
    assert shown == [f"{100 * p:.1f} %" for p in step["probabilities"].values()]
    assert page.locator("#inspector .bar.chosen").count() == 1
    assert "System-2 woken" in page.inner_text("#events")
    look.shot("arc-advised")
    assert look.complaints == []


def test_the_camera_is_beside_the_map(look: Look, served: Any, outputs: Path) -> None:
    go(look, served(outputs / "filmed"))
    with look.page.expect_response(lambda answer: "/picture/" in answer.url) as found:
        look.page.click("tr.opens >> nth=0")
    assert found.value.status == 200
    look.page.keyboard.press("End")
    look.page.wait_for_load_state("networkidle")
    look.shot("drive-camera")
    assert look.complaints == []


def test_a_crash_is_shown_again_at_half_speed(look: Look, served: Any, outputs: Path) -> None:
    go(look, served(outputs / "late.jsonl"))
    page = look.page
    crash = page.evaluate("sysoneView.view.marks.find((mark) => mark.kind === 'crash').time")
    page.evaluate(f"sysoneView.player.seek({crash} - 0.05)")
    page.evaluate("sysoneView.player.play()")
    look.until("sysoneView.view.replaying")
    assert page.evaluate("sysoneView.player.factor") == 0.5
    assert look.time() < crash - 0.5
    look.shot("trex-crash")
    look.until("!sysoneView.view.replaying")
    assert page.evaluate("sysoneView.player.factor") == 1
    assert look.complaints == []


@pytest.mark.parametrize("name", ["trex-lanes", "arena", "arc", "drive", "games"])
def test_one_file_works_from_disk(look: Look, outputs: Path, tmp_path: Path, name: str) -> None:
    paths = TIMED.get(name) or (STILL[name],)
    out = tmp_path / "view.html"
    write_html(open_paths([outputs / path for path in paths]), out)
    requests: list[str] = []
    look.page.on("request", lambda request: requests.append(request.url))
    go(look, out.as_uri())
    look.page.wait_for_selector("#charts[data-ready] .main-svg")
    if name == "arc":
        look.page.wait_for_selector('body[data-complete="arc"]')
    if name != "games":
        before = look.pixels()
        look.page.click("#play")
        look.until("sysoneView.player.time > sysoneView.player.start + 1")
        assert look.pixels() != before
    else:
        look.page.click("tr.opens >> nth=0")
        look.page.wait_for_selector('body[data-ready="arena"]')
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
    if name == "drive":  # the camera beside the map, out of the file itself
        # The sky; a picture is drawn once the browser has decoded it.
        look.until(
            "((canvas) => (([red, _, blue]) => blue > red + 20)(canvas.getContext('2d')"
            ".getImageData(0.75 * canvas.width, 0.06 * canvas.height, 1, 1).data))"
            "(document.querySelector('canvas'))"
        )
        look.shot("drive-one-file")
    assert look.complaints == []


def test_a_hostile_name_is_text(look: Look, served: Any, hostile: Path, tmp_path: Path) -> None:
    out = tmp_path / "hostile.html"
    write_html(open_paths([hostile]), out)
    for address in (served(hostile), out.as_uri()):
        go(look, address)
        look.page.wait_for_selector("#charts[data-ready]")
        assert look.page.evaluate("window.hurt") is None
        assert "<img" in look.page.inner_text("#inspector")
        assert look.page.locator("img").count() == 0
    look.shot("hostile")
    assert look.complaints == []


def test_a_broken_part_says_so(look: Look, served: Any, outputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    shutil.copytree(outputs / "games", folder)
    replay = json.loads((folder / "replays/000000.json").read_bytes())
    (folder / "replays/000000.json").write_text('{"format": "arena-replay-v9"}')
    replay["keyframes"]["data"] = ""
    (folder / "replays/000001.json").write_text(json.dumps(replay))
    go(look, served(folder))
    for row, said in (("0", "arena-replay-v1"), ("1", "no keyframes")):
        look.page.click(f"tr.opens >> nth={row}")
        assert said in look.page.inner_text("#refused p")
        look.shot(f"refused-{row}")
        look.page.click("#refused button")
        look.page.wait_for_selector('body[data-ready="report"]')


def test_a_broken_file_says_so(look: Look, outputs: Path, tmp_path: Path) -> None:
    out = tmp_path / "view.html"
    write_html(open_paths([outputs / "sweep.json"]), out)
    text = out.read_text()
    at = text.index('"documents": {"": "') + 30
    out.write_text(text[:at] + "AAAA" + text[at + 4 :])
    go(look, out.as_uri())
    assert look.page.inner_text("#refused h1")


@pytest.mark.parametrize("name", ["trex", "arena", "arc", "drive"])
def test_it_fits_a_phone(look: Look, served: Any, outputs: Path, name: str) -> None:
    look.page.set_viewport_size({"width": 390, "height": 844})
    go(look, served(*(outputs / path for path in TIMED[name])))
    look.page.wait_for_selector("#charts[data-ready]")
    assert look.page.evaluate("document.documentElement.scrollWidth") <= 390
    look.shot(f"{name}-phone")
    assert look.complaints == []


def test_a_running_match_is_followed(
    look: Look, served: Any, outputs: Path, tmp_path: Path
) -> None:
    raw = (outputs / "late.jsonl").read_bytes()
    path = tmp_path / "growing.jsonl"
    path.write_bytes(raw[:40_000])
    go(look, served(path))
    look.page.wait_for_selector("#live")
    before = look.page.evaluate("sysoneView.player.duration")
    for at in (80_000, 120_000):
        path.write_bytes(raw[:at])
        look.until(f"sysoneView.player.duration > {before}")
        before = look.page.evaluate("sysoneView.player.duration")
        assert look.time() == before, "the page stays with the present"
    look.shot("trex-live")
    # Who looks at the past is left there.
    look.page.keyboard.press("Home")
    path.write_bytes(raw[:150_000])
    look.until(f"sysoneView.player.duration > {before}")
    assert look.time() == 0
    assert look.complaints == []


# The reader of films leaves its pipe to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_a_film_moves(outputs: Path, tmp_path: Path, ending: str) -> None:
    imageio = pytest.importorskip("imageio.v3")
    pytest.importorskip("imageio_ffmpeg")
    out = tmp_path / f"film.{ending}"
    words = ["view", str(outputs / "late.jsonl"), f"--{ending}", str(out)]
    more = ["--from", "2", "--to", "3", "--fps", "5"]
    # in a process of its own: two drivers of a browser do not share one
    done = subprocess.run(
        [sys.executable, "-m", "sysone", *words, *more], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    plugin = "pillow" if ending == "gif" else "FFMPEG"
    frames = imageio.imread(out, plugin=plugin, index=None if ending == "gif" else ...)
    assert frames.shape[0] == 6
    assert (frames[0] != frames[-1]).any()
