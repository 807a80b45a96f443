"""From traces to a checkpoint: rows, augmentation, stages, stamps, kills and the same losses."""

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sysone.arc.actions import click, parse
from sysone.arc.cli import app
from sysone.arc.config import Data, load_config
from sysone.arc.learn.augment import (
    Transform,
    action_transform,
    augmented,
    coord_transform,
    grid_transform,
    line_transform,
    transform_row,
)
from sysone.arc.learn.dataset import CHANGED, FADING, Step, build, split_of, worths
from sysone.arc.learn.rows import Row, cells, question_of, read_rows
from sysone.arc.memory import DIED, GAINED, MOVED_ON, NO_OP
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress
from sysone_core import grids

CONFIGS = Path(__file__).parents[2] / "python" / "sysone" / "arc" / "configs"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Traces of three practice games and the rows that they make."""
    folder = tmp_path_factory.mktemp("learn")
    arguments = ["collect", "--games", "ppus pmaz ptog", "--episodes", "1", "--epsilon", "0.3"]
    done = CliRunner().invoke(app, [*arguments, "--max-actions", "60", "--out", str(folder / "t")])
    assert done.exit_code == 0, done.output
    with Progress() as progress:
        build(folder / "t", folder / "data", Data(max_candidates=12), progress)
    return folder / "data"


def rows(data: Path, part: str = "train") -> list[Row]:
    return list(read_rows(data / f"{part}.jsonl"))


def test_rows_carry_their_picture_and_a_label(data: Path) -> None:
    report = json.loads((data / "dataset.json").read_text())
    assert report["split"] == "by row"
    families = {row.family for row in rows(data)}
    assert families == {"choice", "boolean", "score"}
    for row in rows(data):
        asked = question_of(row)
        assert cells(row.grid).shape == (64, 64)
        assert asked.state.startswith("qwenjev-state-v1c|h=64 w=64")
        assert 0 <= row.label < max(2, len(asked.candidates))
        assert len(row.candidates) <= 12
        assert question_of(row, compact=False).state.count("\n") == 64


def test_rows_without_a_picture_are_refused(tmp_path: Path, data: Path) -> None:
    row = msgspec.structs.replace(rows(data)[0], grid="")
    (tmp_path / "train.jsonl").write_bytes(msgspec.json.encode(row) + b"\n")
    with pytest.raises(RunError, match=r"train\.jsonl:1: grid is empty"):
        rows(tmp_path)


def test_shares_say_how_right_each_candidate_is(data: Path) -> None:
    choices = [row for row in rows(data) if row.family == "choice"]
    for row in choices:
        assert len(row.shares) == len(row.candidates)
        assert sum(row.shares) == pytest.approx(1, abs=1e-4)
        assert row.shares[row.label] == max(row.shares)
    # Practice games say what is best, and several clicks on one tile are equally good.
    assert any(sum(share > 0 for share in row.shares) > 1 for row in choices)


def seen_at(place: int) -> Any:
    return SimpleNamespace(levels_completed=0, masked_hash=place)


def test_without_rules_worth_is_seen_in_hindsight() -> None:
    up, down, left = (parse(f"ACTION{id_}") for id_ in (1, 2, 3))
    steps = [
        Step(seen_at(1), up, MOVED_ON, 2, True, [], "a"),
        Step(seen_at(2), up, MOVED_ON, 3, True, [], "b"),
        Step(seen_at(3), left, GAINED, 9, True, [], "c"),
        Step(seen_at(1), down, NO_OP, 1, False, [], "d"),
        Step(seen_at(1), left, MOVED_ON, 7, True, [], "e"),
        Step(seen_at(2), down, DIED, 8, True, [], "f"),
    ]
    found = worths([steps])
    assert found[0, 3] == {left: 1.0}
    assert found[0, 2] == {up: pytest.approx(FADING), down: 0.0}
    assert found[0, 1] == {up: pytest.approx(FADING**2), down: 0.0, left: CHANGED}


@pytest.mark.learn
def test_a_choice_of_fewer_keeps_what_is_right() -> None:
    pytest.importorskip("torch")
    from sysone.arc.learn.decide import fewer

    grid = grids.grid_text(np.zeros((64, 64), np.uint8))
    texts = [f"ACTION6 x={index} y=0" for index in range(40)]
    shares = [0.5 if index in (3, 30) else 0.0 for index in range(40)]
    row = Row("k", "g", "choice", grid, "", 0, "NOT_FINISHED", 30, texts, shares=shares)
    for seed in range(20):
        found = fewer(random.Random(seed), row, 12)
        assert len(found.candidates) == 12
        assert found.candidates[found.label] == texts[30]
        right = {text for text, share in zip(found.candidates, found.shares, strict=True) if share}
        assert right == {texts[3], texts[30]}
        assert sum(found.shares) == pytest.approx(1)
    assert fewer(random.Random(0), row, 0) is row


def test_an_excluded_game_is_in_no_part(tmp_path: Path, data: Path) -> None:
    with Progress() as progress:
        report = build(data.parent / "t", tmp_path, Data(exclude=["ppu"]), progress)
    assert report["excluded"] == ["ppus"]
    every = [row.game for part in ("train", "valid", "calibration") for row in rows(tmp_path, part)]
    assert set(every) == {"pmaz", "ptog"}


def test_no_game_is_on_two_sides() -> None:
    games = [f"game{index}" for index in range(20)]
    split = split_of(games)
    assert set(split.values()) == {"train", "valid", "calibration"}
    assert split == split_of(games[::-1])
    assert split_of(games[:4]) == {}


TRANSFORMS = [Transform(*flips) for flips in itertools.product((False, True), repeat=3)]


def drawn(seed: int) -> Transform:
    rng = random.Random(seed)
    colours = list(range(1, 16))
    rng.shuffle(colours)
    return Transform(*(rng.random() < 0.5 for _ in range(3)), (0, *colours))


@given(st.integers(0, 10_000), st.integers(0, 63), st.integers(0, 63))
def test_a_transform_and_its_inverse_are_nothing(seed: int, x: int, y: int) -> None:
    transform = drawn(seed)
    grid = np.random.default_rng(seed).integers(0, 16, (64, 64)).astype(np.uint8)
    moved = grid_transform(transform, grid)
    assert np.array_equal(grid_transform(transform.inverse, moved), grid)
    there = coord_transform(transform, x, y)
    assert coord_transform(transform.inverse, *there) == (x, y)
    # The cell of a click shows the same object before and after.
    assert moved[there[1], there[0]] == transform.colours[grid[y, x]]
    for text in ("ACTION1", "ACTION2", "ACTION3", "ACTION4", "ACTION5", "ACTION7"):
        action = action_transform(transform, parse(text))
        assert action_transform(transform.inverse, action).text == text


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_directions_move_with_the_world(transform: Transform) -> None:
    steps = {1: (0, -1), 2: (0, 1), 3: (-1, 0), 4: (1, 0)}
    for id_, (dx, dy) in steps.items():
        grid = np.zeros((64, 64), np.uint8)
        grid[30, 20], after = 3, np.zeros((64, 64), np.uint8)
        after[30 + dy, 20 + dx] = 3
        moved = action_transform(transform, parse(f"ACTION{id_}"))
        before_, after_ = grid_transform(transform, grid), grid_transform(transform, after)
        (y0, x0), (y1, x1) = np.argwhere(before_)[0], np.argwhere(after_)[0]
        assert steps[moved.id] == (x1 - x0, y1 - y0)
        mover = "What moves is at x=20 y=30, colour 3; {} to x={} y={}"
        there = coord_transform(transform, 20 + dx, 30 + dy)
        x, y = coord_transform(transform, 20, 30)
        told = f"What moves is at x={x} y={y}, colour 3; {moved.id} to x={there[0]} y={there[1]}"
        assert line_transform(transform, mover.format(id_, 20 + dx, 30 + dy)) == told
        line = f"ACTION{id_}: changed 1 of 1, 2 cells, moves by x{dx:+d} y{dy:+d}"
        told = f"ACTION{moved.id}: changed 1 of 1, 2 cells, moves by x{x1 - x0:+d} y{y1 - y0:+d}"
        assert line_transform(transform, line) == told


def test_what_was_tried_here_moves_with_the_world() -> None:
    line = "Here: 1 untried, 2 no effect, 3 seen 4, 4 deadly, 7 untried"
    mirrored = line_transform(Transform(mirror_x=True), line)
    assert mirrored == "Here: 1 untried, 2 no effect, 3 deadly, 4 seen 4, 7 untried"


def test_a_row_moves_as_a_whole(data: Path) -> None:
    for index, row in enumerate(rows(data)[:40]):
        transform = drawn(index)
        moved = transform_row(transform, row)
        assert transform_row(transform.inverse, moved) == row
        shuffled = augmented(random.Random(index), row)
        assert len(shuffled.candidates) == len(row.candidates)
        if row.family == "choice" and "x=" in row.candidates[row.label]:
            old, new = parse(row.candidates[row.label]), parse(moved.candidates[row.label])
            assert new == click(*coord_transform(transform, old.x, old.y))
            before, after = cells(row.grid), cells(moved.grid)
            assert after[new.y, new.x] == transform.colours[before[old.y, old.x]]


def test_a_shuffled_label_follows_its_candidate() -> None:
    grid = grids.grid_text(np.arange(4096).reshape(64, 64).astype(np.uint8) % 16)
    texts = [f"ACTION6 x={3 * index} y={index}" for index in range(20)]
    row = Row("k", "g", "choice", grid, "", 0, "NOT_FINISHED", 7, texts)
    places = set()
    for seed in range(20):
        found = augmented(random.Random(seed), row)
        x, y = parse(found.candidates[found.label]).x, parse(found.candidates[found.label]).y
        assert {min(x, 63 - x), min(y, 63 - y)} == {21, 7}
        places.add(found.label)
    assert len(places) > 5


@pytest.mark.parametrize("name", ["tiny.yaml", "hf.yaml"])
def test_the_shipped_configurations_are_read(name: str) -> None:
    assert load_config(CONFIGS / name).system1.backend == name.partition(".")[0]


# What needs PyTorch


@pytest.mark.learn
def test_the_paired_reward_has_the_brier_scores_gradient() -> None:
    torch = pytest.importorskip("torch")
    from sysone.arc.learn.calibrate import brier, paired_surrogate

    values = torch.tensor([[0.3, -1.2, 0.8]])
    label = torch.tensor([1])
    exact = values.clone().requires_grad_()
    brier(exact, label).backward()
    shares = values.softmax(-1)[0]
    total = torch.zeros(1, 3)
    for a, b in itertools.product(range(3), repeat=2):
        logits = values.clone().requires_grad_()
        paired_surrogate(logits, torch.tensor([a]), torch.tensor([b]), label).backward()
        total += shares[a] * shares[b] * logits.grad
    assert torch.allclose(total, exact.grad, atol=1e-6)


@pytest.mark.learn
def test_a_temperature_is_found_again() -> None:
    pytest.importorskip("torch")
    from sysone.arc.learn.calibrate import ece, escalation_threshold, fit_temperature, softmax

    rng = np.random.default_rng(0)
    logits = [rng.normal(0, 1, 4) for _ in range(4000)]
    labels = [int(rng.choice(4, p=softmax(row, 2.5))) for row in logits]
    assert fit_temperature(logits, labels) == pytest.approx(2.5, rel=0.15)
    shares = [softmax(row, 2.5) for row in logits]
    top = np.array([row.max() for row in shares])
    right = np.array([float(r.argmax() == y) for r, y in zip(shares, labels, strict=True)])
    assert ece(top, right) < 0.05
    threshold = escalation_threshold(shares, labels)
    assert threshold is not None
    assert 0.25 < threshold < 1
    assert escalation_threshold(shares[:1], [int(shares[0].argmax())]) is None


SMALL = """
system1: {backend: tiny}
stage_a_distill: {steps: 4, batch: 2}
stage_b: {epochs: 1, batch: 2, backbone_lr: 0.001, head_lr: 0.001, max_tokens: 700, warmup_steps: 1}
stage_c: {steps: 20, max_rows: 8, ablation_rows: 4}
"""

TRAIN = """
import sys, time
import torch
torch.set_num_threads(1)
from sysone.arc.learn import loop
loop.EVERY = 1
save = loop.Trainer.save
def slowly(self):
    save(self)
    time.sleep(0.3)
loop.Trainer.save = slowly
init = loop.Trainer.__init__
def every(self, *arguments, **options):
    init(self, *arguments, **{**options, "every": 1})
loop.Trainer.__init__ = every
from pathlib import Path
from sysone.arc.learn import calibrate, pipeline
def halting(work, function):
    # In the middle of a stage that has no checkpoints of its own.
    def halted(*arguments, **options):
        result = function(*arguments, **options)
        Path(work, "halted").touch()
        time.sleep(600)
        return result
    return halted
if sys.argv[1] == "prep":
    pipeline.checkpoint.save = halting(sys.argv[2], pipeline.checkpoint.save)
if sys.argv[1] == "c":
    calibrate.train_arm = halting(sys.argv[2], calibrate.train_arm)
from sysone.arc.cli import app
app(["train", *sys.argv[3:]])
"""


def train(data: Path, work: Path, *more: str) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["train", "--data", str(data), "--work", str(work), *more])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.learn
def test_a_killed_training_goes_on_to_the_same_losses(tmp_path: Path, data: Path) -> None:
    pytest.importorskip("torch").set_num_threads(1)
    (tmp_path / "small.yaml").write_text(SMALL)
    options = ["--config", str(tmp_path / "small.yaml"), "--max-steps", "5"]
    whole = train(data, tmp_path / "whole", *options)
    arguments = ["--data", str(data), "--work", str(tmp_path / "cut"), *options]
    work = tmp_path / "cut"
    work.mkdir()
    for stage in ("prep", "a", "b", "c"):
        process = subprocess.Popen(
            [sys.executable, "-c", TRAIN, stage, str(work), *arguments], stderr=subprocess.DEVNULL
        )
        going = work / ("halted" if stage in ("prep", "c") else f"going/{stage}.safetensors")
        while not going.exists() and process.poll() is None:
            time.sleep(0.02)
        assert process.poll() is None, "the stage was over before it could be killed"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        (work / "halted").unlink(missing_ok=True)
        assert not (work / "done" / f"{stage}.stamp").exists()
    cut = train(data, tmp_path / "cut", *options)
    for stage in ("a", "b"):
        for key in ("first_loss", "last_loss", "steps"):
            assert cut[stage][key] == pytest.approx(whole[stage][key], abs=1e-6)
    assert cut["c"] == {**whole["c"], "checkpoint": cut["c"]["checkpoint"]}
    blanked = {"whole", "picture blanked", "state blanked", "lines blanked"}
    assert set(cut["c"]["ablations"]) == blanked
    assert all(found["choice"]["rows"] for found in cut["c"]["ablations"].values())
    # Once more: everything is stamped.
    stamps = {p: p.stat().st_mtime_ns for p in (tmp_path / "cut" / "done").iterdir()}
    assert train(data, tmp_path / "cut", *options) == cut
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "cut" / "done").iterdir()} == stamps
    # Other inputs: B and C are made again, prep and A are not.
    (tmp_path / "small.yaml").write_text(SMALL.replace("head_lr: 0.001", "head_lr: 0.002"))
    again = train(data, tmp_path / "cut", *options)
    changed = {p.stem for p, t in stamps.items() if p.stat().st_mtime_ns != t}
    assert changed == {"b", "c"}
    assert again["c"]["sha256"] != cut["c"]["sha256"]


def teacher_of(kind: str) -> Any:
    from sysone.arc.learn.facts import FactsTeacher
    from sysone.arc.system1.backend import TinyBackend

    return FactsTeacher() if kind == "facts" else TinyBackend(1)


@pytest.mark.learn
@pytest.mark.parametrize("kind", ["facts", "tiny"])
def test_the_teachers_features_move_with_the_picture(data: Path, kind: str) -> None:
    torch = pytest.importorskip("torch")
    from sysone.arc.learn.align import alignment_loss, make_projections
    from sysone.arc.system1.backend import TinyBackend

    teacher, student = teacher_of(kind), TinyBackend(2)
    row = rows(data)[0]
    one, other = cells(row.grid), grid_transform(TRANSFORMS[5], cells(row.grid))
    text = question_of(row).state_part
    with torch.no_grad():
        features = [teacher.hidden_states([grid], [text], 2) for grid in (one, other)]
    for a, b in zip(*features, strict=True):
        assert float((a - b).abs().max()) > 1e-3
    projections = make_projections(128, 128, 2, 0)
    loss = alignment_loss(student, teacher, projections, [one, other], [text, text])
    loss.backward()
    assert 0 < float(loss.detach()) < 2
    assert all(w.grad is not None for w in projections.parameters())
    assert student.module.patches.weight.grad.abs().sum() > 0
    assert all(weight.grad is None for weight in teacher.module.parameters())


@pytest.mark.learn
def test_counted_facts_tell_pictures_apart_and_say_what_changed() -> None:
    torch = pytest.importorskip("torch")
    teacher = teacher_of("facts")
    grid = np.full((64, 64), 5, np.uint8)
    grid[8:12, 8:12] = 9
    moved, other = np.roll(grid, 16, 1), np.where(grid == 9, 11, grid)
    rows = ["", f"8:{'*' * 8}{'5' * 56}"]
    texts = [f"State:\nheader\n{row}" for row in (rows[0], rows[0], rows[0], rows[1])]
    places, things = teacher.hidden_states([grid, moved, other, grid], texts, 2)
    for found in (places, things):
        assert found.shape == (4, 128)
        assert float((found[0] - found[1]).abs().max()) > 1e-3, "a thing elsewhere"
        assert float((found[0] - found[2]).abs().max()) > 1e-3, "another colour"
    assert torch.equal(places[0], places[3])
    assert float((things[0] - things[3]).abs().max()) > 1e-3, "another change"


@pytest.mark.learn
def test_a_loss_that_is_not_finite_stops_with_the_batch(tmp_path: Path, data: Path) -> None:
    torch = pytest.importorskip("torch")
    from sysone.arc.config import StageB
    from sysone.arc.learn.decide import train_heads
    from sysone.arc.system1.model import fresh

    model = fresh("tiny")
    with torch.no_grad():
        model.heads.norm.weight.fill_(float("nan"))
    config = StageB(batch=2)
    with Progress() as progress, pytest.raises(RunError, match="the loss of step 0 is nan"):
        train_heads(model, rows(data), config, tmp_path / "b.safetensors", 0, 3, progress)
    saved = list(read_rows(tmp_path / "bad_batch.jsonl"))
    assert len(saved) == 2


@pytest.mark.learn
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--stages", "a,z"], "expected some of prep,a,b,c"),
        (["--data", "nosuch"], "nosuch has no train.jsonl"),
        (["--stages", "c"], "trained is missing"),
        (["--push", "owner/name"], "is no place, expected hf:<owner>/<name>"),
    ],
)
def test_mistakes_of_a_training_are_one_line(
    tmp_path: Path, data: Path, arguments: list[str], words: str
) -> None:
    pytest.importorskip("torch")
    command = ["train", "--data", str(data), "--work", str(tmp_path / "w"), *arguments]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert words in done.stderr
    assert "Traceback" not in done.output
