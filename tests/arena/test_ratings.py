"""Ratings: known strengths are found again, and what cannot be compared is refused."""

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from sysone.arena import cli, ratings
from sysone.arena.errors import ArenaError
from sysone.arena.ratings import Game, rate


def play(strength: dict[str, float], games: int, seed: int) -> list[Game]:
    """Games of everybody with everybody, by the model; strengths are Elo points."""
    dice = random.Random(seed)
    found = []
    for a, b in ((a, b) for a in strength for b in strength if a < b):
        chance = 1 / (1 + 10 ** ((strength[b] - strength[a]) / 400))
        found += [Game(a, b, float(dice.random() < chance)) for _ in range(games)]
    return found


def test_strengths_are_found_again() -> None:
    strength = {"one": 1300.0, "two": 1450.0, "three": 1550.0, "four": 1700.0}
    rows = rate(play(strength, 400, 1))
    assert [row.strategy for row in rows] == ["four", "three", "two", "one"]
    for row in rows:
        low, high = row.ci95
        assert low < row.rating < high
        assert abs(row.rating - strength[row.strategy]) < 40
        assert row.games == row.wins + row.losses + row.draws == 1200
    assert sum(row.rating for row in rows) == pytest.approx(4 * 1500, abs=0.5)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    strength = {"one": 1400.0, "two": 1500.0, "three": 1600.0}
    held = [
        row.ci95[0] <= strength[row.strategy] <= row.ci95[1]
        for seed in range(120)
        for row in rate(play(strength, 60, seed))
    ]
    # 360 intervals at 95 %: fewer than 90 % happen once in ten thousand such tests.
    assert 0.90 < sum(held) / len(held) <= 1.0


def test_two_players_by_hand() -> None:
    # Seven wins, two losses, one draw and the imagined one: 8 to 3.
    games = [Game("a", "b", 1.0)] * 7 + [Game("b", "a", 1.0)] * 2 + [Game("a", "b", 0.5)]
    a, b = rate(games)
    assert a.rating - b.rating == pytest.approx(400 * math.log10(8 / 3), abs=0.2)
    assert (a.wins, a.losses, a.draws) == (b.losses, b.wins, b.draws) == (7, 2, 1)


def test_who_won_everything_is_finite() -> None:
    a, b = rate([Game("a", "b", 1.0)] * 10)
    assert a.rating - b.rating == pytest.approx(400 * math.log10(21), abs=0.2)
    assert math.isfinite(a.ci95[1])


def test_groups_that_never_met_are_refused() -> None:
    games = [Game("a", "b", 1.0), Game("c", "d", 0.0), Game("d", "e", 0.5)]
    with pytest.raises(ArenaError, match="a, b; c, d, e"):
        rate(games)
    with pytest.raises(ArenaError, match="no game"):
        rate([])


def run_folder(folder: Path, rows: list[tuple[str, str, str | None, str]]) -> Path:
    """A run's files with the parts that are read: red, blue, winner, status."""
    folder.mkdir()
    jobs = [
        {
            "index": index,
            "red": {"key": red, "version_hash": red * 32},
            "blue": {"key": blue, "version_hash": blue * 32},
        }
        for index, (red, blue, _, _) in enumerate(rows)
    ]
    (folder / "run.json").write_text(json.dumps({"format": "arena-run-v1", "jobs": jobs}))
    lines = [
        json.dumps({"index": index, "status": status, "winner": winner})
        for index, (_, _, winner, status) in enumerate(rows)
    ]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def call(capsys: Any, *arguments: str) -> tuple[Any, str, str]:
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_the_command_reads_runs_and_changes_nothing(tmp_path: Path, capsys: Any) -> None:
    one = run_folder(
        tmp_path / "one",
        [("a", "b", "red", "ok"), ("b", "a", "blue", "ok"), ("a", "b", "red", "strategy_error"),
         ("a", "a", "red", "ok")],
    )  # fmt: skip
    two = run_folder(tmp_path / "two", [("b", "c", None, "ok")])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    code, out, _ = call(capsys, "ratings", str(one), str(two))
    rows = json.loads(out)
    assert code == 0
    # A game against oneself and one with an error do not count.
    assert rows[0]["strategy"] == "a@aaaaaaaa"
    assert {row["strategy"][0]: row["games"] for row in rows} == {"a": 2, "b": 3, "c": 1}
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    code, out, err = call(capsys, "ratings", str(tmp_path / "nowhere"))
    assert (code, out) == (2, "")
    assert "holds no run" in json.loads(err)["message"]


def test_a_round_robin_is_a_jobs_file(tmp_path: Path, capsys: Any) -> None:
    refs = ["std_2027_hold", "std_2027_rush", "std_2027_team"]
    code, out, _ = call(capsys, "round-robin", *refs, "--games", "2", "--seed", "5")
    jobs = json.loads(out)
    assert code == 0
    assert len(jobs) == 6
    assert {(job["red"], job["blue"]) for job in jobs} == {
        (refs[0], refs[1]), (refs[0], refs[2]), (refs[1], refs[2]),
    }  # fmt: skip
    assert {job["seed"] for job in jobs} == {5, 6}
    code, _, err = call(capsys, "round-robin", "std_2027_hold")
    assert code == 2
    assert "two or more" in json.loads(err)["message"]
    assert ratings.MEAN == 1500
