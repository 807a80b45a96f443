"""Recordings of T-Rex matches: read, played again on the engine, planned again.

Input: the file's bytes.

Properties: a file is verified, or refused with `RunError` (`MismatchError` where it is not what the
engine plays), and nothing else; what was read can be written and read again as the same records;
its latencies can be taken out.
"""

import msgspec

from sysone.runs.errors import RunError
from sysone.trex.recording import is_recording, landed_ms, read_recording
from sysone.trex.replay import Replay
from tools.fuzz.files import written

INSTRUMENT = ("sysone.trex.recording", "sysone.trex.replay")


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    path = written("match.jsonl", data)
    is_recording(path)
    try:
        records = list(read_recording(path))
    except RunError:
        return
    again = written("again.jsonl", b"\n".join([*map(msgspec.json.encode, records), b""]))
    assert list(read_recording(again)) == records
    landed_ms(path)
    try:
        verified = Replay(path).run()
    except RunError:
        return
    assert verified.matches >= (1 if records else 0)
