"""What happened in each tick: a record, a columnar store of records, and the file they go to.

Pure data, so that a drive can be scored again without a simulator. The store keeps one growing
typed array a field; scoring reads the arrays, and dictionaries are made only when asked for.
"""

import gzip
import importlib
import io
import json
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from sysone.drive.columns import Column, Flags, Floats, Integers, Objects, Vectors, Words
from sysone.runs.atomic import write_bytes
from sysone.runs.errors import RunError, unreadable

SCHEMA: Final = 2

Vector = tuple[float, float, float]
Contact = tuple[int, str | None, float]
"""Actor id (0 is the static world), type id, impulse in N s."""


@dataclass(slots=True)
class TickRecord:
    """One tick. Lengths in m, times in s, angles in radians unless said otherwise."""

    tick: int
    """From 1."""
    timestamp: float
    """Wall clock."""
    sim_time: float
    """Since the start of the route."""
    ego_location: Vector
    ego_velocity: Vector
    """In the world frame."""
    ego_speed: float
    """Norm of the velocity."""
    ego_acceleration: Vector
    """In the world frame."""
    collision_impulse: float | None = None
    """N s of the strongest contact; None: no contact in this tick."""
    collision_actor: str | None = None
    traffic_light_state: str | None = None
    """Red, Yellow, Green, Off or Unknown."""
    traffic_light_id: int | None = None
    lane_id: int | None = None
    road_id: int | None = None
    is_junction: bool = False
    route_completion: float = 0.0
    """0 to 100."""
    control: dict[str, float] = field(default_factory=dict)
    """Throttle, brake and steer that acted in this tick."""
    frame: int | None = None
    collision_actor_id: int | None = None
    contacts: list[Contact] | None = None
    """All of this tick, the strongest first."""
    ego_yaw: float | None = None
    angular_velocity: Vector | None = None
    """Degrees a second, as CARLA gives it."""
    forward_vector: Vector | None = None
    right_vector: Vector | None = None
    speed_limit: float | None = None
    """m/s."""
    odometer_m: float | None = None
    light_at_entry: str | None = None
    """State of the light when the rear passed its stop line."""
    control_source: str | None = None
    """agent, hold, brake or autopilot."""
    infer_ms: float | None = None
    events: list[dict[str, Any]] | None = None
    """Criterion events of this tick."""
    background_speed: float | None = None
    """Mean of the background vehicles, m/s."""
    info: dict[str, Any] | None = None
    """What the agent said about its answer."""


_COLUMNS: Final[dict[str, Callable[[], Column]]] = {
    "tick": Integers,
    "timestamp": Floats,
    "sim_time": Floats,
    "ego_location": Vectors,
    "ego_velocity": Vectors,
    "ego_speed": Floats,
    "ego_acceleration": Vectors,
    "collision_impulse": Floats,
    "collision_actor": Words,
    "traffic_light_state": Words,
    "traffic_light_id": Integers,
    "lane_id": Integers,
    "road_id": Integers,
    "is_junction": Flags,
    "route_completion": Floats,
    "control": lambda: Objects(dict),
    "frame": Integers,
    "collision_actor_id": Integers,
    "contacts": Objects,
    "ego_yaw": Floats,
    "angular_velocity": Vectors,
    "forward_vector": Vectors,
    "right_vector": Vectors,
    "speed_limit": Floats,
    "odometer_m": Floats,
    "light_at_entry": Words,
    "control_source": Words,
    "infer_ms": Floats,
    "events": Objects,
    "background_speed": Floats,
    "info": Objects,
}
FIELDS: Final = tuple(_COLUMNS)
_DEFAULTS: Final[dict[str, Any]] = {
    "tick": None,
    "timestamp": 0.0,
    "ego_location": (0.0, 0.0, 0.0),
    "ego_velocity": (0.0, 0.0, 0.0),
    "ego_speed": 0.0,
    "ego_acceleration": (0.0, 0.0, 0.0),
    "route_completion": 0.0,
}


class BadTick(ValueError):  # noqa: N818 - says what it is about
    """A tick that strict scoring or reading refuses."""

    def __init__(self, tick: int, name: str, value: object, expected: str) -> None:
        super().__init__(f"tick {tick}: {name} is {value!r}, expected {expected}")
        self.tick, self.field, self.value = tick, name, value


@dataclass(frozen=True, slots=True)
class ScoringColumns:
    """What the penalty rules read, one value a tick."""

    tick: NDArray[np.int64]
    sim_time: NDArray[np.float64]
    speed: NDArray[np.float64]
    completion: NDArray[np.float64]
    location: NDArray[np.float64]
    red: NDArray[np.uint8]
    junction: NDArray[np.uint8]
    road: NDArray[np.int64]
    road_known: NDArray[np.uint8]
    contacts: list[tuple[int, Contact]]
    """Index of the tick and the contact, the strongest of a tick first."""


class TickStore(Sequence[dict[str, Any]]):
    """Ticks by columns; a sequence of dictionaries to whoever looks at single ones."""

    def __init__(self, ticks: Iterable[Mapping[str, Any] | TickRecord] = ()) -> None:
        self._columns = {name: make() for name, make in _COLUMNS.items()}
        self._appends = [(name, column.append) for name, column in self._columns.items()]
        self._count = 0
        self._scored: ScoringColumns | None = None
        for tick in ticks:
            if isinstance(tick, TickRecord):
                self.append(tick)
            else:
                self.append_mapping(tick)

    def append(self, record: TickRecord) -> None:
        """Add one tick."""
        for name, append in self._appends:
            append(getattr(record, name))
        self._count += 1
        self._scored = None

    def append_mapping(self, tick: Mapping[str, Any]) -> None:
        """Add a tick given by name; a name that is missing means its default.

        Raises:
            BadTick: ``tick`` or ``sim_time`` is missing or a value is of the wrong type.
        """
        number = tick.get("tick")
        for name in ("tick", "sim_time"):
            if tick.get(name) is None:
                raise BadTick(number or self._count + 1, name, tick.get(name), "a number")
        for name, append in self._appends:
            value = tick.get(name)
            if value is None:
                value = _DEFAULTS.get(name)
            try:
                append(value)
            except (TypeError, OverflowError, ValueError):
                raise BadTick(
                    number or self._count + 1, name, value, "a value of its type"
                ) from None
        self._count += 1
        self._scored = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        position = index + self._count if index < 0 else index
        if not 0 <= position < self._count:
            raise IndexError(index)
        return {name: column.get(position) for name, column in self._columns.items()}

    def column(self, name: str) -> list[Any]:
        """All values of one field."""
        return self._columns[name].tolist()

    def array(self, name: str) -> NDArray[Any]:
        """All values of a numeric field: (n,) or (n, 3); what is absent is 0."""
        column = self._columns[name]
        if not isinstance(column, Floats | Vectors):
            raise TypeError(f"{name} is not a numeric field")
        return column.numpy()

    def known(self, name: str) -> bool:
        """Whether every tick has a value of this field."""
        column = self._columns[name]
        return not getattr(column, "absent", None)

    def scoring_columns(self) -> ScoringColumns:
        """What the penalty rules read; made once for one length."""
        if self._scored is None:
            columns: dict[str, Any] = self._columns
            road = columns["road_id"]
            self._scored = ScoringColumns(
                tick=columns["tick"].numpy(),
                sim_time=columns["sim_time"].numpy(),
                speed=columns["ego_speed"].numpy(),
                completion=columns["route_completion"].numpy(),
                location=columns["ego_location"].numpy(),
                red=columns["traffic_light_state"].equal("Red"),
                junction=columns["is_junction"].numpy(),
                road=road.numpy(),
                road_known=road.known(),
                contacts=self._contacts(),
            )
        return self._scored

    def _contacts(self) -> list[tuple[int, Contact]]:
        columns: dict[str, Any] = self._columns
        impulse, listed = columns["collision_impulse"], columns["contacts"].values
        found: list[tuple[int, Contact]] = []
        for index in np.flatnonzero(impulse.known()).tolist():
            if index in listed:
                found += [(index, (c[0], c[1], c[2])) for c in listed[index]]
            else:
                actor_id = columns["collision_actor_id"].get(index) or 0
                actor = columns["collision_actor"].get(index)
                found.append((index, (actor_id, actor, impulse.values[index])))
        return found

    def dumps(self, header: Mapping[str, Any] | None = None) -> bytes:
        """The file's text: a header line, then one JSON array a tick in the order of `FIELDS`."""
        head = {"schema": SCHEMA, "fields": list(FIELDS), **(header or {})}
        encode = msgspec.json.encode
        lines = [encode(head)]
        columns = [_finite(column) for column in self._columns.values()]
        lines += [encode(row) for row in zip(*columns, strict=True)]
        return b"\n".join(lines) + b"\n"

    def write(self, path: Path, header: Mapping[str, Any] | None = None) -> bytes:
        """Replace the file at ``path`` (`.jsonl.gz`); the bytes written.

        Raises:
            RunError: it cannot be written.
        """
        packed = io.BytesIO()
        # No time and no name inside: the same ticks give the same file.
        with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=4, mtime=0) as file:
            file.write(self.dumps(header))
        write_bytes(path, packed.getvalue())
        return packed.getvalue()


_UNBOUNDED: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _finite(column: Column) -> list[Any]:
    """JSON has no NaN and no infinity: those are written as words."""
    values = column.tolist()
    if isinstance(column, Floats) and not isinstance(column, Integers | Flags):
        numbers = np.frombuffer(column.values, dtype=np.float64)
        for index in np.flatnonzero(~np.isfinite(numbers)).tolist():
            values[index] = _word(values[index])
    elif isinstance(column, Vectors):
        rows = np.frombuffer(column.values, dtype=np.float64).reshape(-1, 3)
        for index in np.flatnonzero(~np.isfinite(rows).all(axis=1)).tolist():
            values[index] = [_word(value) for value in values[index]]
    return values


def _word(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _number(value: Any) -> Any:
    if isinstance(value, str):
        return _UNBOUNDED.get(value, value)
    if isinstance(value, list):
        return [_number(item) for item in value]
    return value


def read_ticks(path: Path) -> tuple[TickStore, dict[str, Any]]:
    """The ticks of a file, and its header (empty for an array of dictionaries).

    Reads ``.jsonl.gz``, ``.jsonl``, ``.jsonl.zst`` where a zstd module is present, and a JSON
    array of dictionaries (``.json``, ``.json.gz``).

    Raises:
        RunError: it cannot be read, or is no file of ticks.
        BadTick: a tick lacks its number or time.
    """
    try:
        raw = path.read_bytes()
        if path.suffix == ".gz":
            raw = gzip.decompress(raw)
        elif path.suffix == ".zst":
            raw = _zstd(path, raw)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
            raise RunError(f"{path} is not a whole gzip file: {error}") from error
        raise unreadable(path, error) from error
    try:
        if raw.lstrip()[:1] == b"[" or not raw.strip():
            return TickStore(_array(path, raw)), {}
        lines = raw.splitlines()
        header = json.loads(lines[0])
        fields = header.get("fields") if isinstance(header, dict) else None
        if not isinstance(fields, list) or header.get("schema") != SCHEMA:
            raise RunError(f"{path}, line 1: no header of ticks with schema {SCHEMA}")
        rows = [json.loads(line) for line in lines[1:]]
    except ValueError as error:
        raise RunError(f"{path} is not a file of ticks: {error}") from error
    store = TickStore()
    for number, row in enumerate(rows, start=2):
        if not isinstance(row, list) or len(row) != len(fields):
            raise RunError(f"{path}, line {number}: expected an array of {len(fields)} values")
        store.append_mapping(
            {
                name: _number(value) if name not in ("info", "events", "control") else value
                for name, value in zip(fields, row, strict=True)
            }
        )
    return store, header


def _array(path: Path, raw: bytes) -> list[dict[str, Any]]:
    found = json.loads(raw or b"[]")
    if not isinstance(found, list) or not all(isinstance(tick, dict) for tick in found):
        raise RunError(f"{path}: expected a JSON array of ticks")
    return [{name: _number(value) for name, value in tick.items()} for tick in found]


def _zstd(path: Path, raw: bytes) -> bytes:
    try:
        zstandard: Any = importlib.import_module("zstandard")
    except ImportError:
        raise RunError(f"{path} needs the package zstandard") from None
    unpacked: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(raw)
    return unpacked
