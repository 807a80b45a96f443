"""Lines on the wire between the drive's executor and a model (NDJSON), both ends.

Input: a byte that says how the stream is cut into pieces, then the stream.

Properties: the compiled line reader (Cython) and the plain one give the same lines or refuse at
the same place; the compiled message parser and the plain one accept the same lines and read the
same values, but for the big texts that the compiled one leaves unread until they are decoded (and
then refused); nothing but `WireError` with a documented code leaves any step; a picture that is
accepted encodes to the text that it came from; a reply that is accepted is within its limits; and
what was accepted can be written and read again.
"""

import json
import math
from typing import Any

from sysone.drive.protocol import read_reply
from sysone.drive.service import wire
from sysone_core import frames

INSTRUMENT = (
    "sysone.drive.service.lines",
    "sysone.drive.service.payloads",
    "sysone.drive.service.wire",
    "sysone.drive.protocol",
)
MAX_BYTES = 1024

CODES = {*wire.LINE_CODES, *wire.STREAM_CODES, "version"}


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    step = data[0] % 64 + 1 if data else 1
    stream = data[1:]
    compiled, plain = frames.LineReader(MAX_BYTES, 32), wire.PlainLineReader(MAX_BYTES, 32)
    for at in range(0, len(stream), step):
        piece = stream[at : at + step]
        compiled.feed(piece)
        plain.feed(piece)
        while True:
            ours, theirs = _next(compiled), _next(plain)
            assert ours == theirs, (ours, theirs)
            if isinstance(ours, str):  # the connection ends
                return
            if ours is None:
                break
            _line(ours)
        assert compiled.rest() == plain.rest()


def _next(reader: Any) -> bytes | str | None:
    try:
        line = wire.next_line(reader)
    except wire.WireError as error:
        assert error.code in wire.STREAM_CODES
        return error.code
    return None if line is None else bytes(line)


def _line(line: bytes) -> None:
    fast, slow = _parsed(wire.parse_object, line), _parsed(wire.parse_plain, line)
    if not isinstance(fast, str):
        _message(line)
    texts = fast if isinstance(fast, str) else _texts(fast)
    assert (texts is None or isinstance(texts, str)) == isinstance(slow, str), (fast, slow)
    if isinstance(slow, str):
        return
    assert same(texts, slow), (fast, slow)
    _reply(slow)


def _parsed(parse: Any, line: bytes) -> Any:
    try:
        return parse(line)
    except wire.WireError as error:
        assert error.code in CODES, error.code
        return error.code


def _texts(message: dict[str, Any]) -> dict[str, Any] | None:
    """Views into the line as the texts that they stand for; None where one stands for none."""
    try:
        return {
            key: json.loads(b'"' + bytes(value) + b'"') if isinstance(value, memoryview) else value
            for key, value in message.items()
        }
    except ValueError:
        return None


def same(one: Any, other: Any) -> bool:
    """Equal in type and value, at every depth."""
    pending = [(one, other)]
    while pending:
        a, b = pending.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, dict):
            if a.keys() != b.keys():
                return False
            pending.extend((a[key], b[key]) for key in a)
        elif isinstance(a, list):
            if len(a) != len(b):
                return False
            pending.extend(zip(a, b, strict=True))
        elif a != b:
            return False
    return True


def _message(line: bytes) -> None:
    message = _parsed(wire.parse_message, line)
    if isinstance(message, str) or message["type"] == "heartbeat":
        return
    if isinstance(_parsed(wire.check_fields, message), str):
        return
    if message["type"] == "route_start":
        _parsed(wire.agreed_version, message.get("proto"))
    if message["type"] != "tick":
        return
    for decode, name in ((wire.decode_pixels, "rgb_b64"), (wire.decode_lidar, "lidar_b64")):
        picture = _parsed(decode, message)
        if not isinstance(picture, str):
            texts = _texts({name: message[name]})
            assert texts is not None
            again = wire.encode_base64(picture)
            # The last character's bits that stand for nothing may be set.
            assert again == texts[name] or wire.decode_strict(
                texts[name].encode()
            ) == wire.decode_strict(again.encode())


def _reply(answer: dict[str, Any]) -> None:
    if answer.get("type") == "error":
        return  # the code is the model's own
    reply = _parsed(read_reply, answer)
    if isinstance(reply, str):
        return
    for value, low in ((reply.throttle, 0), (reply.brake, 0), (reply.steer, -1)):
        assert low <= value <= 1
        assert math.isfinite(value)
