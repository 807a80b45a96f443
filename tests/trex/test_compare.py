"""Paired comparison of two runs, its numbers and its refusals."""

import math
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from sysone.runs.errors import RunError
from sysone.trex.cli import app
from sysone.trex.compare import (
    MEASURES,
    Difference,
    compare,
    interval,
    smallest_detectable,
    student_t,
    table,
)
from sysone.trex.report import Results, Rules, SeedRow, Settings, summarise, write_results

SETTINGS = Settings(
    mode="virtual",
    shield=True,
    course_style="original",
    prompt="labeled",
    duration_s=60.0,
    inflight=6,
)


def row(seed: int, **fields: Any) -> SeedRow:
    plain = {
        "survived": True,
        "deaths": 0,
        "best_score": 697,
        "scores": [697],
        "decisions": 3000,
        "agreement_with_planner": 0.9,
        "latency_ms_p50": 50.0,
        "latency_ms_p95": 70.0,
        "model_ms_p50": 40.0,
        "answers_discarded": 10,
        "errors": 0,
        "last_error": None,
        "best_effort_decisions": 0,
        "shield_interventions": 0,
        "arrival_saves": 0,
        "emergency_saves": 0,
        "input_tokens": 0,
        "game_seconds": 60.0,
        "wall_seconds": 60.0,
        "host_stall_seconds_dropped": 0.0,
        "model": "m",
        "endpoint": "e",
    }
    return msgspec.convert({"seed": seed, **plain, **fields}, SeedRow)


def results(rows: list[SeedRow], **settings: Any) -> Results:
    return Results(
        summary=summarise(rows, msgspec.structs.replace(SETTINGS, **settings)),
        results=rows,
        rules=Rules(clock="virtual", latency="fixed:100"),
    )


def found(differences: list[Difference], name: str) -> Difference:
    return next(item for item in differences if item.name == name)


@pytest.mark.parametrize(
    ("probability", "freedom", "exact"),
    # Student's table.
    [
        (0.975, 4, 2.776),
        (0.975, 9, 2.262),
        (0.8, 9, 0.883),
        (0.975, 1, 12.706),
        (0.975, 200, 1.972),
    ],
)
def test_students_t(probability: float, freedom: int, exact: float) -> None:
    assert student_t(probability, freedom) == pytest.approx(exact, rel=0.02)


def test_the_interval_covers_what_it_says() -> None:
    stream = random.Random(0)
    covered = 0
    for _ in range(300):
        low, high = interval([stream.gauss(3, 5) for _ in range(8)])
        covered += low <= 3 <= high
    # 95 % of 300, within what so few seeds' bootstrap can do.
    assert 0.91 <= covered / 300 <= 0.985


def test_the_detectable_difference_is_found_four_times_in_five() -> None:
    stream = random.Random(1)
    spread, count = 10.0, 12
    sizes = [
        smallest_detectable([stream.gauss(0, spread) for _ in range(count)]) for _ in range(200)
    ]
    size = sum(sizes) / len(sizes)
    assert size == pytest.approx(spread / math.sqrt(count) * (2.201 + 0.876), rel=0.05)
    seen = 0
    for _ in range(300):
        low, high = interval([stream.gauss(size, spread) for _ in range(count)])
        seen += low > 0 or high < 0
    assert 0.7 <= seen / 300 <= 0.9


def test_pairs_take_the_courses_part_out() -> None:
    stream = random.Random(2)
    courses = [stream.gauss(400, 150) for _ in range(12)]
    a = results([row(seed, best_score=int(x)) for seed, x in enumerate(courses)])
    b = results(
        [row(seed, best_score=int(x + stream.gauss(20, 5))) for seed, x in enumerate(courses)]
    )
    score = found(compare(a, b).differences, "best_score")
    assert score.difference == pytest.approx(20, abs=5)
    assert 10 < score.low < score.high < 30
    assert score.told_apart
    assert score.smallest_detectable < 10


def test_the_sentence_says_which_and_by_how_much() -> None:
    stream = random.Random(3)
    a = results([row(seed, agreement_with_planner=stream.uniform(0.5, 0.6)) for seed in range(8)])
    b = results([row(seed, agreement_with_planner=stream.uniform(0.8, 0.9)) for seed in range(8)])
    comparison = compare(a, b)
    difference = found(comparison.differences, "agreement_with_planner").difference
    assert comparison.sentence == (
        f"These 8 seeds tell the two apart; B less A: agreement_with_planner {difference:+.3g}."
    )
    assert "  *" in table(comparison)


def test_the_sentence_says_when_nothing_can_be_told() -> None:
    stream = random.Random(4)
    a, b = (
        results([row(seed, best_score=stream.randint(300, 697)) for seed in range(6)])
        for _ in range(2)
    )
    comparison = compare(a, b)
    size = found(comparison.differences, "best_score").smallest_detectable
    assert comparison.sentence == (
        "These 6 seeds cannot tell the two apart; a difference in the best score below "
        f"{size:.3g} would mostly go unseen."
    )
    assert "*" not in table(comparison)
    same = compare(a, a)
    assert "the best scores differ by the same on every seed" in same.sentence


def test_the_same_files_give_the_same_numbers() -> None:
    a = results([row(seed, decisions=3000 + seed % 3) for seed in range(5)])
    b = results([row(seed, decisions=3000 + seed % 4) for seed in range(5)])
    assert compare(a, b) == compare(a, b)


def test_only_common_seeds_are_pairs() -> None:
    a = results([row(seed) for seed in range(5)])
    b = results([row(seed) for seed in range(2, 8)])
    comparison = compare(a, b)
    assert comparison.seeds == [2, 3, 4]
    assert comparison.left_out == [0, 1, 5, 6, 7]


def test_a_measure_that_a_row_lacks_has_fewer_pairs() -> None:
    a = results([row(seed, latency_ms_p50=None if seed else 50.0) for seed in range(4)])
    b = results([row(seed) for seed in range(4)])
    names = [item.name for item in compare(a, b).differences]
    assert names == [measure.name for measure in MEASURES if measure.name != "latency_ms_p50"]


def test_other_settings_are_refused_by_name() -> None:
    a = results([row(seed) for seed in range(3)])
    b = results([row(seed) for seed in range(3)], prompt="guided", inflight=1)
    with pytest.raises(RunError) as error:
        compare(a, b)
    assert str(error.value) == (
        "the runs cannot be compared, their settings differ: "
        "prompt ('labeled', 'guided'); inflight (6, 1)"
    )
    with pytest.raises(RunError, match=r"differ: inflight \(6, 1\)"):
        compare(a, b, across=["prompt"])
    assert compare(a, b, across=["prompt", "inflight"]).across == {
        "prompt": ["labeled", "guided"],
        "inflight": [6, 1],
    }
    with pytest.raises(RunError, match="unknown setting mood; there are mode, shield"):
        compare(a, a, across=["mood"])


def test_rules_are_settings_and_a_file_without_them_has_the_references() -> None:
    a = results([row(seed) for seed in range(3)])
    b = msgspec.structs.replace(a, rules=Rules(clock="virtual", latency="fixed:50"))
    with pytest.raises(RunError, match=r"latency \('fixed:100', 'fixed:50'\)"):
        compare(a, b)
    real = msgspec.structs.replace(a, rules=Rules())
    published = msgspec.structs.replace(a, rules=None)
    assert compare(real, published).across == {}


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_common_seeds(count: int) -> None:
    a = results([row(seed) for seed in range(5)])
    b = results([row(seed) for seed in range(5 - count, 10)])
    with pytest.raises(RunError, match=f"the runs have {count} common seeds; at least 2"):
        compare(a, b)


def test_a_seed_twice() -> None:
    a = results([row(0), row(1), row(1)])
    with pytest.raises(RunError, match="A has a seed twice"):
        compare(a, a)


def test_the_command(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, prompt in zip(paths, ("labeled", "guided"), strict=True):
        write_results(path, results([row(seed) for seed in range(4)], prompt=prompt))
    names = [str(path) for path in paths]
    done = CliRunner().invoke(app, ["compare", *names])
    assert done.exit_code == 1
    assert "sysone trex: the runs cannot be compared, their settings differ: prompt" in done.stderr
    out = tmp_path / "c.json"
    done = CliRunner().invoke(app, ["compare", *names, "--across", "prompt", "--out", str(out)])
    assert done.exit_code == 0
    assert "prompt: A labeled, B guided" in done.stdout
    assert done.stdout.rstrip().endswith("the best scores differ by the same on every seed.")
    assert msgspec.json.decode(out.read_bytes())["seeds"] == [0, 1, 2, 3]
    done = CliRunner().invoke(app, ["compare", names[0], str(tmp_path / "none.json")])
    assert done.exit_code == 1
    assert "cannot read" in done.stderr
