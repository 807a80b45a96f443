"""The bench command: promises and measurements, the files it writes, and the gate."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import bench.__main__ as command
from bench import promises as promised
from bench.measure import Direct, Measurement
from bench.report import markdown, row

PROMISE = """
[[promise]]
name = "trex.{name}"
what = "a thing"
reference = "another"
unit = "ms"
target = {target}
gate = {gate}
"""


def parse(tmp_path: Path, text: str) -> list[promised.Promise]:
    path = tmp_path / "promises.toml"
    path.write_text(text)
    return promised.load(path)


def promise(name: str = "fast", target: float = 4, gate: float = 2, more: str = "") -> str:
    return PROMISE.format(name=name, target=target, gate=gate) + more


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Run the command on promises and measurements of our own."""
    app = typer.Typer()
    app.command()(command.main)

    def invoke(text: str, measurements: dict[str, Any], *options: str) -> Result:
        (tmp_path / "promises.toml").write_text(text)
        load = promised.load
        with monkeypatch.context() as patch:
            patch.setattr(promised, "load", lambda: load(tmp_path / "promises.toml"))
            patch.setattr(command, "entries", lambda: measurements)
            return CliRunner().invoke(app, ["--out", str(tmp_path / "out"), *options])

    return invoke


def test_every_promise_of_the_project_is_measured_and_every_measurement_promised() -> None:
    promises, measurements = command.matched("*")
    assert {promise.name for promise in promises} == measurements.keys()
    assert all(promise.name.split(".")[0] for promise in promises)


def test_a_good_file(tmp_path: Path) -> None:
    text = promise(more='better = "higher"\ngoal = { statistic = "p95", at_most = 5 }\n')
    (found,) = parse(tmp_path, text)
    assert (found.name, found.target, found.gate, found.better) == ("trex.fast", 4, 2, "higher")
    assert found.goal is not None
    assert str(found.goal) == "p95 ≤ 5"
    assert found.goal.met(5)
    assert not found.goal.met(5.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (promise() + promise(), "trex.fast is there twice"),
        (promise(gate=5), "trex.fast has gate 5 and target 4; expected 0 < gate <= target"),
        (promise(gate=0), "expected 0 < gate <= target"),
        (promise().replace("trex.fast", "fast"), "'fast' does not begin with a world"),
        (promise(more="speed = 3\n"), "unknown field `speed`"),
        (promise().replace("gate = 2", ""), "missing required field `gate`"),
        (promise().replace("gate = 2", 'gate = "2"'), "Expected `float`, got `str`"),
        ("[[promise]", "promises.toml: "),
    ],
)
def test_a_wrong_file_is_one_clear_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^promises\.toml: ") as caught:
        parse(tmp_path, text)
    assert message in str(caught.value)


def test_results_are_written_and_shown(run: Callable[..., Result], tmp_path: Path) -> None:
    text = promise("fast") + promise(
        "slow", target=9, gate=8, more='goal = { statistic = "p99", at_most = 0.5 }\n'
    )
    measurements = {
        "trex.fast": lambda: Direct(2.0, 16.0),
        "trex.slow": lambda: Direct(2.0, 10.0, {"p50": 2.0, "p99": 3.0}),
    }
    done = run(text, measurements)
    assert done.exit_code == 0
    fast, slow = json.loads((tmp_path / "out" / "promises.json").read_text())
    wanted = {
        "name": "trex.fast",
        "value": 2.0,
        "reference": 16.0,
        "ratio": 8.0,
        "target": 4.0,
        "gate": 2.0,
        "pass": True,
        "unit": "ms",
    }
    assert {key: fast[key] for key in wanted} == wanted
    assert (slow["pass"], slow["ratio"], slow["p99"]) == (False, 5.0, 3.0)
    assert (slow["goal"], slow["goal_met"]) == ("p99 ≤ 0.5", False)
    assert "trex.fast" in done.stdout
    assert "5× ✗" in done.stdout
    table = (tmp_path / "out" / "table.md").read_text()
    assert "| trex.fast | 2 ms | 16 ms | 8× | 2× | 4× ✓ |  |" in table
    assert "2 / 3 ms (p99 ≤ 0.5: not met)" in table


def test_the_gate(run: Callable[..., Result]) -> None:
    text = promise("fast") + promise("slow")
    measurements = {
        "trex.fast": lambda: Direct(1.0, 2.0),
        "trex.slow": lambda: Direct(1.0, 1.99),
    }
    failed = run(text, measurements, "--gate")
    assert failed.exit_code == 1
    assert "trex.slow: 1.99 times its reference, the gate is 2" in failed.stderr
    assert "trex.fast:" not in failed.stderr
    assert run(text, measurements, "--gate", "--only", "trex.f*").exit_code == 0
    assert run(text, measurements).exit_code == 0


def test_a_busy_moment_gets_a_second_try(run: Callable[..., Result]) -> None:
    ratios = iter([1.0, 3.0, 1.0, 1.5, 1.0, 9.0])
    measurements = {"trex.fast": lambda: Direct(1.0, next(ratios))}
    assert run(promise(), measurements, "--gate").exit_code == 0
    failed = run(promise(), measurements, "--gate")
    assert failed.exit_code == 1
    assert "trex.fast: 1.5 times" in failed.stderr
    # Without the gate there is nothing to be spared from.
    assert "1× ✗" in run(promise(), measurements).stdout


def test_one_broken_measurement_does_not_hide_the_others(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    def broken() -> Direct:
        raise AssertionError("subject and reference do not agree")

    measurements = {"trex.fast": lambda: Direct(1.0, 9.0), "trex.slow": broken}
    done = run(promise("slow") + promise("fast"), measurements)
    assert done.exit_code == 1
    assert "trex.slow could not be measured: AssertionError('subject and ref" in done.stderr
    (fast,) = json.loads((tmp_path / "out" / "promises.json").read_text())
    assert fast["name"] == "trex.fast"


@pytest.mark.parametrize(
    ("text", "measurements", "options", "message"),
    [
        (promise(), {}, (), "trex.fast: nothing measures it"),
        (promise(), {"trex.fast": None, "trex.x": None}, (), "trex.x: bench/promises.toml lacks"),
        (promise(), {"trex.fast": None}, ("--only", "arc.*"), "no promise matches 'arc.*'; there"),
        (promise(gate=9), {"trex.fast": None}, (), "trex.fast has gate 9 and target 4"),
    ],
)
def test_usage_errors_are_one_line(
    run: Callable[..., Result],
    text: str,
    measurements: dict[str, Any],
    options: tuple[str, ...],
    message: str,
) -> None:
    done = run(text, measurements, *options)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_markdown_names_the_machine_and_explains_each_row() -> None:
    one = promised.Promise("trex.a", "a thing", "another", "frames/s", 4, 2)
    text = markdown([row(one, Measurement(2e7, 4e5, 50.0))], "a machine")
    assert text.startswith("Measured on a machine.\n")
    assert "| trex.a | 20,000,000 frames/s | 400,000 frames/s | 50× | 2× | 4× ✓ |  |" in text
    assert "- `trex.a`: a thing; against another." in text
