"""Drives shared out to processes and to a cluster: the results that are made here."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone.drive.cli import app
from tests.ray_nodes import two_nodes

CLOCKS = {
    *("wall_s", "driving_s", "duration_system", "save_name", "ticks_sha256"),
    *("sim_fps", "real_time_factor"),
}
"""What depends on when and how fast it was driven; ticks hold the time of each step."""


def drive(out: Path, *more: str, agent: str = "stub") -> dict[str, Any]:
    """Every drive's result by its folder, without what depends on the clock."""
    given = ["--routes", "routes_mini.xml", "--agent", agent, "--seeds", "0,1"]
    done = CliRunner().invoke(app, ["run", *given, "--out", str(out), *more])
    assert done.exit_code == 0, done.output
    return {
        str(path.parent.relative_to(out)): timeless(json.loads(path.read_text()))
        for path in sorted(out.glob("seed_*/*/result.json"))
    }


def timeless(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: timeless(value) for key, value in found.items() if key not in CLOCKS}
    return [timeless(item) for item in found] if isinstance(found, list) else found


def ticks(out: Path) -> dict[str, list[Any]]:
    """Every tick of every drive, without its own time."""
    found = {}
    for path in sorted(out.glob("seed_*/*/ticks.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            header, *lines = [json.loads(line) for line in file]
        own = [name in ("timestamp", "infer_ms") for name in header["fields"]]
        found[str(path.parent.relative_to(out))] = [
            [value for value, left_out in zip(line, own, strict=True) if not left_out]
            for line in lines
        ]
    return found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("here") / "run"


@pytest.fixture(scope="module")
def expected(here: Path) -> dict[str, Any]:
    return drive(here)


def test_two_at_a_time(expected: dict[str, Any], here: Path, tmp_path: Path) -> None:
    found = drive(tmp_path / "run", "--jobs", "2")
    assert found == expected
    assert len(found) >= 4
    assert ticks(tmp_path / "run") == ticks(here)
    again = CliRunner().invoke(
        app,
        [
            *("run", "--routes", "routes_mini.xml", "--agent", "stub", "--seeds", "0,1"),
            *("--out", str(tmp_path / "run")),
        ],
    )
    assert again.exit_code == 0, "the same run without --jobs, and nothing is left to drive"


@pytest.mark.cluster
def test_on_a_cluster(expected: dict[str, Any], here: Path, tmp_path: Path) -> None:
    with two_nodes() as cluster:
        more = ("--jobs", "2", "--engine", "ray", "--ray-address", cluster.address)
        assert drive(tmp_path / "run", *more) == expected
    assert ticks(tmp_path / "run") == ticks(here)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--jobs", "2"], "a model behind a socket drives one route at a time"),
        (["--jobs", "2", "--agent", "stub", "--save-frames"], "--save-frames writes while"),
        (["--agent", "stub", "--ray-address", "auto"], "is for --engine ray"),
        (
            ["--agent", "stub", "--engine", "ray", "--ray-address", "127.0.0.1:9"],
            "Ray",
        ),
    ],
)
def test_what_cannot_be_shared_is_one_line(given: list[str], words: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        app, ["run", "--out", str(tmp_path / "run"), *given], env={"COLUMNS": "200"}
    )
    assert done.exit_code != 0
    assert words in done.output
    assert "Traceback" not in done.output
