"""Camera frames on disk: PNG files of 8-bit colour, written and read back to the byte."""

import shutil
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sysone.runs.errors import RunError, unreadable, unwritable

FRAMES: Final = "frames"
"""Folder of a drive's pictures, in the drive's own."""
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_LEVEL: Final = 1
"""Of compression: frames come twenty a second."""

Picture = NDArray[np.uint8]


def frame_path(folder: Path, tick: int) -> Path:
    """Where a drive keeps the picture of a tick."""
    return folder / FRAMES / f"{tick:06d}.png"


def keep_pictures(folder: Path) -> Callable[[int, Picture], None]:
    """Keeps an attempt's pictures in its drive's folder, in place of an earlier one's.

    Raises:
        RunError: they cannot be written; so does what is returned.
    """
    frames = folder / FRAMES
    try:
        shutil.rmtree(frames, ignore_errors=True)
        frames.mkdir(parents=True)
    except OSError as error:
        raise unwritable(frames, error) from error

    def keep(tick: int, picture: Picture) -> None:
        try:
            write_png(frame_path(folder, tick), picture)
        except OSError as error:
            raise unwritable(frames, error) from error

    return keep


def write_png(path: Path, picture: Picture) -> None:
    """Write a picture of shape (height, width, 3) in BGR.

    Raises:
        OSError: it cannot be written.
    """
    height, width, _ = picture.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # filter 0 before each line
    lines[:, 1:] = picture[:, :, ::-1].reshape(height, 3 * width)
    path.write_bytes(
        _SIGNATURE
        + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), _LEVEL))
        + _chunk(b"IEND", b"")
    )


def read_png(path: Path) -> Picture:
    """A picture that `write_png` wrote: uint8 (height, width, 3), BGR, contiguous.

    Raises:
        RunError: it cannot be read, or is a PNG of another kind.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if not raw.startswith(_SIGNATURE):
        raise RunError(f"{path} is not a PNG file")
    at, packed, header = len(_SIGNATURE), b"", b""
    try:
        while at < len(raw):
            (length,) = struct.unpack(">I", raw[at : at + 4])
            kind, body = raw[at + 4 : at + 8], raw[at + 8 : at + 8 + length]
            header = body if kind == b"IHDR" else header
            packed += body if kind == b"IDAT" else b""
            at += 12 + length
        width, height, *rest = struct.unpack(">IIBBBBB", header)
        lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, 1 + 3 * width)
    except (struct.error, ValueError, zlib.error) as error:
        raise RunError(f"{path} is not a picture that can be read: {error}") from error
    if rest != [8, 2, 0, 0, 0] or lines[:, 0].any():
        raise RunError(f"{path} is another kind of PNG than drives write")
    return np.ascontiguousarray(lines[:, 1:].reshape(height, width, 3)[:, :, ::-1])


def _chunk(kind: bytes, body: bytes) -> bytes:
    check = zlib.crc32(kind + body)
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", check)
