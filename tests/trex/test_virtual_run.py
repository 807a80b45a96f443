"""Runs on the simulated clock from the command line, recordings of them, and the premise rule."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sysone.trex.baselines import play_seed
from sysone.trex.cli import Place, app
from sysone.trex.latency import Fixed
from sysone.trex.question import PremiseRule
from sysone.trex.report import read_results
from sysone.trex.simulate import Conditions

SHORT = ["--seeds", "2", "--duration", "6", "--clock", "virtual", "--latency", "normal:60,20"]


def run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, obj=Place(results=folder, env=folder / ".env"))


def test_same_inputs_same_bytes_and_nobody_is_asked_twice(tmp_path: Path) -> None:
    done = run(tmp_path, *SHORT)
    assert done.exit_code == 0, done.stderr
    out = tmp_path / "local_virtual.json"
    first = out.read_bytes()
    known = (tmp_path / "answers" / "local.jsonl").read_bytes()
    assert run(tmp_path, *SHORT).exit_code == 0
    assert out.read_bytes() == first
    assert (tmp_path / "answers" / "local.jsonl").read_bytes() == known
    results = read_results(out)
    assert results.summary.mode == "virtual"
    assert results.summary.endpoint.startswith("embedded · trex@")
    assert results.rules is not None
    assert results.rules.latency == "normal:60,20"
    assert results.rules.clock == "virtual"
    assert [row.wall_seconds for row in results.results] == [6.0, 6.0]
    assert all(row.planner_ms_p50 is None for row in results.results)
    assert 45 <= (results.results[0].model_ms_p50 or 0) <= 75
    assert results.baselines is not None
    assert done.stdout.startswith("[local_virtual seed=0] survived=True")


def test_a_recording_is_verified_and_answers_again(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    done = run(tmp_path, *SHORT, "--record", str(file))
    assert done.exit_code == 0, done.stderr
    done = run(tmp_path, "replay", str(file), "--frames", str(tmp_path / "frames.jsonl"))
    assert done.exit_code == 0, done.stderr
    assert f"{file}: 2 matches; " in done.stdout
    assert "are what engine and planner say" in done.stdout
    assert len((tmp_path / "frames.jsonl").read_text().splitlines()) == 2 * 361
    before = (tmp_path / "local_virtual.json").read_bytes()
    (tmp_path / "answers" / "local.jsonl").unlink()
    done = run(tmp_path, *SHORT, "--answers", str(file))
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "local_virtual.json").read_bytes() == before
    # All that is new are the questions whose answers were under way at a seed's end.
    assert len((tmp_path / "answers" / "local.jsonl").read_text().splitlines()) <= 12


def test_a_wrong_recording_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "run.jsonl"
    assert run(tmp_path, *SHORT, "--record", str(file)).exit_code == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    next(line for line in lines if line["is"] == "frame" and line["frame"] == 50)["score"] = 77
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = run(tmp_path, "replay", str(file))
    assert done.exit_code == 1
    assert "sysone trex: seed 0, frame 50: score is 77 in the recording and" in done.stderr


def test_baselines_can_be_left_out(tmp_path: Path) -> None:
    assert run(tmp_path, *SHORT).exit_code == 0
    with_them = read_results(tmp_path / "local_virtual.json")
    assert run(tmp_path, *SHORT, "--no-baselines").exit_code == 0
    without = read_results(tmp_path / "local_virtual.json")
    assert with_them.baselines is not None
    assert without.baselines is None
    assert without.results == with_them.results


def test_virtual_lockstep(tmp_path: Path) -> None:
    done = run(tmp_path, *SHORT, "--lockstep", "4")
    assert done.exit_code == 0, done.stderr
    results = read_results(tmp_path / "local_virtual_lockstep4.json")
    assert results.summary.mode == "virtual_lockstep4"
    assert [row.game_seconds for row in results.results] == [6.0, 6.0]
    assert all(row.wall_seconds > 9 for row in results.results)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clock", "virtual"], "--latency: --clock virtual needs one"),
        (["--latency", "fixed:5"], "--latency: is for --clock virtual"),
        (["--answers", "x"], "--answers: is for --clock virtual"),
        (["--clock", "virtual", "--latency", "fixed:x"], "'x' in 'fixed:x' is not a number"),
        (["--clock", "virtual", "--latency", "nosuch"], "neither a source of latencies nor a file"),
        (["--premise", "hopeful"], "'hopeful' is not one of 'reference', 'checked'"),
        (["--record", "."], "--record: . is a folder, expected a file"),
    ],
)
def test_usage_errors(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_the_results_name_the_premise_rule(tmp_path: Path) -> None:
    done = run(tmp_path, *SHORT, "--premise", "checked", "--inflight", "1")
    assert done.exit_code == 0, done.stderr
    rules = read_results(tmp_path / "local_virtual.json").rules
    assert rules is not None
    assert rules.premise_rule == "checked"


def discards(rule: PremiseRule, seed: int, inflight: int = 1) -> tuple[int, int]:
    conditions = Conditions(
        latency=Fixed(40.0),
        inflight=inflight,
        guarded=True,
        course="original",
        frames=3600,
        premise_rule=rule,
    )
    stats = play_seed("planner_best", seed, conditions)[1].stats
    return stats.discarded, len(stats.latency_ms)


def test_the_checked_rule_ends_chains_of_discarded_answers() -> None:
    """One request in flight, fast answers, and a shield that cuts in: the reference's chain."""
    for seed in range(3):
        chained, applied = discards("reference", seed)
        free, applied_then = discards("checked", seed)
        assert chained > 10 * free, seed
        assert applied_then > 5 * applied, seed


def test_both_rules_are_the_same_where_no_answer_is_discarded() -> None:
    assert discards("reference", 0, inflight=2) != discards("checked", 0, inflight=2)
    assert discards("reference", 0, inflight=6) == discards("checked", 0, inflight=6)
