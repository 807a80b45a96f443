"""The executor's messages: typed, encoded once, big values last."""

from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from sysone.drive.service.wire import WireError, parse_plain
from sysone_core import frames

MAX_INFO_BYTES: Final = 4096
_encoder = msgspec.json.Encoder()


class RouteStart(msgspec.Struct, omit_defaults=True):
    """First message of a route."""

    proto: str
    route_id: int
    town: str
    keypoints: list[list[float]]
    """Dense plan, x y z in metres."""
    commands: list[int]
    gps_plan: list[list[float]]
    """Latitude, longitude, z of each."""
    gps_model: str
    gps_ref: list[float]
    dt: float
    seed: int
    sensors: dict[str, Any]
    max_game_time: float | None = None
    repetition: int = 0
    attempt: int = 0


class RouteEnd(msgspec.Struct):
    """Last message of a route."""

    route_id: int
    status: str
    score_composed: float


class TickHead(msgspec.Struct, omit_defaults=True):
    """A tick without its pictures."""

    tick: int
    speed: float
    timestamp: float
    sim_time: float
    gps: list[float]
    compass: float | None = None
    rgb_shape: list[int] | None = None
    rgb_frame: int | None = None
    lidar_n: int | None = None


class LegacyTick(msgspec.Struct):
    """A tick of protocol 0.1."""

    tick: int
    speed: float
    target_points: list[list[float]]
    timestamp: float


def line_of(message: RouteStart | RouteEnd, kind: str) -> bytes:
    """A message as a line; its type comes first."""
    body = _encoder.encode(message)
    return b'{"type":"' + kind.encode() + b'",' + body[1:] + b"\n"


def legacy_line(message: LegacyTick) -> bytes:
    """A tick of protocol 0.1 as a line."""
    return _encoder.encode(message) + b"\n"


class TickEncoder:
    """Encodes ticks into one buffer that is used again and again."""

    def __init__(self) -> None:
        self._buffer = bytearray(1 << 16)

    def encode(
        self,
        head: TickHead,
        rgb: NDArray[np.uint8] | None = None,
        lidar: NDArray[np.float32] | None = None,
    ) -> memoryview:
        """A line, good until the next call. The big values come last, the picture at the end."""
        start = b'{"type":"tick",' + _encoder.encode(head)[1:-1]
        parts: list[tuple[bytes, NDArray[Any]]] = []
        if lidar is not None:
            parts.append((b',"lidar_b64":"', np.ascontiguousarray(lidar, dtype="<f4")))
        if rgb is not None:
            parts.append((b',"rgb_b64":"', np.ascontiguousarray(rgb)))
        need = (
            len(start)
            + 2
            + sum(len(key) + 1 + frames.b64_length(data.nbytes) for key, data in parts)
        )
        if len(self._buffer) < need:
            self._buffer = bytearray(need + need // 8)
        view = memoryview(self._buffer)
        view[: len(start)] = start
        at = len(start)
        for key, data in parts:
            view[at : at + len(key)] = key
            at += len(key)
            # an empty array has no memory to be viewed as bytes
            if data.nbytes:
                at += frames.b64_encode_into(data.data.cast("B"), view[at:])
            view[at : at + 1] = b'"'
            at += 1
        view[at : at + 2] = b"}\n"
        return view[: at + 2]


class Reply(msgspec.Struct, frozen=True):
    """A model's answer to a tick, clamped."""

    throttle: float
    brake: float
    steer: float
    tick: int | None = None
    infer_ms: float | None = None
    info: dict[str, Any] | None = None


def parse_answer(line: Any) -> dict[str, Any]:
    """A line from the model as an object.

    Raises:
        WireError: it is not one.
    """
    return parse_plain(line)


def read_reply(answer: dict[str, Any]) -> Reply:
    """The controls of an answer: throttle and brake clamped to 0..1, steer to -1..1.

    Raises:
        WireError: ``bad_field``: a control is no finite number; or what the model reports.
    """
    if answer.get("type") == "error":
        code = answer.get("code")
        raise WireError(str(code)[:40], str(answer.get("message"))[:300], answer.get("tick"))
    values: list[float] = []
    for name, low in (("throttle", 0.0), ("brake", 0.0), ("steer", -1.0)):
        value = answer.get(name, 0.0)
        # type and not isinstance: a bool is no control; a huge int has no float
        if type(value) not in (int, float) or not abs(value) < 1e300:
            raise WireError("bad_field", f"{name} is {str(value)[:40]!r}, expected a finite number")
        values.append(min(1.0, max(low, float(value))))
    tick, infer = answer.get("tick"), answer.get("infer_ms")
    info = answer.get("info")
    if not isinstance(info, dict) or len(_encoder.encode(info)) > MAX_INFO_BYTES:
        info = None
    timed = isinstance(infer, int | float) and not isinstance(infer, bool) and abs(infer) < 1e9
    throttle, brake, steer = values
    return Reply(
        throttle,
        brake,
        steer,
        tick if type(tick) is int else None,
        float(infer) if timed and infer is not None else None,
        info,
    )
