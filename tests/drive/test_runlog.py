"""What a run tells while it goes, on a disk that refuses."""

from pathlib import Path

import pytest

from sysone.drive.results import Job
from sysone.drive.runlog import RunLog
from sysone.runs.errors import RunError
from sysone.runs.jsonl import JsonlWriter


def test_files_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with JsonlWriter(tmp_path / "events.jsonl") as events:
        log = RunLog(tmp_path, events)
        (tmp_path / ".heartbeat.tmp").mkdir()
        with pytest.raises(RunError, match=r"cannot write .*heartbeat\.json: Is a directory"):
            log.heartbeat(7, 1, "driving")
        (tmp_path / "seed_0").write_text("in the way")
        job = Job(7, 0, 0)
        with pytest.raises(RunError, match=r"cannot write .*log\.txt: a file stands where"):
            log.event("queued", job, 0)
