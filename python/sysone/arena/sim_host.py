"""The process that simulates one match: no strategy runs here and no clock is read for the match.

Messages come on descriptor 3 and go out on 4: a setup, then one round for each decision.
"""

import contextlib
import json
import os
import resource
import signal
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import msgspec

from sysone.arena.engine import HOLD, TEAMS, Game, Setup, Team, static
from sysone.arena.errors import ArenaError
from sysone.arena.frames import Channel, ClosedError
from sysone.arena.record import Recorder
from sysone.arena.rules.settings import season_named
from sysone.runs.owner import end_with_owner


class Round(msgspec.Struct, array_like=True):
    """What the match's owner sends for a decision: actions, and errors that it counted itself."""

    actions: list[tuple[int, int, bytes]]
    """Team, slot (0 for a team's strategy), JSON."""
    errors: list[tuple[int, str]]
    """Team, code."""


class Answer(msgspec.Struct, array_like=True):
    """What comes back."""

    observations: list[bytes]
    errors: list[tuple[int, int, str, str]]
    """Team, slot, code, path of each action that was refused."""
    ended: bool
    tick: int
    simulate_ns: int
    observe_ns: int


def setup_of(raw: dict[str, Any]) -> Setup:
    """A match from its JSON form."""
    return Setup(
        season=season_named(raw["season"]),
        seed=int(raw["seed"]),
        lineups={side: {int(s): m for s, m in raw["lineups"][side].items()} for side in TEAMS},
        mode=raw["mode"],
        changes=raw["changes"],
        duration_s=raw["duration_s"],
        scenario=raw["scenario"],
    )


def serve(channel: Channel) -> None:
    """Play a match for its owner."""
    _, body = channel.receive()
    raw = json.loads(body)
    try:
        game = Game(setup_of(raw["setup"]))
    except ArenaError as error:
        channel.send(b"E", json.dumps({"code": error.code, "message": str(error)}).encode())
        return
    controllers: list[tuple[int, int]] = [(team, slot) for team, slot in raw["controllers"]]
    if raw["spool"] is None:
        _rounds(channel, game, controllers, None)
        return
    with Path(raw["spool"]).open("wb") as spool:
        _rounds(channel, game, controllers, Recorder(game, raw["about"], spool))


def _rounds(
    channel: Channel,
    game: Game,
    controllers: list[tuple[int, int]],
    recorder: Recorder | None,
) -> None:
    channel.send(
        b"R",
        json.dumps(
            {
                "seed_hints": [game.core.seed_hint(team) for team in (0, 1)],
                "static": static(game.book),
                "settings": game.book.settings,
                "fingerprints": game.book.fingerprints,
            }
        ).encode(),
    )
    decode = msgspec.msgpack.Decoder(Round).decode
    encode = msgspec.msgpack.Encoder().encode
    while True:
        kind, body = channel.receive()
        if kind == b"F":
            break
        begin = perf_counter_ns()
        refused: list[tuple[int, int, str, str]] = []
        if kind == b"D":
            refused = decide(game, decode(body), recorder)
        middle = perf_counter_ns()
        observations = [game.observe(TEAMS[team], slot) for team, slot in controllers]
        end = perf_counter_ns()
        channel.send(
            b"O",
            encode(
                Answer(observations, refused, game.ended, game.tick, middle - begin, end - middle)
            ),
        )
    if recorder is not None:
        recorder.finish()
    result = game.result()
    result["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    channel.send(b"F", json.dumps(result).encode())


def decide(game: Game, wanted: Round, recorder: Recorder | None) -> list[tuple[int, int, str, str]]:
    """Apply the actions of a decision and run its ticks; returns what was refused."""
    refused: list[tuple[int, int, str, str]] = []
    applied: dict[Team, list[tuple[int, bytes]]] = {side: [] for side in TEAMS}
    for team, slot, action in wanted.actions:
        side = TEAMS[team]
        refusal = game.act(side, action, slot)
        if refusal is None:
            applied[side].append((slot, action))
            continue
        refused.append((team, slot, refusal.code, refusal.path))
    if recorder is not None:
        for team, code in (*wanted.errors, *((t, code) for t, _, code, _ in refused)):
            recorder.refused(TEAMS[team], code)
        for side in TEAMS:
            recorder.acted(side, merged(applied[side]))
    digests = game.advance()
    if recorder is not None:
        recorder.advanced(digests)
    return refused


def merged(parts: list[tuple[int, bytes]]) -> bytes:
    """One action from those of a side's strategies."""
    if not parts:
        return HOLD
    if parts[0][0] == 0:
        return parts[0][1]
    whole: dict[str, msgspec.Raw] = {}
    for _, action in parts:
        whole.update(msgspec.json.decode(action, type=dict[str, msgspec.Raw]))
    return msgspec.json.encode(whole)


def main() -> None:
    """Run as a process of a match."""
    end_with_owner()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    with contextlib.suppress(ClosedError):
        serve(Channel(3, 4))


if __name__ == "__main__":
    main()
