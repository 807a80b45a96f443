"""Games on a Ray cluster: the report is the one that is made here."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone.arc.cli import app
from tests.ray_nodes import TwoNodes, two_nodes

TIMES = {"seconds", "wall_s", "ms_p50", "ms_p95", "actions_per_s"}


@pytest.fixture
def cluster() -> Iterator[TwoNodes]:
    with two_nodes() as found:
        yield found


def report(folder: Path, *more: str) -> Any:
    out = folder / "report.json"
    given = ["--games", "mock practice", "--max-actions", "60", "--out", str(out), *more]
    done = CliRunner().invoke(app, ["eval", *given])
    assert done.exit_code == 0, done.output
    return json.loads(out.read_text())


def scores(found: Any) -> Any:
    """The report without what depends on the clock."""
    if isinstance(found, dict):
        return {k: scores(v) for k, v in found.items() if k != "meta" and not is_time(k)}
    return [scores(item) for item in found] if isinstance(found, list) else found


def is_time(key: str) -> bool:
    return key.endswith(("_s", "_ms", "seconds", "per_second")) or key in TIMES


@pytest.mark.cluster
def test_games_on_a_cluster_have_the_same_scores(cluster: TwoNodes, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    here = report(tmp_path / "here", "--jobs", "2")
    there = report(
        tmp_path / "there", "--jobs", "2", "--engine", "ray", "--ray-address", cluster.address
    )
    assert scores(there) == scores(here)
    assert len(here["games"]) > 20


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--ray-address", "auto"], "is for --engine ray"),
        (["--engine", "ray", "--record", "traces"], "without --engine ray"),
    ],
)
def test_options_that_do_not_go_together(given: list[str], words: str) -> None:
    done = CliRunner().invoke(app, ["eval", *given], env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert words in done.output


def test_without_a_cluster_there_is_one_line(tmp_path: Path) -> None:
    given = ["--engine", "ray", "--ray-address", "127.0.0.1:9", "--out", str(tmp_path / "r.json")]
    done = CliRunner().invoke(app, ["eval", *given])
    assert done.exit_code not in (0, 2)
    assert "Ray" in done.output
    assert "Traceback" not in done.output
