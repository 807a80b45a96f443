"""Ray's driver, in a process of its own; `sysone.executors.ray_cluster` gives it orders.

Every piece of work is one task of one processor, placed on a node by name: a node is used only
after it has shown the same facts as the machine that gives the orders, so that results do not
depend on where they come from. Ray retries nothing itself. A piece whose node or process is gone
comes back as lost, and who ordered it decides. Nodes that join later are looked at and used.
"""

import contextlib
import logging
import os
import queue
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from sysone.executors import shipped
from sysone.executors.base import EngineError, Finished, Work, answer, die_with_parent

CONNECT_S: Final = 10.0
LOOK_EVERY_S: Final = 1.0
"""Between two looks at which nodes there are."""
LISTEN_S: Final = 0.02
WORK_S: Final = 0.05
ASK_EVERY_S: Final = 0.5
"""Between two questions of a piece of work whether it is to stop."""
PATIENCE_S: Final = 300.0
"""How long to wait for a node when none is left."""

Facts = Callable[[], Mapping[str, str]]
"""What must be the same on every machine."""


@dataclass(frozen=True)
class Orders:
    """What a driver is begun with."""

    work: Work
    facts: Facts
    expected: Mapping[str, str]
    """The facts of the machine that gives the orders."""
    address: str | None
    files: Mapping[str, bytes]
    parent: int
    """The process that gives the orders."""


def serve(pipe: Connection, orders: Orders) -> None:
    """Work until told to close, or until nobody listens."""
    die_with_parent(orders.parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What Ray prints is no result.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    try:
        _Driver(pipe, orders).run()
    except EngineError as error:
        with contextlib.suppress(OSError):
            pipe.send(("failed", str(error)))
    except (EOFError, OSError):
        pass  # nobody listens any more


class _Nodes:
    """Which nodes there are, and which of them may be used."""

    def __init__(self, ray: Any, orders: Orders, note: Callable[[str], None]) -> None:
        self.room: dict[str, int] = {}
        """Processors of each node that may be used."""
        self.refused: dict[str, str] = {}
        self._ray = ray
        self._orders = orders
        self._note = note
        self._names: dict[str, str] = {}
        self._asked: dict[str, Any] = {}
        self._looked_s = 0.0
        self._usable_s = time.monotonic()
        self._probe = ray.remote(num_cpus=0, max_retries=0)(_probe)

    def look(self) -> None:
        """See what has changed, at most once a second."""
        now_s = time.monotonic()
        if self._looked_s and now_s - self._looked_s < LOOK_EVERY_S:
            return
        self._looked_s = now_s
        there: dict[str, int] = {}
        for node in self._ray.nodes():
            processors = int(node["Resources"].get("CPU", 0))
            if node["Alive"] and processors > 0:
                there[node["NodeID"]] = processors
                self._names[node["NodeID"]] = f"{node['NodeManagerAddress']} ({processors} CPU)"
        for name in [name for name in self.room if name not in there]:
            self.drop(name)
        self._asked = {name: asked for name, asked in self._asked.items() if name in there}
        for name, processors in there.items():
            if name in self.room or name in self.refused:
                continue
            if name not in self._asked:
                self._asked[name] = self._probe.options(scheduling_strategy=on(name)).remote(
                    self._orders.facts
                )
            elif self._ray.wait([self._asked[name]], timeout=0)[0]:
                self._judge(name, processors, self._asked.pop(name))
        if self.room or self._asked:
            self._usable_s = now_s
        elif now_s - self._usable_s > PATIENCE_S:
            raise EngineError(
                f"no node of the Ray cluster has been usable for {PATIENCE_S:g} seconds"
            )

    @property
    def undecided(self) -> bool:
        """Whether a node has yet to answer."""
        return bool(self._asked) or not self._names

    def drop(self, name: str) -> None:
        """Use a node no more, unless it is seen and answers again."""
        if self.room.pop(name, None) is not None:
            self._note(f"node {self._names[name]} is gone")

    def name(self, node: str) -> str:
        """How messages call a node."""
        return self._names.get(node, node)

    def _judge(self, name: str, processors: int, reference: Any) -> None:
        try:
            found = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            why = cause(error)
        except self._ray.exceptions.RayError:
            return  # it may be gone: the next look tells, and asks again if it is not
        else:
            why = "; ".join(
                f"{key} is {found.get(key)}, here {wanted}"
                for key, wanted in self._orders.expected.items()
                if found.get(key) != wanted
            )
        if why:
            self.refused[name] = f"node {self._names[name]} is left out: {why}"
            self._note(self.refused[name])
        else:
            self.room[name] = processors


class _Driver:
    def __init__(self, pipe: Connection, orders: Orders) -> None:
        # Telemetry is not ours to send.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._ray = ray
        self._pipe = pipe
        self._orders = orders
        connect(ray, orders.address)
        self._perform = ray.remote(num_cpus=1, max_retries=0)(_perform)
        # In lists, as Ray would fetch a reference that is an argument itself for every task.
        self._files = {name: [ray.put(data)] for name, data in orders.files.items()}
        # Beside this process, so that it ends with it and with no other node.
        self._flag = (
            ray.remote(num_cpus=0, max_restarts=0)(_Flag)
            .options(scheduling_strategy=on(ray.get_runtime_context().get_node_id()))
            .remote()
        )
        self._nodes = _Nodes(ray, orders, lambda text: pipe.send(("note", text)))
        self._heard: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        # Of its own: if both ends wrote large messages and neither read, both would wait for ever.
        threading.Thread(target=self._listen, name="orders", daemon=True).start()
        self._waiting: deque[tuple[int, Any]] = deque()
        self._busy: dict[Any, tuple[int, str]] = {}
        self._told = -1

    def run(self) -> None:
        """Carry out orders; returns when told to close."""
        self._nodes.look()
        while self._nodes.undecided:
            time.sleep(LISTEN_S)
            self._nodes.look()
        if not self._nodes.room:
            refused = "; ".join(self._nodes.refused.values()) or "it has none with a processor"
            raise EngineError(f"no node of the Ray cluster can be used: {refused}")
        while True:
            room = sum(self._nodes.room.values())
            if room != self._told:
                self._told = room
                self._pipe.send(("room", room))
            with contextlib.suppress(queue.Empty):
                if not self._obey(*self._heard.get(timeout=LISTEN_S)):
                    return
            self._nodes.look()
            while self._waiting and (node := self._free()) is not None:
                self._begin(*self._waiting.popleft(), node)
            self._reap()

    def _listen(self) -> None:
        try:
            while True:
                self._heard.put(self._pipe.recv())
        except (EOFError, OSError):
            self._heard.put(("close",))  # nobody listens any more

    def _obey(self, order: str, *arguments: Any) -> bool:
        if order == "submit":
            self._waiting.append((arguments[0], arguments[1]))
        elif order == "stop":
            self._flag.raise_it.remote()
        else:
            self._waiting.clear()
            for reference in self._busy:
                self._ray.cancel(reference, force=True)
            self._busy.clear()
        return order != "close"

    def _free(self) -> str | None:
        left = dict(self._nodes.room)
        for _, node in self._busy.values():
            if node in left:
                left[node] -= 1
        best = max(left, key=left.__getitem__, default=None)
        return best if best is not None and left[best] > 0 else None

    def _begin(self, place: int, item: Any, node: str) -> None:
        reference = self._perform.options(scheduling_strategy=on(node)).remote(
            self._orders.work, item, self._flag, self._files
        )
        self._busy[reference] = (place, node)

    def _reap(self) -> None:
        if not self._busy:
            return
        ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=WORK_S)
        for reference in ready:
            place, node = self._busy.pop(reference)
            self._pipe.send(("finished", self._finished(place, reference, node)))

    def _finished(self, place: int, reference: Any, node: str) -> Finished:
        errors = self._ray.exceptions
        try:
            result, error = self._ray.get(reference)
        except errors.RayTaskError as raised:
            return Finished(place, error=cause(raised))
        except errors.RayError as raised:
            text = f"on node {self._nodes.name(node)}: {cause(raised)}"
            if not isinstance(raised, errors.WorkerCrashedError):
                self._nodes.drop(node)
            return Finished(place, error=text, lost=True)
        return Finished(place, result, error)


class _Flag:
    """Raised for all work at once."""

    def __init__(self) -> None:
        self.raised = False

    def raise_it(self) -> None:
        self.raised = True

    def is_raised(self) -> bool:
        return self.raised


def on(node: str) -> Any:
    """Ray's word for: on this node and no other."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


def connect(ray: Any, address: str | None) -> None:
    """Make this process a driver of the cluster.

    Raises:
        EngineError: none answers there.
    """
    wanted = address or os.environ.get("RAY_ADDRESS") or "auto"
    hint = "`ray start --head` starts one"
    if wanted != "auto":
        host, _, port = wanted.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65535:
            raise EngineError(f"--ray-address must be auto or HOST:PORT, not {wanted!r}")
        # Ray itself goes on trying for a minute and then ends the process.
        try:
            socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
        except OSError as error:
            why = error.strerror or str(error)
            raise EngineError(f"no Ray cluster answers at {wanted} ({why}); {hint}") from error
    try:
        ray.init(address=wanted, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = str(error).splitlines()[0]
        raise EngineError(f"no Ray cluster answers at {wanted} ({why}); {hint}") from error


def cause(error: Exception) -> str:
    """The first line of what happened, without Ray's own stack."""
    inner = getattr(error, "cause", None)
    shown = inner if isinstance(inner, Exception) else error
    lines = str(shown).splitlines()
    return f"{type(shown).__name__}: {lines[0] if lines else ''}"


# On the nodes ---------------------------------------------------------------------------------


def _probe(facts: Facts) -> dict[str, str]:
    return dict(facts())


def _perform(
    work: Work, item: Any, flag: Any, files: Mapping[str, list[Any]]
) -> tuple[Any, str | None]:
    import ray

    for name, (reference,) in files.items():
        shipped.keep(name, lambda reference=reference: ray.get(reference))  # type: ignore[misc]
    return answer(work, item, _Stopping(ray, flag))


class _Stopping:
    """Asks the flag, now and then; without it the run is over."""

    def __init__(self, ray: Any, flag: Any) -> None:
        self._ray = ray
        self._flag = flag
        self._next_s = 0.0
        self._raised = False

    def __call__(self) -> bool:
        now_s = time.monotonic()
        if self._raised or now_s < self._next_s:
            return self._raised
        try:
            self._raised = bool(self._ray.get(self._flag.is_raised.remote()))
        except self._ray.exceptions.RayError:
            self._raised = True
        self._next_s = time.monotonic() + ASK_EVERY_S
        return self._raised
