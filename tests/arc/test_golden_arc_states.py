"""State texts, scores and a whole transcript of the official toolkit."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sysone.arc import toolkit
from sysone.arc.actions import make
from sysone.arc.env import make_env
from sysone.arc.frame import Frame
from sysone.arc.observe import encode_observation, parse_state_text, state_text
from sysone.arc.score import Tally, game_score, level_score
from sysone_core import grids

Golden = Callable[[str, str], Any]
GAMES = Path(__file__).parents[1] / "data" / "arc" / "environment_files"


def test_state_texts(golden: Golden) -> None:
    for case in golden("arc", "grids.json")["cases"]:
        grid = grids.text_to_grid(case["cur"])
        assert state_text(grid, case["l"], case["s"]) == case["state"], case["id"]
        before = None if case["prev"] is None else grids.text_to_grid(case["prev"])
        seen = encode_observation(grid, before, levels_completed=case["l"], state=case["s"])
        assert seen.state_text == case["state"]
        assert seen.diff_text == case["diff"]
        assert f"{seen.frame_hash:016x}" == case["frame_hash"]
        back, level, state = parse_state_text(case["state"])
        assert (back.tolist(), level, state) == (grid.tolist(), case["l"], case["s"])


def test_scores(golden: Golden) -> None:
    for case in golden("arc", "rhae.json")["cases"]:
        levels = case["levels"]
        scores = [level_score(x["baseline"], x["actions"], x["completed"]) for x in levels]
        assert scores == pytest.approx(case["level_scores"], abs=1e-12)
        found = game_score(scores, [level["completed"] for level in levels])
        assert found == pytest.approx(case["score"], abs=1e-12)


def replay(rows: list[dict[str, Any]], tally: Tally) -> None:
    """Count a transcript's rows as if they had just been answered."""
    for row in rows[1:]:
        frame = Frame(
            frame=[()] * row["n_frames"],
            state=row["state"],
            levels_completed=row["levels_completed"],
            win_levels=row["win_levels"],
            full_reset=row["full_reset"],
        )
        name, data = row["action"], row["data"]
        id_ = 0 if name == "RESET" else int(name[6:])
        tally.note(make(id_, data.get("x"), data.get("y")), frame)


@pytest.mark.parametrize("rules", ["normal", "level_resets_only"])
def test_counting_a_transcript(golden: Golden, rules: str) -> None:
    found = golden("arc", "zz01_transcript.json")[rules]
    card = found["scorecard"]["environments"][0]
    tally = Tally(card["runs"][0]["level_baseline_actions"], 3)
    replay(found["rows"], tally)
    assert tally.rhae(tally.best) == pytest.approx(card["score"])
    played = [run for run in card["runs"] if run["actions"]]
    counted = [play for play in tally.plays if play.actions]
    assert [play.level_actions for play in counted] == [run["level_actions"] for run in played]
    assert [play.resets for play in counted] == [run["resets"] for run in played]
    assert tally.actions == card["actions"]


def test_the_score_under_level_resets_is_4_17(golden: Golden) -> None:
    found = golden("arc", "zz01_transcript.json")["level_resets_only"]
    tally = Tally([6, 10, 14], 3)
    replay(found["rows"], tally)
    assert round(tally.rhae(tally.best), 2) == 4.17


@pytest.mark.skipif(not toolkit.available(), reason="the ARC toolkit is not installed")
@pytest.mark.parametrize(
    ("kind", "rules"), [("normal", "normal"), ("level_resets_only", "competition")]
)
def test_playing_the_golden_game_again(
    golden: Golden, tmp_path: Path, kind: str, rules: Any
) -> None:
    shutil.copytree(GAMES, tmp_path / "games")
    rows = golden("arc", "zz01_transcript.json")[kind]["rows"]
    env = make_env("zz01", tmp_path / "games", rules)
    first = env.first()
    assert first is not None
    assert f"{grids.frame_hash(first.frame[-1]):016x}" == rows[0]["last_hash"]
    tally = Tally(env.baseline_actions, env.n_levels)
    for row in rows[1:]:
        name, data = row["action"], row["data"]
        action = make(0 if name == "RESET" else int(name[6:]), data.get("x"), data.get("y"))
        frame = env.step(action)
        assert frame is not None
        tally.note(action, frame)
        assert frame.state == row["state"]
        assert frame.levels_completed == row["levels_completed"]
        assert frame.full_reset == row["full_reset"]
        assert len(frame.frame) == row["n_frames"]
        if row["n_frames"]:
            assert f"{grids.frame_hash(frame.frame[-1]):016x}" == row["last_hash"]
    card = golden("arc", "zz01_transcript.json")[kind]["scorecard"]
    assert tally.rhae(tally.best) == pytest.approx(card["score"])
    assert json.dumps(env.baseline_actions) == "[6, 10, 14]"
