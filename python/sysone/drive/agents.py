"""The executor's end of the agent socket: binds, waits, asks, and never takes a late answer."""

import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import msgspec

from sysone.drive.protocol import Reply, parse_answer, read_reply
from sysone.drive.service.wire import (
    MAX_TO_EXECUTOR,
    Channel,
    WireError,
    dumps,
    version_pair,
)
from sysone.runs.errors import RunError

DEFAULT_PORT: Final = 5555
LOOPBACK: Final = ("127.", "::1", "localhost")
STEP_TIMEOUT_S: Final = 2.0
WARMUP_TICKS: Final = 3
WARMUP_FACTOR: Final = 10.0
READY_TIMEOUT_S: Final = 300.0
BYE_TIMEOUT_S: Final = 30.0
HEARTBEAT_TICKS: Final = 100


class AgentGone(RuntimeError):  # noqa: N818 - says what it is
    """The model has closed the connection, or broke it."""


class AgentRefused(RuntimeError):  # noqa: N818 - says what it is
    """The model answered ``route_start`` with an error."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class AgentSocketServer:
    """Listens on a port and speaks with one model at a time.

    Raises:
        RunError: the port is taken, or the address is not a loopback one without
            ``allow_remote``.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        *,
        allow_remote: bool = False,
        step_timeout_s: float = STEP_TIMEOUT_S,
        ready_timeout_s: float = READY_TIMEOUT_S,
        max_message_bytes: int = MAX_TO_EXECUTOR,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not allow_remote and not host.startswith(LOOPBACK):
            raise RunError(f"--agent-bind is {host}, which other machines reach: --allow-remote")
        self.step_timeout_s = step_timeout_s
        self.ready_timeout_s = ready_timeout_s
        self.max_message_bytes = max_message_bytes
        self.channel: Channel | None = None
        self.name = ""
        self.proto = "0.2"
        self.late = 0
        """Answers that came too late and were thrown away."""
        self.failed = 0
        """Lines that were no usable answer."""
        self.last_error = ""
        self._clock = clock
        self._owed: deque[int] = deque()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        if sys.platform != "win32":
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._listener.bind((host, port))
            self._listener.listen(1)
        except OSError as error:
            self._listener.close()
            raise RunError(
                f"cannot listen on {host}:{port}: {error.strerror}. The executor binds and the "
                "model connects: is a model's own listener there?"
            ) from error
        self.port: int = self._listener.getsockname()[1]

    @property
    def connected(self) -> bool:
        """Whether a model is there."""
        return self.channel is not None and not self.channel.closed

    def accept(self, timeout_s: float) -> bool:
        """Wait for a model; False when none came."""
        self._listener.settimeout(timeout_s)
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            return False
        self.channel = Channel(connection, self.max_message_bytes)
        self._owed.clear()
        return True

    def start_route(self, line: bytes, offered: str) -> dict[str, Any]:
        """Send ``route_start`` and wait for ``ready``.

        Raises:
            AgentGone: the connection broke or nothing came in time.
            AgentRefused: the model cannot drive this.
        """
        self._send(line)
        deadline = self._clock() + self.ready_timeout_s
        while True:
            answer = self._receive(deadline - self._clock())
            if answer is None:
                raise AgentGone(f"no ready within {self.ready_timeout_s:g} s")
            if answer.get("type") == "error":
                raise AgentRefused(str(answer.get("code"))[:40], str(answer.get("message"))[:300])
            if answer.get("type") == "ready":
                break
            self._settle(answer, 0)  # an answer owed from the route before
        spoken = answer.get("proto", "0.2")
        try:
            ours, theirs = version_pair(offered), version_pair(spoken)
        except WireError as error:
            raise AgentRefused("version", error.message) from None
        if theirs[0] != ours[0] or theirs > ours:
            raise AgentRefused("version", f"ready has proto {spoken}, {offered} was offered")
        self.proto = str(spoken)
        self.name = str(answer.get("agent", ""))[:80]
        self._owed.clear()
        return answer

    def send_tick(self, payload: dict[str, Any]) -> dict[str, Any] | None:
        """Send a tick given as a dictionary; the controls of its answer, or None.

        For harnesses that build their own ticks; the executor encodes faster and calls `ask`.

        Raises:
            AgentGone: the connection broke.
            ValueError: the payload has no ``tick``, or a number that is not finite.
        """
        tick = payload.get("tick")
        if type(tick) is not int:
            raise ValueError(f"tick is {tick!r}, expected a whole number")
        reply = self.ask(dumps(payload), tick)
        return None if reply is None else msgspec.to_builtins(reply)

    def ask(self, payload: bytes | memoryview, tick: int, warmup: bool = False) -> Reply | None:
        """Send one tick's line and wait for its own answer; None when none was usable in time.

        Raises:
            AgentGone: the connection broke.
        """
        self._send(payload)
        self._owed.append(tick)
        timeout = self.step_timeout_s * (WARMUP_FACTOR if warmup else 1.0)
        deadline = self._clock() + timeout
        while True:
            left = deadline - self._clock()
            try:
                answer = self._receive(left) if left > 0 else None
            except WireError as error:
                # one unusable line is the answer to the oldest tick that is owed
                self._fail(error)
                if self._owed and self._owed.popleft() == tick:
                    return None
                continue
            if answer is None:
                return None
            if answer.get("alive") is True:
                continue
            if not self._settle(answer, tick):
                continue
            try:
                return read_reply(answer)
            except WireError as error:
                self._fail(error)
                return None

    def heartbeat(self) -> None:
        """Protocol 0.1: ask whether the model lives. Its answer is read with the next tick's."""
        self._send(b'{"heartbeat": true}\n')

    def end_route(self, line: bytes, timeout_s: float = BYE_TIMEOUT_S) -> bool:
        """Send ``route_end``; whether ``bye`` came. Nothing depends on it."""
        try:
            self._send(line)
            deadline = self._clock() + timeout_s
            while True:
                try:
                    answer = self._receive(deadline - self._clock())
                except WireError:
                    continue
                if answer is None:
                    return False
                if answer.get("type") == "bye":
                    return True
        except AgentGone:
            return False

    def drop(self) -> None:
        """Close the connection to the model and go on listening."""
        if self.channel is not None:
            self.channel.close()
            self.channel = None

    def close(self) -> None:
        """Stop listening too."""
        self.drop()
        self._listener.close()

    def _settle(self, answer: dict[str, Any], tick: int) -> bool:
        """Whether this is the answer to ``tick``; any other is late and is dropped.

        Told by the echoed tick where the model sends it, otherwise by count: a model answers in
        order.
        """
        echoed = answer.get("tick")
        if type(echoed) is int:
            if echoed in self._owed:
                while self._owed and self._owed[0] <= echoed:
                    self._owed.popleft()
                if echoed == tick:
                    return True
        elif self._owed and self._owed.popleft() == tick:
            return True
        self.late += 1
        return False

    def _fail(self, error: WireError) -> None:
        self.failed += 1
        self.last_error = str(error)[:300]

    def _send(self, data: bytes | memoryview) -> None:
        if self.channel is None:
            raise AgentGone("no model is connected")
        try:
            self.channel.send(data, timeout_s=max(self.step_timeout_s, 10.0))
        except OSError as error:
            self.drop()
            raise AgentGone(f"the connection broke: {error}") from error

    def _receive(self, timeout_s: float) -> dict[str, Any] | None:
        """The next object; None when time is up.

        Raises:
            AgentGone: the connection broke or is of no more use.
            WireError: one line is unusable.
        """
        if self.channel is None:
            raise AgentGone("no model is connected")
        try:
            line = self.channel.receive(max(timeout_s, 0.0))
        except TimeoutError:
            return None
        except WireError as error:
            self.drop()
            raise AgentGone(str(error)) from error
        except OSError as error:
            self.drop()
            raise AgentGone(f"the connection broke: {error}") from error
        if line is None:
            self.drop()
            raise AgentGone("the model has closed the connection")
        return parse_answer(line)
