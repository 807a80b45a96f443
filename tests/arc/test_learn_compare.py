"""Checkpoints beside each other on rows that none of them was trained on."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from sysone.arc.learn.compare import UNIFORM, by_game, chosen_rows, main, summary
from sysone.arc.learn.rows import Row
from sysone.arc.system1 import checkpoint
from sysone.arc.system1.model import fresh

pytestmark = pytest.mark.learn

NAMES = ["ACTION1", "ACTION2", "ACTION3", "ACTION4"]


def row(game: str, step: int, shares: list[float], label: int = 0) -> Row:
    return Row(
        key=f"{game}:{step}",
        game=game,
        family="choice",
        grid="\n".join(["5" * 8] * 8),
        previous="",
        levels=0,
        state="NOT_FINISHED",
        label=label,
        candidates=NAMES,
        shares=shares,
    )


def write(folder: Path, rows: list[Row]) -> Path:
    folder.mkdir()
    for part in ("train", "valid", "calibration"):
        kept = rows if part == "train" else []
        (folder / f"{part}.jsonl").write_bytes(
            b"".join(msgspec.json.encode(each) + b"\n" for each in kept)
        )
    return folder


def test_rows_are_drawn_evenly_over_games(tmp_path: Path) -> None:
    rows = [row("a", step, [1, 0, 0, 0]) for step in range(9)]
    rows += [row("b", 0, [0.5, 0.5, 0, 0]), row("b", 1, [0.25] * 4)]
    data = write(tmp_path / "data", rows)
    drawn = chosen_rows(data, 3)
    assert [each.game for each in drawn] == ["a", "a", "a", "b"]
    assert drawn == chosen_rows(data, 3)
    assert drawn[-1].key == "b:0", "a choice that cannot be wrong is none"


def test_games_weigh_alike_and_ties_are_shared() -> None:
    rows = [row("a", 0, [1, 0, 0, 0]), row("a", 1, [], label=2), row("b", 0, [0.5, 0.5, 0, 0])]
    sure = np.array([0.97, 0.01, 0.01, 0.01])
    model = by_game(rows, [sure] * 3)
    even = by_game(rows, [np.full(4, 0.25)] * 3)
    assert model["a"][0] == 0.5
    assert model["b"][0] == 1
    assert even["a"] == pytest.approx([0.25, np.log(4)])
    assert even["b"] == pytest.approx([0.5, np.log(4)])
    told = summary({"sure": model, UNIFORM: even})
    assert told["games"] == 2
    assert told["models"]["sure"]["right"] == 0.75
    mean, low, high = told["pairs"][f"sure - {UNIFORM}"]["right"]
    assert (mean, low, high) == (0.375, 0.25, 0.5)


def test_the_command_prints_one_line(tmp_path: Path, capsys: Any) -> None:
    data = write(tmp_path / "data", [row(game, 0, [1, 0, 0, 0]) for game in "abc"])
    checkpoint.save(fresh("tiny", 0), tmp_path / "one")
    assert main([str(data), str(tmp_path / "one"), "--rows", "1"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["rows"], told["games"]) == (3, 3)
    assert set(told["models"]) == {str(tmp_path / "one"), UNIFORM}
    assert told["models"][UNIFORM] == {"right": 0.25, "nll": round(float(np.log(4)), 4)}


def test_what_cannot_be_read_is_one_line(tmp_path: Path, capsys: Any) -> None:
    assert main([str(tmp_path), str(tmp_path)]) == 2
    assert str(tmp_path / "train.jsonl") in capsys.readouterr().err
    data = write(tmp_path / "data", [row("a", 0, [0.25] * 4)])
    assert main([str(data), str(tmp_path)]) == 2
    assert "no choice that can be wrong" in capsys.readouterr().err
