"""A strategy's answers as its process may write them: any bytes.

Input: a byte for season and side, then actions, cut by zero bytes.

Properties: an action is applied or refused with a code, never an exception; an applied one is JSON
to every other reader; the match that it was applied in is recorded, and its replay reads and
verifies.
"""

import io
import json
from functools import cache

from sysone.arena import lineup
from sysone.arena.engine import HOLD, TEAMS, Game, Setup
from sysone.arena.record import Recorder, assemble
from sysone.arena.replay import verify
from sysone.arena.rules.settings import SEASONS
from tools.fuzz.files import written

INSTRUMENT = ("sysone.arena.record", "sysone.arena.replay", "sysone.arena.engine")


@cache
def game(season: str) -> Game:
    """A short match; reset for every input."""
    line = lineup.default(season)
    return Game(Setup(season, 1, dict.fromkeys(TEAMS, line), duration_s=2.0))


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    first = data[0] if data else 0
    match = game(SEASONS[first & 1])
    side = TEAMS[first >> 1 & 1]
    match.reset(1)
    spool = io.BytesIO()
    about = {"swapped": False, "control": dict.fromkeys(TEAMS, "team"), "strategies": {}}
    recorder = Recorder(match, about, spool)
    for action in data[1:].split(b"\0")[:6]:
        refused = match.act(side, action)
        given = HOLD if refused else action
        if refused:
            assert refused.code
            recorder.refused(side, refused.code)
        else:
            assert isinstance(json.loads(action), dict)
        recorder.acted(side, given)
        recorder.advanced(match.advance())
        for team in TEAMS:
            json.loads(match.observe(team))
    recorder.finish()
    report = verify(written("match.replay", assemble(spool)))
    assert report["ok"], report
