"""Logs of one record a line: cut tails are dropped, damage elsewhere is an error."""

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysone.runs import RunError
from sysone.runs.jsonl import JsonlWriter, iterate, read

WRITER = """
import sys
from sysone.runs.jsonl import JsonlWriter
log = JsonlWriter(sys.argv[1])
print("ready", flush=True)
for count in range(10**9):
    log.append({"count": count, "text": "x" * (count % 3000)})
"""
HOLDER = """
import sys
from sysone.runs.jsonl import JsonlWriter
log = JsonlWriter(sys.argv[1])
print("ready", flush=True)
sys.stdin.read()
"""


def write(path: Path, *records: Any) -> None:
    with JsonlWriter(path) as log:
        for record in records:
            log.append(record)


def test_records_come_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "log.jsonl"
    write(path, {"a": 1}, "ä · →", [1.5, None])
    write(path, {"b": "line\nend"})
    assert read(path) == [{"a": 1}, "ä · →", [1.5, None], {"b": "line\nend"}]
    assert "ä · →" in path.read_text()


@given(st.lists(st.text() | st.integers() | st.none(), min_size=1), st.data())
def test_any_cut_loses_only_the_record_that_it_hits(
    records: list[Any], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.jsonl"
        write(path, *records)
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n")
        assert read(path) == records[:complete]
        with JsonlWriter(path) as log:
            kept = whole[:cut].rfind(b"\n") + 1
            assert log.cut_bytes == cut - kept
            log.append("next")
        assert read(path) == [*records[:complete], "next"]


def test_a_tail_that_parses_is_still_a_cut_record(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"1\n12")
    assert read(path) == [1]
    write(path, 3)
    assert path.read_bytes() == b"1\n3\n"


def test_a_tail_longer_than_one_block_is_found(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"1\n" + b"2" * 200_000)
    with JsonlWriter(path) as log:
        assert log.cut_bytes == 200_000
    assert path.read_bytes() == b"1\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'1\n{"a": \n3\n', r"log\.jsonl, line 2 is damaged: Expecting value at column"),
        (b"1\n\n3\n", r"log\.jsonl, line 2 is damaged"),
        (b"1\n2\n\xff\n", r"log\.jsonl, line 3 is damaged: not UTF-8"),
        (b"1\n2 3\n", r"log\.jsonl, line 2 is damaged: Extra data"),
    ],
)
def test_damage_before_the_end_names_file_and_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(content)
    with pytest.raises(RunError, match=message):
        read(path)
    assert next(iterate(path)) == 1


def test_a_record_without_a_json_form_leaves_the_log_alone(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with JsonlWriter(path) as log:
        log.append(1)
        with pytest.raises(ValueError, match="share is nan"):
            log.append({"share": float("nan")})
        with pytest.raises(TypeError):
            log.append(object())
        log.append(2)
    assert read(path) == [1, 2]
    with pytest.raises(ValueError, match="is closed"):
        log.append(3)


def test_a_full_disk_leaves_a_readable_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    write_really = os.write
    with JsonlWriter(path) as log:
        log.append("first")
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda fd, data: write_really(fd, data[:4]))
            with pytest.raises(RunError, match=r"cannot write .*log\.jsonl: the disk is full"):
                log.append("second")
        log.append("third")
    assert read(path) == ["first", "third"]


def test_what_a_disk_refuses_late_names_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems tell that they are full only when data is to reach the disk."""

    def refuse(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    log = JsonlWriter(tmp_path / "log.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        for end in (log.sync, log.close):
            with pytest.raises(RunError, match=r"cannot write .*log\.jsonl: No space left"):
                end()
    JsonlWriter(tmp_path / "log.jsonl").close()  # it was closed, and nobody holds it


def test_durable_records_are_synced_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    with JsonlWriter(tmp_path / "log.jsonl", durable=True) as log:
        monkeypatch.setattr(os, "fsync", synced.append)
        log.append(1)
        log.append(2)
        assert len(synced) == 2
        monkeypatch.undo()


def test_paths_that_cannot_be_used_are_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot read .*none\.jsonl: No such file"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(RunError, match=r"cannot write .*file/log\.jsonl: a file stands where"):
        JsonlWriter(tmp_path / "file" / "log.jsonl")
    with pytest.raises(RunError, match="Is a directory"):
        JsonlWriter(tmp_path)


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdout:
        assert process.stdout.readline() == "ready\n"
        with pytest.raises(RunError, match="is being written by another process"):
            JsonlWriter(path)
        process.stdin.close()
    write(path, 1)
    assert read(path) == [1]


def test_a_killed_writer_leaves_a_log_to_go_on_with(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process, process.stdout:
            assert process.stdout.readline() == "ready\n"
            start = path.stat().st_size
            while path.stat().st_size < start + 100_000:
                assert process.poll() is None
            process.send_signal(signal.SIGKILL)
    counts = [record["count"] for record in read(path)]
    starts = [index for index, count in enumerate(counts) if count == 0]
    assert len(starts) == 3
    assert all(now == before + 1 for before, now in pairwise(counts) if now != 0)
    assert all(json.loads(line) for line in path.read_bytes().splitlines()[:-1])
