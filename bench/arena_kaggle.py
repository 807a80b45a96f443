"""Arena beside kaggle-environments: decisions a second of two strategies that do nothing.

Two of its games: halite, a game of teams as ours is, and rock, paper and scissors, which is the
least that its harness can do. It calls two functions in its own process; each of our strategies is
a process of its own. It is installed in an environment of its own (``make bench``), as its pins
are many.
"""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Final

from bench.measure import Direct
from bench.registry import Unavailable, promise
from sysone.arena import lineup, match, sources
from sysone.arena.engine import TEAMS, Setup

PYTHON: Final = Path("build/kaggle/bin/python")
SECONDS: Final = 120
ROUNDS: Final = 3
THERE: Final = """
import json, sys, time
from kaggle_environments import make

name, nothing, steps, rounds = json.loads(sys.argv[1])

def agent(observation, configuration):
    return nothing

best = 0.0
for _ in range(rounds):
    game = make(name, configuration={"episodeSteps": steps})
    begin = time.perf_counter()
    made = game.run([agent, agent])
    best = max(best, 2 * (len(made) - 1) / (time.perf_counter() - begin))
print(json.dumps(best))
"""


@promise("arena.decisions")
def beside_a_team_game() -> Direct:
    return Direct(ours(), theirs("halite", {}, 200, 1))


@promise("arena.decisions_least")
def beside_the_least() -> Direct:
    return Direct(ours(), theirs("rps", 0, 1000, ROUNDS))


def theirs(name: str, nothing: object, steps: int, rounds: int) -> float:
    """Decisions a second there."""
    if not PYTHON.exists():
        raise Unavailable("kaggle-environments is not in build/kaggle")
    told = json.dumps([name, nothing, steps, rounds])
    done = subprocess.run(
        [PYTHON, "-c", THERE, told], capture_output=True, text=True, check=True, timeout=600
    )
    return float(json.loads(done.stdout.splitlines()[-1]))


@cache
def ours() -> float:
    """Decisions a second here: each for a whole team, in processes."""
    setup = Setup("2027", 1, dict.fromkeys(TEAMS, lineup.default("2027")), duration_s=SECONDS)
    hold = sources.find("bundled:std_2027_hold")
    sides = {side: match.Side("team", {0: hold}) for side in TEAMS}
    limits = match.Limits(timeout_s=10, startup_s=60)
    best = 0.0
    for _ in range(ROUNDS):
        result = match.play(setup, sides, limits).result
        made = sum(one["decisions"] for one in result["strategies"].values())
        best = max(best, made / result["wall_s"])
    return best
