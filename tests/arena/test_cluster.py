"""Games on a Ray cluster of two nodes: the same results as here, also when a node dies."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sysone.arena.batch import parcels
from sysone.arena.batch.jobs import jobs_of
from sysone.arena.batch.options import resolve
from sysone.runs import jsonl
from tests.ray_nodes import TwoNodes, two_nodes

SAME = ("seed", "swapped", "status", "outcome", "winner", "final", "digest", "ticks")
GAMES = 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with two_nodes() as found:
        yield found


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "sysone.arena", *map(str, arguments)]


def games(output: Path, *more: str) -> list[str]:
    return command(
        *("run", "--red", "std_2027_rush", "--blue", "std_2027_hold", "--output", output),
        *("--games", str(GAMES // 2), "--swap-sides", "--duration", "5"),
        *("--timeout", "30", "--startup-timeout", "120", *more),
    )


def by_index(output: Path) -> list[dict[str, Any]]:
    lines = sorted(jsonl.read(output / "results.jsonl"), key=lambda line: line["index"])
    assert [line["index"] for line in lines] == list(range(GAMES))
    return lines


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    output = tmp_path_factory.mktemp("here") / "run"
    subprocess.run(games(output), check=True, capture_output=True)
    return by_index(output)


@pytest.mark.cluster
def test_a_node_that_dies_changes_no_result(
    cluster: TwoNodes, here: list[dict[str, Any]], tmp_path: Path
) -> None:
    cluster.replace_second()
    output = tmp_path / "run"
    more = ("--engine", "ray", "--ray-address", cluster.address, "--replays", "all", "--progress")
    with (
        (tmp_path / "stderr").open("w") as errors,
        subprocess.Popen(
            games(output, *more), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        assert process.stdout is not None
        told = [json.loads(process.stdout.readline()) for _ in range(4)]
        cluster.kill_second()
        told += [json.loads(line) for line in process.stdout]
        code = process.wait()
    said = (tmp_path / "stderr").read_text()
    assert code == 0, said
    assert "is gone" in said
    assert [line["type"] for line in told] == ["result"] * GAMES + ["summary"]
    found = by_index(output)
    assert [[line[key] for key in SAME] for line in found] == [
        [line[key] for key in SAME] for line in here
    ]
    for line in found:
        subprocess.run(
            command("replay", "verify", output / line["replay"]), check=True, capture_output=True
        )


@pytest.mark.cluster
def test_a_run_may_go_on_with_another_engine(
    cluster: TwoNodes, here: list[dict[str, Any]], tmp_path: Path
) -> None:
    output = tmp_path / "run"
    with subprocess.Popen(
        games(output), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        for _ in range(3):
            process.stdout.readline()
        process.kill()
    subprocess.run(
        games(output, "--resume", "--engine", "ray", "--ray-address", cluster.address),
        check=True,
        capture_output=True,
    )
    assert [[line[key] for key in SAME] for line in by_index(output)] == [
        [line[key] for key in SAME] for line in here
    ]


@pytest.mark.cluster
def test_an_interrupt_ends_games_on_the_cluster(cluster: TwoNodes, tmp_path: Path) -> None:
    output = tmp_path / "run"
    begun = command(
        *(
            "run",
            "--red",
            "std_2027_rush",
            "--blue",
            "std_2027_rush",
            "--games",
            "2",
            "--output",
            output,
        ),
        *("--engine", "ray", "--ray-address", cluster.address),
    )
    process = subprocess.Popen(begun, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not (output / "summary.json").is_file():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1.0)
    process.send_signal(2)
    out, err = process.communicate()
    assert process.returncode == 130, err
    *lines, summary = [json.loads(line) for line in out.splitlines()]
    assert all(line["status"] in ("interrupted", "ok") for line in lines)
    assert summary["state"] == "interrupted"


def test_without_a_cluster_there_is_one_line_and_exit_code_4(tmp_path: Path) -> None:
    address = ("--engine", "ray", "--ray-address", "127.0.0.1:9")
    done = subprocess.run(games(tmp_path / "run", *address), capture_output=True, text=True)
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert "Ray" in line
    assert not done.stdout
    assert not (tmp_path / "run").exists()


def test_a_parcel_brings_its_strategies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sysone.executors import shipped

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jobs = jobs_of(
        resolve(
            {"red": "std_2027_rush", "blue": "std_2027_hold", "duration": 1.0, "swap_sides": True}
        )
    )
    packages, zips = parcels.pack(jobs)
    assert len(packages) == len(zips) == 2
    for name, data in zips.items():
        shipped.keep(name, lambda data=data: data)  # type: ignore[misc]
    for _ in range(2):
        job = parcels._unpacked(jobs[0], packages)
        for side in job.pairing.sides.values():
            for strategy in side.strategies.values():
                assert tmp_path in strategy.folder.parents
                assert (strategy.folder / "arena.toml").is_file()
    assert len(list((tmp_path / "sysone" / "shipped" / "strategies").iterdir())) == 2
