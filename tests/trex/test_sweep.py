"""Sweeps over latency: the grid, its numbers, its file, its table and its picture."""

import importlib.util
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

from sysone.runs.errors import RunError
from sysone.trex.baselines import play_seed
from sysone.trex.cli import Place, app
from sysone.trex.latency import Fixed
from sysone.trex.plot import check_plot, draw
from sysone.trex.simulate import Conditions
from sysone.trex.sweep import Curve, Grid, Point, Sweep, cliff_ms, read_sweep, sweep, table

GRID = Grid(
    model="local",
    latencies_ms=[0.0, 300.0],
    jitters_ms=[0.0, 30.0],
    inflights=[1],
    prompts=["labeled"],
    seeds=2,
    duration_s=8.0,
)
HARNESS = msgspec.structs.replace(GRID, model=None, shield=False, jitters_ms=[0.0])


def point(latency_ms: float, survived: int, **fields: Any) -> Point:
    plain = {
        "player": "planner_best",
        "prompt": None,
        "inflight": 1,
        "jitter_ms": 0.0,
        "seeds": 5,
        "deaths": 5 - survived,
        "mean_best_score": 100.0 * survived,
        "agreement_with_planner": 1.0,
        "decisions": 10,
        "answers_discarded": 0,
        "shield_interventions": 1,
        "arrival_saves": 2,
        "emergency_saves": 3,
    }
    return msgspec.convert(
        {**plain, "latency_ms": latency_ms, "survived": survived, **fields}, Point
    )


def test_the_grid_has_the_planner_beside_the_model_and_the_shield_alone_once() -> None:
    places = list(GRID.places())
    assert places[0] == (Curve("shield_only", None, 1, 0.0), 0.0)
    assert len(places) == 1 + 2 * 2 * 2
    assert {curve.player for curve, _ in places} == {"shield_only", "planner_best", "local"}
    assert [curve.player for curve, _ in HARNESS.places()] == ["planner_best"] * 2
    both = msgspec.structs.replace(GRID, prompts=["labeled", "guided"])
    assert len(list(both.places())) == 1 + 2 * 3 * 2


def test_a_point_is_what_its_seeds_add_up_to(tmp_path: Path) -> None:
    found = sweep(HARNESS, tmp_path / "answers.jsonl", jobs=1)
    assert found.model is None
    for latency_ms, place in zip((0.0, 300.0), found.points, strict=True):
        conditions = Conditions(
            latency=Fixed(latency_ms), inflight=1, guarded=False, course="original", frames=480
        )
        pilots = [play_seed("planner_best", seed, conditions)[1] for seed in (0, 1)]
        assert place.latency_ms == latency_ms
        assert place.survived == sum(pilot.game.deaths == 0 for pilot in pilots)
        assert place.decisions == sum(len(pilot.stats.latency_ms) for pilot in pilots)
        assert place.agreement_with_planner == 1.0
    assert found.shield_only() is None


def test_processes_change_nothing_and_answers_are_kept(tmp_path: Path) -> None:
    seen = []
    alone = sweep(GRID, tmp_path / "a.jsonl", jobs=1, on_point=lambda: seen.append(1))
    assert len(seen) == len(alone.points) == 9
    assert sweep(GRID, tmp_path / "b.jsonl", jobs=2) == alone
    lines = [sorted((tmp_path / f"{name}.jsonl").read_bytes().splitlines()) for name in "ab"]
    assert lines[0] == lines[1] != []
    before = (tmp_path / "a.jsonl").read_bytes()
    assert sweep(GRID, tmp_path / "a.jsonl", jobs=2) == alone
    assert (tmp_path / "a.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("survived", "cliff"),
    [([5, 5, 5], 40.0), ([5, 5, 4], 20.0), ([5, 4, 5], 0.0), ([4, 5, 5], None)],
)
def test_the_cliff_is_before_the_first_death(survived: list[int], cliff: float | None) -> None:
    points = [point(20.0 * index, count) for index, count in enumerate(survived)]
    assert cliff_ms(points) == cliff


def made(**grid: Any) -> Sweep:
    """A sweep with a cliff, without playing it."""
    points = [point(0.0, 5, player="shield_only", emergency_saves=44)]
    for player, prompt in (("planner_best", None), ("local", "labeled"), ("local", "guided")):
        for latency_ms, survived in ((0.0, 5), (100.0, 5), (200.0, 2)):
            none = player == "local" and latency_ms == 200
            points.append(
                point(
                    latency_ms,
                    survived,
                    player=player,
                    prompt=prompt,
                    agreement_with_planner=None if none else 0.5,
                )
            )
    return Sweep(
        grid=msgspec.structs.replace(GRID, jitters_ms=[0.0], seeds=5, **grid),
        model="trex@1",
        endpoint="embedded",
        points=points,
    )


def test_the_table_names_curves_and_cliffs() -> None:
    text = table(made())
    assert "shield_only: 5 of 5 survive, mean score 500, 44 emergency saves" in text
    assert "planner_best, 1 in flight, jitter 0 ms: every seed survives up to 100 ms" in text
    assert "local, guided, 1 in flight, jitter 0 ms" in text
    assert "   200 ms    2 of 5" in text
    assert text.count("latency  survived") == 3
    fine = msgspec.structs.replace(made(), points=[point(0.0, 5), point(50.0, 5)])
    assert "every seed survives to the end, 50 ms" in table(fine)
    dead = msgspec.structs.replace(made(), points=[point(0.0, 1), point(50.0, 5)])
    assert "not every seed survives 0 ms" in table(dead)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("shield", [True, False])
def test_a_picture(tmp_path: Path, ending: str, shield: bool) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"plot.{ending}"
    draw(made(shield=shield), path)
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert path.read_bytes().startswith(starts[ending])
    draw(made(shield=shield), tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_bytes() == path.read_bytes()
    if ending == "svg":
        text = path.read_text()
        assert "cliff 100 ms" in text
        assert ("shield, a minute" in text) is shield
        assert "local, guided, 1 in flight" in text


def test_a_picture_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"a plot ends in \.png, \.svg, \.pdf, not '\.gif'"):
        draw(made(), tmp_path / "plot.gif")


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RunError, match=r"pip install 'sysone-core\[plot\]'"):
        check_plot(Path("a.png"))


def run(folder: Path, *arguments: str) -> Result:
    place = Place(results=folder, env=folder / ".env")
    return CliRunner().invoke(app, ["sweep", *arguments], obj=place)


def test_the_command(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        *["--latency", "0:300:100", "--inflight", "1", "--model", "none", "--no-shield"],
        *["--seeds", "2", "--duration", "8", "--jobs", "1"],
    )
    assert done.exit_code == 0, done.stderr
    found = read_sweep(tmp_path / "sweep.json")
    assert [place.latency_ms for place in found.points] == [0, 100, 200, 300]
    assert found.grid.prompts == ["labeled", "guided"]
    assert done.stdout.rstrip("\n") == table(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--latency", "0:600"], "'0:600' is not a number from 0 to 5000"),
        (["--latency", "0:600:0"], "'0:600:0': no numbers from the first to the last"),
        (["--latency", "600:0:20"], "'600:0:20': no numbers from the first to the last"),
        (["--latency", "5,fast"], "'5,fast': 'fast' is not a number"),
        (["--jitter", "-1"], "'-1' is not a number from 0 to 5000; expected FIRST:LAST:STEP"),
        (["--inflight", "1-9"], "--inflight takes 1 to 8, got 9"),
        (["--inflight", "8-1"], "'8-1' is empty"),
        (["--prompt", "poetic"], "'poetic' is not one of 'labeled', 'guided', 'both'"),
        (["--jobs", "0"], "0 is not a whole number of at least 1"),
    ],
)
def test_usage_errors(tmp_path: Path, arguments: list[str], message: str) -> None:
    done = run(tmp_path, *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text('{"points": 3}')
    with pytest.raises(RunError, match="is not a sweep's file"):
        read_sweep(path)
    with pytest.raises(RunError, match="cannot read"):
        read_sweep(tmp_path / "none.json")


def test_an_endpoint_that_is_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLM_BASE_URL", "http://127.0.0.1:9")
    done = run(tmp_path, "--model", "clm", "--latency", "0", "--duration", "1", "--jobs", "1")
    assert done.exit_code == 1
    assert "sysone trex: CLM at http://127.0.0.1:9 cannot be reached" in done.stderr
