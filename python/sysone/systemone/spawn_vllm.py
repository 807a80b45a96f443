"""``vllm serve`` as a child of ours, for as long as a block runs. vLLM has its own environment."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import httpx

from sysone.systemone.encoder import EncoderError

# Loading a large model from a cold disk takes minutes.
START_TIMEOUT_S = 1800.0
POLL_S = 0.5
STOP_TIMEOUT_S = 30.0


@contextmanager
def spawned_vllm(
    model: str, served_name: str, max_tokens: int, *, start_timeout_s: float = START_TIMEOUT_S
) -> Iterator[str]:
    """Start the pooling server on a free loopback port and yield its embeddings URL.

    For the main thread: while the block runs, SIGTERM raises `SystemExit` instead of ending this
    process at once, which would leave the child behind.

    Raises `EncoderError` if ``vllm`` is not on the path or does not come up.
    """
    program = shutil.which("vllm")
    if program is None:
        raise EncoderError(
            "spawn-vllm: no vllm on the path; install it in an environment of its own "
            "(see docs/systemone-serving.md)"
        )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "serve", model, "--served-model-name", served_name]
    command += ["--runner", "pooling", "--max-model-len", str(max_tokens)]
    command += ["--host", "127.0.0.1", "--port", str(port)]
    # A server that was told to end stops serving and raises the signal again, for who was there
    # before it.
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        # Its log goes where ours does; stdout is kept for what we say ourselves.
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        try:
            _wait(child, port, start_timeout_s)
            yield f"http://127.0.0.1:{port}/v1/embeddings"
        finally:
            _end(child)
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _wait(child: subprocess.Popen[bytes], port: int, timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    with httpx.Client(trust_env=False, timeout=2.0) as client:
        while time.monotonic() < end:
            if child.poll() is not None:
                raise EncoderError(f"spawn-vllm: vllm ended with code {child.returncode}")
            try:
                if client.get(f"http://127.0.0.1:{port}/v1/models").status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(POLL_S)
    raise EncoderError(f"spawn-vllm: vllm did not answer within {timeout_s:g} s")
