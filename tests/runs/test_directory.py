"""A run's folder: one process at a time, and the same settings when it goes on."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sysone.runs import RunError
from sysone.runs.directory import RunDirectory, differences, read_manifest

HOLDER = """
import sys
from sysone.runs.directory import RunDirectory
run = RunDirectory(sys.argv[1], command=["sysone", "trex"], settings={"seeds": 5})
print("ready", flush=True)
sys.stdin.read()
"""


def open_run(path: Path, settings: dict[str, Any] | None = None, **more: Any) -> RunDirectory:
    return RunDirectory(path, command=["sysone", "trex"], settings=settings or {"seeds": 5}, **more)


@contextmanager
def held_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_new_run_says_what_makes_it(tmp_path: Path) -> None:
    with open_run(tmp_path / "run", {"seeds": 5, "gap": (1, 3)}) as run:
        assert not run.resumed
        manifest = json.loads(run.file("manifest.json").read_text())
    assert manifest["command"] == ["sysone", "trex"]
    assert manifest["settings"] == {"seeds": 5, "gap": [1, 3]}
    assert manifest["versions"]["python"] == sys.version.split()[0]
    assert manifest["started"].endswith("+00:00")
    assert manifest["resumed"] == []


def test_a_run_goes_on_only_when_asked_and_with_the_same_settings(tmp_path: Path) -> None:
    settings = {"seeds": 5, "prompt": "labeled", "shield": {"urgent": 12}, "old": None, "on": True}
    with open_run(tmp_path, settings) as run:
        started = run.manifest["started"]
    with pytest.raises(RunError, match=f"already holds a run of .*{started[:10]}.*resume it"):
        open_run(tmp_path, settings)
    for _ in range(2):
        with open_run(tmp_path, settings, resume=True) as run:
            assert run.resumed
            assert run.manifest["started"] == started
    assert len(read_manifest(tmp_path / "manifest.json")["resumed"]) == 2
    other = {"seeds": 6, "prompt": "labeled", "shield": {"urgent": 9}, "new": "ä", "on": 1}
    with pytest.raises(RunError) as caught:
        open_run(tmp_path, other, resume=True)
    assert str(caught.value).endswith(
        "was made with other settings: seeds was 5, now 6; shield.urgent was 12, now 9; "
        'old was null, now absent; on was true, now 1; new was absent, now "ä"'
    )
    assert differences(settings, settings) == []


def test_resuming_an_empty_folder_begins_a_run(tmp_path: Path) -> None:
    with open_run(tmp_path, resume=True) as run:
        assert not run.resumed


def test_two_processes_cannot_hold_one_folder(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path) as process:
        with pytest.raises(RunError, match=rf"in use by process {process.pid} on .*sysone trex"):
            open_run(tmp_path, resume=True)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with open_run(tmp_path, resume=True) as run:
            assert run.resumed


def test_one_process_cannot_hold_a_folder_twice(tmp_path: Path) -> None:
    with (
        open_run(tmp_path),
        pytest.raises(RunError, match=f"in use by process {os.getpid()}"),
    ):
        open_run(tmp_path, resume=True)
    open_run(tmp_path, resume=True).close()


def test_a_holder_that_has_not_signed_yet_is_another_process(tmp_path: Path) -> None:
    with held_elsewhere(tmp_path):
        (tmp_path / "lock").write_text("")
        with pytest.raises(RunError, match="in use by another process"):
            open_run(tmp_path, resume=True)


def test_a_refused_run_lets_go_of_the_folder(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    for _ in range(2):
        with pytest.raises(RunError, match="already holds a run"):
            open_run(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "manifest: Expecting"),
        ("[]", "manifest: it has no settings"),
        ('{"settings": {}, "resumed": []}', "it has no started"),
        ('{"settings": {}, "started": "now", "resumed": 3}', "it has no resumed"),
    ],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(RunError, match=rf"manifest\.json .*{message}"):
        open_run(tmp_path, resume=True)


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot write .*file/lock: a file stands where"):
        open_run(tmp_path / "file")
    with pytest.raises(RunError, match="cannot write /proc/run/lock: No such file"):
        open_run(Path("/proc/run"))
    with pytest.raises(RunError, match=r"cannot read .*manifest\.json: No such file"):
        read_manifest(tmp_path / "manifest.json")
