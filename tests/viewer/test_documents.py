"""What the page is given is what the files say."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from sysone.runs.errors import RunError
from sysone.trex.recording import Landed, Played, Start, read_recording
from sysone.viewer.detect import open_path, open_paths
from sysone.viewer.document import Document


def first(path: Path) -> Document:
    opened = open_path(path)
    return opened.documents[opened.first]()


def test_a_recording_keeps_every_frame_and_answer(outputs: Path) -> None:
    path = outputs / "shielded.jsonl"
    records = list(read_recording(path))
    document = first(path)
    assert document.kind == "trex"
    lanes = document.data["lanes"]
    assert [lane["seed"] for lane in lanes] == [r.seed for r in records if isinstance(r, Start)]
    frames = [r for r in records if isinstance(r, Played)]
    assert sum(len(lane["columns"]["frame"]) for lane in lanes) == len(frames)
    assert [score for lane in lanes for score in lane["columns"]["score"]] == [
        r.score for r in frames
    ]
    answers = [r for r in records if isinstance(r, Landed)]
    assert [a["seq"] for lane in lanes for a in lane["answers"]] == [a.seq for a in answers]
    late = sum(a.fate != "Applied" and a.error is None for a in answers)
    marks = [mark["kind"] for lane in lanes for mark in lane["marks"]]
    assert marks.count("late") == late > 0
    assert document.data["verified"].values["frames"] == len(frames)


def test_crashes_and_saves_are_those_of_the_results(outputs: Path) -> None:
    for name in ("shielded", "late"):
        rows = json.loads((outputs / f"{name}.json").read_bytes())["results"]
        lanes = first(outputs / f"{name}.jsonl").data["lanes"]
        for row, lane in zip(rows, lanes, strict=True):
            kinds = [mark["kind"] for mark in lane["marks"]]
            assert kinds.count("crash") == row["deaths"]
            assert kinds.count("save") == row["arrival_saves"]
            assert kinds.count("emergency") == row["emergency_saves"]
    assert sum(row["deaths"] for row in rows) > 0


def test_two_recordings_are_lanes_beside_each_other(outputs: Path) -> None:
    opened = open_paths([outputs / "shielded.jsonl", outputs / "late.jsonl"])
    lanes = opened.documents[""]().data["lanes"]
    assert [(lane["source"], lane["seed"]) for lane in lanes] == [
        *(("shielded.jsonl", seed) for seed in (0, 1)),
        *(("late.jsonl", seed) for seed in (0, 1)),
    ]
    with pytest.raises(RunError, match=r"late\.json is no T-Rex recording"):
        open_paths([outputs / "shielded.jsonl", outputs / "late.json"])


def test_results_sweeps_and_comparisons_are_tables(outputs: Path) -> None:
    for name, rows in (("shielded.json", 2), ("sweep.json", 3), ("comparison.json", 1)):
        document = first(outputs / name)
        table = document.data["tables"][0]
        assert document.kind == "report"
        assert len(table["rows"]) >= rows
        assert all(len(row["cells"]) == len(table["columns"]) for row in table["rows"])
        assert document.data["charts"]


def test_a_replay_names_its_robots_in_the_order_of_its_frames(outputs: Path) -> None:
    replay: dict[str, Any] = json.loads((outputs / "replay.json").read_bytes())
    document = first(outputs / "replay.json")
    assert [robot["id"] for robot in document.data["robots"]] == [
        f"{side}-{entry['slot']}" for side in ("red", "blue") for entry in replay["lineups"][side]
    ]
    assert not {e["type"] for e in document.data["events"]} & {"shot", "message"}
    assert document.header.verdict is not None
    assert document.header.verdict.values["winner"] == str(replay["result"]["winner"])
    assert all("2026" not in item.get("seasons", []) for item in document.data["field"]["ground"])


def test_a_packed_replay_is_the_same(outputs: Path, tmp_path: Path) -> None:
    packed = tmp_path / "replay.json.gz"
    packed.write_bytes(gzip.compress((outputs / "replay.json").read_bytes()))
    assert first(packed).data == first(outputs / "replay.json").data


def test_verifying_sees_what_was_changed(outputs: Path, tmp_path: Path) -> None:
    opened = open_path(outputs / "replay.json")
    found = opened.verify[""]()
    assert (found.text, found.values) == ("verified", {"ticks": 400})
    replay = json.loads((outputs / "replay.json").read_bytes())
    replay["seed"] += 1
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(replay))
    assert open_path(changed).verify[""]().text == "verify_failed"
    document = open_path(outputs / "replay.json", verify=True).documents[""]()
    assert document.data["verified"].text == "verified"


def test_a_run_opens_its_replays(outputs: Path) -> None:
    for path in (outputs / "games", outputs / "games" / "run.json"):
        opened = open_path(path)
        overview = opened.documents[""]()
        assert len(overview.data["tables"][0]["rows"]) == 2
        names = [item.name for item in overview.items]
        assert names == ["replays/000000.json", "replays/000001.json"]
        for name in names:
            assert opened.documents[name]().kind == "arena"


def test_a_run_cannot_lead_out_of_its_folder(outputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "games"
    folder.mkdir()
    for name in ("run.json", "summary.json"):
        (folder / name).write_bytes((outputs / "games" / name).read_bytes())
    row = json.loads((outputs / "games" / "results.jsonl").read_text().splitlines()[0])
    (tmp_path / "outside.json").write_bytes((outputs / "replay.json").read_bytes())
    for name in ("../outside.json", str(tmp_path / "outside.json"), 5, None):
        (folder / "results.jsonl").write_text(json.dumps({**row, "replay": name}) + "\n")
        assert list(open_path(folder).documents) == [""]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"nothing of the kind", "is not JSON"),
        (b"[1, 2]", "holds a JSON list, expected an object"),
        (b'{"a": 1}', "its keys are a"),
        (b'{"format": "other-v1"}', "its format is 'other-v1'"),
        (b'{"format": "arena-replay-v2"}', "no arena replay of the format arena-replay-v1"),
        (b"\x1f\x8b\x08\x00broken", "is not a whole gzip file"),
        (b"[" * 100_000, "is not JSON"),
        (b'{"is":"start"}\n', "is no record"),
        (b"\xff\xfe\x00", "is not JSON"),
    ],
)
def test_what_is_foreign_or_broken_is_refused_in_one_line(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(RunError, match=said) as refused:
        first(path)
    assert "\n" not in str(refused.value)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="holds nothing that can be shown"):
        open_path(tmp_path)
    with pytest.raises(RunError, match="is not there"):
        open_path(tmp_path / "missing")


def test_a_recording_that_is_not_what_the_engine_plays_is_refused(
    outputs: Path, tmp_path: Path
) -> None:
    lines = (outputs / "shielded.jsonl").read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if b'"frame":100,' in line and b'"y"' in line)
    lines[at] = lines[at].replace(b'"score":', b'"score":1')
    changed = tmp_path / "changed.jsonl"
    changed.write_bytes(b"".join(lines))
    with pytest.raises(RunError, match="seed 0, frame 100: score"):
        first(changed)
