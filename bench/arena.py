"""Arena: the core against real time, digests, observations, verification, a whole match."""

import json
import tempfile
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path
from time import thread_time_ns
from typing import IO

from bench.measure import Direct
from bench.registry import promise
from sysone.arena import lineup, match, replay, sources
from sysone.arena.engine import HOLD, TEAMS, Game, Setup, static
from sysone.arena.record import Recorder, assemble, write
from sysone.arena.rules.book import Book
from sysone.arena.sdk.plans import Rush
from sysone_core import arena as core

REAL_TIME = core.TICKS_PER_SECOND
RED = {1: 2612, 2: 2631, 3: 2632, 4: 2633, 5: 2634, 6: 2671}
BLUE = {1: 2612, 2: 2631, 3: 2632, 4: 2633, 5: 2671}
ROUNDS = 7
TICKS = 2400  # two minutes


def fastest(call: Callable[[], int], rounds: int = ROUNDS) -> float:
    """Work a second of processor time of this thread, in the best of some rounds."""
    best = 0.0
    for _ in range(rounds):
        begin = thread_time_ns()
        work = call()
        best = max(best, work * 1e9 / (thread_time_ns() - begin))
    return best


def armed(digests: bool = True) -> core.Simulator:
    """Six guns against five in the middle of the field, with ammunition for the whole match."""
    sim = core.Simulator(
        Book.of("2026").compiled, sorted(RED.items()), sorted(BLUE.items()), 1, 8400, True
    )
    robots = {
        f"{side}-{slot}": {"ammo": 100000} for side, deck in zip(TEAMS, (RED, BLUE), strict=True)
        for slot in deck
    }  # fmt: skip
    sim.use_digests(digests)
    assert sim.reset(1, json.dumps({"robots": robots})) is None
    return sim


def fight(sim: core.Simulator, ticks: int = TICKS) -> int:
    """Everybody walks to the middle and holds the trigger."""
    red = json.dumps({str(s): {"fire": True, "move": [1, 0.1 * (s - 3)]} for s in RED})
    blue = json.dumps({str(s): {"fire": True, "move": [-1, -0.1 * (s - 3)]} for s in BLUE})
    done = 0
    while done < ticks:
        sim.act(0, red)
        sim.act(1, blue)
        done += sim.advance(20)
    return done


@promise("arena.shooting")
def shooting() -> Direct:
    return Direct(fastest(lambda: fight(armed())), REAL_TIME)


@promise("arena.idle")
def idle() -> Direct:
    line = sorted(lineup.default("2026").items())

    def play() -> int:
        return core.Simulator(Book.of("2026").compiled, line, line, 1, 8400).advance(TICKS)

    return Direct(fastest(play), REAL_TIME)


@promise("arena.digest")
def digest_share() -> Direct:
    with_digests = fastest(lambda: fight(armed()))
    without = fastest(lambda: fight(armed(digests=False)))
    return Direct(max(0.1, 100 * (1 - with_digests / without)), 10)


@promise("arena.observe")
def observe() -> Direct:
    sim = armed()
    fight(sim, 600)

    def both() -> int:
        for _ in range(200):
            sim.observe(0)
            sim.observe(1)
        return 200

    assert max(len(sim.observe(team)) for team in (0, 1)) <= 12_000
    return Direct(1e6 / fastest(both), 60)


@promise("arena.verify")
def verify() -> Direct:
    line = lineup.default("2026")
    game = Game(Setup("2026", 1, {"red": line, "blue": line}, duration_s=60))
    about = {"swapped": False, "control": dict.fromkeys(TEAMS, "team"), "strategies": {}}
    spool = BytesIO()
    recorder = Recorder(game, about, spool)
    while not game.ended:
        for side in TEAMS:
            text = json.dumps(
                {
                    str(s): {"fire": s != 2, "spin": game.tick % 7 / 10, "move": [0.5, 0]}
                    for s in line  # slot 2 is the engineer, which has no launcher
                }
            ).encode()
            assert game.act(side, text) is None
            recorder.acted(side, text)
        recorder.advanced(game.advance())
    recorder.finish()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "match.json"
        write(path, assemble(spool))

        def again() -> int:
            report = replay.verify(path)
            assert report["ok"], report
            return int(report["ticks"])

        return Direct(fastest(again, 5), REAL_TIME)


@promise("arena.match")
def whole_match() -> Direct:
    """A full match of two bundled strategies, in wall time, with where it went."""
    found = [sources.find(f"bundled:std_2027_{name}") for name in ("team", "rush")]
    line = lineup.default("2027")
    sides = {s: match.Side("team", {0: k}) for s, k in zip(TEAMS, found, strict=True)}
    setup = Setup("2027", 1, {"red": line, "blue": line})
    results = [
        match.play(setup, sides, match.Limits(timeout_s=10, startup_s=60)).result  # type: ignore[arg-type]
        for _ in range(2)
    ]
    best = min(results, key=lambda result: result["wall_s"])
    assert best["ticks"] <= 8400
    return Direct(best["wall_s"], 10, {k.removesuffix("_s"): v for k, v in best["shares"].items()})


@promise("arena.recording")
def recording() -> Direct:
    """What recording adds to a match, in processor time of one thread.

    Red alone thinks: in a real match both sides do at the same time. Pipes and other processes
    are left out, which makes the share look larger than it is.
    """
    line = lineup.default("2027")
    setup = Setup("2027", 1, dict.fromkeys(TEAMS, line), duration_s=60)
    about = {"swapped": False, "control": dict.fromkeys(TEAMS, "team"), "strategies": {}}

    def play(spool: IO[bytes] | None) -> int:
        game = Game(setup)
        recorder = None if spool is None else Recorder(game, about, spool)
        mind = Rush()
        mind.reset(
            {"team": "red", "season": "2027", "settings": game.book.settings,
             "static": static(game.book)}
        )  # fmt: skip
        while not game.ended:
            game.observe("blue")
            action = json.dumps(mind.act(json.loads(game.observe("red")), {})).encode()
            assert game.act("red", action) is None
            if recorder is not None:
                recorder.acted("red", action)
                recorder.acted("blue", HOLD)
            digests = game.advance()
            if recorder is not None:
                recorder.advanced(digests)
        return 1

    best = dict.fromkeys((False, True), 0.0)
    for _ in range(ROUNDS):
        best[False] = max(best[False], fastest(lambda: play(None), 1))
        with tempfile.TemporaryFile() as spool:
            best[True] = max(best[True], fastest(partial(play, spool), 1))
    return Direct(max(0.1, 100 * (best[False] / best[True] - 1)), 20)
