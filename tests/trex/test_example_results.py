"""The results kept with the example: real runs that our reader takes and that add up."""

import statistics
from pathlib import Path

import pytest

from sysone.trex.baselines import play_baselines
from sysone.trex.latency import landing
from sysone.trex.report import Results, Settings, read_results, summarise
from sysone.trex.simulate import Conditions

FOLDER = Path(__file__).parents[2] / "examples" / "t_rex" / "results"
FILES = sorted(FOLDER.glob("*.json"))


def test_there_is_one() -> None:
    assert FOLDER / "local_realtime.json" in FILES


@pytest.fixture(params=FILES, ids=[file.name for file in FILES])
def results(request: pytest.FixtureRequest) -> Results:
    return read_results(request.param)


def test_the_summary_is_that_of_the_rows(results: Results) -> None:
    summary = results.summary
    settings = Settings(**{name: getattr(summary, name) for name in Settings.__struct_fields__})
    assert summarise(results.results, settings) == summary


def test_whoever_lives_for_a_minute_scores_the_same(results: Results) -> None:
    assert results.summary.duration_s == 60.0
    survivors = [row for row in results.results if row.survived]
    assert len(survivors) == results.summary.survived
    # The one number that every seed shares; see the specification of the score.
    assert {row.best_score for row in survivors} <= {697}


def test_baselines_can_be_played_again(results: Results) -> None:
    assert results.baselines is not None
    summary, rows = results.summary, results.results
    assert summary.course_style in ("original", "staged")
    conditions = Conditions(
        latency=landing(
            statistics.median(row.latency_ms_p50 for row in rows if row.latency_ms_p50)
        ),
        inflight=summary.inflight,
        guarded=summary.shield,
        course="staged" if summary.course_style == "staged" else "original",
        frames=int(summary.duration_s * 60),
    )
    seeds = [row.seed for row in rows]
    assert results.baselines == play_baselines(seeds, conditions)
