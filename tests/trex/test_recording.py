"""Recordings: what is written, that it can be played again, and that a lie is found."""

import json
import statistics
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from sysone.runs.errors import RunError
from sysone.trex.baselines import play_seed
from sysone.trex.latency import Fixed, parse_latency
from sysone.trex.pilot import Pilot
from sysone.trex.recording import Recorder, RecordingFile, landed_ms, read_recording
from sysone.trex.replay import MismatchError, Replay, write_frames
from sysone.trex.simulate import Conditions, Identity, simulate
from sysone_core.trex import Plan
from trex.players import Nobody


def careless(plan: Plan) -> dict[Any, float]:
    """Presses jump too often, so that runs end and begin."""
    return {"jump": 0.9, plan.best: 0.5}


def record(path: Path, *, lockstep: int | None = None, frames: int = 1500) -> Pilot:
    conditions = Conditions(
        latency=Fixed(40.0),
        inflight=2,
        guarded=False,
        course="original",
        frames=frames,
        lockstep=lockstep,
    )
    with RecordingFile(path) as file:
        simulate(Identity("Careless", 2), 0, conditions, careless, "guided", file)
        return simulate(Identity("Careless", 2), 5, conditions, careless, "guided", file)[1]


@pytest.mark.parametrize("lockstep", [None, 3])
def test_a_recording_is_what_the_engine_plays(tmp_path: Path, lockstep: int | None) -> None:
    path = tmp_path / "r.jsonl"
    pilot = record(path, lockstep=lockstep)
    assert pilot.game.deaths > 0
    found = Replay(path).run()
    assert found.matches == 2
    assert found.cut == 0
    assert found.frames > 2 * 1500
    assert found.answers > 200
    last = list(read_recording(path))[-1]
    assert last.score == pilot.game.score  # type: ignore[union-attr]


def test_the_last_bytes_of_a_full_disk_are_no_recording(tmp_path: Path) -> None:
    """A write that is cut short raises nothing by itself."""

    class Full:
        def __init__(self, file: BinaryIO) -> None:
            self.file = file

        def write(self, data: bytes) -> int:
            return self.file.write(data[:100])

        def close(self) -> None:
            self.file.close()

    path = tmp_path / "r.jsonl"
    conditions = Conditions(
        latency=Fixed(40.0), inflight=2, guarded=False, course="original", frames=600
    )
    file = RecordingFile(path)
    file._file = Full(file._file)  # type: ignore[assignment]
    with pytest.raises(RunError, match=r"cannot write .*r\.jsonl: the disk is full"):
        simulate(Identity("Careless", 2), 0, conditions, careless, "guided", file)
    file.close()
    assert path.stat().st_size == 100


def test_recording_changes_nothing(tmp_path: Path) -> None:
    conditions = Conditions(
        latency=Fixed(40.0), inflight=2, guarded=False, course="original", frames=1500
    )
    plain = simulate(Identity("Careless", 2), 5, conditions, careless)[1]
    recorded = record(tmp_path / "r.jsonl")
    assert plain.game.packed_record() == recorded.game.packed_record()
    assert plain.stats == recorded.stats


def test_same_inputs_same_bytes(tmp_path: Path) -> None:
    record(tmp_path / "a.jsonl")
    record(tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def change(path: Path, kind: str, number: int, **fields: Any) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    place = [index for index, line in enumerate(lines) if line["is"] == kind][number]
    lines[place] |= fields
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("frame", {"score": 9999}, r"seed 0, frame 100: score is 9999 in the recording and \d+"),
        ("frame", {"calls": "DS"}, r"seed 0, frame 100: (y|check) is "),
        ("frame", {"check": 1}, "seed 0, frame 100: check is 1 in the recording"),
        ("frame", {"calls": "SX"}, "unknown call 'X', expected J, D, U, S or R"),
        ("answer", {"safe": [False, True, False]}, r"question \d+ about frame \d+: best "),
        ("end", {"score": 12345}, "the recording ends with"),
    ],
)
def test_a_lie_is_found(tmp_path: Path, kind: str, fields: dict[str, Any], message: str) -> None:
    path = tmp_path / "r.jsonl"
    record(path)
    change(path, kind, 0 if kind == "end" else 100, **fields)
    with pytest.raises(RunError, match=message):
        Replay(path).run()


def test_mismatches_are_errors_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path)
    change(path, "frame", 3, y=1)
    with pytest.raises(MismatchError):
        Replay(path).run()


def test_a_recording_that_was_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path)
    path.write_bytes(path.read_bytes()[:-150])
    assert Replay(path).run().cut == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"is":"end","frames":1,"deaths":0,"score":0}\n', "does not begin with a match"),
        ('{"is":"song"}\n', "line 1 is no record: Invalid value 'song'"),
        ("scores\n", "line 1 is no record"),
    ],
)
def test_other_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(content)
    with pytest.raises(RunError, match=message):
        Replay(path).run()
    with pytest.raises(RunError, match="cannot read"):
        Replay(tmp_path / "none.jsonl").run()


def test_another_version_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path)
    change(path, "start", 0, version=2)
    with pytest.raises(RunError, match="line 1: version 2 of the recording's format, expected 1"):
        Replay(path).run()


def test_frames_for_a_viewer(tmp_path: Path) -> None:
    path, out = tmp_path / "r.jsonl", tmp_path / "frames.jsonl"
    pilot = record(path)
    found = write_frames(Replay(path), out)
    frames = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(frames) == found.frames
    last = frames[-1]
    assert (last["trex_y"], last["score"]) == (pilot.game.trex_y, pilot.game.score)
    shown = [(item["id"], item["x"]) for item in last["obstacles"]]
    assert shown == [(obstacle.id, obstacle.x) for obstacle in pilot.game.obstacles]
    assert any(frame["answers"] for frame in frames)
    assert any(frame["crashed"] for frame in frames)


def test_a_recording_is_a_source_of_latencies(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    record(path)
    landed = landed_ms(path)
    # 40 ms land with the third frame, but some questions go out between two.
    assert statistics.median(landed) == 50.0
    assert min(landed) >= 40.0
    source = parse_latency(str(path))
    assert min(islice(source.stream(0), 99)) >= 40.0 - 1000 / 120


def test_a_recorder_needs_a_game_that_keeps_calls(tmp_path: Path) -> None:
    with (
        RecordingFile(tmp_path / "r.jsonl") as file,
        pytest.raises(TypeError, match="plays a RecordedGame"),
    ):
        Recorder(file, Pilot(Nobody(), clock=lambda: 0.0), "virtual")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot write"):
        RecordingFile(tmp_path / "file" / "r.jsonl")


def test_baselines_can_be_watched(tmp_path: Path) -> None:
    conditions = Conditions(
        latency=Fixed(16.0), inflight=6, guarded=True, course="original", frames=60
    )
    arena, pilot = play_seed("planner_best", 0, conditions)
    assert arena.frame == 60
    assert pilot.recorder is None
