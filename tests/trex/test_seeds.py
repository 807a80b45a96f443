"""Seeds shared out: rows, results and answers as if they were played one after the other here."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sysone.trex.cli import app
from sysone.trex.report import read_results
from tests.ray_nodes import TwoNodes, two_nodes


def command(folder: Path, *more: str, seeds: int = 4, duration: str = "5") -> list[str]:
    return [
        *("--clock", "virtual", "--latency", "normal:60,20", "--seeds", str(seeds)),
        *("--duration", duration, "--no-baselines", "--answers", str(folder / "answers.jsonl")),
        *("--out", str(folder / "results.json"), *more),
    ]


def play(folder: Path, *more: str, seeds: int = 4) -> tuple[bytes, bytes]:
    folder.mkdir(exist_ok=True)
    done = CliRunner().invoke(app, command(folder, *more, seeds=seeds))
    assert done.exit_code == 0, done.output
    answers = sorted((folder / "answers.jsonl").read_bytes().splitlines())
    return (folder / "results.json").read_bytes(), b"\n".join(answers)


def test_two_at_a_time_give_the_same_files(tmp_path: Path) -> None:
    assert play(tmp_path / "a") == play(tmp_path / "b", "--jobs", "2")


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path) -> None:
    begun = [sys.executable, "-m", "sysone.trex"]
    begun += command(tmp_path, "--jobs", "2", seeds=50, duration="20")
    with subprocess.Popen(
        begun,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Interrupts are ignored in a shell's background job, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        words = process.stderr.read()
    assert process.returncode == 130, words
    assert "interrupted; kept" in words
    rows = read_results(tmp_path / "results.json").results
    assert 1 <= len(rows) < 50
    assert [row.seed for row in rows] == sorted(row.seed for row in rows)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--jobs", "2"], "is for --clock virtual"),
        (["--engine", "ray"], "is for --clock virtual"),
        (
            ["--clock", "virtual", "--latency", "fixed:1", "--ray-address", "auto"],
            "is for --engine ray",
        ),
        (
            ["--clock", "virtual", "--latency", "fixed:1", "--jobs", "2", "--record", "r"],
            "without --jobs and --engine",
        ),
    ],
)
def test_options_that_do_not_go_together(given: list[str], words: str) -> None:
    done = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
    assert done.exit_code == 2
    assert words in done.output


def test_without_a_cluster_there_is_one_line(tmp_path: Path) -> None:
    address = ("--engine", "ray", "--ray-address", "127.0.0.1:9")
    done = CliRunner().invoke(app, command(tmp_path, *address))
    assert done.exit_code == 1
    assert "Ray" in done.output
    assert "Traceback" not in done.output


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with two_nodes() as found:
        yield found


@pytest.mark.cluster
def test_twenty_seeds_on_a_cluster_that_loses_a_node(cluster: TwoNodes, tmp_path: Path) -> None:
    here = play(tmp_path / "here", seeds=20)
    there = tmp_path / "there"
    there.mkdir()
    begun = [sys.executable, "-m", "sysone.trex"]
    more = ("--jobs", "2", "--engine", "ray", "--ray-address", cluster.address)
    begun += command(there, *more, seeds=20)
    with subprocess.Popen(
        begun, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        cluster.kill_second()
        process.stdout.read()
        words = process.stderr.read()
    assert process.returncode == 0, words
    assert "is gone" in words
    answers = sorted((there / "answers.jsonl").read_bytes().splitlines())
    assert ((there / "results.json").read_bytes(), b"\n".join(answers)) == here


@pytest.mark.cluster
def test_known_answers_travel(cluster: TwoNodes, tmp_path: Path) -> None:
    cluster.replace_second()
    first = play(tmp_path)
    more = ("--engine", "ray", "--ray-address", cluster.address)
    assert play(tmp_path, *more) == first
