"""The compiled core's border: its stub, bad input, threads."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from arena import scripts
from sysone.arena import lineup
from sysone.arena.rules.book import Book
from sysone.arena.rules.settings import SEASONS
from sysone_core import arena as core

ALLOWED = Path(__file__).with_name("stubtest_allow.txt")


def simulator(seed: int = 1) -> core.Simulator:
    line = sorted(lineup.default("2027").items())
    return core.Simulator(Book.of("2027").compiled, line, line, seed, 8400)


def test_the_stub_is_the_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "sysone_core._arena", "--allowlist", str(ALLOWED)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: simulator().advance(3), "even number"),
        (lambda: simulator().advance(-2), "even number"),
        (lambda: simulator().observe(2), "team must be 0"),
        (lambda: simulator().observe(0, 8), "slot must be 0 to 7"),
        (lambda: simulator().act(5, "{}"), "team must be 0"),
        (lambda: Book.of("2027").compiled.flow(1, 0, 0), "no model"),
        (lambda: Book.of("2027").compiled.blocked(2761), "flyer"),
        (lambda: core.Simulator(Book.of("2027").compiled, [(1, 1)], [], 0, 20), "no model"),
        (lambda: core.Simulator(Book.of("2027").compiled, [(9, 2711)], [], 0, 20), "slot"),
        (lambda: core.Simulator(Book.of("2027").compiled, [], [], 0, 21), "even"),
    ],
)
def test_bad_input_is_named(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("season", SEASONS)
def test_random_decisions_of_every_model(season: Any) -> None:
    """The fuzz of the small program, through the border: a match is a function of its script."""
    lines = scripts.fuzz(season, 600)
    digests = [scripts.play(lines, season, recording=on) for on in (False, True)]
    assert digests[0] == digests[1]
    assert len(digests[0]) == len(scripts.DECKS[season])


def test_threads_play_side_by_side() -> None:
    def play(seed: int) -> int:
        sim = simulator(seed)
        for _ in range(30):
            sim.act(0, json.dumps({"3": {"move": [1, 0], "fire": True}}))
            sim.advance(20)
        return sim.tick_digest

    alone = [play(seed) for seed in range(6)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(play, range(6))) == alone
    assert len(set(alone)) == 6


def test_resetting_one_match_leaves_the_others() -> None:
    first, second = simulator(1), simulator(1)
    first.advance(100)
    second.advance(100)
    assert first.tick_digest == second.tick_digest
    assert second.reset(9) is None
    first.advance(100)
    again = simulator(1)
    again.advance(200)
    assert first.tick_digest == again.tick_digest
    second.advance(200)
    assert second.tick_digest != first.tick_digest
    assert second.reset(1) is None
    second.advance(200)
    assert second.tick_digest == first.tick_digest, "a reset match is as good as a new one"
