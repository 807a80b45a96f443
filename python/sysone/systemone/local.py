"""A server of ours in its own process, for as long as a block runs.

    with local_server() as base_url:
        CLMClient(base_url).check()

The child (`local_child`) ends when the block ends and also when the parent is killed.
"""

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0


class LocalServerError(RuntimeError):
    """The server's process did not come up."""


@contextmanager
def local_server(*, start_timeout_s: float = START_TIMEOUT_S) -> Iterator[str]:
    """Start the embedded models on a free loopback port and yield the base URL.

    Raises `LocalServerError` if the child ends or stays silent for ``start_timeout_s``.
    """
    child = subprocess.Popen(
        [sys.executable, "-m", "sysone.systemone.local_child", str(os.getpid())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # An interrupt from the terminal is the parent's to handle; it stops the child in order.
        start_new_session=True,
    )
    try:
        yield _wait_for_url(child, start_timeout_s)
    finally:
        _stop(child)


def _wait_for_url(child: subprocess.Popen[bytes], timeout_s: float) -> str:
    assert child.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(child.stdout, selectors.EVENT_READ)
        line = child.stdout.readline() if selector.select(timeout_s) else b""
    if not line:
        state = "said nothing" if child.poll() is None else f"ended with code {child.returncode}"
        raise LocalServerError(f"the embedded server {state} within {timeout_s:g} s of its start")
    url: str = json.loads(line)["url"]
    return url


def _stop(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.close()
    try:
        child.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    child.stdout.close()
