"""Arena: training environments, against their contract and against other people's vectors."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from bench.measure import Direct
from bench.registry import Unavailable, promise
from sysone.arena.fast import FastVector
from sysone.arena.vector_env import ArenaEnv, VectorArena

REAL_TIME = 10  # decisions a second
ENV_TARGET = 150 * REAL_TIME  # of ArenaEnv
ROUNDS = 5
ENVS = 32
OPTIONS: dict[str, Any] = {"season": "2027", "duration": 60}
ROBOTS = 5  # of a side: each of them is an agent


def best(call: Callable[[], int], clock: Callable[[], float] = thread_time) -> float:
    """Work a second, in the best of some rounds."""
    found = 0.0
    for _ in range(ROUNDS):
        begin = clock()
        work = call()
        found = max(found, work / (clock() - begin))
    return found


def one_env() -> float:
    """Steps a second of processor time of `ArenaEnv` with empty actions."""
    with ArenaEnv(compact=True, **OPTIONS) as env:

        def play() -> int:
            env.reset(1)
            steps = 0
            while not env.step({})["terminated"]:
                steps += 1
            return steps

        return best(play)


def fast(threads: int = 1, **more: Any) -> tuple[FastVector, Callable[[], int]]:
    vector = FastVector(
        ENVS, threads, opponent="hold", autoreset="next_step", **{**OPTIONS, **more}
    )
    vector.reset()
    vector.fire[:] = 1

    def play(steps: int = 200) -> int:
        for _ in range(steps):
            vector.step()
        return steps * ENVS

    return vector, play


@promise("arena.env")
def env() -> Direct:
    return Direct(one_env(), REAL_TIME)


@promise("arena.vector")
def vector() -> Direct:
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("one core is here alone")

    def steps_a_second(count: int) -> float:
        with VectorArena(count, compact=True, **OPTIONS) as envs:
            idle: list[dict[str, Any]] = [{} for _ in range(count)]

            def play() -> int:
                envs.reset(seeds=list(range(count)))
                for _ in range(400):
                    envs.step(idle)
                return 400 * count

            return best(play, perf_counter)

    two, one = (steps_a_second(count) for count in (2, 1))
    return Direct(two, one)


@promise("arena.vector_reset")
def vector_reset() -> Direct:
    begin = perf_counter()
    with VectorArena(1, compact=True, **OPTIONS) as envs:
        envs.reset(seeds=[0])
        start_ms = 1e3 * (perf_counter() - begin)
        resets = []
        for seed in range(20):
            begin = perf_counter()
            envs.reset(seeds=[seed])
            resets.append(1e3 * (perf_counter() - begin))
    return Direct(min(resets), start_ms / 20)


@promise("arena.fast_memory")
def fast_memory() -> Direct:
    def resident_mb() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    if not Path("/proc/self/statm").exists():
        raise Unavailable("memory is read from /proc")
    _, play = fast(2)
    play(1000)  # what is kept for good is there after some matches
    before = resident_mb()
    for _ in range(1_000_000 // (ENVS * 1000) + 1):
        play(1000)
    return Direct(max(resident_mb() - before, 0.01), 10)


@promise("arena.fast")
def fast_vector() -> Direct:
    return Direct(best(fast()[1]), one_env())


@promise("arena.fast_contract")
def fast_contract() -> Direct:
    """The twenty times of `ArenaEnv` were asked of one that makes its own target, and no more."""
    return Direct(best(fast()[1]), ENV_TARGET)


@promise("arena.fast_threads")
def threads() -> Direct:
    if len(os.sched_getaffinity(0)) < 2:
        raise Unavailable("one core is here alone")
    two, one = (best(fast(n)[1], perf_counter) for n in (2, 1))
    return Direct(two, one)


@promise("arena.fast_gymnasium")
def gymnasium_async() -> Direct:
    """Robots' steps against those of CartPole in Gymnasium's processes, in wall time."""
    try:
        import gymnasium
    except ImportError as error:
        raise Unavailable("gymnasium is not installed: extra arena") from error
    processes = 2
    carts = gymnasium.make_vec("CartPole-v1", num_envs=processes, vectorization_mode="async")
    carts.reset(seed=0)
    action = carts.action_space.sample()

    def play() -> int:
        for _ in range(300):
            carts.step(action)
        return 300 * processes

    theirs = best(play, perf_counter)
    carts.close()
    return Direct(ROBOTS * best(fast(2)[1], perf_counter), theirs)


ENVPOOL = Path("build/envpool/bin/python")
"""Its own environment: it brings a gigabyte of games."""
CARTS = """
import sys, time
import envpool
import numpy as np

count = int(sys.argv[1])
carts = envpool.make_gymnasium("CartPole-v1", num_envs=count, num_threads=1)
carts.reset()
actions = np.zeros(count, np.int32)
best = 0.0
for _ in range(3):
    begin = time.perf_counter()
    for _ in range(1000):
        carts.step(actions)
    best = max(best, 1000 * count / (time.perf_counter() - begin))
print(best)
"""


@promise("arena.fast_envpool")
def envpool() -> Direct:
    """Robots' steps against those of CartPole in EnvPool's threads: its overhead and no more."""
    if not ENVPOOL.exists():
        raise Unavailable("envpool is not in build/envpool")
    done = subprocess.run(
        [ENVPOOL, "-W", "ignore", "-c", CARTS, str(ENVS)],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    theirs = float(done.stdout.splitlines()[-1])
    return Direct(ROBOTS * best(fast()[1], perf_counter), theirs)
