"""Where latencies come from on the simulated clock."""

import statistics
from itertools import islice, pairwise
from pathlib import Path

import pytest

from sysone.runs.errors import RunError
from sysone.trex.latency import Latency, LatencyError, landing, parse_latency
from sysone.trex.report import Results, SeedRow, Settings, summarise, write_results
from sysone_core.trex import FRAME_MS


def first(source: Latency, count: int, seed: int = 0) -> list[float]:
    return list(islice(source.stream(seed), count))


def row(seed: int, p50: float | None, p95: float | None) -> SeedRow:
    return SeedRow(
        seed=seed,
        survived=True,
        deaths=0,
        best_score=1,
        scores=[1],
        decisions=1,
        agreement_with_planner=1.0,
        latency_ms_p50=p50,
        latency_ms_p95=p95,
        model_ms_p50=1.0,
        answers_discarded=0,
        errors=0,
        last_error=None,
        best_effort_decisions=0,
        shield_interventions=0,
        arrival_saves=0,
        emergency_saves=0,
        input_tokens=0,
        game_seconds=1.0,
        wall_seconds=1.0,
        host_stall_seconds_dropped=0.0,
        model="m",
        endpoint="e",
    )


def results_of(path: Path, rows: list[SeedRow]) -> Path:
    settings = Settings(
        mode="realtime",
        shield=True,
        course_style="original",
        prompt="labeled",
        duration_s=1.0,
        inflight=6,
    )
    write_results(path, Results(summary=summarise(rows, settings), results=rows))
    return path


def test_fixed() -> None:
    source = parse_latency("fixed:120.5")
    assert source.name == "fixed:120.5"
    assert first(source, 3) == [120.5] * 3
    assert list(source.typical_ms(0)) == [120.5]


def test_normal_has_its_moments_and_never_runs_backwards() -> None:
    source = parse_latency("normal:100,20")
    assert source.name == "normal:100,20"
    drawn = first(source, 4000)
    assert statistics.mean(drawn) == pytest.approx(100, abs=2)
    assert statistics.stdev(drawn) == pytest.approx(20, abs=2)
    assert min(first(parse_latency("normal:1,50"), 100)) == 0
    assert parse_latency("normal:80,0").name == "fixed:80"


def test_a_source_is_a_function_of_its_seed() -> None:
    source = parse_latency("normal:100,20")
    assert first(source, 50, seed=3) == first(source, 50, seed=3)
    assert first(source, 50, seed=3) != first(source, 50, seed=4)
    assert source.typical_ms(3) == source.typical_ms(3)


def test_recorded_goes_through_median_and_percentile_of_its_seed(tmp_path: Path) -> None:
    path = results_of(tmp_path / "r.json", [row(0, 50.0, 90.0), row(1, 100.0, 100.0)])
    source = parse_latency(f"recorded:{path}")
    assert source.name == "recorded:r.json"
    drawn = sorted(first(source, 4000, seed=0))
    # Half a frame of what was measured is waiting for the frame.
    assert drawn[2000] + FRAME_MS / 2 == pytest.approx(50, rel=0.05)
    assert drawn[3800] + FRAME_MS / 2 == pytest.approx(90, rel=0.05)
    assert first(source, 2, seed=1) == pytest.approx([100 - FRAME_MS / 2] * 2)
    # A seed that was not played: the medians of all.
    assert statistics.median(first(source, 4000, seed=9)) == pytest.approx(
        75 - FRAME_MS / 2, rel=0.05
    )


def test_recorded_without_any_latency_is_refused(tmp_path: Path) -> None:
    path = results_of(tmp_path / "r.json", [row(0, None, None)])
    with pytest.raises(RunError, match="has no latency in any row"):
        parse_latency(f"recorded:{path}")


def test_a_file_of_times_comes_in_its_order(tmp_path: Path) -> None:
    path = tmp_path / "times.txt"
    path.write_text("# measured\n10\n20.5\n\n30\n")
    source = parse_latency(str(path))
    assert source.name == "times.txt"
    drawn = first(source, 6)
    assert sorted(drawn[:3]) == [10, 20.5, 30]
    assert drawn[3:] == drawn[:3]
    following = {10: 20.5, 20.5: 30, 30: 10}
    assert all(following[a] == b for a, b in pairwise(drawn))
    assert len({first(source, 1, seed)[0] for seed in range(20)}) == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fixed:soon", "'soon' in 'fixed:soon' is not a number of milliseconds from 0 to 5000"),
        ("fixed:-1", "'-1' in 'fixed:-1' is not a number"),
        ("fixed:nan", "'nan' in 'fixed:nan' is not a number"),
        ("normal:5", "'normal:5' lacks the standard deviation"),
        ("normal:5,x", "'x' in 'normal:5,x' is not a number"),
        ("missing.txt", "'missing.txt' is neither a source of latencies nor a file: expected"),
    ],
)
def test_text_that_names_no_source(text: str, message: str) -> None:
    with pytest.raises(LatencyError) as error:
        parse_latency(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no latency"),
        ("10\nlong\n", "line 2: 'long' in 'long' is not a number"),
        ('{"is": 3}\n', "line 1 is no record"),
    ],
)
def test_files_that_hold_something_else(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "times.txt"
    path.write_text(content)
    with pytest.raises(RunError, match=message):
        parse_latency(str(path))


def test_a_landing_is_half_a_frame_later_than_its_answer() -> None:
    assert first(landing(5 * FRAME_MS), 1) == pytest.approx([4.5 * FRAME_MS])
    assert first(landing(1.0), 1) == [0.0]
