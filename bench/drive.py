"""Drive: frames on the wire, folds and the embedded loop, against plain Python."""

import base64
import json
import random
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.measure import Direct, Pair
from bench.registry import promise
from sysone.drive.backend import Control, SensorSpec, Setup
from sysone.drive.drivers import AutopilotDriver
from sysone.drive.embedded import EmbeddedBackend
from sysone.drive.executor import DriveConfig, drive_route
from sysone.drive.planning import densify
from sysone.drive.protocol import TickEncoder, TickHead
from sysone.drive.routes import read_routes
from sysone.drive.service import wire
from sysone.drive.shipped import find_routes, map_of
from sysone.drive.ticks import TickStore
from sysone_core import driving_score, frames

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

from twin import driving_score as twin  # noqa: E402

HEIGHT, WIDTH = 512, 1024
RAW = random.Random(1).randbytes(HEIGHT * WIDTH * 3)
TEXT = base64.b64encode(RAW)
STEP_BUDGET_MS = 200.0


def tick_line() -> bytes:
    head = TickHead(7, 3.5, 1.7e9, 0.35, [0.1, 0.2, 1.5], 1.25, [HEIGHT, WIDTH, 3], 1007)
    picture = np.frombuffer(RAW, np.uint8).reshape(HEIGHT, WIDTH, 3)
    return bytes(TickEncoder().encode(head, picture))[:-1]


def decode_ours(line: bytes, target: Any) -> Any:
    message = frames.parse_tick(line)
    frames.b64_decode_into(message["rgb_b64"], target)
    return message


@promise("drive.decode_tick")
def decode_tick() -> Pair:
    """One line of 2.1 MB to its fields and pixels."""
    line, target = tick_line(), np.empty(len(RAW), np.uint8)

    def reference() -> Any:
        message = json.loads(line)
        return np.frombuffer(base64.b64decode(message["rgb_b64"], validate=True), np.uint8)

    decode_ours(line, target)
    assert target.tobytes() == RAW == reference().tobytes()
    return Pair(lambda: decode_ours(line, target), reference, reference_rounds=15)


@promise("drive.decode_tick_fast_libraries")
def decode_tick_fast_libraries() -> Pair:
    """The same against orjson and pybase64."""
    import orjson
    import pybase64

    line, target = tick_line(), np.empty(len(RAW), np.uint8)

    def reference() -> Any:
        message = orjson.loads(line)
        return np.frombuffer(pybase64.b64decode(message["rgb_b64"], validate=True), np.uint8)

    decode_ours(line, target)
    assert target.tobytes() == reference().tobytes()
    return Pair(lambda: decode_ours(line, target), reference)


@promise("drive.b64_decode")
def b64_decode() -> Pair:
    import pybase64

    target = bytearray(len(RAW))
    assert frames.b64_decode_into(TEXT, target) == len(RAW)
    assert pybase64.b64decode(TEXT, validate=True) == target
    return Pair(
        lambda: frames.b64_decode_into(TEXT, target),
        lambda: pybase64.b64decode(TEXT, validate=True),
    )


@promise("drive.b64_encode")
def b64_encode() -> Pair:
    target = bytearray(len(TEXT))
    assert frames.b64_encode_into(RAW, target) == len(TEXT)
    assert bytes(target) == TEXT
    return Pair(lambda: frames.b64_encode_into(RAW, target), lambda: base64.b64encode(RAW))


@promise("drive.bgra_to_bgr")
def bgra_to_bgr() -> Pair:
    picture = np.frombuffer(random.Random(2).randbytes(HEIGHT * WIDTH * 4), np.uint8)
    picture = picture.reshape(HEIGHT, WIDTH, 4)
    target = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    frames.bgra_to_bgr(picture, target)
    assert target.tobytes() == picture[:, :, :3].tobytes()
    return Pair(lambda: frames.bgra_to_bgr(picture, target), lambda: picture[:, :, :3].tobytes())


class Echo:
    """A model's end in a thread: decodes a tick and answers, ours or the plain way."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.client = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
        listener.close()
        for end in (self.client, other):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(other,), daemon=True).start()
        ECHOES.append(self)


ECHOES: list[Echo] = []
"""Live as long as the process: a socket that is collected open is a warning."""


def serve_ours(connection: socket.socket) -> None:
    channel = wire.Channel(connection, wire.MAX_TO_MODEL)
    while (line := channel.receive()) is not None:
        message = wire.parse_message(line)
        assert wire.decode_pixels(message).shape == (HEIGHT, WIDTH, 3)
        channel.send(b'{"throttle":0.5,"tick":7}\n')


def plain_lines(connection: socket.socket) -> Any:
    buffer = b""
    while chunk := connection.recv(65536):
        buffer += chunk
        while b"\n" in buffer:
            line, buffer = buffer.split(b"\n", 1)
            yield line


def serve_plain(connection: socket.socket) -> None:
    for line in plain_lines(connection):
        message = json.loads(line)
        raw = base64.b64decode(message["rgb_b64"])
        assert np.frombuffer(raw, np.uint8).reshape(message["rgb_shape"]).shape[2] == 3
        connection.sendall(b'{"throttle":0.5,"tick":7}\n')


def four_channels() -> NDArray[np.uint8]:
    raw = np.frombuffer(random.Random(3).randbytes(HEIGHT * WIDTH * 4), np.uint8)
    return raw.reshape(HEIGHT, WIDTH, 4)


def round_trip() -> Callable[[], None]:
    """One tick of 2.1 MB over loopback: encode, send, receive, decode, answer."""
    four = four_channels()
    ours = Echo(serve_ours)
    channel = wire.Channel(ours.client, wire.MAX_TO_EXECUTOR)
    encoder = TickEncoder()
    three = np.empty((HEIGHT, WIDTH, 3), np.uint8)

    def subject() -> None:
        frames.bgra_to_bgr(four, three)
        head = TickHead(7, 3.5, 1.7e9, 0.35, [0.1, 0.2, 1.5], 1.25, [HEIGHT, WIDTH, 3], 1007)
        channel.send(encoder.encode(head, three))
        assert wire.parse_object(channel.receive(10.0))["throttle"] == 0.5

    subject()
    return subject


def wall_times(subject: Callable[[], None], count: int) -> list[float]:
    """Of single calls, in ns."""
    found = []
    for _ in range(count):
        start = time.perf_counter_ns()
        subject()
        found.append(float(time.perf_counter_ns() - start))
    return found


@promise("drive.loopback")
def loopback() -> Pair:
    """A tick's way there and back, ours and the plain loop's."""
    subject = round_trip()
    four = four_channels()
    plain = Echo(serve_plain)
    answers = plain_lines(plain.client)

    def reference() -> None:
        message = {
            "type": "tick",
            "tick": 7,
            "speed": 3.5,
            "timestamp": 1.7e9,
            "rgb_b64": base64.b64encode(four[:, :, :3].tobytes()).decode(),
            "rgb_shape": [HEIGHT, WIDTH, 3],
        }
        plain.client.sendall(json.dumps(message).encode() + b"\n")
        assert json.loads(next(answers))["throttle"] == 0.5

    reference()
    return Pair(
        subject,
        reference,
        rounds=15,
        reference_rounds=5,
        samples=lambda: wall_times(subject, 60),
        clock=time.perf_counter_ns,
    )


STEP_BUDGET_MS = 200.0


@promise("drive.step_budget")
def step_budget() -> Direct:
    """Share of a step's 200 ms that the wire takes, by the median of 200 round trips."""
    median = sorted(wall_times(round_trip(), 200))[100] / 1e6
    return Direct(100.0 * median / STEP_BUDGET_MS, 100.0)


def ten_thousand_ticks() -> list[dict[str, Any]]:
    pick = random.Random(1)
    return [
        {
            "tick": i + 1,
            "sim_time": i * 0.05,
            "ego_location": [i * 0.4, 0.0, 0.0],
            "ego_speed": pick.choice([8.0, 8.0, 8.0, 0.01]),
            "collision_impulse": 100.0 if pick.random() < 0.01 else None,
            "collision_actor": pick.choice(["vehicle.a", "walker.p", "static.x"]),
            "collision_actor_id": pick.randrange(4),
            "traffic_light_state": pick.choice([None, "Red", "Green"]),
            "road_id": pick.choice([8, 8, 8, 3]),
            "is_junction": pick.random() < 0.2,
            "route_completion": i / 100,
        }
        for i in range(10_000)
    ]


@promise("drive.fold_columns")
def fold_columns() -> Pair:
    ticks = ten_thousand_ticks()
    columns = TickStore(ticks).scoring_columns()
    contacts = [(i, c[0], driving_score.per_tick_class(c[1])) for i, c in columns.contacts]

    def subject() -> Any:
        return driving_score.fold_columns(
            columns.sim_time,
            columns.speed,
            columns.completion,
            columns.location,
            columns.red,
            columns.junction,
            columns.road,
            columns.road_known,
            contacts,
            [8],
        )

    assert subject() == twin.fold_dicts(ticks, [8])
    return Pair(subject, lambda: twin.fold_dicts(ticks, [8]), reference_rounds=15)


@promise("drive.fold_dicts")
def fold_dicts() -> Pair:
    ticks = ten_thousand_ticks()
    assert driving_score.fold_dicts(ticks, [8]) == twin.fold_dicts(ticks, [8])
    return Pair(
        lambda: driving_score.fold_dicts(ticks, [8]),
        lambda: twin.fold_dicts(ticks, [8]),
        reference_rounds=15,
    )


REAL_TIME_TICKS = 20.0
"""A second of simulation."""


@promise("drive.embedded_loop")
def embedded_loop() -> Direct:
    """The executor's whole loop with the autopilot: tick, criteria, record, decide, score."""
    road_map = map_of("MiniGrid", None)
    route = read_routes(find_routes("routes_mini.xml"))[0]
    config = DriveConfig(sensors=SensorSpec(camera="none"))
    best = 0.0
    for _ in range(5):
        start = time.process_time()
        outcome = drive_route(
            route,
            Setup(road_map, 0.05, 0, lights="green"),
            EmbeddedBackend(),
            AutopilotDriver(),
            config,
        )
        best = max(best, len(outcome.store) / (time.process_time() - start))
    assert outcome.scores["per_tick"].status == "Perfect"
    return Direct(best, REAL_TIME_TICKS)


def backend_speed(camera: str, ticks: int) -> Direct:
    """The world alone: tick, ego, lane and control."""
    road_map = map_of("MiniGrid", None)
    route = read_routes(find_routes("routes_mini.xml"))[0]
    plan = densify(route.waypoints, road_map)
    best = 0.0
    for _ in range(3):
        backend = EmbeddedBackend()
        backend.load(Setup(road_map, 0.05, 0), plan.points)
        first = plan.points[0]
        backend.spawn_ego(first.x, first.y, 0.5, first.yaw)
        backend.attach(SensorSpec(camera=camera))
        start = time.process_time()
        for _ in range(ticks):
            backend.apply(Control(0.3, 0.0, 0.0))
            backend.tick()
            ego = backend.ego()
            backend.lane(ego.location[0], ego.location[1])
        best = max(best, ticks / (time.process_time() - start))
    return Direct(best, REAL_TIME_TICKS)


@promise("drive.world")
def world() -> Direct:
    return backend_speed("none", 3000)


@promise("drive.world_camera")
def world_camera() -> Direct:
    return backend_speed("ground", 200)
