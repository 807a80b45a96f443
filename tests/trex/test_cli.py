"""The command: options, exit codes, what it says and what it leaves on disk."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone.trex.cli import Place, app
from sysone.trex.report import read_results
from trex.fake_endpoint import FakeEndpoint, reply

GENEROUS_S = 120.0
SCRIPT = Path(__file__).parents[2] / "examples" / "t_rex" / "run.py"
SHORT = ["--seeds", "2", "--duration", "0.1", "--inflight", "2"]
ROW = [
    "seed",
    "survived",
    "deaths",
    "best_score",
    "scores",
    "decisions",
    "agreement_with_planner",
    "latency_ms_p50",
    "latency_ms_p95",
    "model_ms_p50",
    "answers_discarded",
    "errors",
    "last_error",
    "best_effort_decisions",
    "shield_interventions",
    "arrival_saves",
    "emergency_saves",
    "input_tokens",
    "game_seconds",
    "wall_seconds",
    "host_stall_seconds_dropped",
    "model",
    "endpoint",
    "planner_ms_p50",
    "planner_ms_p95",
    "planner_ms_p99",
    "late_frames_share",
]
SUMMARY = [
    "model",
    "endpoint",
    "mode",
    "shield",
    "course_style",
    "prompt",
    "duration_s",
    "seeds",
    "survived",
    "deaths",
    "mean_best_score",
    "mean_decisions",
    "mean_agreement_with_planner",
    "latency_ms_p50_median",
    "model_ms_p50_median",
    "errors",
    "answers_discarded",
    "shield_interventions",
    "inflight",
]


def environment(**variables: str) -> dict[str, str]:
    ours = ("CLM_", "TYPESAFE_", "JEV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, **variables}


def run(
    *arguments: str, folder: Path, command: tuple[str, ...] = ("-m", "sysone.trex"), **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *command, *arguments],
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=GENEROUS_S,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def endpoint() -> Iterator[FakeEndpoint]:
    with FakeEndpoint() as server:
        yield server


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--seeds 0", "'--seeds': 0 is not a whole number of at least 1"),
        ("--seeds many", "'--seeds': 'many' is not a whole number"),
        ("--duration -1", "'--duration': '-1' is not a number of seconds of at least 1/60"),
        ("--duration nan", "'--duration': 'nan' is not a number of seconds"),
        ("--duration inf", "'--duration': 'inf' is not a number of seconds"),
        ("--inflight 9", "--inflight takes 1 to 8, got 9"),
        ("--inflight 0", "--inflight takes 1 to 8, got 0"),
        ("--lockstep 0", "'--lockstep': 0 is not a whole number of at least 1"),
        ("--prompt poetic", "'poetic' is not one of 'labeled', 'guided'"),
        ("--model gpt", "'gpt' is not one of 'local', 'clm', 'jev'"),
        ("--course-style flat", "'flat' is not one of 'original', 'staged'"),
        ("--speed 9", "No such option: --speed"),
        ("--out .", "--out: . is a folder, expected a file"),
    ],
)
def test_usage_errors_name_option_value_and_what_was_expected(arguments: str, message: str) -> None:
    done = CliRunner().invoke(app, arguments.split())
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_results_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(app, ["--out", str(tmp_path / "file" / "a.json")])
    assert done.exit_code == 2
    assert "cannot be written" in done.stderr


def test_the_example_needs_a_model(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [], obj=Place(results=tmp_path, model_required=True))
    assert done.exit_code == 2
    assert "--model" in done.stderr
    assert "local, clm, jev" in done.stderr


def test_a_run(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    done = run("--model", "clm", *SHORT, folder=tmp_path, CLM_BASE_URL=endpoint.url)
    assert done.returncode == 0
    *seed_lines, summary = done.stdout.split("\n", 2)
    assert seed_lines[0].startswith("[clm_realtime seed=0] survived=True deaths=0 best_score=")
    assert seed_lines[1].startswith("[clm_realtime seed=1] survived=True deaths=0 best_score=")
    written = json.loads((tmp_path / "results" / "clm_realtime.json").read_text("utf-8"))
    assert list(written) == ["summary", "results", "baselines", "rules"]
    assert written["rules"] == {"clock": "real", "latency": None, "premise_rule": "reference"}
    assert json.loads(summary) == written["summary"]
    assert list(written["summary"]) == SUMMARY
    assert [list(row) for row in written["results"]] == [ROW, ROW]
    assert [row["wall_seconds"] for row in written["results"]] == [0.1, 0.1]
    assert list(written["baselines"]) == ["shield_only", "planner_best", "random_safe", "random"]
    for baseline in written["baselines"].values():
        assert list(baseline) == ["survived", "deaths", "mean_best_score", "shield_interventions"]
        assert baseline["survived"] == 2
    where = f"{endpoint.url} · fake-1 · 2 requests in flight"
    assert written["summary"]["endpoint"] == where
    # Indented by one space, characters beyond ASCII as they are.
    text = (tmp_path / "results" / "clm_realtime.json").read_text("utf-8")
    assert text.startswith('{\n "summary": {\n  "model": "fake-1",')
    assert f'"endpoint": "{where}"' in text
    assert "CLM: " in done.stderr
    assert "warm answer" in done.stderr


@pytest.mark.parametrize(
    ("options", "name", "mode"),
    [
        (["--lockstep", "3"], "clm_lockstep3", "lockstep3"),
        (["--no-shield", "--prompt", "guided"], "clm_realtime_noshield", "realtime"),
    ],
)
def test_modes(
    endpoint: FakeEndpoint, tmp_path: Path, options: list[str], name: str, mode: str
) -> None:
    done = run("--model", "clm", *SHORT, *options, folder=tmp_path, CLM_BASE_URL=endpoint.url)
    assert done.returncode == 0
    results = read_results(tmp_path / "results" / f"{name}.json")
    assert results.summary.mode == mode
    assert results.summary.shield is ("--no-shield" not in options)
    assert results.summary.inflight == (1 if "--lockstep" in options else 2)
    assert [row.game_seconds for row in results.results] == [0.1, 0.1]
    guided = "Recommended action: run." in endpoint.requests[0]["state"]
    assert guided is ("guided" in options)


def test_the_embedded_model_is_the_default(tmp_path: Path) -> None:
    done = run("--seeds", "1", "--duration", "0.5", folder=tmp_path)
    assert done.returncode == 0
    results = read_results(tmp_path / "results" / "local_realtime.json")
    assert results.results[0].errors == 0
    assert results.summary.model.startswith("trex")
    assert results.summary.endpoint.startswith("http://127.0.0.1:")


def test_the_example_keeps_its_results_beside_itself(
    endpoint: FakeEndpoint, tmp_path: Path
) -> None:
    done = run(
        *["--model", "clm", "--out", str(tmp_path / "a.json"), *SHORT],
        folder=tmp_path,
        command=(str(SCRIPT),),
        CLM_BASE_URL=endpoint.url,
    )
    assert done.returncode == 0
    assert read_results(tmp_path / "a.json").summary.seeds == 2
    assert not (tmp_path / "results").exists()


def test_settings_come_from_the_env_file(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"CLM_API_KEY=from-file\nCLM_BASE_URL={endpoint.url}\n")
    done = run("--model", "clm", *SHORT, folder=tmp_path, CLM_API_KEY="from-environment")
    assert done.returncode == 0
    assert endpoint.headers[0]["authorization"] == "Bearer from-environment"


def assert_one_line(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("sysone trex: ")]
    assert message in line


def test_a_missing_key_is_one_line(tmp_path: Path) -> None:
    done = run("--model", "jev", *SHORT, folder=tmp_path)
    assert_one_line(done, "Jev needs TYPESAFE_API_KEY (or JEV_API_KEY)")
    assert not (tmp_path / "results" / "jev_realtime.json").exists()


def test_an_unreachable_endpoint_is_one_line(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    url = endpoint.url
    endpoint.close()
    done = run("--model", "clm", *SHORT, folder=tmp_path, CLM_BASE_URL=url)
    assert_one_line(done, f"CLM at {url} cannot be reached")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (reply({"jump": 2}), "invalid probability: {'jump': 2}"),
        ((200, b'{"answers": {}}'), "answers.action must be an object"),
        ((503, b"no model loaded"), "CLM HTTP 503: no model loaded"),
    ],
)
def test_a_wrong_answer_is_one_line(
    endpoint: FakeEndpoint, tmp_path: Path, answer: Any, message: str
) -> None:
    endpoint.script = lambda number, request: answer
    done = run("--model", "clm", *SHORT, folder=tmp_path, CLM_BASE_URL=endpoint.url)
    assert_one_line(done, message)


def test_an_interrupt_leaves_the_finished_seeds(endpoint: FakeEndpoint, tmp_path: Path) -> None:
    out = tmp_path / "results" / "clm_realtime.json"
    process = subprocess.Popen(
        [
            *[sys.executable, "-m", "sysone.trex", "--model", "clm", "--inflight", "2"],
            *["--seeds", "100000", "--duration", "0.1"],
        ],
        cwd=tmp_path,
        env=environment(CLM_BASE_URL=endpoint.url),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A group of its own, so that the interrupt reaches the player's process as from a terminal.
        start_new_session=True,
        # A shell starts its background jobs with interrupts ignored, which is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        deadline_s = time.monotonic() + GENEROUS_S
        while not out.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=GENEROUS_S)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert "interrupted" in stderr
    rows = read_results(out).results
    assert [row.seed for row in rows] == list(range(len(rows)))
    assert stdout.count("[clm_realtime seed=") <= len(rows)
