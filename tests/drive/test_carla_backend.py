"""The CARLA backend over the stand-in server: what goes wrong becomes a reason, and never more."""

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone.drive.backend import SensorSpec, ServerLost, Setup, SimulationCrashed
from sysone.drive.carla import CarlaBackend, ServerAddress
from sysone.drive.carla.lights import Latch
from sysone.drive.carla.sensors import mounts
from sysone.drive.carla.world import release
from sysone.drive.cli import app
from sysone.drive.drivers import AutopilotDriver
from sysone.drive.executor import DriveConfig, Outcome, drive_route
from sysone.drive.planning import densify
from sysone.drive.routes import read_routes
from sysone.drive.shipped import find_routes

WHOLE = read_routes(find_routes("routes_mini.xml"))[3]
ROUTE = dataclasses.replace(WHOLE, waypoints=WHOLE.waypoints[:26])
runner = CliRunner()


@pytest.fixture
def script(tmp_path: Path) -> Callable[[list[dict[str, Any]]], Path]:
    def write(faults: list[dict[str, Any]]) -> Path:
        path = tmp_path / "faults.json"
        path.write_text(json.dumps(faults))
        return path

    return write


def backend_of(path: Path, **deadlines: float) -> CarlaBackend:
    return CarlaBackend(ServerAddress(source=f"stand-in:{path}"), deadlines=deadlines)


def drive(backend: CarlaBackend) -> Outcome:
    backend.open()
    road_map = backend.town_map("MiniGrid")
    setup = Setup(road_map, 0.05, 0, lights="green", gps_model=road_map.gps_model)
    config = DriveConfig(sensors=SensorSpec(camera="none"), gps_model=road_map.gps_model)
    return drive_route(ROUTE, setup, backend, AutopilotDriver(), config)


def test_sensors_are_the_specification_s() -> None:
    """Names, attributes and poses as section for section in the leaderboard's own set."""
    spec = SensorSpec(
        camera="ground", lidar=True, lidar_channels=64, gnss_noise_deg=5e-6, imu_noise=0.001
    )
    found = {mount.name: mount for mount in mounts(spec)}
    assert found["rgb"].blueprint == "sensor.camera.rgb"
    assert found["rgb"].attributes == {
        "image_size_x": "1024",
        "image_size_y": "512",
        "fov": "110",
    }
    assert found["rgb"].position == (-1.5, 0.0, 2.0)
    assert found["gps"].attributes["noise_lat_stddev"] == "5e-06"
    imu = found["imu"].attributes
    accel = [imu[f"noise_accel_stddev_{axis}"] for axis in "xyz"]
    assert accel == ["0.001", "0.001", "0.015"]
    assert imu["noise_gyro_stddev_z"] == "0.001"
    lidar = found["lidar"]
    assert (lidar.position, lidar.yaw_deg) == ((0.0, 0.0, 2.5), -90.0)
    assert lidar.attributes == {
        "range": "85",
        "rotation_frequency": "10",
        "channels": "64",
        "upper_fov": "10",
        "lower_fov": "-30",
        "points_per_second": "600000",
        "atmosphere_attenuation_rate": "0.004",
        "dropoff_general_rate": "0.45",
        "dropoff_intensity_limit": "0.8",
        "dropoff_zero_intensity": "0.4",
    }
    assert {"collision", "lane_invasion"} <= set(found)
    assert all(isinstance(v, str) for mount in found.values() for v in mount.attributes.values())
    assert not {"rgb", "lidar"} & {mount.name for mount in mounts(SensorSpec(camera="none"))}


@pytest.mark.parametrize(
    ("fault", "tick", "reason"),
    [
        ("lost_frame", 60, "sensor gap: no gps of frame"),
        ("tick_timeout", 60, "the server does not tick: time-out"),
        ("abort_tick", 60, "the client died in tick: SIGABRT"),
        ("ego_gone", 60, "the car is gone in frame"),
        ("abort_tick", 5, "the client died in warmup: SIGABRT"),
    ],
)
def test_a_fault_ends_the_attempt_and_not_the_process(
    fault: str, tick: int, reason: str, script: Any
) -> None:
    backend = backend_of(script([{"do": fault, "nth": 2, "tick": tick}]))
    try:
        found = drive(backend)
        assert (found.failure, found.scores["bench2drive"].status) == (
            "Simulation crashed",
            "Failed - Simulation crashed",
        )
        assert reason in found.note
        assert len(found.store) == (0 if tick == 5 else 60 - 12)
        # the next attempt, with a new client where the last one died, is whole
        assert drive(backend).scores["per_tick"].status == "Perfect"
    finally:
        backend.close()


@pytest.mark.parametrize("fault", ["late_frame", "stale_frame", "slow_tick", "nan_compass"])
def test_what_can_be_borne(fault: str, script: Any) -> None:
    """A datum that is late by less than two seconds, or comes twice, changes nothing."""
    backend = backend_of(script([{"do": fault, "nth": 2, "tick": 60}]))
    try:
        found = drive(backend)
        assert (found.failure, found.scores["per_tick"].status) == (None, "Perfect")
        state = json.loads((backend_script(backend).with_name("faults.json.state")).read_text())
        assert state["used"] == [0]
    finally:
        backend.close()


def backend_script(backend: CarlaBackend) -> Path:
    return Path(backend.address.source.partition(":")[2])


def test_a_hanging_server_is_left_at_the_deadline(script: Any) -> None:
    backend = backend_of(script([{"do": "hang_tick", "nth": 2, "tick": 60}]), tick=5.0)
    try:
        found = drive(backend)
        assert found.note == "tick took longer than 5 s"
        assert backend.children == 1
        assert drive(backend).scores["per_tick"].status == "Perfect"
        assert backend.children == 2
    finally:
        backend.close()


@pytest.mark.parametrize(
    ("fault", "note"),
    [
        ("abort_cleanup", "aborted_in_cleanup: the client died in destroy: SIGABRT"),
        ("hang_cleanup", "cleanup_failed: destroy took longer than 5 s"),
    ],
)
def test_cleanup_has_its_own_deadline(fault: str, note: str, script: Any) -> None:
    backend = backend_of(script([{"do": fault}]), destroy=5.0)
    try:
        assert drive(backend).failure is None
        assert backend.destroy().startswith(note)
        assert drive(backend).failure is None
        assert backend.destroy() == ""
    finally:
        backend.close()


def test_spawn_and_load_failures(script: Any) -> None:
    faults = [{"do": "spawn_fails", "nth": n} for n in (1, 2, 3, 4)]
    backend = backend_of(script([*faults, {"do": "load_fails", "nth": 3}]))
    try:
        found = drive(backend)
        assert "the car cannot be spawned at" in found.note
        found = drive(backend)
        assert found.failure == "Simulation crashed"
        assert "load: RuntimeError: time-out" in found.note
        assert drive(backend).failure is None
    finally:
        backend.close()


def test_versions_and_absence(script: Any) -> None:
    backend = backend_of(script([{"do": "refuse", "nth": 1}, {"do": "wrong_version", "nth": 2}]))
    try:
        with pytest.raises(ServerLost, match="no CARLA server answers at") as lost:
            backend.open()
        assert lost.value.kind == "timeout"
        with pytest.raises(ServerLost, match=r"is 0\.9\.13, the client 0\.9\.16: install") as lost:
            backend.open()
        assert lost.value.kind == "version"
        assert backend.open().name == "stand-in"
        with pytest.raises(SimulationCrashed, match="has no town Town99: MiniGrid, Straight"):
            backend.town_map("Town99")
    finally:
        backend.close()
    assert release("0.9.15-12-gabc") == "0.9.15"
    assert release("a1b2c3") == "a1b2c3"


def test_the_server_s_map_is_the_file_s() -> None:
    """Plans made over the child's map are those made here."""
    backend = CarlaBackend(ServerAddress(source="stand-in"))
    try:
        backend.open()
        theirs = backend.town_map("MiniGrid")
        from sysone.drive.shipped import map_of

        ours = map_of("MiniGrid", None)
        for route in read_routes(find_routes("routes_mini.xml")):
            here, there = densify(route.waypoints, ours), densify(route.waypoints, theirs)
            assert here.options == there.options
            assert here.road_ids == there.road_ids
            for a, b in zip(here.points, there.points, strict=True):
                assert math.dist((a.x, a.y), (b.x, b.y)) < 1e-3
    finally:
        backend.close()


def test_the_latch_keeps_a_light_until_the_junction_is_left() -> None:
    latch = Latch()
    red, green = {7: "Red", 8: "Red"}, {7: "Green", 8: "Red"}

    def update(answered: int | None, x: float, inside: bool, tail: bool, states: Any) -> None:
        latch.update(answered, (x, 0.0, 0.0), inside, lambda: tail, states)

    update(None, 0.0, False, False, green)
    assert latch.light is None
    update(7, 10.0, False, False, green)
    update(None, 16.0, False, False, green)  # the box ends before the junction
    assert (latch.light, latch.at_entry) == (7, None)
    update(None, 20.0, True, False, green)
    assert (latch.light, latch.at_entry) == (7, None)
    update(None, 24.0, True, True, red)  # the rear passes the line: it counts what is now
    update(None, 30.0, True, True, green)
    assert (latch.light, latch.at_entry) == (7, "Red")
    update(None, 40.0, False, False, green)
    assert latch.light is None
    update(8, 50.0, False, False, green)
    update(None, 81.0, False, False, green)  # turned off before the junction
    assert latch.light is None


def test_a_run_over_a_bad_server(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crashes are tried again, a route that always crashes is recorded and the run goes on."""
    monkeypatch.setattr("sysone.drive.serverside.RETRY_S", 0.0)
    path = script(
        [
            {"do": "abort_tick", "nth": 2, "tick": 30},
            {"do": "refuse", "nth": 3},
            {"do": "abort_cleanup", "nth": 1},
            {"do": "lost_frame", "nth": 4, "tick": 40},
            {"do": "tick_timeout", "nth": 5, "tick": 50},
            {"do": "abort_tick", "nth": 6, "tick": 20},
        ]
    )
    out = tmp_path / "run"
    given = ["run", "--backend", "stand-in", "--stand-in-script", str(path), "--out", str(out)]
    given += ["--agent", "autopilot", "--subset", "10001,10003,10004", "--lights", "green"]
    done = runner.invoke(app, [*given, "--attempt-pause", "0", "--profile", "per_tick"])
    assert done.exit_code == 0, done.output
    summary = json.loads((out / "summary.json").read_bytes())
    assert summary["failed_routes"] == ["seed_0/route_10003_rep0"]
    assert summary["backends"] == ["stand-in 0.9.16"]
    assert set(summary["speed_baselines"]) == {"ue5", "ue4"}
    records = json.loads((out / "leaderboard/result.json").read_bytes())["_checkpoint"]["records"]
    assert [record["status"] for record in records] == [
        "Perfect",
        "Failed - Simulation crashed",
        "Perfect",
    ]
    assert [record["x_drive"]["attempt"] for record in records] == [1, 2, 0]
    assert records[1]["scores"]["score_composed"] == 0.0
    lines = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    notes = [line["note"] for line in lines if line.get("state") in ("failed", "cleaned")]
    assert [note.split(":")[0] for note in notes] == [
        "the client died in tick",
        "aborted_in_cleanup",
        "sensor gap",
        "the server does not tick",
    ]
    assert [line["run"] for line in lines if "run" in line][:4] == [
        "init",
        "preflight",
        "server_up",
        "agent_wait",
    ]


def test_a_server_that_cannot_be_kept_up_blocks_the_run(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lost a fourth time without a drive that ended by itself; the same command goes on."""
    monkeypatch.setattr("sysone.drive.serverside.RETRY_S", 0.0)
    faults: list[dict[str, Any]] = []
    for loads, opens in ((2, 2), (3, 4), (4, 6), (5, 8)):
        faults += [{"do": "abort_tick", "nth": loads, "tick": 20}, {"do": "refuse", "nth": opens}]
    out = tmp_path / "run"
    given = ["run", "--backend", "stand-in", "--stand-in-script", str(script(faults))]
    given += ["--agent", "autopilot", "--subset", "10001,10003", "--out", str(out)]
    given += ["--attempt-pause", "0", "--lights", "green"]
    done = runner.invoke(app, given)
    state = json.loads((out / "state.json").read_bytes())
    assert (done.exit_code, state["state"]) == (4, "blocked"), done.output
    assert "lost after 3 restarts" in done.output
    assert not (out / "summary.json").exists()
    done = runner.invoke(app, given)
    assert done.exit_code == 0, done.output
    records = json.loads((out / "leaderboard/result.json").read_bytes())["_checkpoint"]["records"]
    assert [record["status"].split(" - ")[0] for record in records] == ["Failed", "Completed"]


def test_no_server_no_client(tmp_path: Path) -> None:
    given = ["run", "--agent", "autopilot", "--out", str(tmp_path), "--server-wait", "0"]
    path = tmp_path / "faults.json"
    path.write_text(json.dumps([{"do": "refuse", "nth": 1}]))
    refused = ["--backend", "stand-in", "--stand-in-script", str(path)]
    done = runner.invoke(app, [*given, *refused])
    assert done.exit_code == 4
    assert "no CARLA server answers at 127.0.0.1:2021" in done.output
    for wrong in (["--side", "ue9"], ["--restore-async", "x"], ["--town", "Town99"]):
        assert runner.invoke(app, [*given, "--backend", "stand-in", *wrong]).exit_code == 10
    path.write_text(json.dumps([{"do": "load_fails", "nth": 1}]))
    path.with_name("faults.json.state").unlink()
    done = runner.invoke(app, [*given, *refused])
    assert (done.exit_code, "town: RuntimeError: time-out" in done.output) == (4, True)
    done = runner.invoke(app, [*given, "--backend", "stand-in", "--inject", "collide@tick=5"])
    assert (done.exit_code, "--backend embedded only" in done.output) == (10, True)
