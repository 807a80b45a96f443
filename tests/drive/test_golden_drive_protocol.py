"""Sessions, framing, frames, lidar and replies of the golden file, with both readers."""

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from sysone.drive.protocol import RouteEnd, TickEncoder, TickHead, line_of, read_reply
from sysone.drive.service import compiled, wire
from sysone.drive.service.forge import Forge
from sysone.drive.service.loop import Service
from sysone.drive.service.stub import StubAdapter

FILE = "protocol.json.gz"


@pytest.fixture(params=["compiled", "plain"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The service with the compiled frames, and as in a model's own environment."""
    if request.param == "plain":
        monkeypatch.setattr(compiled, "frames", None)
    return str(request.param)


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """Views as texts, and no type that the parser added."""
    return {
        key: bytes(value).decode() if isinstance(value, memoryview) else value
        for key, value in message.items()
    }


def received(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    reader = wire.line_reader(case.get("max_message_bytes") or wire.MAX_TO_MODEL)
    try:
        for chunk in case["chunks_b64"]:
            reader.feed(base64.b64decode(chunk))
            while (line := wire.next_line(reader)) is not None:
                try:
                    yield {"msg": plain(wire.parse_message(line))}
                except wire.WireError as error:
                    yield {"error": error.code}
    except wire.WireError as error:
        yield {"error": error.code}
        return
    if case.get("eof") and reader.rest().strip():
        yield {"error": "truncated"}


def test_framing(golden: Callable[[str, str], Any], either: str) -> None:
    cases = golden("drive", FILE)["framing"]
    assert len(cases) >= 20
    for case in cases:
        assert list(received(case)) == case["expect"], case["name"]


def test_frames(golden: Callable[[str, str], Any], either: str) -> None:
    for frame in golden("drive", FILE)["frames"]:
        message = {"tick": 1, "rgb_b64": frame["b64"], "rgb_shape": frame["shape"]}
        pixels = wire.decode_pixels(message)
        assert pixels.shape == tuple(frame["shape"])
        assert pixels.dtype == np.uint8
        assert pixels.flags.writeable
        assert pixels.flags.c_contiguous
        raw = pixels.tobytes()
        assert hashlib.sha256(raw).hexdigest() == frame["sha256"]
        assert int(pixels.sum(dtype=np.int64)) == frame["sum"]
        count = len(frame["first"])
        assert list(raw[:count]) == frame["first"]
        assert list(raw[-count:]) == frame["last"]
        assert wire.encode_base64(raw) == frame["b64"]


def test_bad_frames(golden: Callable[[str, str], Any], either: str) -> None:
    for frame in golden("drive", FILE)["bad_frames"]:
        message = {"tick": 7, "rgb_b64": frame["b64"], "rgb_shape": frame["shape"]}
        with pytest.raises(wire.WireError) as found:
            wire.decode_pixels(message)
        assert found.value.code == frame["expect"], frame["name"]
        assert found.value.tick == 7


def test_lidar(golden: Callable[[str, str], Any], either: str) -> None:
    for cloud in golden("drive", FILE)["lidar"]:
        message = {"lidar_b64": cloud["b64"], "lidar_n": cloud["n"]}
        if "error" in cloud:
            with pytest.raises(wire.WireError) as found:
                wire.decode_lidar(message)
            assert found.value.code == cloud["error"]
            continue
        points = wire.decode_lidar(message)
        assert points.shape == (cloud["n"], 4)
        assert points.dtype == np.float32
        assert hashlib.sha256(points.tobytes()).hexdigest() == cloud["sha256"]
        if "rows" in cloud:
            assert points.tolist()[: len(cloud["rows"])] == cloud["rows"]


def test_replies(golden: Callable[[str, str], Any]) -> None:
    for case in golden("drive", FILE)["replies"]:
        if isinstance(case["expect"], str):
            with pytest.raises(wire.WireError) as found:
                read_reply(case["reply"])
            assert case["expect"] == f"error:{found.value.code}"
        else:
            reply = read_reply(case["reply"])
            assert [reply.throttle, reply.brake, reply.steer] == case["expect"]


@pytest.mark.parametrize("version", ["v0.2", "v0.3"])
def test_sessions_from_the_model_side(
    golden: Callable[[str, str], Any], either: str, version: str
) -> None:
    """Every line of the executor gets an answer of the recorded kind, and a whole input."""
    service = Service(StubAdapter(), "stub", allow_sensor_mismatch=True)
    seen: list[dict[str, Any]] = []
    step = service.adapter.step

    def spy(agent: Any, data: dict[str, Any], t: float) -> Any:
        seen.append(data)
        return step(agent, data, t)

    service.adapter.step = spy  # type: ignore[method-assign]
    lines = golden("drive", FILE)["sessions"][version]
    ticks = 0
    for line, answer in zip(lines[::2], lines[1::2], strict=True):
        assert (line["dir"], answer["dir"]) == ("executor->model", "model->executor")
        ours, theirs = service.answer(line["line"].encode()), json.loads(answer["line"])
        assert ours.get("type") == theirs.get("type")
        if ours.get("type") == "ready":
            assert ours == theirs
        sent = json.loads(line["line"])
        if sent["type"] == "tick":
            ticks += 1
            reply = read_reply(ours)
            assert reply.tick == sent["tick"]
            data = seen[-1]
            assert set(data) == {"rgb_0", "imu", "gps", "speed"}
            for value in data.values():
                assert isinstance(value, tuple)
                assert value[0] == sent["rgb_frame"]
            assert data["gps"][1] == sent["gps"]
            assert data["imu"][1] == [0.0] * 6 + [sent["compass"]]
            assert data["speed"][1] == {"speed": sent["speed"]}
    assert ticks == 5


def test_session_v03_carries_a_lidar(golden: Callable[[str, str], Any], either: str) -> None:
    sensors = [*StubAdapter().sensors(None), {"type": "sensor.lidar.ray_cast", "id": "LIDAR"}]
    forge = Forge(sensors, lidar=True)
    for line in golden("drive", FILE)["sessions"]["v0.3"]:
        message = json.loads(line["line"])
        if message.get("type") == "tick":
            number, points = forge.build(message)["LIDAR"]
            assert number == message["rgb_frame"]
            assert points.shape == (message["lidar_n"], 4)


def test_session_v01(golden: Callable[[str, str], Any]) -> None:
    service = Service(StubAdapter(), "stub")
    for line in golden("drive", FILE)["sessions"]["v0.1"]:
        message = json.loads(line["line"])
        if line["dir"] == "executor->model" and "heartbeat" in message:
            assert service.answer(line["line"].encode()) == {"alive": True}
        elif line["dir"] == "executor->model":
            parsed = wire.parse_message(line["line"].encode())
            assert wire.check_fields(parsed)["type"] == "tick"
        elif "alive" not in message:
            read_reply(message)


def test_the_executor_puts_the_big_values_last() -> None:
    rng = np.random.default_rng(1)
    picture = rng.integers(0, 256, (4, 6, 3), dtype=np.uint8)
    cloud = rng.random((3, 4), dtype=np.float32)
    head = TickHead(7, 3.5, 1.7e9, 0.35, [0.1, 0.2, 1.5], 1.25, [4, 6, 3], 1007, 3)
    encoder = TickEncoder()
    line = bytes(encoder.encode(head, picture, cloud))
    assert line.endswith(b'"}\n')
    names = list(json.loads(line))
    assert names[0] == "type"
    assert names[-2:] == ["lidar_b64", "rgb_b64"]
    message = wire.parse_message(line[:-1])
    assert (wire.decode_pixels(message) == picture).all()
    assert (wire.decode_lidar(message) == cloud).all()
    # an empty cloud and no picture use the same buffer
    empty = TickHead(8, 3.5, 1.7e9, 0.4, [0.1, 0.2, 1.5], lidar_n=0)
    parsed = json.loads(bytes(encoder.encode(empty, None, cloud[:0])))
    assert parsed["lidar_b64"] == ""
    assert "rgb_b64" not in parsed
    end = json.loads(line_of(RouteEnd(1, "Completed", 88.5), "route_end"))
    assert end == {
        "type": "route_end",
        "route_id": 1,
        "status": "Completed",
        "score_composed": 88.5,
    }
