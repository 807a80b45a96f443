"""Replays: everything that fixes a match, the applied actions, and the digest of every tick."""

import gzip
import zlib
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import msgspec

from sysone.arena import lineup
from sysone.arena.engine import HOLD, TEAMS, TICKS_PER_DECISION, Game, Setup, Team
from sysone.arena.errors import ArenaError
from sysone.arena.record import KEYFRAME_TICKS, LETTER, ROBOT_FIELDS, TEAM_FIELDS
from sysone.arena.rules.settings import season_named

_TEAM: dict[str, Team] = {letter: side for side, letter in LETTER.items()}
# What decides a match's ticks; the SDK's fingerprint does not, as applied actions are recorded.
DECISIVE = ("engine", "rules", "field")


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """A replay as it is read; what the player alone needs stays as it is."""

    format: Literal["arena-replay-v1"]
    created: str
    fingerprints: dict[str, str]
    season: str
    mode: Literal["standard", "deck"]
    seed: int | str
    duration: float
    settings: dict[str, Any]
    settings_hash: str
    lineups: dict[str, list[dict[str, int]]]
    scenario: dict[str, Any] | None
    control: dict[str, Literal["team", "individual"]]
    strategies: dict[str, Any]
    swapped: bool
    result: dict[str, Any]
    digest: str
    tick_digests: str
    actions: list[tuple[int, Literal["r", "b"], msgspec.Raw]]
    errors: list[tuple[int, str, str]]
    keyframes: dict[str, Any]
    shots: str
    events: list[dict[str, Any]]
    truncated: bool = False
    """Whether the match was cut short, so that only its first ticks are here."""

    def setup(self) -> Setup:
        """The match that was recorded."""
        return Setup(
            season=season_named(self.season),
            seed=int(self.seed),
            lineups={side: lineup.read(self.lineups[side]) for side in TEAMS},
            mode=self.mode,
            changes=self.settings,
            duration_s=self.duration,
            scenario=self.scenario,
        )


def read(path: Path) -> Replay:
    """The replay in a file, plain or gzip.

    Raises:
        ArenaError: it cannot be read or is no replay; the text says what is wrong.
    """
    try:
        raw = path.read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
    except OSError as error:
        raise ArenaError("replay", f"{path}: {error.strerror or error}") from error
    except EOFError as error:
        raise ArenaError("replay", f"{path}: cut short") from error
    except zlib.error as error:
        raise ArenaError("replay", f"{path}: its compression is damaged: {error}") from error
    try:
        replay = decode(raw)
        _check(replay)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise ArenaError("replay", f"{path} is no replay: {error}") from error
    return replay


def _check(replay: Replay) -> None:
    """What the format's types leave open; raises `ValueError`."""
    for name in ("lineups", "control"):
        if set(getattr(replay, name)) != set(TEAMS):
            raise ValueError(f"{name} has {sorted(getattr(replay, name))}, expected red and blue")
    if not str(replay.seed).isascii() or not str(replay.seed).isdecimal():
        raise ValueError(f"seed is {str(replay.seed)[:40]!r}, expected a whole number")
    if len(str(replay.seed)) > 20:
        raise ValueError("seed has more digits than 64 bits need")
    if len(b64decode(replay.tick_digests, validate=True)) % 8:
        raise ValueError("tick_digests is not a whole number of digests")
    data = replay.keyframes.get("data")
    if not isinstance(data, str) or len(b64decode(data, validate=True)) % 4:
        raise ValueError("keyframes.data is not Base64 of 32-bit words")


def decode(raw: bytes) -> Replay:
    """The replay in a JSON text."""
    return msgspec.json.decode(raw, type=Replay)


def play(replay: Replay) -> Iterator[tuple[Game, bytes]]:
    """Play a replay's actions again; yields the game and the tick digests of every decision.

    A truncated replay ends where its digests end.
    """
    game = Game(replay.setup())
    recorded = len(b64decode(replay.tick_digests)) // 8
    start = game.tick
    entries = iter(replay.actions)
    entry = next(entries, None)
    last: dict[Team, bytes] = dict.fromkeys(TEAMS, HOLD)
    while not game.ended and not (replay.truncated and game.tick - start >= recorded):
        while entry is not None and entry[0] <= game.tick:
            last[_TEAM[entry[1]]] = bytes(entry[2])
            entry = next(entries, None)
        for side in TEAMS:
            apply(game, side, last[side], replay.control[side])
        yield game, game.advance()


def apply(game: Game, side: Team, action: bytes, control: str) -> None:
    """Give a recorded action: a team's at once, single robots' one by one."""
    if control == "team":
        game.act(side, action)
        return
    for slot, robot in msgspec.json.decode(action, type=dict[str, msgspec.Raw]).items():
        game.act(side, b'{"' + slot.encode() + b'":' + bytes(robot) + b"}", int(slot))


def verify(path: Path, *, force: bool = False) -> dict[str, Any]:
    """Simulate a recorded match again and compare every tick's digest.

    Raises:
        ArenaError: the file is no replay, or its match is not allowed.
    """
    replay = read(path)
    report: dict[str, Any] = {"type": "verify", "file": str(path), "ok": False, "ticks": 0}
    try:
        wanted = b64decode(replay.tick_digests, validate=True)
        game = Game(replay.setup())
    except ValueError as error:
        raise ArenaError("replay", f"{path} cannot be played: {error}") from error
    ours = game.book.fingerprints
    match = all(replay.fingerprints.get(key) == ours[key] for key in DECISIVE)
    report["fingerprint_match"] = match
    if not match and not force:
        return {
            **report,
            "first_mismatch": None,
            "ticks_per_s": 0.0,
            "message": "recorded with another engine or other rules; --force verifies it anyway",
        }
    begin = perf_counter()
    first: dict[str, Any] | None = None
    done = 0
    for played, digests in play(replay):
        expected = wanted[done * 8 : done * 8 + len(digests)]
        if first is None and digests != expected:
            first = _mismatch(done, digests, expected)
        done += len(digests) // 8
        game = played
        if first is not None:
            break
    spent = perf_counter() - begin
    if first is None and len(wanted) != done * 8:
        first = {"tick": done, "expected": "another length", "got": None}
    ok = (
        first is None
        and game.digest == replay.digest
        and game.result()["winner"] == replay.result.get("winner")
    )
    return {
        **report,
        "ok": ok,
        "ticks": done,
        "first_mismatch": first,
        "ticks_per_s": round(done / spent, 1) if spent else 0.0,
    }


def _mismatch(done: int, got: bytes, expected: bytes) -> dict[str, Any]:
    for i in range(0, len(got), TICKS_PER_DECISION * 4):
        if got[i : i + 8] != expected[i : i + 8]:
            other = expected[i : i + 8]
            return {
                "tick": done + i // 8,
                "expected": f"{int.from_bytes(other, 'little'):016x}" if other else None,
                "got": f"{int.from_bytes(got[i : i + 8], 'little'):016x}",
            }
    return {"tick": done, "expected": None, "got": None}


def info(path: Path) -> dict[str, Any]:
    """Header, sizes, strategies and result of a replay."""
    replay = read(path)
    return {
        "type": "replay",
        "file": str(path),
        "bytes": path.stat().st_size,
        **{
            key: getattr(replay, key)
            for key in (
                *("format", "created", "season", "mode", "seed", "swapped", "duration"),
                *("settings", "lineups", "scenario", "control", "strategies", "fingerprints"),
                *("result", "digest", "truncated"),
            )
        },
        "ticks": len(b64decode(replay.tick_digests)) // 8,
        "actions": len(replay.actions),
        "events": len(replay.events),
        "errors": len(replay.errors),
    }


def show(path: Path, at_s: float) -> dict[str, Any]:
    """The full state of a recorded match at a time in seconds."""
    replay = read(path)
    tick = round(at_s * 20)
    if tick < 0 or tick > replay.duration * 20:
        raise ArenaError("usage", f"--at must be from 0 to {replay.duration}, not {at_s}")
    if tick == 0:
        return Game(replay.setup()).state()
    state: dict[str, Any] = {}
    for game, _ in play(replay):
        state = {}
        if game.tick >= tick or game.ended:
            state = game.state()
            break
    return state


def frames(path: Path) -> tuple[list[str], Iterator[list[int]]]:
    """Names of columns and one row for each robot and keyframe, made as they are taken."""
    replay = read(path)
    words = memoryview(b64decode(replay.keyframes["data"])).cast("i")
    ids = [f"{side}-{entry['slot']}" for side in TEAMS for entry in replay.lineups[side]]
    removed = set((replay.scenario or {}).get("remove", []))
    ids = [name for name in ids if name not in removed]
    width = len(ids) * len(ROBOT_FIELDS) + 2 * len(TEAM_FIELDS)
    start = round((replay.scenario or {}).get("time", 0) * 20)

    def rows() -> Iterator[list[int]]:
        for k in range(len(words) // width):
            for r, name in enumerate(ids):
                at = k * width + r * len(ROBOT_FIELDS)
                yield [
                    min(start + k * KEYFRAME_TICKS, round(replay.duration * 20)),
                    TEAMS.index("red" if name.startswith("red") else "blue"),
                    int(name.split("-")[1]),
                    *words[at : at + len(ROBOT_FIELDS)],
                ]

    return ["tick", "team", "slot", *ROBOT_FIELDS], rows()
