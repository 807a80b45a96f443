"""The model's side by itself: the kit on an older Python, the wire under bad input."""

import json
import os
import random
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sysone.drive.agents import AgentGone, AgentSocketServer
from sysone.drive.kit import write_kit
from sysone.drive.protocol import TickEncoder, TickHead, read_reply
from sysone.drive.service import wire
from sysone.drive.service.forge import Forge, SensorMissing
from sysone.drive.service.loop import Service
from sysone.drive.service.plan import kept_points
from sysone.drive.service.stub import StubAdapter
from sysone.runs.errors import RunError
from sysone_core import frames

ERROR_CODES = {*wire.LINE_CODES, *wire.STREAM_CODES, "version", "sensors", "agent"}


def exchange(command: list[str], environment: dict[str, str] | None = None) -> list[Any]:
    """Serve with a command and speak with it: ready, a control, bye."""
    server = AgentSocketServer(port=0)
    process = subprocess.Popen(
        [*command, "--connect", f"127.0.0.1:{server.port}", "--allow-sensor-mismatch"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.accept(60.0), process.stdout and process.stdout.read()
        start = {
            "type": "route_start",
            "proto": "0.2",
            "route_id": 1,
            "town": "T",
            "keypoints": [[float(x), 0.0, 0.0] for x in range(50)],
        }
        ready = server.start_route(wire.dumps(start), "0.2")
        head = TickHead(1, 3.0, 1.0, 0.05, [0.0, 0.0, 0.0], 1.57, [4, 6, 3], 9)
        picture = np.zeros((4, 6, 3), np.uint8)
        reply = server.ask(TickEncoder().encode(head, picture), 1, warmup=True)
        bye = server.end_route(b'{"type":"route_end","route_id":1}\n')
        server.close()
        output, _ = process.communicate(timeout=60)
        return [ready, reply, bye, process.returncode, output]
    finally:
        server.close()
        if process.poll() is None:
            process.kill()
            process.wait()


def check(found: list[Any]) -> None:
    ready, reply, bye, code, output = found
    assert ready == {"type": "ready", "proto": "0.2", "agent": "stub"}, output
    assert reply is not None, output
    assert reply.throttle > 0
    assert reply.tick == 1
    assert bye is True
    assert code == 0, output


def test_the_kit_runs_by_itself(tmp_path: Path) -> None:
    """In a process that cannot import the rest of this project."""
    write_kit(tmp_path / "kit")
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    for name in ("sysone_core", "msgspec", "httpx"):
        (blocked / f"{name}.py").write_text("raise ImportError('not in a kit')\n")
    # NumPy is the kit's one dependency. Without `site` no editable install of ours is in its way:
    # its import hook would come before the kit's folder.
    packages = Path(np.__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(blocked), str(packages)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    serve = str(tmp_path / "kit" / "serve.py")
    check(exchange([sys.executable, "-S", serve, "--adapter", "stub"], environment))
    with pytest.raises(RunError, match="not an empty folder"):
        write_kit(tmp_path / "kit")


def older_python() -> str | None:
    """A Python 3.10 that has NumPy, if this machine has one."""
    for name in ("python3.10", os.environ.get("SYSONE_PYTHON310", "")):
        path = shutil.which(name) if name else None
        if path is None:
            continue
        done = subprocess.run(
            [path, "-c", "import sys, numpy; print(sys.version_info[:2])"],
            capture_output=True,
            text=True,
        )
        if done.returncode == 0 and "(3, 10)" in done.stdout:
            return path
    return None


def test_the_kit_runs_on_python_3_10(tmp_path: Path) -> None:
    python = older_python()
    if python is None:
        pytest.skip("no Python 3.10 with NumPy on this machine")
    write_kit(tmp_path / "kit")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    check(exchange([python, str(tmp_path / "kit" / "serve.py")], environment))


def test_the_kit_parses_as_python_3_10(tmp_path: Path) -> None:
    import ast

    for path in write_kit(tmp_path / "kit"):
        if path.suffix == ".py":
            ast.parse(path.read_text(), str(path), feature_version=(3, 10))


def test_serve_is_the_same_program() -> None:
    check(exchange([sys.executable, "-m", "sysone.drive", "serve"]))


def test_usage_errors_of_serve() -> None:
    for arguments, message in (
        (["--adapter", "nope"], "adapter is 'nope', expected stub"),
        (["--connect", "nowhere"], "--connect is 'nowhere', expected HOST:PORT"),
        (["--config", "absent.json"], "absent.json"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "sysone.drive.service", *arguments],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_sensors_are_checked_at_the_start() -> None:
    camera = {"type": "sensor.camera.rgb", "id": "CAM_FRONT"}
    forge = Forge([camera, {"type": "sensor.other.imu", "id": "imu"}])
    message = {"tick": 3, "rgb_b64": "AAAA", "rgb_shape": [1, 1, 3], "speed": 1.0}
    assert set(forge.build(message)) == {"CAM_FRONT", "imu"}
    assert forge.build({**message, "compass": 2.0})["imu"] == (3, [0.0] * 6 + [2.0])
    assert forge.build(message)["imu"][1][6] == 2.0  # the last finite one
    with pytest.raises(SensorMissing, match="'radar'"):
        Forge([{"type": "sensor.other.radar", "id": "radar"}])
    with pytest.raises(SensorMissing, match="'LIDAR'"):
        Forge([{"type": "sensor.lidar.ray_cast", "id": "LIDAR"}])


def test_three_failures_in_a_row_end_the_service() -> None:
    class Broken(StubAdapter):
        def step(self, agent: Any, input_data: dict[str, Any], t: float) -> Any:
            raise RuntimeError("no weights")

    server = AgentSocketServer(port=0)
    service = Service(Broken(), "broken", allow_sensor_mismatch=True)
    client = socket.create_connection(("127.0.0.1", server.port))
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(service.serve(client)))
    thread.start()
    assert server.accept(30.0)
    server.start_route(
        START + b"\n",
        "0.2",
    )
    line = (
        b'{"type":"tick","tick":%d,"speed":1,"timestamp":1,"gps":[0,0,0],"compass":0,'
        b'"rgb_shape":[1,1,3],"rgb_b64":"AAAA"}\n'
    )
    for tick in (1, 2, 3):
        assert server.ask(line % tick, tick) is None
        assert server.last_error == "agent: RuntimeError: no weights"
    thread.join(30.0)
    assert codes == [14]
    server.close()


def test_the_plan_is_thinned_as_the_leaderboard_does() -> None:
    points = [(float(x), 0.0, 0.0) for x in range(131)]
    options = [4] * 131
    options[20:30] = [3] * 10
    options[60] = 5
    # the change into the junction and out of it, the lane change, each 50 m after, the end
    assert kept_points(points, options) == [0, 20, 30, 60, 111, 130]


GOOD = (
    b'{"type":"tick","tick":1,"speed":3.0,"timestamp":1.0,"gps":[0,0,0],"compass":0.5,'
    b'"rgb_shape":[2,2,3],"rgb_b64":"AAAAAAAAAAAAAAAA"}'
)
START = (
    b'{"type":"route_start","proto":"0.2","route_id":1,"town":"T","keypoints":[[0,0,0],[5,0,0]]}'
)
PIECES = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"\xff", b"\x00", b" ", b"\r", b"NaN"),
    *(b"-1", b"1e999", b"null", b"true", b'"rgb_b64"', b'"lidar_b64"', b'"tick"', b"=", b"\\u0041"),
)


def mutated(pick: random.Random) -> bytes:
    """A line from a good one: pieces put in, cut out, doubled, exchanged."""
    line = bytearray(pick.choice((GOOD, GOOD, START, b'{"type":"route_end","route_id":1}')))
    for _ in range(pick.randrange(1, 4)):
        at = pick.randrange(len(line) + 1)
        what = pick.randrange(4)
        if what == 0:
            line[at:at] = pick.choice(PIECES)
        elif what == 1:
            del line[at : at + pick.randrange(1, 12)]
        elif what == 2:
            line[at:at] = line[at : at + pick.randrange(1, 30)]
        elif at < len(line):
            line[at] = pick.randrange(256)
    return bytes(line).replace(b"\n", b" ")


def fuzz_model(count: int, seed: int) -> set[str]:
    """Mutated lines to the model's end; the error codes seen."""
    pick = random.Random(seed)
    service = Service(StubAdapter(), "stub", allow_sensor_mismatch=True)
    assert service.answer(START)["type"] == "ready"
    reader = wire.line_reader(4096)
    codes = set()
    for number in range(count):
        line = mutated(pick)
        reader.feed(line + b"\n")
        found = wire.next_line(reader)
        if found is None:
            continue
        answer = service.answer(found)
        wire.dumps(answer)
        if answer.get("type") == "error":
            assert answer["code"] in ERROR_CODES, (number, line, answer)
            codes.add(answer["code"])
        if service.forge is None:
            service.answer(START)
        service.failures = 0
    assert reader.capacity <= 1 << 14
    return codes


def fuzz_executor(count: int, seed: int) -> set[str]:
    """Mutated answers to the executor's end."""
    pick = random.Random(seed)
    codes = set()
    good = b'{"throttle":0.5,"brake":0.0,"steer":-0.1,"tick":3,"infer_ms":12.5,"info":{"a":[1,2]}}'
    for _ in range(count):
        line = bytearray(good)
        for _ in range(pick.randrange(1, 4)):
            at = pick.randrange(len(line))
            if pick.random() < 0.5:
                line[at : at + pick.randrange(4)] = pick.choice(PIECES)
            else:
                line[at] = pick.randrange(256)
        try:
            reply = read_reply(wire.parse_plain(bytes(line)))
            assert 0 <= reply.throttle <= 1
            assert -1 <= reply.steer <= 1
        except wire.WireError as error:
            codes.add(error.code)
    return codes


LINES = int(os.environ.get("SYSONE_DRIVE_FUZZ", "8000"))
"""Mutated lines; `make drive-proof` takes two million."""


def test_fuzz_of_both_ends(capfd: Any) -> None:
    codes = fuzz_model(LINES // 2, 1)
    assert {"bad_json", "bad_utf8", "unknown_type", "missing_field", "bad_field"} <= codes
    assert {"bad_json", "bad_utf8", "bad_field"} <= fuzz_executor(LINES // 2, 2)
    capfd.readouterr()  # a step that fails prints its traceback


def test_the_parsers_agree() -> None:
    """Cut-out spans or plain strings: the same message, or both refuse."""
    pick = random.Random(5)
    for _ in range(LINES // 4):
        line = mutated(pick)
        try:
            ours: Any = {
                k: bytes(v).decode("latin-1") if isinstance(v, memoryview) else v
                for k, v in wire.parse_object(line).items()
            }
        except wire.WireError:
            ours = None
        try:
            theirs = wire.parse_plain(line)
        except wire.WireError:
            theirs = None
        if ours is None or theirs is None:
            # a span is checked as UTF-8 only when it is decoded
            assert theirs is None or "\\u" in line.decode("latin-1"), line
            continue
        texts = ("rgb_b64", "lidar_b64")
        assert {k: v for k, v in ours.items() if k not in texts} == {
            k: v for k, v in theirs.items() if k not in texts
        }, line


@pytest.fixture(params=frames.simd_levels())
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    before = frames.simd_level()
    frames.set_simd_level(request.param)
    yield request.param
    frames.set_simd_level(before)


def test_base64_at_every_level(level: str) -> None:
    import base64

    pick = random.Random(1)
    for size in [*range(200), 1000, 4097]:
        raw = pick.randbytes(size)
        text = bytearray(frames.b64_length(size))
        assert frames.b64_encode_into(raw, text) == len(text)
        assert bytes(text) == base64.b64encode(raw)
        back = bytearray(size)
        assert frames.b64_decode_into(text, back) == size
        assert bytes(back) == raw
        if not size:
            continue
        # every wrong byte at a random place is seen
        at = pick.randrange(len(text))
        for wrong in (0, 10, 32, 42, 44, 45, 61, 64, 91, 95, 96, 123, 127, 128, 200, 255):
            bad = bytearray(text)
            bad[at] = wrong
            try:
                want = wire.decode_strict(bytes(bad))
            except ValueError:
                want = None
            try:
                room = bytearray(size + 3)
                got = bytes(room[: frames.b64_decode_into(bad, room)])
            except frames.NotBase64Error:
                got = None
            assert got == want, (size, at, wrong)


@given(data=st.binary(max_size=400).map(lambda b: b[: len(b) // 4 * 4]))
def test_channels_at_every_level(data: bytes) -> None:
    want = np.frombuffer(data, np.uint8).reshape(-1, 4)[:, :3].tobytes()
    before = frames.simd_level()
    for name in frames.simd_levels():
        frames.set_simd_level(name)
        target = bytearray(len(want))
        frames.bgra_to_bgr(data, target)
        assert bytes(target) == want
    frames.set_simd_level(before)


@given(
    chunks=st.lists(st.binary(max_size=60).map(lambda b: b.replace(b"z", b"\n")), max_size=30),
    limit=st.integers(1, 200),
)
def test_line_readers_agree(chunks: list[bytes], limit: int) -> None:
    def lines(reader: Any) -> list[bytes | str]:
        found: list[bytes | str] = []
        try:
            for chunk in chunks:
                reader.feed(chunk)
                while (line := reader.next()) is not None:
                    found.append(bytes(line))
        except ValueError:
            found.append("too_large")
        return [*found, reader.rest()] if "too_large" not in found else found

    compiled, plain = frames.LineReader(limit, 16), wire.PlainLineReader(limit, 16)
    assert lines(compiled) == lines(plain)


def test_the_public_names() -> None:
    """What harnesses import; a tick may be a dictionary."""
    import sysone.drive as public

    server = public.AgentSocketServer(port=0)
    service = Service(StubAdapter(), "stub", allow_sensor_mismatch=True)
    client = socket.create_connection(("127.0.0.1", server.port))
    threading.Thread(target=service.serve, args=(client,), daemon=True).start()
    assert server.accept(30.0)
    server.start_route(START + b"\n", "0.2")
    reply = server.send_tick(json.loads(GOOD))
    assert reply is not None
    assert set(reply) >= {"throttle", "brake", "steer"}
    with pytest.raises(ValueError, match="tick is None, expected a whole number"):
        server.send_tick({})
    server.close()
    assert public.carla_to_gps(0.0, 0.0) == (0.0, 0.0)
    assert public.score_route(1, [], 10.0).status == "Failed"
    assert {"TickRecord", "RouteScore", "PENALTY_VALUE_DICT", "gps_to_carla"} <= set(public.__all__)


def test_a_line_is_bounded_on_both_ends() -> None:
    server = AgentSocketServer(port=0, max_message_bytes=1000)
    client = socket.create_connection(("127.0.0.1", server.port))
    assert server.accept(30.0)
    thread = threading.Thread(target=client.sendall, args=(b"x" * 100_000,), daemon=True)
    thread.start()
    with pytest.raises(AgentGone, match="too_large"):
        server.ask(b"{}\n", 1)
    client.close()
    server.close()
