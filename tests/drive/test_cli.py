"""The commands: what they print, where they go wrong, and with which code."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sysone.drive.backend import SensorSpec, Setup
from sysone.drive.cli import app
from sysone.drive.drivers import AutopilotDriver
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.executor import DriveConfig, drive_route
from sysone.drive.pictures import read_png, write_png
from sysone.drive.planning import densify
from sysone.drive.replay import RecordedDriver, ReplayBackend
from sysone.drive.roadmap import read_map
from sysone.drive.routes import Route, RouteError, read_routes, subset
from sysone.drive.shipped import find_routes, map_of
from sysone.runs.errors import RunError

DATA = Path(__file__).parent.parent / "data" / "drive"
runner = CliRunner()


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("runs")
    for name, lights in (("a", "green"), ("b", "red")):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "sysone.drive", "run", "--agent", "stub"),
                *("--subset", "10000-10003", "--lights", lights, "--out", str(folder / name)),
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    return folder / "a", folder / "b"


@pytest.mark.parametrize("profile", ["bench2drive", "per_tick"])
def test_scoring_again_gives_the_same(two_runs: tuple[Path, Path], profile: str) -> None:
    for run in two_runs:
        done = runner.invoke(app, ["score", str(run), "--profile", profile])
        assert done.exit_code == 0, done.output
        for line in done.output.splitlines():
            route = line.split()[0]
            found = json.loads((run / f"seed_0/route_{route}_rep0/result.json").read_bytes())
            score = found["scores"][profile]
            assert f"{profile} {score['score_composed']:g} =" in line
            assert line.endswith(score["status"])


def test_explain_compare_merge(two_runs: tuple[Path, Path], tmp_path: Path) -> None:
    green, red = map(str, two_runs)
    text = runner.invoke(app, ["explain", red]).output
    assert "Agent ran a red light 1003 at (x=-15.5, y=1.75, z=0.0): x 0.7" in text
    assert "both profiles agree" in text
    assert "so that Perfect becomes Completed" in runner.invoke(app, ["explain", green]).output
    compared = runner.invoke(app, ["compare", green, red])
    assert compared.exit_code == 0
    assert "difference +22.50, 95 % interval" in compared.output
    merged = runner.invoke(app, ["merge", green, "-o", str(tmp_path / "merged.json")])
    assert merged.exit_code == 0, merged.output
    assert len(json.loads((tmp_path / "merged.json").read_bytes())["_checkpoint"]["records"]) == 4
    twice = runner.invoke(app, ["merge", green, green, "-o", str(tmp_path / "x.json")])
    assert twice.exit_code == 10
    assert not (tmp_path / "x.json").exists()


def test_ticks_alone_are_scored(two_runs: tuple[Path, Path]) -> None:
    ticks = two_runs[1] / "seed_0/route_10000_rep0/ticks.jsonl.gz"
    done = runner.invoke(app, ["score", str(ticks), "--profile", "per_tick"])
    assert "per_tick 70 = 100 % x 0.7  Completed" in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--routes", "absent.xml"], 10, "--routes is 'absent.xml', which is no file"),
        (["--subset", "9"], 10, "subset names route 9, which the file lacks"),
        (["--seeds", "x"], 10, "--seeds is 'x', expected whole numbers"),
        (["--dt", "9"], 10, "--dt is 9, expected 0.001 to 0.2 s"),
        (["--backend", "x"], 10, "--backend is 'x', expected embedded or carla or stand-in"),
        (["--lights", "absent.json"], 10, "absent.json"),
        (["--gps-model", "flat_legacy"], 10, "it needs --i-know"),
        (["--gps-model", "x"], 10, "gps model is 'x', expected one of"),
        (["--inject", "x@tick=1"], 10, "--inject is 'x@tick=1', expected NAME@tick=N"),
        (["--proto", "two"], 10, "proto is 'two', expected MAJOR.MINOR"),
        (["--agent", "nobody"], 2, "nobody"),
        (["--agent", "socket", "--agent-bind", "x"], 2, "--agent-bind is 'x', expected HOST"),
        (["--agent", "socket", "--agent-bind", "0.0.0.0:0"], 11, "--allow-remote"),
        (
            ["--agent", "socket", "--agent-bind", "127.0.0.1:0", "--agent-wait", "0.2"],
            13,
            "no model connected within 0.2 s",
        ),
    ],
)
def test_mistakes(arguments: list[str], code: int, message: str, tmp_path: Path) -> None:
    given = ["run", "--agent", "stub", "--out", str(tmp_path / "out"), *arguments]
    done = subprocess.run(
        [sys.executable, "-m", "sysone.drive", *given], capture_output=True, text=True
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert message in done.stderr


def test_commands_without_a_run(tmp_path: Path) -> None:
    for command in (["score"], ["explain"], ["compare", str(tmp_path)]):
        done = runner.invoke(app, [*command, str(tmp_path / "absent")])
        assert done.exit_code == 10
    assert json.loads(runner.invoke(app, ["map", "show"]).output)["stop_signs"] == 4
    assert runner.invoke(app, ["map", "show", str(tmp_path / "x.xodr")]).exit_code == 10
    assert "embedded backend  yes" in runner.invoke(app, ["doctor"]).output


@pytest.mark.parametrize(
    "given", [["--seeds", "0", "3", "5"], ["--seeds", "0,3,5"], ["--seeds=0", "3", "5"]]
)
def test_seeds_in_words(given: list[str], tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "run")]
    rest = ["--agent", "autopilot", "--subset", "10003", *given, *out]
    done = runner.invoke(app, ["run", *rest])
    assert done.exit_code == 0, done.output
    summary = json.loads((tmp_path / "run/summary.json").read_bytes())
    assert sorted(summary["seeds"]) == ["0", "3", "5"]
    assert summary["num_routes"] == 3


def test_two_processes_write_the_same_ticks(tmp_path: Path) -> None:
    """Byte for byte, but for the wall clock, with traffic and noise."""
    stores = []
    for name in ("a", "b"):
        out = tmp_path / name
        given = ["--agent", "stub", "--subset", "10002", "--traffic", "8", "--seeds", "4"]
        given += ["--gnss-noise", "5e-6", "--out", str(out)]
        done = subprocess.run(
            [sys.executable, "-m", "sysone.drive", "run", *given], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        packed = (out / "seed_4/route_10002_rep0/ticks.jsonl.gz").read_bytes()
        header, *lines = gzip.decompress(packed).decode().splitlines()
        fields = json.loads(header)["fields"]
        clocks = {fields.index("timestamp"), fields.index("infer_ms")}
        rows = [json.loads(line) for line in lines]
        texts = [
            json.dumps([value for i, value in enumerate(row) if i not in clocks]) for row in rows
        ]
        assert len(texts) > 300
        stores.append((header, texts))
    assert stores[0] == stores[1]


def short_routes(path: Path) -> Path:
    """The shipped routes, cut off after 25 points."""
    tree = ElementTree.parse(find_routes("routes_mini.xml"))
    for waypoints in tree.iter("waypoints"):
        for position in list(waypoints)[25:]:
            waypoints.remove(position)
    tree.write(path)
    return path


def replayed_over_the_socket(out: Path, options: list[str]) -> str:
    """What a model in a process of its own makes of the recorded pictures and readings."""
    command = [sys.executable, "-m", "sysone.drive"]
    bind = ["--agent", "socket", "--agent-bind", "127.0.0.1:0"]
    replaying = subprocess.Popen(
        [*command, "replay", str(out), *options, *bind], stdout=subprocess.PIPE, text=True
    )
    assert replaying.stdout is not None
    port = replaying.stdout.readline().partition("AGENT_PORT=")[2].strip()
    served = subprocess.run(
        [*command, "serve", "--adapter", "stub", "--connect", f"127.0.0.1:{port}"],
        capture_output=True,
        text=True,
    )
    text, _ = replaying.communicate()
    assert (replaying.returncode, served.returncode) == (0, 0), served.stderr
    return text


def test_a_replay_gives_the_recorded_scores(tmp_path: Path) -> None:
    out, routes = tmp_path / "run", short_routes(tmp_path / "short.xml")
    here = ["--routes", str(routes), "--subset", "10003"]
    given = ["--agent", "stub", *here, "--lights", "red", "--traffic", "4"]
    given += ["--camera", "ground", "--save-frames", "--out", str(out)]
    assert runner.invoke(app, ["run", *given]).exit_code == 0
    for agent in ("recorded", "stub"):
        done = runner.invoke(app, ["replay", str(out), *here, "--agent", agent])
        assert done.exit_code == 0, done.output
        assert "bench2drive 100, per_tick 100 as recorded; the same controls" in done.output
    assert "as recorded; the same controls" in replayed_over_the_socket(out, here)
    folder = out / "seed_0/route_10003_rep0"
    backend = ReplayBackend(folder)
    again = drive_route(
        read_routes(routes)[3],
        Setup(map_of("MiniGrid", None), 0.05, 0),
        backend,
        RecordedDriver(backend.store),
        DriveConfig(sensors=SensorSpec(camera="replay")),
    )
    # the source of the first tick's control is the driver's name
    clocks = {"timestamp", "infer_ms", "info", "control_source"}
    for then, now in zip(backend.store, again.store, strict=True):
        assert [(k, v) for k, v in then.items() if k not in clocks] == [
            (k, v) for k, v in now.items() if k not in clocks
        ]
    # a record that was tampered with, or cut, is told
    result = json.loads((folder / "result.json").read_bytes())
    result["scores"]["bench2drive"]["score_composed"] = 81.0
    (folder / "result.json").write_text(json.dumps(result))
    done = runner.invoke(app, ["replay", str(out), *here])
    assert done.exit_code == 1
    assert "bench2drive 81 recorded and 100 here" in done.output
    absent = ["--routes", str(routes), "--subset", "10000"]
    assert runner.invoke(app, ["replay", str(out), *absent]).exit_code == 10
    assert runner.invoke(app, ["replay", str(tmp_path / "absent")]).exit_code == 10
    done = runner.invoke(app, ["replay", str(out)])
    assert "was driven with another route file" in done.output


def test_pictures_come_back_to_the_byte(tmp_path: Path) -> None:
    picture = np.random.default_rng(3).integers(0, 256, (37, 53, 3), dtype=np.uint8)
    path = tmp_path / "one.png"
    write_png(path, picture)
    assert np.array_equal(read_png(path), picture)
    # as other readers see it: red, green, blue
    assert np.array_equal(np.asarray(Image.open(path))[:, :, ::-1], picture)
    for text in (b"GIF89a", path.read_bytes()[:40], b""):
        path.write_bytes(text)
        with pytest.raises(RunError, match=r"one\.png"):
            read_png(path)
    with pytest.raises(RunError, match=r"absent\.png"):
        read_png(tmp_path / "absent.png")


def test_subsets() -> None:
    routes = read_routes(find_routes("routes_mini.xml"))

    def ids(text: str) -> list[int]:
        return [route.id for route in subset(routes, text)]

    assert ids("10005,10000") == [10000, 10005]  # file order
    assert ids("10001-10003") == [10001, 10002, 10003]
    for text, message in (
        ("10003-10001", "FIRST first"),
        ("10000,10000", "names route 10000 twice"),
        ("10000-99999", "names route 99999, which the file lacks"),
        ("a", "expected an id or FIRST-LAST"),
    ):
        with pytest.raises(RouteError, match=message):
            subset(routes, text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<routes/>", "has no route"),
        ("<route/>", "the root is <route>, expected <routes>"),
        ('<routes><route id="x" town="T"/></routes>', "route id is 'x', expected a whole number"),
        ('<routes><route id="1"/></routes>', "town is missing"),
        ('<routes><route id="1" town="T"/></routes>', "0 waypoints, expected at least 2"),
        (
            '<routes><route id="1" town="T"><waypoints><position x="nan" y="0"/></waypoints>'
            "</route></routes>",
            "x of <position> is 'nan', expected a number",
        ),
    ],
)
def test_route_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "routes.xml"
    path.write_text(text)
    with pytest.raises(RouteError, match=message):
        read_routes(path)


def test_weather_between_two() -> None:
    route = read_routes(find_routes("routes_mini.xml"))[0]
    assert route.weather_at(0)["sun_altitude_angle"] == 45.0
    assert route.weather_at(50)["sun_altitude_angle"] == 30.0
    assert route.weather_at(100)["sun_altitude_angle"] == 15.0


def test_sparse_keypoints_are_planned_through() -> None:
    road_map = map_of("MiniGrid", None)
    route = read_routes(find_routes("routes_mini.xml"))[1]
    dense = densify(route.waypoints, road_map)
    sparse = densify([route.waypoints[0], route.waypoints[-1]], road_map)
    assert sparse.line.length == pytest.approx(dense.line.length, abs=2.0)
    assert set(sparse.options) == set(dense.options)
    steps = [b - a for a, b in zip(dense.line.along, dense.line.along[1:], strict=False)]
    assert max(steps) < 1.001
    straight = read_map(DATA / "straight.xodr")
    with pytest.raises(RouteError, match="there is no way from"):
        densify([(150.0, 1.75, 0.0), (20.0, 1.75, 0.0)], straight)
    with pytest.raises(RouteError, match="1 waypoints, expected at least 2"):
        densify([(0.0, 0.0, 0.0)], road_map)


@pytest.mark.parametrize("control", ["lights", "stops", "none"])
@pytest.mark.parametrize("lanes", [1, 2])
def test_generated_maps_are_driven(tmp_path: Path, control: str, lanes: int) -> None:
    """Written by the command, read back, planned across and driven by the autopilot."""
    path = tmp_path / "grid.xodr"
    options = ["--rows", "3", "--columns", "4", "--spacing", "100", "--lanes", str(lanes)]
    done = runner.invoke(app, ["map", "gen", str(path), *options, "--control", control])
    assert done.exit_code == 0, done.output
    road_map = read_map(path)
    assert len([r for r in road_map.roads.values() if r.junction < 0]) == 17
    kinds = {signal.type for signal in road_map.signals}
    assert kinds == {"lights": {"1000001"}, "stops": {"206"}, "none": set()}[control]
    side = lanes * 3.5 - 1.75
    route = Route(1, "Grid", [(-110.0, side, 0.0), (110.0, 100.0 + side, 0.0)])
    outcome = drive_route(
        route,
        Setup(road_map, 0.05, 0),
        EmbeddedBackend(),
        AutopilotDriver(),
        DriveConfig(sensors=SensorSpec(camera="none")),
    )
    assert outcome.scores["per_tick"].status == "Perfect"


def test_generated_maps_have_bounds(tmp_path: Path) -> None:
    for options, message in (
        (["--rows", "0"], "rows is 0, expected 1 to 30"),
        (["--spacing", "3"], "spacing is 3, expected 40 to 2000 m"),
        (["--control", "x"], "control is 'x', expected lights, stops or none"),
    ):
        done = runner.invoke(app, ["map", "gen", str(tmp_path / "x.xodr"), *options])
        assert done.exit_code == 10
        assert message in done.output
