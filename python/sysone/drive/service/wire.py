"""Lines, messages and frames on the wire, as plain values; both ends use it."""

import base64
import binascii
import json
import math
import socket
import time
from typing import Any, Final

import numpy as np

fast: Any
try:
    from sysone_core import frames as fast
except ImportError:  # in a model's own environment
    fast = None

MAX_TO_MODEL: Final = 16 << 20
MAX_TO_EXECUTOR: Final = 64 << 10
MAX_PIXEL_BYTES: Final = 1 << 26
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


class WireError(ValueError):
    """A line or stream that cannot be used; ``code`` says why."""

    def __init__(self, code: str, message: str, tick: Any = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.tick = code, message, tick


class PlainLineReader:
    """Lines out of a byte stream in plain Python; the same as `sysone_core.frames.LineReader`."""

    def __init__(self, max_bytes: int = MAX_TO_MODEL, chunk: int = 1 << 18) -> None:
        if max_bytes < 1 or chunk < 1:
            raise ValueError("max_bytes and chunk must be positive")
        self.max_bytes = max_bytes
        self.chunk = min(chunk, max_bytes + 1)
        self._buffer = bytearray(self.chunk)
        self._start = self._scanned = self._end = 0

    @property
    def pending(self) -> int:
        """Bytes received that are no whole line yet, or not yet taken."""
        return self._end - self._start

    @property
    def capacity(self) -> int:
        """Size of the buffer."""
        return len(self._buffer)

    def rest(self) -> bytes:
        """A copy of what was received and not taken."""
        return bytes(self._buffer[self._start : self._end])

    def _make_room(self, wanted: int) -> None:
        size, held = len(self._buffer), self._end - self._start
        if size - self._end >= wanted:
            return
        while size < held + wanted:
            size *= 2
        # A new one: lines that were handed out may still look into the old one.
        larger = bytearray(size)
        larger[:held] = self._buffer[self._start : self._end]
        self._buffer = larger
        self._scanned -= self._start
        self._start, self._end = 0, held

    def feed_into(self, receive: Any) -> int:
        """Call ``receive(view)`` (as `socket.recv_into`) once; the bytes it says it wrote."""
        self._make_room(self.chunk)
        with memoryview(self._buffer) as view:
            got: int = receive(view[self._end :])
        if not 0 <= got <= len(self._buffer) - self._end:
            raise ValueError(f"receive says {got} bytes")
        self._end += got
        return got

    def feed(self, data: Any) -> None:
        """Take bytes that were received elsewhere."""
        self._make_room(len(data))
        self._buffer[self._end : self._end + len(data)] = data
        self._end += len(data)

    def next(self) -> Any:
        """The next whole line without its line end, or None."""
        stop = self._buffer.find(b"\n", self._scanned, self._end)
        start = self._start
        if stop < 0:
            self._scanned = self._end
            if self._end - start > self.max_bytes:
                raise WireError("too_large", f"more than {self.max_bytes} bytes without a line end")
            return None
        self._start = self._scanned = stop + 1
        if stop - start > self.max_bytes:
            raise WireError("too_large", f"more than {self.max_bytes} bytes without a line end")
        return memoryview(self._buffer)[start:stop]


def line_reader(max_bytes: int) -> Any:
    """The compiled reader, or the plain one where it is not installed."""
    return PlainLineReader(max_bytes) if fast is None else fast.LineReader(max_bytes)


def next_line(reader: Any) -> Any:
    """The next line of either reader that is not blank, or None.

    Raises:
        WireError: ``too_large``.
    """
    while True:
        try:
            line = reader.next()
        except WireError:
            raise
        except ValueError as error:  # the compiled reader's own error
            raise WireError("too_large", str(error)) from None
        if line is None or bytes(line[:64]).strip() or (len(line) > 64 and bytes(line).strip()):
            return line


def parse_object(line: Any) -> dict[str, Any]:
    """One line as an object; big Base64 values may be views into it.

    Raises:
        WireError: ``bad_utf8``, ``bad_json`` or ``not_object``.
    """
    if fast is not None:
        try:
            found: dict[str, Any] = fast.parse_tick(line)
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


def decode_pixels(message: dict[str, Any]) -> Any:
    """The camera's picture: uint8 (height, width, 3), BGR, its own memory.

    Raises:
        WireError: ``missing_field``, ``bad_shape``, ``bad_base64`` or ``shape_mismatch``.
    """
    tick = message.get("tick")
    for name in ("rgb_b64", "rgb_shape"):
        if message.get(name) is None:
            raise WireError("missing_field", f"tick has no {name}", tick)
    shape = message["rgb_shape"]
    if (
        not isinstance(shape, list)
        or len(shape) != 3
        or not all(type(size) is int and size >= 1 for size in shape)
        or shape[2] != 3
        or shape[0] * shape[1] * shape[2] > MAX_PIXEL_BYTES
    ):
        raise WireError(
            "bad_shape", f"rgb_shape is {str(shape)[:80]}, expected [height, width, 3]", tick
        )
    raw = _decode(message["rgb_b64"], shape[0] * shape[1] * shape[2], tick)
    return raw.reshape(shape)


def decode_lidar(message: dict[str, Any]) -> Any:
    """The lidar's points: float32 (n, 4), rows x y z intensity.

    Raises:
        WireError: as for `decode_pixels`, and ``bad_field`` for the number of points.
    """
    tick = message.get("tick")
    for name in ("lidar_b64", "lidar_n"):
        if message.get(name) is None:
            raise WireError("missing_field", f"tick has no {name}", tick)
    count = message["lidar_n"]
    if type(count) is not int or not 0 <= count <= MAX_PIXEL_BYTES // 16:
        raise WireError("bad_field", f"lidar_n is {str(count)[:80]}, expected 0 or more", tick)
    return _decode(message["lidar_b64"], 16 * count, tick).view("<f4").reshape(count, 4)


def _decode(text: Any, size: int, tick: Any) -> Any:
    if not isinstance(text, (str, memoryview)):
        raise WireError("bad_base64", "the value is not a text", tick)
    try:
        source: Any = text.encode("ascii") if isinstance(text, str) else text
        raw: Any
        if fast is None:
            raw = decode_strict(bytes(source))
            if len(raw) == size:
                return np.frombuffer(bytearray(raw), np.uint8)
        else:
            length = fast.b64_decoded_length(source)
            # a length that is wrong by its text alone need not be decoded to be refused
            target = np.empty(length, np.uint8)
            fast.b64_decode_into(source, target)
            if length == size:
                return target
            raw = target
    except ValueError:
        if isinstance(text, memoryview) and b"\\" in bytes(text):
            # an escaped text is legal JSON, if unusual
            try:
                return _decode(json.loads(b'"' + bytes(text) + b'"'), size, tick)
            except (ValueError, RecursionError):
                pass
        raise WireError("bad_base64", "not strict standard Base64", tick) from None
    raise WireError("shape_mismatch", f"{len(raw)} bytes, expected {size}", tick)


def decode_strict(text: bytes) -> bytes:
    """Standard alphabet with padding and nothing else.

    Raises:
        ValueError: the text is not that.
    """
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    if len(text) % 4:
        raise ValueError("length is not a multiple of 4")
    return raw


def encode_base64(data: Any) -> str:
    """Standard Base64 with padding."""
    if fast is None:
        return base64.b64encode(data).decode("ascii")
    raw = memoryview(data).cast("B")
    target = bytearray(fast.b64_length(len(raw)))
    fast.b64_encode_into(raw, target)
    return target.decode("ascii")


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
