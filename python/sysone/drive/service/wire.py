"""Messages on the wire, as plain values: read, checked, written; both ends use it."""

import json
import math
import socket
import time
from typing import Any, Final

from sysone.drive.service import compiled
from sysone.drive.service.lines import (
    MAX_TO_MODEL,
    PlainLineReader,
    WireError,
    line_reader,
    next_line,
)
from sysone.drive.service.payloads import decode_lidar, decode_pixels, decode_strict, encode_base64

__all__ = [
    "KNOWN_TYPES",
    "LINE_CODES",
    "MAX_TO_EXECUTOR",
    "MAX_TO_MODEL",
    "REQUIRED",
    "STREAM_CODES",
    "VERSIONS",
    "Channel",
    "PlainLineReader",
    "WireError",
    "agreed_version",
    "check_fields",
    "decode_lidar",
    "decode_pixels",
    "decode_strict",
    "dumps",
    "encode_base64",
    "is_number",
    "is_numbers",
    "line_reader",
    "next_line",
    "parse_message",
    "parse_object",
    "parse_plain",
    "version_pair",
]

MAX_TO_EXECUTOR: Final = 64 << 10
VERSIONS: Final = ("0.1", "0.2", "0.3")
KNOWN_TYPES: Final = ("route_start", "tick", "route_end")
LINE_CODES: Final = (
    "bad_utf8",
    "bad_json",
    "not_object",
    "unknown_type",
    "missing_field",
    "bad_field",
    "bad_base64",
    "bad_shape",
    "shape_mismatch",
)
"""One line is unusable; the connection goes on."""
STREAM_CODES: Final = ("too_large", "truncated")
"""The connection ends."""
REQUIRED: Final = {
    "route_start": ("route_id", "town", "keypoints"),
    "tick": ("tick", "speed", "timestamp"),
    "route_end": ("route_id",),
}


def parse_object(line: Any) -> dict[str, Any]:
    """One line as an object; big Base64 values may be views into it.

    Raises:
        WireError: ``bad_utf8``, ``bad_json`` or ``not_object``.
    """
    if compiled.frames is not None:
        try:
            found: dict[str, Any] = compiled.frames.parse_tick(line)
            return found
        except TypeError:
            raise WireError("not_object", "expected a JSON object") from None
        except (ValueError, RecursionError) as error:
            _check_utf8(line)
            raise WireError("bad_json", str(error)) from None
    return parse_plain(line)


def parse_plain(line: Any) -> dict[str, Any]:
    """`parse_object` without the compiled parser: no value is a view."""
    text = _check_utf8(line)
    try:
        found = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise WireError("bad_json", str(error) or type(error).__name__) from None
    if not isinstance(found, dict):
        raise WireError("not_object", "expected a JSON object")
    return found


def _check_utf8(line: Any) -> str:
    try:
        return bytes(line).decode("utf-8")
    except UnicodeDecodeError as error:
        raise WireError("bad_utf8", error.reason) from None


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is out of range")
    return value


def parse_message(line: Any) -> dict[str, Any]:
    """One line from the executor as a message that has a type.

    Lines without a type are those of protocol 0.1: a heartbeat or a tick.

    Raises:
        WireError: the line cannot be used.
    """
    message = parse_object(line)
    kind = message.get("type")
    if kind is None:
        if message.get("heartbeat") is True:
            return {**message, "type": "heartbeat"}
        kind = "tick"
        message["type"] = kind
    tick = message.get("tick")
    if kind not in KNOWN_TYPES:
        raise WireError("unknown_type", f"type is {str(kind)[:80]!r}", tick)
    return message


def check_fields(message: dict[str, Any]) -> dict[str, Any]:
    """The message, if it has the fields that its type needs.

    Raises:
        WireError: ``missing_field`` or ``bad_field``.
    """
    tick = message.get("tick")
    for name in REQUIRED[message["type"]]:
        if message.get(name) is None:
            raise WireError("missing_field", f"{message['type']} has no {name}", tick)
    if message["type"] == "tick":
        if type(tick) is not int or tick < 1:
            raise WireError("bad_field", f"tick is {str(tick)[:80]}, expected 1 or more")
        for name in ("speed", "timestamp", "sim_time", "compass"):
            if message.get(name) is not None and not is_number(message[name]):
                raise WireError("bad_field", f"{name} is not a number", tick)
        gps = message.get("gps")
        if gps is not None and not is_numbers(gps, 3):
            raise WireError("bad_field", "gps is not three numbers", tick)
    if message["type"] == "route_start":
        _check_route(message)
    return message


def _check_route(message: dict[str, Any]) -> None:
    points = message["keypoints"]
    if not isinstance(points, list) or not all(is_numbers(point, 3) for point in points):
        raise WireError("bad_field", "keypoints is not a list of [x, y, z]")
    for name, good in (
        ("commands", lambda item: type(item) is int),
        ("gps_plan", lambda item: is_numbers(item, 3)),
    ):
        values = message.get(name)
        if values is None:
            continue
        if not isinstance(values, list) or not all(map(good, values)):
            raise WireError("bad_field", f"{name} is not a list of its type")
        if len(values) != len(points):
            raise WireError("bad_field", f"{name} has {len(values)} items for {len(points)} points")
    if message.get("gps_ref") is not None and not is_numbers(message["gps_ref"], 2):
        raise WireError("bad_field", "gps_ref is not [lat0, lon0]")
    for name in ("town", "proto", "gps_model"):
        if message.get(name) is not None and not isinstance(message[name], str):
            raise WireError("bad_field", f"{name} is not a text")


def is_number(value: Any) -> bool:
    """A finite int or float; a bool is none."""
    return type(value) in (int, float) and abs(value) <= 1.7e308 and math.isfinite(value)


def is_numbers(value: Any, count: int) -> bool:
    """A list of so many numbers."""
    return isinstance(value, list) and len(value) == count and all(map(is_number, value))


def dumps(message: dict[str, Any]) -> bytes:
    """A message as one line with its line end.

    Raises:
        ValueError: a number is not finite: it has no JSON form.
    """
    return json.dumps(message, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def version_pair(text: Any) -> tuple[int, int]:
    """``"0.2"`` as (0, 2).

    Raises:
        WireError: ``version``.
    """
    parts = text.split(".") if isinstance(text, str) else []
    if len(parts) != 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise WireError("version", f"proto is {str(text)[:80]!r}, expected MAJOR.MINOR")
    return int(parts[0]), int(parts[1])


def agreed_version(offered: Any, highest: str = VERSIONS[-1]) -> str:
    """The version to speak: the offered one, or our highest in the same major.

    Raises:
        WireError: ``version``: another major.
    """
    theirs, ours = version_pair("0.2" if offered is None else offered), version_pair(highest)
    if theirs[0] != ours[0]:
        raise WireError("version", f"proto {offered} is offered, {highest} is spoken here")
    major, minor = min(theirs, ours)
    return f"{major}.{minor}"


class Channel:
    """Whole lines over a connected socket, with deadlines."""

    def __init__(self, connection: socket.socket, max_bytes: int) -> None:
        self.connection = connection
        self.reader = line_reader(max_bytes)
        self.closed = False
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def receive(self, timeout_s: float | None = None) -> Any:
        """The next line that is not blank; None when the peer has closed.

        Raises:
            TimeoutError: no whole line came in time.
            WireError: ``too_large`` or ``truncated``.
            OSError: the connection broke.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            line = next_line(self.reader)
            if line is not None:
                return line
            left = None
            if deadline is not None:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
            self.connection.settimeout(left)
            if self.reader.feed_into(self.connection.recv_into) == 0:
                self.closed = True
                if self.reader.rest().strip():
                    raise WireError("truncated", "the peer closed in the middle of a line")
                return None

    def send(self, data: Any, timeout_s: float | None = None) -> None:
        """Send bytes that end with a line end.

        Raises:
            OSError: the connection broke, or they were not taken in time.
        """
        self.connection.settimeout(timeout_s)
        self.connection.sendall(data)

    def close(self) -> None:
        """Close the connection."""
        self.closed = True
        self.connection.close()
