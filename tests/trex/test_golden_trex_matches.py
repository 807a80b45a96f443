"""Whole matches in virtual time: every question, plan, landing, notice and frame."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from sysone.trex.arena import Arena
from sysone.trex.decide import answer_of
from sysone.trex.keys import ACTIONS
from sysone.trex.pilot import Pilot
from sysone.trex.question import Decision
from sysone.trex.virtual import VirtualMatch
from sysone_core.trex import Planner
from trex.players import Nobody

Golden = Callable[[str, str], Any]


def fnv1a(data: bytes, value: int) -> int:
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


class Log:
    """The logged answers, each checked against the question that is really asked."""

    def __init__(self, rows: list[dict[str, Any]], guarded: bool) -> None:
        self._rows = iter(rows)
        self._guarded = guarded
        self._planner = Planner()

    def __call__(self, decision: Decision, tick: int) -> int:
        row = next(self._rows)
        first, gap, period = decision.timing
        assert {
            "seq": decision.seq,
            "run": decision.run,
            "view_frame": decision.view_frame,
            "asked_before_tick": tick,
            "epoch": decision.epoch,
            "pending": [decision.pending_seq, decision.pending],
            "timing": [list(first), list(gap), period],
        } == {name: row[name] for name in list(row)[:7]}
        if "error" in row:
            decision.error = row["error"]
            return int(row["deliver_before_tick"])
        plan = self._planner.plan(decision.snapshot, first, gap, period)
        assert plan.best == row["best"]
        assert [plan.safe[action] for action in ACTIONS] == [bool(safe) for safe in row["safe"]]
        assert plan.robust is row["robust"]
        assert plan.states == row["states"]
        answer = answer_of(
            plan, dict(zip(ACTIONS, row["p"], strict=True)), self._guarded, inference_ms=1.0
        )
        assert answer.proposed == row["proposed"]
        assert answer.executed == row["executed"]
        decision.answer = answer
        return int(row["deliver_before_tick"])

    def rest(self) -> list[dict[str, Any]]:
        return list(self._rows)


def test_matches(golden: Golden, subtests: pytest.Subtests) -> None:
    matches = golden("trex", "pilot_matches.json.gz")["matches"]
    assert matches
    for match in matches:
        with subtests.test(match["name"]):
            check(match)


def check(match: dict[str, Any]) -> None:
    notes: list[list[Any]] = []
    pilot = Pilot(
        Nobody(inflight=match["inflight"]),
        clock=lambda: 0.0,
        guarded=match["guarded"],
        lockstep=match["lockstep"],
        seed=match["seed"],
        course=match["style"],
        listener=lambda notice: notes.append(list(notice)),
    )
    times = pilot.times
    (
        times.latency_frames,
        times.typical_frames,
        times.interval_frames,
        times.jitter_frames,
    ) = match["start_timing"]
    log = Log(match["decisions"], match["guarded"])
    arena = Arena([pilot], lambda: 0.0)
    game = VirtualMatch(arena, log)
    game.start()
    checksum = 0xCBF29CE484222325
    checks = []
    for tick in range(1, match["frames"] + 1):
        game.tick()
        checksum = fnv1a(pilot.game.packed_record() + pilot.held.encode(), checksum)
        if tick % 30 == 0:
            checks.append([tick, f"{checksum:016x}", pilot.held, pilot.game.score, pilot.epoch])
            assert checks[-1] == match["checks_every_30"][len(checks) - 1]
    assert checks == match["checks_every_30"]
    assert notes == match["notes"]
    assert log.rest() == []
    report = arena.report()
    player = msgspec.to_builtins(report.players["Nobody"])
    final = {
        **player,
        "frames": report.frames,
        "game_frames": pilot.game_frames,
        "crash_count": report.crash_count,
    }
    assert {name: final[name] for name in match["final"]} == match["final"]
