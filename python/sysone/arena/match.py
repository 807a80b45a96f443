"""One match from end to end: a simulator process, the strategies' processes, a result, a replay."""

import json
import os
import socket
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, perf_counter
from typing import IO, Any, Literal

import msgspec

from sysone.arena import processes
from sysone.arena.engine import HOLD, TEAMS, Setup, Team
from sysone.arena.errors import ArenaError
from sysone.arena.frames import Channel, ClosedError
from sysone.arena.isolation.base import Isolation, TrustedLocal
from sysone.arena.player import Player, collect
from sysone.arena.record import close, spool_of
from sysone.arena.sim_host import Answer, Round
from sysone.arena.sources import Strategy

Control = Literal["team", "individual"]
TRACEBACK_TAIL = 2048


@dataclass(frozen=True)
class Side:
    """Who drives a side: one strategy for all robots, or one for each deck slot."""

    control: Control
    strategies: Mapping[int, Strategy]
    """By slot; slot 0 is the strategy of the whole side."""

    def identity(self) -> dict[str, Any]:
        """How results and replays name it."""
        if 0 in self.strategies and len(self.strategies) == 1:
            return self.strategies[0].identity()
        return {
            "control": self.control,
            "deck": [{"slot": s, **k.identity()} for s, k in sorted(self.strategies.items())],
        }


@dataclass(frozen=True)
class Limits:
    """Budgets of the strategies, in wall time."""

    timeout_s: float = 0.2
    startup_s: float = 10.0
    match_s: float = 1800.0
    memory_mb: int = 512


@dataclass
class Played:
    """What is left of a match."""

    result: dict[str, Any]


class _FailedError(Exception):
    def __init__(self, code: str, message: str, status: str = "failed") -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@dataclass
class _Clock:
    """Where a match's wall time went, in seconds."""

    simulate_s: float = 0.0
    observe_s: float = 0.0
    wait_s: float = 0.0
    round_s: float = 0.0


def play(
    setup: Setup,
    sides: Mapping[Team, Side],
    limits: Limits | None = None,
    *,
    record: Path | None = None,
    record_ok: bool = True,
    swapped: bool = False,
    log_folder: Path | None = None,
    isolation: Isolation | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> Played:
    """Play a match.

    Strategies' faults end in the result. ``record`` names the replay to be written, which is
    spooled beside it meanwhile; without ``record_ok`` only that of a match that is not ``ok`` is
    kept. ``log_folder`` gets each side's output. ``stopping`` is asked at every decision; the
    match then ends as it stands, with the status ``interrupted``. Without ``isolation`` strategies
    are plain processes.

    Raises:
        ArenaError: the match itself is not allowed.
    """
    limits = limits or Limits()
    isolation = isolation or TrustedLocal()
    begin = perf_counter()
    players = [
        Player(strategy, side, slot)
        for side in TEAMS
        for slot, strategy in sorted(sides[side].strategies.items())
    ]
    error: dict[str, Any] | None = None
    status = "ok"
    final: dict[str, Any] = {}
    fingerprints: dict[str, str] = {}
    clock = _Clock()
    sim_pid: int | None = None
    with _logs(log_folder) as logs:
        process, channel = processes.start("sysone.arena.sim_host", log=logs["sim"])
        sim_pid = process.pid
        try:
            world = _begin(channel, setup, players, record, _about(sides, swapped))
            fingerprints = world["fingerprints"]
            _start(players, setup, world, limits, logs, isolation)
            end = monotonic() + limits.match_s
            if not _run(channel, players, limits, clock, end, stopping):
                status = "interrupted"
            channel.send(b"F")
            final = json.loads(channel.receive()[1])
        except _FailedError as failed:
            status = failed.status
            error = {"code": failed.code, "message": str(failed), "traceback_tail": ""}
        except ClosedError:
            status = "failed"
            error = {
                "code": "simulator",
                "message": "the simulator's process ended",
                "traceback_tail": traceback.format_exc()[-TRACEBACK_TAIL:],
            }
        finally:
            for player in players:
                player.close()
            channel.close()
            processes.stop(process)
    if status == "ok" and any(player.errors for player in players):
        status = "strategy_error"
    wall = perf_counter() - begin
    result = {
        "type": "result",
        "seed": setup.seed,
        "swapped": swapped,
        "season": setup.season,
        "mode": setup.mode,
        "status": status,
        "outcome": _outcome(final, swapped) if final and status != "interrupted" else None,
        "winner": final.get("winner"),
        "reason": final.get("reason"),
        "final": final.get("final"),
        "digest": final.get("digest"),
        "fingerprints": fingerprints,
        "ticks": final.get("ticks"),
        "strategies": {side: _report(players, side, sides[side]) for side in TEAMS},
        "isolation": isolation.name,
        "wall_s": round(wall, 3),
        "sim_s": round(clock.simulate_s, 3),
        "shares": _shares(clock, players),
        "worker_pid": os.getpid(),
        "sim_pid": sim_pid,
        "host": socket.gethostname(),
        "replay": None,
        "error": error,
    }
    if record is not None and _keep(record, record_ok or status != "ok"):
        result["replay"] = str(record)
    return Played(result)


def _keep(record: Path, wanted: bool) -> bool:
    """Make the replay of what was spooled, or forget it."""
    spool = spool_of(record)
    if wanted:
        return spool.exists() and close(record)
    spool.unlink(missing_ok=True)
    return False


@contextmanager
def _logs(folder: Path | None) -> Iterator[dict[str, IO[bytes] | None]]:
    names = ("red", "blue", "sim")
    if folder is None:
        yield dict.fromkeys(names)
        return
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: (folder / f"{name}.log").open("ab") for name in names}
    try:
        yield dict(files)
    finally:
        for file in files.values():
            file.close()


def _begin(
    channel: Channel,
    setup: Setup,
    players: Sequence[Player],
    record: Path | None,
    about: dict[str, Any],
) -> dict[str, Any]:
    raw = {
        "setup": {
            "season": setup.season,
            "seed": str(setup.seed),
            "lineups": {side: dict(setup.lineups[side]) for side in TEAMS},
            "mode": setup.mode,
            "changes": dict(setup.changes),
            "duration_s": setup.duration_s,
            "scenario": setup.scenario,
        },
        "controllers": [(player.team, player.slot) for player in players],
        "spool": None if record is None else str(spool_of(record).absolute()),
        "about": about,
    }
    if record is not None:
        record.parent.mkdir(parents=True, exist_ok=True)
    channel.send(b"S", json.dumps(raw).encode())
    kind, body = channel.receive()
    answer: dict[str, Any] = json.loads(body)
    if kind == b"E":
        raise ArenaError(answer["code"], answer["message"])
    return answer


def _start(
    players: Sequence[Player],
    setup: Setup,
    world: dict[str, Any],
    limits: Limits,
    logs: Mapping[str, IO[bytes] | None],
    isolation: Isolation,
) -> None:
    deadline = monotonic() + limits.startup_s
    for player in players:
        lineup = setup.lineups[player.side]
        slots = sorted(lineup) if player.slot == 0 else [player.slot]
        info = player.info(setup, slots, world)
        wish = player.strategy.manifest.limits.memory_mb
        memory_mb = min(limits.memory_mb, max(wish, 512))
        # The package's own, and it needs the network.
        walls = TrustedLocal() if player.strategy.source == "systemone" else isolation
        player.start(info, logs[player.side], walls, memory_mb, limits.match_s)
    for player in players:
        problem = player.ready(deadline)
        if problem is not None:
            raise _FailedError("startup", f"{player.side} {player.strategy.key}: {problem}")


def _run(
    channel: Channel,
    players: Sequence[Player],
    limits: Limits,
    clock: _Clock,
    end: float,
    stopping: Callable[[], bool],
) -> bool:
    """Play until the match is over; returns whether it is, or was told to stop."""
    decode = msgspec.msgpack.Decoder(Answer).decode
    encode = msgspec.msgpack.Encoder().encode
    channel.send(b"O")
    while True:
        begin = perf_counter()
        answer = decode(channel.receive()[1])
        clock.round_s += perf_counter() - begin
        clock.simulate_s += answer.simulate_ns / 1e9
        clock.observe_s += answer.observe_ns / 1e9
        for team, slot, code, path in answer.errors:
            for player in players:
                if (player.team, player.slot) == (team, slot):
                    player.note(code, path)
        if answer.ended:
            return True
        if stopping():
            return False
        if monotonic() > end:
            raise _FailedError("match_timeout", f"longer than {limits.match_s:g} s", "timeout")
        for player, observation in zip(players, answer.observations, strict=True):
            player.ask(observation, limits.timeout_s)
        counts = [sum(player.errors.values()) for player in players]
        begin = perf_counter()
        actions = collect(players)
        clock.wait_s += perf_counter() - begin
        late = [
            (player.team, player.first_errors[-1]["code"] if player.first_errors else "timeout")
            for player, before in zip(players, counts, strict=True)
            if sum(player.errors.values()) > before
        ]
        given = [(p.team, p.slot, actions[p]) for p in players if actions.get(p, HOLD) != HOLD]
        channel.send(b"D", encode(Round(given, late)))


def _about(sides: Mapping[Team, Side], swapped: bool) -> dict[str, Any]:
    return {
        "swapped": swapped,
        "control": {side: sides[side].control for side in TEAMS},
        "strategies": {side: sides[side].identity() for side in TEAMS},
    }


def _outcome(final: dict[str, Any], swapped: bool) -> str:
    """The outcome for strategy A, which plays red unless the sides are swapped."""
    if final["winner"] is None:
        return "draw"
    return "win" if (final["winner"] == "red") != swapped else "loss"


def _report(players: Sequence[Player], side: Team, who: Side) -> dict[str, Any]:
    own = [player for player in players if player.side == side]
    if len(own) == 1 and own[0].slot == 0:
        return own[0].report()
    return {
        "control": who.control,
        "team_strategy": None,
        "deck": [{"slot": player.slot, **player.report()} for player in own],
    }


def _shares(clock: _Clock, players: Sequence[Player]) -> dict[str, float]:
    """Seconds of a match by part; strategies of both sides think at the same time."""
    act = sum(player.act_ns for player in players) / 1e9
    host = sum(player.host_ns for player in players) / 1e9
    return {
        "simulate_s": round(clock.simulate_s, 3),
        "observe_s": round(clock.observe_s, 3),
        "strategies_act_s": round(act, 3),
        "strategies_json_s": round(host - act, 3),
        "waited_for_strategies_s": round(clock.wait_s, 3),
        "waited_for_simulator_s": round(clock.round_s, 3),
    }
