"""Frames on the wire: lines, ticks, Base64 and pictures (compiled).

``LineReader(max_bytes, chunk)`` cuts a byte stream into lines: ``feed_into(sock.recv_into)`` or
``feed(data)``, then ``next()`` until it says None. No byte is searched twice, a whole line is
never copied, and the buffer never holds more than the longest line and a chunk. A longer line
raises `LineTooLongError`.

``parse_tick(line)`` reads one message; where ``rgb_b64`` and ``lidar_b64`` come last in it, they
are views into the line and not strings. Raises ``msgspec.DecodeError`` or `TypeError`.

``b64_decode_into(source, target)`` and ``b64_encode_into(source, target)`` write into a buffer
that the caller keeps and return how much; decoding is strict (standard alphabet, padding, nothing
else) and raises `NotBase64Error`. ``bgra_to_bgr(source, target)`` keeps three of four channels. All
three release the GIL and choose the widest instruction set at run time (`simd_level`).

``ground_camera(cells, west, north, cell, palette, target, x, y, yaw, focal, mount_x, mount_y,
mount_z)`` draws the ground below the horizon of a BGR picture (height, width, 3): ``cells`` is a
palette index for each ``cell`` metres seen from above, its corner at (west, north); the ego stands
at x, y (metres) and looks along ``yaw`` (radians). ``fill_convex(corners, colour, target)`` fills
a polygon given as (n, 2) pixels.

``boxes_overlap(x, y, yaw, half_length, half_width, …)`` of two boxes: depth in metres and the unit
direction that pushes the first out of the second, or None.
"""

from sysone_core._frames import (
    LineReader,
    LineTooLongError,
    NotBase64Error,
    b64_decode_into,
    b64_decoded_length,
    b64_encode_into,
    b64_length,
    bgra_to_bgr,
    boxes_overlap,
    fill_convex,
    ground_camera,
    parse_tick,
    set_simd_level,
    simd_level,
    simd_levels,
)

__all__ = [
    "LineReader",
    "LineTooLongError",
    "NotBase64Error",
    "b64_decode_into",
    "b64_decoded_length",
    "b64_encode_into",
    "b64_length",
    "bgra_to_bgr",
    "boxes_overlap",
    "fill_convex",
    "ground_camera",
    "parse_tick",
    "set_simd_level",
    "simd_level",
    "simd_levels",
]
