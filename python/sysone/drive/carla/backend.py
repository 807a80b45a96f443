"""The CARLA backend as the executor sees it: every call goes to a child process.

Whatever touches the client may abort, hang or take its process with it. Here that becomes a
`SimulationCrashed` with a reason, and the next route starts a new child; the executor, the model's
connection and the results stay.
"""

import contextlib
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, Final

from sysone.drive.backend import (
    ActorState,
    Control,
    EgoState,
    Frame,
    Info,
    SensorSpec,
    ServerLost,
    Setup,
    SimulationCrashed,
    Vector,
)
from sysone.drive.carla.remote_map import RemoteMap
from sysone.drive.carla.world import Scene, Ticked
from sysone.drive.exits import explain_exit
from sysone.drive.gps import carla_to_gps
from sysone.drive.roadmap import LanePoint
from sysone.drive.routeline import RoutePoint, TriggerBox

DEADLINES_S: Final = {"load": 180.0, "town": 180.0, "spawn_ego": 60.0, "warmup": 60.0}
DEADLINE_S: Final = 30.0
"""For every other question, cleanup among them."""
GONE_S: Final = 10.0
"""For a child to end by itself."""


class ClientDied(SimulationCrashed):
    """The child process has ended in the middle of a question."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where the server is, and what speaks with it."""

    host: str = "127.0.0.1"
    port: int = 2021
    tm_port: int = 8000
    restore_async: str = "auto"
    """``auto`` (all but 0.10), ``always`` or ``never``."""
    source: str = "carla"
    """``carla``; ``stand-in`` or ``stand-in:FILE`` for rehearsals and tests."""


class CarlaBackend:
    """A server, through a client in a child process of its own."""

    def __init__(
        self, address: ServerAddress | None = None, *, deadlines: Mapping[str, float] | None = None
    ) -> None:
        self.address = address or ServerAddress()
        self.deadlines = {**DEADLINES_S, **(deadlines or {})}
        self.children = 0
        """How many were started so far."""
        self._map_of = 0
        """Which of them has the map."""
        self.fail_sensors = self.fail_compass = False
        self._child: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[tuple[str, Any] | None] = queue.SimpleQueue()
        self._ticked: Ticked | None = None
        self._setup: Setup | None = None

    def open(self) -> Info:
        """Connect, with a new child where the last one is gone.

        Raises:
            ServerLost: no server answers, or not this client.
        """
        if not self._alive:
            self._start()
        info: Info = self._ask("open")
        return info

    def _start(self) -> None:
        self._reap()
        where = self.address
        self._child = subprocess.Popen(
            [
                *(sys.executable, "-m", "sysone.drive.carla.child", where.source, where.host),
                *(str(where.port), str(where.tm_port), where.restore_async),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._answers = queue.SimpleQueue()
        threading.Thread(
            target=_read_answers, args=(self._child.stdout, self._answers), daemon=True
        ).start()
        self.children += 1

    @property
    def _alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    def _ask(self, name: str, *arguments: Any) -> Any:
        """One question to the child.

        Raises:
            ServerLost: there is no usable server.
            SimulationCrashed: it failed, the child died of it, or the deadline passed.
        """
        if self._child is None or self._child.stdin is None:
            raise SimulationCrashed("no client is running")
        deadline = self.deadlines.get(name, self.deadlines.get("*", DEADLINE_S))
        answer: tuple[str, Any] | None
        try:
            pickle.dump((name, arguments), self._child.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            self._child.stdin.flush()
            answer = self._answers.get(timeout=deadline)
        except OSError:
            answer = None
        except queue.Empty:
            self._reap(kill=True)
            raise SimulationCrashed(f"{name} took longer than {deadline:g} s") from None
        if answer is None:
            code = self._reap()
            raise ClientDied(f"the client died in {name}: {explain_exit(code)}")
        kind, value = answer
        if kind == "lost":
            raise ServerLost(*value)
        if kind == "crashed":
            raise SimulationCrashed(value)
        return value

    def _reap(self, kill: bool = False) -> int:
        """See the child off; its exit code."""
        child, self._child = self._child, None
        self._ticked = None
        if child is None:
            return 0
        if kill:
            child.kill()
        with contextlib.suppress(OSError):
            if child.stdin is not None:
                child.stdin.close()
        try:
            code = child.wait(GONE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        if child.stdout is not None:
            child.stdout.close()
        return int(code)

    def probe(self) -> dict[str, Any]:
        """What the server says of itself."""
        if not self._alive:
            self._start()
        found: dict[str, Any] = self._ask("probe")
        return found

    def town_map(self, name: str) -> RemoteMap:
        """A town of the server's, whose lanes and GPS its client's map answers."""
        text = self._ask("town", name)
        self._map_of = self.children
        source, gps_model = self._ask("map_facts")
        return RemoteMap(text, name, self._map_answer, source, gps_model)

    def own_map(self, text: str, name: str) -> RemoteMap:
        """A map of the user's, from which `load` has the server build a world."""
        self._ask("take_map", name, text)
        self._map_of = self.children
        source, gps_model = self._ask("map_facts")
        return RemoteMap(text, name, self._map_answer, source, gps_model, built=True)

    def _map_answer(self, text: str, name: str, method: str, arguments: tuple[Any, ...]) -> Any:
        if self._child is None:
            self.open()
        if self._map_of != self.children:  # a new child; the map is only text, and it reads it
            self._ask("take_map", name, text)
            self._map_of = self.children
        return self._ask("ask_map", method, arguments)

    def load(self, setup: Setup, route: Sequence[RoutePoint]) -> None:
        """Load the town, or build one from a map of the user's."""
        self.open()
        road_map = setup.road_map
        of_server = isinstance(road_map, RemoteMap) and not road_map.built
        self._setup = setup
        self._ask(
            "load",
            Scene(
                road_map.name,
                None if of_server else road_map.text,
                setup.dt,
                setup.seed,
                setup.weather,
                setup.lights,
                setup.light_script,
                setup.traffic,
            ),
        )

    def spawn_ego(self, x: float, y: float, z: float, yaw: float) -> None:
        """Put the car there, at rest."""
        self._ask("spawn_ego", x, y, z, yaw)

    def attach(self, spec: SensorSpec) -> None:
        """Mount the sensors."""
        self._ask("attach", spec)

    def warmup(self, ticks: int = 10) -> Vector:
        """Tick and drop the data; the last GNSS reading."""
        reading: Vector = self._ask("warmup", ticks)
        return reading

    def tick(self) -> Frame:
        """One step of the server."""
        found: Ticked = self._ask("tick")
        self._ticked = found
        return found.frame

    def ego(self) -> EgoState:
        """The car after the last tick."""
        if self._ticked is not None:
            return self._ticked.ego
        found: EgoState = self._ask("ego")
        return found

    def lane(self, x: float, y: float) -> LanePoint:
        """The nearest driving lane, at the car's height."""
        ego = self.ego().location
        if self._ticked is not None and (x, y) == ego[:2]:
            return self._ticked.lane
        found: LanePoint = self._ask("lane", x, y, ego[2])
        return found

    def affecting_light(self) -> tuple[str | None, int | None, str | None]:
        """The latched light."""
        return (None, None, None) if self._ticked is None else self._ticked.affecting

    def forecast(self, seconds: float) -> dict[int, str]:
        """As now: a server does not say what its lights will be."""
        return {} if self._ticked is None else dict(self._ticked.frame.lights)

    def boxes(self) -> Sequence[TriggerBox]:
        """Of lights and stop signs."""
        found: list[TriggerBox] = self._ask("boxes")
        return found

    def actors(self) -> Sequence[ActorState]:
        """Everybody else."""
        return [] if self._ticked is None else self._ticked.actors

    def weather(self, values: Mapping[str, float]) -> None:
        """Set the weather, by CARLA's names."""
        self._ask("weather", dict(values))

    def scenario_events(self, ended: bool) -> list[tuple[str, str]]:
        """None: scenarios are not acted out here."""
        return []

    def apply(self, control: Control) -> None:
        """Acts from the next tick."""
        self._ask("apply", control)

    def geolocate(self, x: float, y: float, z: float) -> Vector:
        """By the server's map, or by another model that was asked for."""
        setup = self._setup
        if setup is not None and setup.gps_model != setup.road_map.gps_model:
            lat, lon = carla_to_gps(x, y, *setup.road_map.reference, model=setup.gps_model)
            return lat, lon, z
        found: Vector = self._ask("geolocate", [(x, y, z)])[0]
        return found

    def destroy(self) -> str:
        """Take car, sensors and traffic away; what became of it, empty where all went well.

        A child that dies of it, or does not come back, costs nothing: the drive's result is final
        before, and the next route starts a new child.
        """
        self._ticked = None
        if self._child is None:
            return ""
        try:
            self._ask("destroy")
        except SimulationCrashed as error:
            note = "aborted_in_cleanup" if isinstance(error, ClientDied) else "cleanup_failed"
            self._reap(kill=True)
            return f"{note}: {error}"
        return ""

    def close(self) -> None:
        """Give the server its clock back and end the child."""
        if self._child is None:
            return
        with contextlib.suppress(SimulationCrashed):
            self._ask("close")
        self._reap()


def _read_answers(stream: IO[bytes], answers: queue.SimpleQueue[tuple[str, Any] | None]) -> None:
    """Bring every answer, and None when there will be no more: a wait with a deadline that every
    system knows."""
    while True:
        try:
            answer = pickle.load(stream)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            answers.put(None)
            return
        answers.put(answer)
