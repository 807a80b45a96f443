"""Writes the seeds of every target from golden data and from what the product itself writes.

``python -m tools.fuzz.seeds`` adds what is missing; kept finds are left alone. Everything here is
made by this project's own code or copied from tests/data.
"""

import base64
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.fuzz.catalogue import CORPUS


def base64_seeds() -> Iterator[tuple[str, bytes]]:
    """Texts around the widths of the vector registers, and some that are refused."""
    stream = random.Random(1)
    for size in (0, 1, 2, 3, 23, 24, 25, 47, 48, 49, 95, 96, 97, 200):
        yield f"raw_{size}", base64.b64encode(stream.randbytes(size))
    yield "url_alphabet", b"-_-_" * 24
    yield "padding_inside", b"AAA=" * 24
    yield "loose_bits", b"AB=="
    yield "short", b"AAAAA"


def drive_wire_seeds() -> Iterator[tuple[str, bytes]]:
    """Messages of each kind, whole and in pieces."""
    picture = base64.b64encode(bytes(range(12))).decode()
    points = base64.b64encode(bytes(32)).decode()
    start = {"type": "route_start", "proto": "0.3", "route_id": 1, "town": "T",
             "keypoints": [[0, 0, 0], [5, 0, 0]], "commands": [4, 4],
             "gps_plan": [[0, 0, 0], [0, 1, 0]], "gps_ref": [1.5, 2], "gps_model": "m"}  # fmt: skip
    tick = {"type": "tick", "tick": 1, "speed": 3.0, "timestamp": 1.0, "gps": [0, 0, 0],
            "compass": 0.5, "sim_time": 2.5}  # fmt: skip
    camera = {**tick, "rgb_shape": [2, 2, 3], "rgb_b64": picture}
    both = {**tick, "lidar_n": 2, "rgb_shape": [2, 2, 3], "lidar_b64": points, "rgb_b64": picture}
    reply = {"throttle": 0.5, "brake": 0.0, "steer": -0.1, "tick": 3, "infer_ms": 12.5,
             "info": {"a": [1, 2]}}  # fmt: skip
    messages: dict[str, Any] = {
        "start": start,
        "tick": tick,
        "camera": camera,
        "both": both,
        "early": {**tick, "rgb_b64": picture, "rgb_shape": [2, 2, 3]},
        "escaped": json.dumps(camera).replace("AAEC", "\\u0041AEC"),
        "end": {"type": "route_end", "route_id": 1},
        "heartbeat": {"heartbeat": True},
        "legacy": {"tick": 1, "speed": 1, "timestamp": 2, "target_points": [[1, 2]]},
        "reply": reply,
        "error": {"type": "error", "code": "bad_json", "message": "m", "tick": 1},
        "list": [1],
        "numbers": '{"tick": 1e400, "a": NaN}',
        "wide": "{" + " " * 1100 + "}",
    }
    for number, (name, message) in enumerate(messages.items()):
        text = message if isinstance(message, str) else json.dumps(message)
        yield name, bytes([number * 7 % 64]) + text.encode() + b"\n"
    yield "two", b"\x05" + b'{"heartbeat":true}\r\n \n' + json.dumps(camera).encode() + b"\n{"


SEEDS = {"base64": base64_seeds, "drive_wire": drive_wire_seeds}


def write(folder: Path = CORPUS) -> int:
    """Write what is missing; how many files that were."""
    count = 0
    for target, seeds in SEEDS.items():
        place = folder / target
        place.mkdir(parents=True, exist_ok=True)
        for name, data in seeds():
            path = place / name
            if not path.exists() or path.read_bytes() != data:
                path.write_bytes(data)
                count += 1
    return count


if __name__ == "__main__":
    print(write())
