"""Logs of one JSON value a line, as every long run keeps them.

Input: the file's bytes.

Properties: a file is read or refused with `RunError`, and nothing else; a writer that goes on with
it keeps every complete line and adds its own; what was read is read again from a copy that the
writer makes of it.
"""

from sysone.runs import RunError
from sysone.runs.jsonl import JsonlWriter, read
from tools.fuzz.files import folder, written

INSTRUMENT = ("sysone.runs.jsonl",)


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    path = written("log.jsonl", data)
    try:
        records = read(path)
    except RunError:
        return
    with JsonlWriter(path) as log:
        assert log.cut_bytes == len(data) - (data.rfind(b"\n") + 1)
        log.append("next")
    assert repr(read(path)) == repr([*records, "next"])
    copy = folder() / "copy.jsonl"
    copy.unlink(missing_ok=True)
    with JsonlWriter(copy) as log:
        for record in records:
            try:
                log.append(record)
            except ValueError as error:
                # The writer refuses what strict JSON has no form for and the reader lets pass.
                assert "nan" in str(error) or "inf" in str(error) or "surrogate" in str(error)
                return
    assert repr(read(copy)) == repr(records)
