"""What the page is given is what the files say."""

import gzip
import json
import os
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sysone.arena import replay as replays
from sysone.arena.engine import Game
from sysone.arena.record import Recorder, close
from sysone.runs.errors import RunError
from sysone.trex.recording import Landed, Played, Start, read_recording
from sysone.viewer.detect import open_path, open_paths
from sysone.viewer.document import Document, encode
from sysone.viewer.live import Overview


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


# ARC ------------------------------------------------------------------------------------------


def pictures(data: dict[str, Any]) -> list[str]:
    """Every picture of an episode, put together from its changes as the page does."""
    grid = list(data["start"])
    found = []
    for step in data["steps"]:
        if "grid" in step:
            grid = list(step["grid"])
        cells = step.get("cells", [])
        for place, colour in zip(cells[::2], cells[1::2], strict=True):
            grid[place] = f"{colour:x}"
        found.append("".join(grid))
    return found


def test_a_trace_keeps_every_picture(outputs: Path) -> None:
    path = outputs / "traces" / "pkey" / "seed0.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    steps = [line for line in lines if "step" in line]
    document = first(path)
    assert pictures(document.data) == [step["frames_after"][-1].replace("\n", "") for step in steps]
    shown = document.data["steps"]
    assert [step["action"] for step in shown] == [step["action"] for step in steps]
    for one, other in pairwise(shown):
        assert one["to"] == other["from"]


def test_a_trace_tells_later_what_could_be_chosen(outputs: Path) -> None:
    path = outputs / "traces" / "pkey" / "seed0.jsonl"
    opened = open_path(path)
    document, told = opened.documents[""](), opened.more[""]()
    assert document.more
    steps, offers = document.data["steps"], told["offers"]
    assert len(offers) == len(steps)
    chosen = [(step, offer) for step, offer in zip(steps, offers, strict=True) if offer]
    assert len(chosen) >= len(steps) - 1
    assert all(step["action"] in offer["first"] for step, offer in chosen)
    assert any("mask" in offer for _, offer in chosen)


def test_a_picture_on_the_way_that_is_none_hides_the_choices_alone(
    outputs: Path, tmp_path: Path
) -> None:
    lines = (outputs / "traces" / "pkey" / "seed0.jsonl").read_text().splitlines()
    step = json.loads(lines[1])
    step["frames_after"].insert(0, "0z")
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join([lines[0], json.dumps(step), *lines[2:]]) + "\n")
    opened = open_path(path)
    assert len(opened.documents[""]().data["steps"]) == len(lines) - 2
    with pytest.raises(RunError, match="no hexadecimal digit"):
        opened.more[""]()


def test_a_report_leads_to_the_traces_beside_it(outputs: Path) -> None:
    opened = open_path(outputs / "report.json")
    document = opened.documents[""]()
    assert [item.name for item in document.items] == ["hcyc/seed0.jsonl", "pkey/seed0.jsonl"]
    assert all(opened.documents[item.name]().kind == "arc" for item in document.items)
    assert set(open_path(outputs / "traces").documents) == set(opened.documents)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"v": 2, "game_id": "x", "before": "00"}, "version 2 of a trace, expected 1"),
        ({"v": 1, "game_id": "x", "before": "0g"}, "a picture that is none"),
        ({"v": 1, "game_id": "x", "before": "0\n00"}, "a picture that is none"),
        ({"v": 1, "game_id": "x"}, "has no first picture"),
    ],
)
def test_a_trace_of_another_kind_is_refused(
    tmp_path: Path, line: dict[str, Any], said: str
) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(RunError, match=said):
        first(path)


def test_what_two_models_said_is_passed_on_and_nothing_else(advised: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in advised.read_text().splitlines()]
    written = [line for line in lines if "step" in line]
    for line, shown in zip(written, first(advised).data["steps"], strict=True):
        for name in ("wake", "report", "probabilities"):
            assert shown.get(name) == line.get(name)
    assert any("report" in line for line in written)
    path = tmp_path / "trace.jsonl"
    step = {**written[0], "wake": ["x"], "report": "text", "probabilities": 0.5}
    path.write_text("\n".join(map(json.dumps, [lines[0], step])) + "\n")
    assert not {"wake", "report", "probabilities"} & first(path).data["steps"][0].keys()


# Drive ----------------------------------------------------------------------------------------


def test_a_drive_is_shown_with_everybody_on_the_road(outputs: Path) -> None:
    folder = outputs / "stub" / "seed_0" / "route_10003_rep0"
    result = json.loads((folder / "result.json").read_bytes())
    for path in (folder, folder / "result.json"):
        data = first(path).data
        assert len(data["x"]) == result["ticks"] == len(data["again"]["actors"])
        assert {len(tick) for tick in data["again"]["actors"]} == {4 * 4}
        assert len(data["events"]) == len(result["events"])
        assert data["scores"].keys() == result["scores"].keys()
        assert {box["kind"] for box in data["map"]["boxes"]} == {"light", "stop"}


def test_actors_are_left_out_when_the_world_does_not_go_the_same_way(
    outputs: Path, tmp_path: Path
) -> None:
    run = tmp_path / "stub"
    shutil.copytree(outputs / "stub", run)
    settings = json.loads((run / "run.json").read_bytes())
    for changed in ({"dt": 0.1}, {"faults": ["stall@tick=5"]}, {"routes_file": "missing.xml"}):
        (run / "run.json").write_text(json.dumps({**settings, **changed}))
        assert first(run / "seed_0" / "route_10003_rep0").data["again"] is None


def test_a_run_of_drives_opens_each_and_its_pictures(outputs: Path) -> None:
    opened = open_path(outputs / "filmed")
    document = opened.documents[""]()
    (item,) = document.items
    assert not document.live
    drive = opened.documents[item.name]()
    name = f"{item.name}/{drive.data['pictures'][0]}"
    found = opened.picture(name)
    assert found is not None
    assert found.is_file()
    for wrong in ("../../run.json", f"{item.name}/../1", f"{item.name}/999999", "x/1"):
        assert opened.picture(wrong) is None


def test_a_broken_drive_is_refused(outputs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "drive"
    shutil.copytree(outputs / "stub" / "seed_0" / "route_10003_rep0", folder)
    (folder / "ticks.jsonl.gz").write_bytes(b"broken")
    with pytest.raises(RunError, match="not a whole gzip file"):
        first(folder)


# What is still being written --------------------------------------------------------------------


def test_a_growing_recording_is_told_frame_by_frame(outputs: Path, tmp_path: Path) -> None:
    raw = (outputs / "late.jsonl").read_bytes()
    path = tmp_path / "growing.jsonl"
    path.write_bytes(raw[:20_000])
    opened = open_path(path)
    assert opened.documents[""]().live
    growing = opened.live[""]()
    told = growing.poll()
    assert told is not None
    lanes = told["document"]["data"]["lanes"]
    assert growing.poll() is None
    for at in range(50_000, len(raw) + 30_000, 30_000):  # cuts lines anywhere
        path.write_bytes(raw[:at])
        news = growing.poll()
        assert news is not None
        for k, more in enumerate(news["lanes"]):
            if k == len(lanes):
                lanes.append(more)
                continue
            for name, values in more["columns"].items():
                lanes[k]["columns"][name] += values
            lanes[k]["kinds"] = more["kinds"]
            lanes[k]["answers"] += more["answers"]
            lanes[k]["marks"] += more["marks"]
        if at >= len(raw):
            break
    whole = json.loads(encode(first(outputs / "late.jsonl")))["data"]["lanes"]
    for lane in (*lanes, *whole):
        del lane["source"]
    assert json.loads(json.dumps(lanes)) == whole


def test_a_recording_that_ended_or_lies_still_is_not_live(outputs: Path, tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_bytes((outputs / "late.jsonl").read_bytes()[:20_000])
    assert open_path(path).live
    os.utime(path, (0, 0))
    assert not open_path(path).live
    whole = tmp_path / "whole.jsonl"
    shutil.copyfile(outputs / "late.jsonl", whole)
    assert not open_path(whole).live


def test_a_match_is_shown_while_it_is_spooled(outputs: Path, tmp_path: Path) -> None:
    replay = replays.read(outputs / "replay.json")
    path = tmp_path / "match.json"
    spool = path.with_name("match.json.spool")
    with spool.open("w+b") as file:
        game = Game(replay.setup())
        recorder = Recorder(
            game,
            {"strategies": replay.strategies, "control": replay.control, "swapped": False},
            file,
        )
        growing = None
        for _ in range(100):
            recorder.advanced(game.advance())
            if game.tick == 80:
                file.flush()
                opened = open_path(path)  # there is no replay yet: its spool is shown
                growing = opened.live[""]()
                told = growing.poll()
                assert told is not None
                assert not told["ended"]
                assert told["document"]["header"]["verdict"]["text"] == "arena_cut"
                assert growing.poll() is None
        recorder.finish()
    assert growing is not None
    close(path)
    news = growing.poll()
    assert news is not None
    assert news["ended"]
    few, many = (len(found["document"]["data"]["keyframes"]["data"]) for found in (told, news))
    assert few < many


def test_a_run_of_drives_is_live_until_it_is_done(outputs: Path, tmp_path: Path) -> None:
    run = tmp_path / "stub"
    shutil.copytree(outputs / "stub", run)
    state = json.loads((run / "state.json").read_bytes())
    (run / "state.json").write_text(json.dumps({**state, "state": "running"}))
    hidden = run / "seed_0"
    hidden.rename(run / "later")
    opened = open_path(run)
    growing = opened.live[""]()
    told = growing.poll()
    assert told is not None
    assert told["document"]["data"]["tables"][0]["rows"] == []
    assert growing.poll() is None
    (run / "later").rename(hidden)
    news = growing.poll()
    assert news is not None
    assert not news["ended"]
    name = news["document"]["items"][0]["name"]
    make = opened.documents.get(name)
    assert make is not None
    assert make().kind == "drive"
    (run / "state.json").write_text(json.dumps({**state, "state": "done"}))
    last = growing.poll()
    assert last is not None
    assert last["ended"]


def test_an_overview_whose_parts_are_json_already_is_told_once() -> None:
    class Made(msgspec.Struct):
        live: bool
        body: msgspec.Raw

    overview = Overview(lambda: Made(live=False, body=msgspec.Raw(b'{"a":[1,2.5]}')))  # type: ignore[arg-type, return-value]
    told = {"document": {"live": False, "body": {"a": [1, 2.5]}}, "ended": True}
    assert [overview.poll(), overview.poll()] == [told, None]
