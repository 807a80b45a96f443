"""Many environments, each in a process of its own, asked at once and each for itself."""

import contextlib
import os
import select
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

import msgspec

from sysone.arena import processes
from sysone.arena.envs.actor import Start
from sysone.arena.envs.options import EnvOptions
from sysone.arena.frames import ClosedError

START_S = 120.0
GOODBYE_S = 1.0
Order = tuple[bytes, bytes]
"""Kind and body of a message to an environment."""
Read = Callable[[bytes], Any]
"""Makes of an answer's JSON what its asker wants; raises `msgspec.DecodeError` for what is none."""
Reply = tuple[bool, Any]
"""Whether it is an answer, and what was read of it or of the error."""


text: Read = msgspec.json.Decoder(msgspec.Raw).decode
"""Keeps the JSON, once it is known to be some."""
values: Read = msgspec.json.Decoder().decode
"""Dictionaries and lists."""


class Worker:
    """One environment's process as its owner sees it."""

    def __init__(self, env_id: int, options: EnvOptions) -> None:
        self.env_id = env_id
        self._options = options
        self.starting = False
        self._begin()

    def _begin(self) -> None:
        self.process: subprocess.Popen[bytes]
        self.process, self.channel = processes.start("sysone.arena.envs.actor", log=None)
        # the signal of a parent's death is that of the thread, and only the main one lives as long
        main = threading.current_thread() is threading.main_thread()
        start = Start(self.env_id, self._options.plain(), main)
        self.starting = True
        self.broken = not self._send(b"S", msgspec.json.encode(start), monotonic() + START_S)

    def _send(self, kind: bytes, body: bytes, deadline: float) -> bool:
        try:
            return self.channel.send_before(deadline, kind, body)
        except ClosedError:
            return False

    def send(self, order: Order, deadline: float) -> None:
        """Hand over an order; when that fails, `broken` says so."""
        self.broken = self.broken or not self._send(*order, deadline)

    def take(self, read: Read) -> Reply | None:
        """What has come, when it is whole.

        Raises:
            ClosedError: the process is gone, or what it says is no message.
        """
        self.channel.fill()
        message = self.channel.pop()
        if message is None:
            return None
        kind, body = message
        if kind not in (b"O", b"E"):
            raise ClosedError
        try:
            return kind == b"O", read(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ClosedError from error

    def restart(self) -> None:
        """End the process and begin another one, which needs a reset."""
        self.end(0)
        self._begin()

    def goodbye(self) -> None:
        """Ask the process to end."""
        self._send(b"Q", b"", monotonic() + 0.1)

    def end(self, patience_s: float) -> None:
        """End the process."""
        self.channel.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(patience_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def failed(message: str) -> bytes:
    """The error of an environment that is not there any more."""
    return msgspec.json.encode({"code": "env_failed", "message": message, "path": ""})


class Pool:
    """The processes of all environments.

    Args:
        count: How many.
        options: Of every one of them.
        rpc_timeout: Seconds of wall time after which one that does not answer is replaced.

    Raises:
        StartError: they do not start.
    """

    def __init__(self, count: int, options: EnvOptions, rpc_timeout: float) -> None:
        self._rpc_timeout = rpc_timeout
        self.workers: list[Worker] = []
        try:
            for env_id in range(count):
                self.workers.append(Worker(env_id, options))
            for ok, error in self._collect(self.workers, START_S, values).values():
                if not ok:
                    raise StartError(error)
        except BaseException:
            self.close()
            raise

    def ask(self, orders: Mapping[int, Order], read: Read) -> dict[int, Reply]:
        """Give every environment its order and wait for all the answers.

        Each is read as it comes, while others still work.
        """
        asked = [self.workers[env_id] for env_id in orders]
        replies: dict[int, Reply] = {}
        late = [worker for worker in asked if worker.starting]
        if late:
            begun = self._collect(late, START_S, read)
            replies = {env_id: reply for env_id, reply in begun.items() if not reply[0]}
            asked = [worker for worker in asked if worker.env_id not in replies]
        deadline = monotonic() + self._rpc_timeout
        for worker in asked:
            worker.send(orders[worker.env_id], deadline)
        return replies | self._collect(asked, deadline - monotonic(), read)

    def _collect(
        self, workers: Sequence[Worker], patience_s: float, read: Read
    ) -> dict[int, Reply]:
        """The answers of workers, whoever of them is first; one that fails is begun anew."""
        replies: dict[int, Reply] = {}
        waiting = {worker.channel.reader: worker for worker in workers if not worker.broken}
        deadline = monotonic() + patience_s
        for worker in workers:
            if worker.broken:
                why = "its process does not read"
                replies[worker.env_id] = self._replace(worker, why, read)
        poll = select.poll()
        for descriptor in waiting:
            poll.register(descriptor, select.POLLIN | select.POLLHUP)
        while waiting:
            left = deadline - monotonic()
            ready = poll.poll(left * 1000) if left > 0 else []
            if not ready:
                for descriptor, worker in waiting.items():
                    poll.unregister(descriptor)
                    why = f"no answer within {patience_s:.3g} s"
                    replies[worker.env_id] = self._replace(worker, why, read)
                break
            for descriptor, _ in ready:
                worker = waiting[descriptor]
                try:
                    reply = worker.take(read)
                except ClosedError:
                    reply = None
                    poll.unregister(descriptor)
                    del waiting[descriptor]
                    replies[worker.env_id] = self._replace(worker, "its process ended", read)
                if reply is not None:
                    poll.unregister(descriptor)
                    del waiting[descriptor]
                    worker.starting = False
                    replies[worker.env_id] = reply
        return replies

    def _replace(self, worker: Worker, why: str, read: Read) -> Reply:
        worker.restart()
        return False, read(failed(f"environment {worker.env_id}: {why}; it needs a reset"))

    def close(self) -> None:
        """End all processes, those of opponents too."""
        workers, self.workers = self.workers, []
        deadline = monotonic() + GOODBYE_S
        for worker in workers:
            worker.goodbye()
        for worker in workers:
            worker.end(max(0.0, deadline - monotonic()))


class StartError(Exception):
    """An environment's process does not start; ``error`` is what it says."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.error = error
