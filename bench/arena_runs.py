"""Arena: runs of many games against one after the other, and what a sandbox costs."""

import tempfile
from pathlib import Path
from time import perf_counter

from bench.measure import Direct
from bench.registry import Unavailable, promise
from sysone.arena import lineup, match, sources
from sysone.arena.batch import worker
from sysone.arena.batch.jobs import jobs_of
from sysone.arena.batch.options import resolve
from sysone.arena.batch.scheduler import Scheduler
from sysone.arena.batch.store import Store
from sysone.arena.engine import TEAMS, Setup
from sysone.arena.isolation import Isolation
from sysone.arena.isolation.base import TrustedLocal
from sysone.arena.isolation.bubblewrap import Bubblewrap, unavailable
from sysone.executors import LocalExecutor
from sysone.runs.interrupts import Interrupts

SECONDS = 60
GAMES = 8
ROUNDS = 3
PATIENT_S = 5.0


@promise("arena.scheduler")
def scheduler() -> Direct:
    def play(workers: int) -> float:
        options = resolve(
            {
                "red": "std_2027_hold",
                "blue": "std_2027_hold",
                "games": GAMES,
                "duration": float(SECONDS),
                "workers": workers,
                "timeout": PATIENT_S,
                "isolation": "none",
            }
        )
        jobs = jobs_of(options)
        with (
            tempfile.TemporaryDirectory() as folder,
            Store(Path(folder) / "run", options, jobs, argv=[], isolation={}) as store,
        ):
            executor = LocalExecutor(worker.play, workers)
            runner = Scheduler(
                store, jobs, options, executor, TrustedLocal(),
                on_result=lambda line: None, note=lambda text: None,
            )  # fmt: skip
            begin = perf_counter()
            summary = runner.run(Interrupts())
            taken = perf_counter() - begin
        if summary["valid"] != GAMES:
            raise AssertionError(f"{summary['valid']} of {GAMES} games were ok")
        return taken

    one, two = (min(play(workers) for _ in range(2)) for workers in (1, 2))
    return Direct(two, one)


@promise("arena.isolation")
def isolation() -> Direct:
    reason = unavailable()
    if reason is not None:
        raise Unavailable(reason)
    setup = Setup("2027", 1, dict.fromkeys(TEAMS, lineup.default("2027")), duration_s=SECONDS)
    sides = {
        side: match.Side("team", {0: sources.find(f"bundled:std_2027_{name}")})
        for side, name in zip(TEAMS, ("team", "rush"), strict=True)
    }
    limits = match.Limits(timeout_s=PATIENT_S, startup_s=60)

    def play(kind: Isolation) -> tuple[float, str]:
        result = match.play(setup, sides, limits, isolation=kind).result
        if result["status"] != "ok":
            raise AssertionError(result["error"] or result["strategies"])
        return result["wall_s"], result["digest"]

    held, plain = ([play(kind) for _ in range(ROUNDS)] for kind in (Bubblewrap(), TrustedLocal()))
    if {digest for _, digest in (*held, *plain)} != {plain[0][1]}:
        raise AssertionError("the match inside is another one")
    return Direct(min(wall for wall, _ in held), 1.25 * min(wall for wall, _ in plain))
