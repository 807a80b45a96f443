"""``sysone serve`` and ``sysone view`` under used-up descriptors, jumping clocks and full logs, and
a page that follows a run which is killed and goes on: they answer again as soon as they can.
"""

import contextlib
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import pytest

from chaos.commands import ARENA
from chaos.disturbances import PATIENCE_S, few_descriptors, plain_environment, run

pytestmark = pytest.mark.timeout(PATIENCE_S * 2)
QUESTION = {
    "state": {"light": "green"},
    "questions": {"go": {"type": "choice", "criteria": {"go": "green", "stop": "red"}}},
}
SERVE = (sys.executable, "-m", "sysone", "serve", "--port", "0")


class Service:
    """A program that listens: its address, and what it says on stderr."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        self.lines: list[str] = []
        self.url = ""
        self._told = threading.Event()
        assert process.stderr is not None
        self._readers = [threading.Thread(target=self._read, args=(process.stderr,), daemon=True)]
        if process.stdout is not None:
            also = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
            self._readers.append(also)
        for reader in self._readers:
            reader.start()
        assert self._told.wait(PATIENCE_S), self.lines
        assert self.url, self.lines

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found and not self.url:
                self.url = found[0]
                self._told.set()
        self._told.set()

    def end(self) -> str:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join()
        return "".join(self.lines)


@contextlib.contextmanager
def begun(
    line: tuple[str, ...] | list[str],
    home: Path,
    *,
    descriptors: int = 1024,
    stdout: int | IO[bytes] = subprocess.PIPE,
    **environment: str,
) -> Iterator[Service]:
    process = subprocess.Popen(
        few_descriptors(line, descriptors),
        cwd=home,
        env={**plain_environment(), **environment},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Service(process)
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def answers(url: str) -> bool:
    reply = httpx.post(f"{url}/v1/systemone", json=QUESTION, timeout=PATIENCE_S)
    assert reply.status_code == 200, reply.text
    assert float(reply.headers["x-clm-latency-ms"]) >= 0
    return bool(reply.json()["answers"]["go"]["choice"] == "go")


@contextlib.contextmanager
def idle_connections(url: str, count: int) -> Iterator[None]:
    """So many that nobody says anything on."""
    with contextlib.ExitStack() as held:
        for _ in range(count):
            each = held.enter_context(socket.socket())
            each.settimeout(PATIENCE_S)
            each.connect(("127.0.0.1", int(url.rpartition(":")[2])))
        yield


def test_a_server_without_descriptors_answers_again_when_it_has_some(tmp_path: Path) -> None:
    with begun(SERVE, tmp_path, descriptors=40) as service:
        assert answers(service.url)
        # none is left then: a further connection is closed at once, or waits in the system's queue
        with idle_connections(service.url, 60), pytest.raises(httpx.TransportError):
            httpx.get(f"{service.url}/health", timeout=2)
        assert answers(service.url)
        said = service.end()
    assert service.process.returncode in (0, 130, -signal.SIGINT)
    assert len(said) < 200_000, "the log grew without bounds"
    assert said.count("Traceback") <= 3, said[:3000]


def test_a_server_does_not_mind_the_clock(tmp_path: Path, disturbing: Path) -> None:
    log = tmp_path / "jumps"
    with begun(
        SERVE, tmp_path, LD_PRELOAD=str(disturbing), CHAOS_CLOCK_S="-86400", CHAOS_LOG=str(log)
    ) as service:
        while not log.stat().st_size:
            assert answers(service.url)
        assert all(answers(service.url) for _ in range(5))
        assert "Traceback" not in service.end()


def test_a_server_whose_output_goes_to_a_full_disk(tmp_path: Path) -> None:
    with (
        Path("/dev/full").open("wb") as full,
        begun(SERVE, tmp_path, stdout=full) as service,
    ):
        assert answers(service.url)
        assert "Traceback" not in service.end()


def test_a_page_follows_a_run_that_is_killed_and_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    process = subprocess.Popen(
        ARENA.line(tmp_path),
        cwd=tmp_path,
        env=plain_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    process.stdout.readline()  # the first game is over
    process.kill()
    process.wait()
    process.stdout.close()
    view = [sys.executable, "-m", "sysone", "view", "--no-open", str(folder)]
    with begun(view, tmp_path, descriptors=48) as service:

        def games() -> int:
            reply = httpx.get(f"{service.url}/document", timeout=PATIENCE_S)
            assert reply.status_code == 200, reply.text
            return json.dumps(reply.json()).count("std_2027_random")

        before = games()
        assert before > 0
        with idle_connections(service.url, 70):
            pass
        done = run(ARENA.again(tmp_path), tmp_path)
        assert done.code == 0, done.err
        assert games() >= before
        (folder / "results.jsonl").unlink()
        gone = httpx.get(f"{service.url}/document", timeout=PATIENCE_S)
        assert gone.status_code in (200, 422)
        said = service.end()
    assert said.count("Traceback") <= 3, said[:3000]
