"""Arena beside kaggle-environments: decisions a second, each with its own simplest strategies.

What is asked of ours is more: both strategies are processes of their own, and every decision is
for a whole team. kaggle-environments calls two functions in its own process, for rock, paper and
scissors. It is installed in an environment of its own (``make bench``), as its pins are many.
"""

import json
import subprocess
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
import json, time
from kaggle_environments import make

def agent(observation, configuration):
    return 0

best = 0.0
for _ in range(3):
    game = make("rps", configuration={"episodeSteps": 1000})
    begin = time.perf_counter()
    steps = game.run([agent, agent])
    best = max(best, 2 * (len(steps) - 1) / (time.perf_counter() - begin))
print(json.dumps(best))
"""


@promise("arena.decisions")
def decisions() -> Direct:
    if not PYTHON.exists():
        raise Unavailable("kaggle-environments is not in build/kaggle")
    setup = Setup("2027", 1, dict.fromkeys(TEAMS, lineup.default("2027")), duration_s=SECONDS)
    hold = sources.find("bundled:std_2027_hold")
    sides = {side: match.Side("team", {0: hold}) for side in TEAMS}
    limits = match.Limits(timeout_s=10, startup_s=60)
    ours = 0.0
    for _ in range(ROUNDS):
        result = match.play(setup, sides, limits).result
        made = sum(one["decisions"] for one in result["strategies"].values())
        ours = max(ours, made / result["wall_s"])
    done = subprocess.run(
        [PYTHON, "-c", THERE], capture_output=True, text=True, check=True, timeout=600
    )
    return Direct(ours, float(json.loads(done.stdout.splitlines()[-1])))
