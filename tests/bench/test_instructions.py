import shutil
from pathlib import Path

import msgspec
import pytest

from bench import instructions
from bench.instructions import CannotCountError, Count, compare, take

BEFORE = {"trex.plan": Count(1000, 7)}


def test_equal_counts_and_fewer_instructions_pass() -> None:
    assert compare(BEFORE, BEFORE) == []
    assert compare(BEFORE, {"trex.plan": Count(500, 7)}) == []
    assert compare(BEFORE, {"trex.plan": Count(1020, 7)}) == []


def test_three_per_cent_more_are_refused_with_both_numbers() -> None:
    (line,) = compare(BEFORE, {"trex.plan": Count(1030, 7)})
    assert "1,030" in line
    assert "1,000" in line
    assert "+3.00%" in line


def test_other_work_is_not_compared() -> None:
    (line,) = compare(BEFORE, {"trex.plan": Count(1000, 8)})
    assert "its work came to 8" in line


def test_every_function_is_both_stored_and_counted() -> None:
    wrong = compare(BEFORE, {"trex.protect": Count(1, 1)})
    assert sorted(line.split(":")[0] for line in wrong) == ["trex.plan", "trex.protect"]


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_a_program_that_fails_is_said(tmp_path: Path) -> None:
    with pytest.raises(CannotCountError, match="false failed"):
        take(Path("/bin/false"), tmp_path, tmp_path)


def test_stored_counts_can_be_read() -> None:
    stored = msgspec.json.decode(instructions.STORED.read_bytes(), type=instructions.Counts)
    assert len(stored.counts) >= 5
