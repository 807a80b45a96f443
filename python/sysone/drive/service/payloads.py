"""Pictures and points in a message: strict Base64 to arrays and back."""

import base64
import binascii
import json
from typing import Any, Final

import numpy as np

from sysone.drive.service import compiled
from sysone.drive.service.lines import WireError

MAX_PIXEL_BYTES: Final = 1 << 26


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
        if compiled.frames is None:
            raw = decode_strict(bytes(source))
            if len(raw) == size:
                return np.frombuffer(bytearray(raw), np.uint8)
        else:
            length = compiled.frames.b64_decoded_length(source)
            # a length that is wrong by its text alone need not be decoded to be refused
            target = np.empty(length, np.uint8)
            compiled.frames.b64_decode_into(source, target)
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
    if compiled.frames is None:
        return base64.b64encode(data).decode("ascii")
    raw = memoryview(data).cast("B")
    target = bytearray(compiled.frames.b64_length(len(raw)))
    compiled.frames.b64_encode_into(raw, target)
    return target.decode("ascii")
