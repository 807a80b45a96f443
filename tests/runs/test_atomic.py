"""Whole files: old content or new, whatever happens in between."""

import json
import os
import signal
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from sysone.runs import RunError
from sysone.runs.atomic import dumps, write_bytes, write_json, write_text

WRITER = """
import sys
from sysone.runs.atomic import write_json
print("ready", flush=True)
for count in range(10**9):
    write_json(sys.argv[1], {"count": count, "rows": [count] * 5000}, indent=1)
"""


def test_json_keeps_key_order_and_characters_beyond_ascii(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"where": "http://127.0.0.1 · m", "a": [1, 2.5, None]}, indent=1)
    assert path.read_bytes() == (
        '{\n "where": "http://127.0.0.1 · m",\n "a": [\n  1,\n  2.5,\n  null\n ]\n}\n'.encode()
    )
    write_json(path, {"where": "·"}, ensure_ascii=True)
    assert path.read_bytes() == b'{"where": "\\u00b7"}\n'


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_lacks_are_refused_by_place(tmp_path: Path, number: float) -> None:
    path = tmp_path / "result.json"
    write_json(path, {"fine": 1})
    with pytest.raises(ValueError, match=rf"results\[1\]\.latency_ms is {number}; JSON"):
        write_json(path, {"results": [{}, {"latency_ms": number}]})
    assert json.loads(path.read_text()) == {"fine": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]


def test_structs_and_dataclasses_are_objects() -> None:
    class Row(msgspec.Struct):
        seed: int
        share: float = 0.5

    @dataclass(frozen=True)
    class Point:
        x: float

    assert dumps([Row(3), Point(1.5)]) == '[{"seed": 3, "share": 0.5}, {"x": 1.5}]'
    with pytest.raises(ValueError, match=r"^share is nan"):
        dumps(Row(1, float("nan")))
    with pytest.raises(ValueError, match=r"^the value is nan"):
        dumps(float("nan"))
    with pytest.raises(TypeError):
        dumps({"what": object()})


def test_folders_are_made_and_permissions_kept(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "text"
    write_text(path, "first")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    write_text(path, "zweitens: ä\r\n")
    assert path.read_bytes() == b"zweitens: \xc3\xa4\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    write_bytes(target, b"old")
    link.symlink_to("target")
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RunError, match=r"cannot write .*file/x\.json: a file stands where"):
        write_json(tmp_path / "file" / "x.json", {})
    with pytest.raises(RunError, match=r"cannot write .*folder: it is there and not a regular"):
        write_json(tmp_path / "folder", {})
    with pytest.raises(RunError, match=r"cannot write /proc/x\.json: No such file or directory"):
        write_json("/proc/x.json", {})
    with pytest.raises(RunError, match=r"cannot write /dev/null: it is there and not a regular"):
        write_json("/dev/null", {})
    assert not any((tmp_path / "folder").iterdir())


def test_a_failure_half_way_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result"
    write_bytes(path, b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunError, match=r"cannot write .*result: No space left on device"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    last = -1
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process, process.stdout:
            assert process.stdout.readline() == "ready\n"
            before = path.stat().st_mtime_ns if path.exists() else 0
            while not path.exists() or path.stat().st_mtime_ns == before:
                assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        found = json.loads(path.read_text())
        assert found["rows"] == [found["count"]] * 5000
        last = max(last, found["count"])
    assert last >= 0
