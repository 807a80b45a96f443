"""ARC's small model: what a shared prefix saves, and what a decision costs."""

from importlib.util import find_spec
from time import perf_counter_ns, process_time_ns
from typing import Any

import numpy as np

from bench.measure import Direct, percentiles
from bench.registry import Unavailable, promise

MS = 1e6
DECISION_MS = 150.0
PLAIN_LEAVES = 3
"""All leaves of a question cost the same: so many are timed, and counted for all."""


def _torch() -> Any:
    if find_spec("torch") is None:
        raise Unavailable("PyTorch is not installed")
    import torch

    return torch


def _shared(count: int) -> Direct:
    """Processor time of a whole question with its full 64x64 state, shared against plain."""
    torch = _torch()
    from sysone.arc.observe import state_text
    from sysone.arc.system1 import leaf
    from sysone.arc.system1.backend import TinyBackend

    backend = TinyBackend(1)
    grid = np.random.default_rng(0).integers(0, 16, (64, 64)).astype(np.uint8)
    texts = [f"ACTION6 x={i % 64} y={i // 64 + 7}" for i in range(count)]

    def asked(n: int) -> leaf.Question:
        return leaf.choice(grid, state_text(grid, 0, "NOT_FINISHED"), texts[:n], "Which?")

    def time(n: int, shared: bool) -> float:
        backend.forget()
        start = process_time_ns()
        backend.vectors([asked(n)], 64, shared)
        return (process_time_ns() - start) / MS

    with torch.inference_mode():
        whole = backend.vectors([asked(PLAIN_LEAVES)], 64, shared=True)[0]
        apart = backend.vectors([asked(PLAIN_LEAVES)], 64, shared=False)[0]
        if float((whole - apart).abs().max()) > 1e-4:
            raise AssertionError("the two ways disagree")
        ours = min(time(count, True) for _ in range(3))
        plain = min(time(PLAIN_LEAVES, False) for _ in range(2)) * count / PLAIN_LEAVES
    return Direct(ours, plain)


@promise("arc.shared_prefix_7")
def shared_prefix_7() -> Direct:
    """Seven candidates."""
    return _shared(7)


@promise("arc.shared_prefix_71")
def shared_prefix_71() -> Direct:
    """Seventy-one candidates."""
    return _shared(71)


@promise("arc.decision")
def decision() -> Direct:
    """Decisions of the shipped model with at most 40 candidates in four practice games."""
    _torch()
    from sysone.arc.candidates import build_candidates
    from sysone.arc.env import make_env
    from sysone.arc.observe import Watcher
    from sysone.arc.system1.player import SHIPPED, ModelSystem1, shared_model

    model = ModelSystem1(shared_model(SHIPPED))
    samples = []
    for game in ("pmaz", "ppus", "ptog", "hcyc"):
        env, watcher = make_env(game), Watcher()
        seen = watcher.observe(env.first())
        for turn in range(12):
            assert seen is not None
            candidates = build_candidates(seen, 40)
            start = perf_counter_ns()
            model.probabilities(seen, candidates, "ACTION1: changed 5 of 6, 20 cells", 64)
            if turn:
                samples.append((perf_counter_ns() - start) / MS)
            action = candidates[turn % len(candidates)]
            seen = watcher.observe(env.step(action), action)
    found = percentiles(samples)
    return Direct(found["p50"], DECISION_MS, found)
