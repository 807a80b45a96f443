"""Recording: a match's actions, digests, frames, shots and events, spooled while it is played.

A spool is a file of JSON lines beside the replay to be: a header, one line for each decision in
which something happened, an end. A match that is killed leaves its spool without the end;
`repair` makes a replay of what is there.
"""

import gzip
from base64 import b64encode
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from sysone.arena import lineup
from sysone.arena.engine import HOLD, TEAMS, Game, Team
from sysone.arena.errors import ArenaError
from sysone.runs.atomic import write_bytes

FORMAT = "arena-replay-v1"
SPOOL_FORMAT = "arena-spool-v1"
SPOOL_SUFFIX = ".spool"
KEYFRAME_TICKS = 4
LINES_PER_FLUSH = 20  # two seconds of a match
ROBOT_FIELDS = ["x", "y", "z", "heading", "gimbal", "hp", "heat", "ammo", "flags"]
TEAM_FIELDS = [
    *("base_hp", "shield", "outpost_hp", "outpost_angle", "armour_open"),
    *("coins", "attack_damage", "tech_level", "rune_buff"),
]
CONTINUOUS = frozenset(
    {"move", "frame", "heading", "spin", "follow", "aim", "fire", "fire_guard", "power"}
)
LETTER: dict[Team, Literal["r", "b"]] = {"red": "r", "blue": "b"}
_MOST_JSON_INTEGER = 2**53 - 1


class Line(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one decision adds to a replay."""

    digests: bytes = b""
    """Tick digests, uint64 little-endian."""
    frames: bytes = b""
    shots: bytes = b""
    actions: list[tuple[int, str, msgspec.Raw]] = []
    errors: list[tuple[int, str, str]] = []
    events: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class End(msgspec.Struct, omit_defaults=True):
    """The last line of a match that came to its end."""

    result: dict[str, Any]
    digest: str
    truncated: bool = False


class Recorder:
    """Writes a match's spool as it is played; nothing of the match stays in memory.

    ``about`` names swapped, control and strategies. An action is kept when it differs from the
    side's one before, and always when it has an order that acts once.
    """

    def __init__(self, game: Game, about: Mapping[str, Any], spool: IO[bytes]) -> None:
        self.game = game
        self._spool = spool
        self._last: dict[Team, bytes] = dict.fromkeys(TEAMS, HOLD)
        self._actions: list[tuple[int, str, msgspec.Raw]] = []
        self._errors: list[tuple[int, str, str]] = []
        self._encode = msgspec.json.Encoder().encode
        self._lines = 0
        game.core.record(True)
        spool.write(self._encode({"spool": SPOOL_FORMAT, **_header(game), **about}) + b"\n")
        spool.write(self._encode(Line(frames=game.core.frame())) + b"\n")
        spool.flush()

    def acted(self, side: Team, action: bytes) -> None:
        """The action that a side applies in the coming decision."""
        # A line a decision: the breaks of an action's own are blanks to JSON.
        action = action.replace(b"\n", b" ").replace(b"\r", b" ")
        if action == self._last[side] and not has_orders(action):
            return
        self._last[side] = action
        self._actions.append((self.game.tick, LETTER[side], msgspec.Raw(action)))

    def refused(self, side: Team, code: str) -> None:
        """A side's action was refused, or came late."""
        self._errors.append((self.game.tick, LETTER[side], code))

    def advanced(self, digests: bytes) -> None:
        """The decision's ticks are done."""
        core = self.game.core
        line = Line(digests=digests, shots=core.shots(), actions=self._actions, errors=self._errors)
        if self.game.tick % KEYFRAME_TICKS == 0 or self.game.ended:
            line.frames = core.frame()
        events = core.events_json()
        if events != "[]":
            line.events = msgspec.Raw(events.encode())
        self._spool.write(self._encode(line) + b"\n")
        self._actions, self._errors = [], []
        self._lines += 1
        if self._lines % LINES_PER_FLUSH == 0:
            self._spool.flush()

    def finish(self) -> None:
        """The match is over, or stopped: write the end."""
        end = End(self.game.result(), self.game.digest, truncated=not self.game.ended)
        self._spool.write(self._encode(end) + b"\n")
        self._spool.flush()


def _header(game: Game) -> dict[str, Any]:
    setup = game.setup
    return {
        "format": FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "fingerprints": game.book.fingerprints,
        "season": setup.season,
        "map": f"rmuc{setup.season}",
        "mode": setup.mode,
        "seed": setup.seed if setup.seed <= _MOST_JSON_INTEGER else str(setup.seed),
        "duration": game.ticks / 20,
        "settings": game.book.changes,
        "settings_hash": game.book.settings_hash,
        "lineups": {side: lineup.write(setup.lineups[side]) for side in TEAMS},
        "scenario": setup.scenario,
        "test": setup.scenario is not None,
    }


def has_orders(action: bytes) -> bool:
    """Whether an action has something that acts once."""
    decoded = msgspec.json.decode(action)
    if not isinstance(decoded, dict):
        return True
    return "team" in decoded or any(
        not CONTINUOUS.issuperset(robot) for robot in decoded.values() if isinstance(robot, dict)
    )


def spool_of(replay: Path) -> Path:
    """Where a replay is spooled."""
    return replay.with_name(replay.name + SPOOL_SUFFIX)


def assemble(spool: IO[bytes], end: End | None = None) -> bytes:
    """The replay that a spool makes.

    ``end`` stands for the end of a spool that has none.

    Raises:
        ArenaError: it is no spool, or has no end.
    """
    header = _read_header(spool)
    parts: dict[str, bytearray] = {key: bytearray() for key in ("digests", "frames", "shots")}
    actions: list[tuple[int, str, msgspec.Raw]] = []
    errors: list[tuple[int, str, str]] = []
    events = bytearray()
    for line in _lines(spool):
        if isinstance(line, End):
            end = line
            break
        for key, part in parts.items():
            part += getattr(line, key)
        actions += line.actions
        errors += line.errors
        if line.events is not msgspec.UNSET:
            events += (b"," if events else b"") + bytes(line.events).strip()[1:-1]
    if end is None:
        raise ArenaError("replay", "the spool has no end; replay info --repair closes it")
    return msgspec.json.encode(
        {
            **header,
            **({"truncated": True} if end.truncated else {}),
            "result": end.result,
            "digest": end.digest,
            "tick_digests": b64encode(parts["digests"]).decode(),
            "actions": actions,
            "errors": errors,
            "keyframes": {
                "every_ticks": KEYFRAME_TICKS,
                "fields": ROBOT_FIELDS,
                "team_fields": TEAM_FIELDS,
                "data": b64encode(parts["frames"]).decode(),
            },
            "shots": b64encode(parts["shots"]).decode(),
            "events": msgspec.Raw(b"[" + bytes(events) + b"]"),
        }
    )


def _read_header(spool: IO[bytes]) -> dict[str, Any]:
    spool.seek(0)
    first = spool.readline()
    try:
        header: dict[str, Any] = msgspec.json.decode(first, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArenaError("replay", f"no spool: {error}") from error
    if header.pop("spool", None) != SPOOL_FORMAT:
        raise ArenaError("replay", "no spool: its first line names no format")
    return header


def _lines(spool: IO[bytes]) -> Iterator[Line | End]:
    """The whole lines; one that was cut short ends them, as do all that come after it."""
    decode_line = msgspec.json.Decoder(Line).decode
    decode_end = msgspec.json.Decoder(End).decode
    for raw in spool:
        try:
            yield decode_end(raw) if raw.startswith(b'{"result"') else decode_line(raw)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        if not raw.endswith(b"\n"):
            return


def write(path: Path, replay: bytes) -> None:
    """Write a replay in one step; a name that ends in .gz is compressed."""
    data = gzip.compress(replay, 6, mtime=0) if path.suffix == ".gz" else replay
    write_bytes(path, data)


def close(replay: Path) -> bool:
    """Make a replay of its spool, which is removed; False when there is no whole decision in it.

    A spool without an end is played again up to where it ends.

    Raises:
        ArenaError: there is no spool, or it cannot be played.
    """
    path = spool_of(replay)
    try:
        spool = path.open("rb")
    except OSError as error:
        raise ArenaError("replay", f"{path}: {error.strerror}") from error
    with spool:
        try:
            data = assemble(spool)
        except ArenaError:
            end = _played_again(spool, path)
            if end is None:
                return False
            data = assemble(spool, end)
    write(replay, data)
    with suppress(OSError):
        path.unlink()
    return True


def _played_again(spool: IO[bytes], path: Path) -> End | None:
    """The end that a cut-short spool would have: the match as far as it was recorded."""
    # what reads replays knows how they are written
    from sysone.arena.replay import decode, play

    try:
        cut = decode(assemble(spool, End({}, "", truncated=True)))
    except msgspec.DecodeError as error:
        raise ArenaError("replay", f"{path} is no spool: {error}") from error
    last = deque(play(cut), maxlen=1)
    if not last:
        return None
    game, _ = last[0]
    return End(game.result(), game.digest, truncated=not game.ended)
