"""The player in a process of its own, so that planning and asking never hold up a frame.

`RemoteBrain` lives with the game, `serve` in a spawned child; one duplex pipe joins them. Requests
are ``(ticket, "think" | "warm", payload)`` and replies ``(ticket, "ok" | "error", result, model,
detail)``; replies come in any order. ``None`` ends the child.
"""

import contextlib
import multiprocessing
import queue
import signal
import sys
import threading
from concurrent.futures import Future
from multiprocessing.connection import Connection
from typing import Any, Final, Protocol

from sysone.runs.errors import RunError
from sysone.trex.backend import ApiBackend
from sysone.trex.decide import WARM_COUNT, Answer, Backend, Timing, think, warm
from sysone.trex.interrupt import interrupts_held
from sysone_core.trex import Planner, Snapshot

SWITCH_INTERVAL_S: Final = 0.001
"""Interpreter switch interval of both processes: at the default 5 ms a frame can wait for a third
of its slot until another thread lets go."""
START_TIMEOUT_S: Final = 60.0
CLOSE_TIMEOUT_S: Final = 5.0
STOPPED: Final = "The player process stopped"


class PlayerError(RunError):
    """The player could not answer; the text is the reason it gave."""


class BackendFactory(Protocol):
    """Makes the backend inside the child; must be picklable."""

    def __call__(self, kind: str, inflight: int, base_url: str | None) -> Backend:
        """A backend of this kind."""


class RemoteBrain:
    """A player's process as seen from the game. Threads may share it.

    Raises:
        PlayerError: the backend could not be made; the text is its reason.
    """

    def __init__(
        self,
        kind: str,
        inflight: int = 1,
        base_url: str | None = None,
        *,
        backend: BackendFactory = ApiBackend,
    ) -> None:
        self.inflight = inflight
        self._waiting: dict[int, Future[Any]] = {}
        self._tickets = 0
        self._stopped = False
        self._lock = threading.Lock()
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=serve,
            args=(theirs, kind, inflight, base_url, backend),
            name=f"trex-{kind}",
            daemon=True,
        )
        self._reader = threading.Thread(target=self._read, name="trex-replies", daemon=True)
        try:
            self._start(theirs)
            self.name, self.model, self.detail, self.usd_per_token = self._ready()
        except BaseException:
            self._pipe.close()  # which ends the child, if it still lives
            self._end_process()
            raise
        self._reader.start()

    @property
    def pid(self) -> int | None:
        """The child's process id."""
        return self._process.pid

    def think(self, snap: Snapshot, timing: Timing, prompt: str, guarded: bool) -> Answer:
        """One decision, made in the child.

        Raises:
            PlayerError: it failed, or the process is gone.
        """
        answer: Answer = self._call("think", (snap, timing, prompt, guarded))
        return answer

    def warm(self, snap: Snapshot, prompt: str, count: int = WARM_COUNT) -> list[float]:
        """Open every connection and time ``count`` questions; milliseconds each.

        Raises:
            PlayerError: a question failed, or the process is gone.
        """
        times_ms: list[float] = self._call("warm", (snap, prompt, count))
        return times_ms

    def close(self) -> None:
        """End the child; whoever still waits for it gets a `PlayerError`."""
        with self._lock:
            self._stopped = True
            with contextlib.suppress(OSError):  # it is gone already
                self._pipe.send(None)
        self._end_process()
        self._reader.join(CLOSE_TIMEOUT_S)
        self._pipe.close()

    def _start(self, theirs: "Connection[Any, Any]") -> None:
        # The child inherits the blocked mask: an interrupt from the keyboard reaches the whole
        # process group, and the child has to stay until we end it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with interrupts_held():  # half a start leaves a child that cannot make sense of it
                self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            # Only then does the pipe break for us when the child ends.
            theirs.close()

    def _ready(self) -> tuple[str, str, str, float]:
        if not self._pipe.poll(START_TIMEOUT_S):
            raise PlayerError(f"The player process did not start within {START_TIMEOUT_S:g} s")
        try:
            kind, *rest = self._pipe.recv()
        except (EOFError, OSError):
            raise PlayerError(STOPPED) from None
        if kind == "error":
            raise PlayerError(rest[0])
        name, model, detail, usd_per_token = rest
        return name, model, detail, usd_per_token

    def _call(self, kind: str, payload: tuple[Any, ...]) -> Any:
        future: Future[Any] = Future()
        with self._lock:
            if self._stopped:
                raise PlayerError(STOPPED)
            self._tickets += 1
            self._waiting[self._tickets] = future
            try:
                self._pipe.send((self._tickets, kind, payload))
            except OSError:
                del self._waiting[self._tickets]
                raise PlayerError(STOPPED) from None
        return future.result()

    def _read(self) -> None:
        while True:
            try:
                ticket, outcome, result, model, detail = self._pipe.recv()
            except (EOFError, OSError):
                break
            self.model, self.detail = model, detail
            with self._lock:
                future = self._waiting.pop(ticket)
            if outcome == "ok":
                future.set_result(result)
            else:
                future.set_exception(PlayerError(result))
        with self._lock:
            self._stopped = True
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(PlayerError(STOPPED))

    def _end_process(self) -> None:
        if self._process.pid is None:
            return  # it never started
        self._process.join(CLOSE_TIMEOUT_S)
        if self._process.is_alive():
            self._process.terminate()
            self._process.join(CLOSE_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def serve(
    pipe: "Connection[Any, Any]",
    kind: str,
    inflight: int,
    base_url: str | None,
    make_backend: BackendFactory,
) -> None:
    """Answer requests from ``pipe`` until it says ``None`` or breaks."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    backend: Backend | None
    first: tuple[Any, ...]
    try:
        backend = make_backend(kind, inflight, base_url)
        first = ("ready", backend.name, backend.model, backend.detail, backend.usd_per_token)
    except Exception as error:
        backend, first = None, ("error", _reason(error))
    try:
        pipe.send(first)
    except OSError:
        return  # the game is gone
    if backend is None:
        return
    planner = Planner()
    requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
    sending = threading.Lock()

    def work() -> None:
        while True:
            ticket, what, payload = requests.get()
            result: Any
            try:
                outcome = "ok"
                result = (think if what == "think" else warm)(planner, backend, *payload)
            except Exception as error:
                outcome, result = "error", _reason(error)
            with sending:
                try:
                    pipe.send((ticket, outcome, result, backend.model, backend.detail))
                except OSError:
                    return  # nobody waits any more

    # Daemon threads, not an executor: at the end nobody waits for answers still under way.
    for number in range(max(1, inflight)):
        threading.Thread(target=work, name=f"trex-think-{number}", daemon=True).start()
    while True:
        try:
            request = pipe.recv()
        except (EOFError, OSError):
            break  # the game is gone
        if request is None:
            break
        requests.put(request)
    backend.close()


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:300]
