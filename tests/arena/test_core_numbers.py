"""The core's numbers against published vectors, exact tables and a second implementation."""

import math
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena import oracle
from sysone_core import arena as core

ROOT = Path(__file__).parents[2]
TABLES = ROOT / "csrc" / "arena" / "core" / "tables.inc"


def test_tables_are_what_their_program_makes() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "arena" / "make_tables.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == TABLES.read_text()
    values = [int(v) for v in re.findall(r"(-?\d+),", TABLES.read_text())]
    assert len(values) == 4097 + 20
    for k, value in enumerate(values[:4097]):
        assert abs(value - 2**30 * math.sin(2 * math.pi * k / 4096)) < 0.501


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [  # the known answers published with Random123
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_known_answers(counter: list[int], key: list[int], words: str) -> None:
    assert [f"{w:08x}" for w in core.philox(counter, key)] == words.split()
    assert oracle.philox(counter, key) == core.philox(counter, key)


@pytest.mark.parametrize(
    ("data", "seed", "digest"),
    [  # published XXH64 values
        (b"", 0, "ef46db3751d8e999"),
        (b"", 2654435761, "ac75fda2929b17ef"),
        (b"a", 0, "d24ec4f1a98c6e5b"),
        (b"abc", 0, "44bc2cf5ad770999"),
        (b"Nobody inspects the spammish repetition", 0, "fbcea83c8a378bf1"),
    ],
)
def test_xxh64_known_answers(data: bytes, seed: int, digest: str) -> None:
    assert f"{core.xxh64(data, seed):016x}" == digest


def test_xxh64_of_every_length_differs() -> None:
    data = bytes(range(256))
    assert len({core.xxh64(data[:n]) for n in range(257)}) == 257


def test_sines_are_those_of_a_second_implementation() -> None:
    for angle in range(0, oracle.TURN, 101):
        assert core.sine(angle) == oracle.sine(angle)
        assert core.cosine(angle) == oracle.cosine(angle)


@given(st.integers(0, 2**64 - 1))
def test_isqrt(value: int) -> None:
    assert core.isqrt(value) == math.isqrt(value)


@given(st.integers(0, oracle.TURN - 1))
def test_half_turns_change_the_sign_alone(angle: int) -> None:
    turned = (angle + oracle.TURN // 2) % oracle.TURN
    assert core.sine(turned) == -core.sine(angle)
    assert core.cosine(turned) == -core.cosine(angle)


@given(st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40))
def test_atan2(y: int, x: int) -> None:
    angle = core.atan2(y, x)
    if (x, y) == (0, 0):
        assert angle == 0
        return
    exact = math.atan2(y, x) / (2 * math.pi) * oracle.TURN
    assert abs((angle - exact + oracle.TURN / 2) % oracle.TURN - oracle.TURN / 2) < 2
    assert core.atan2(-y, -x) == (angle + oracle.TURN // 2) % oracle.TURN


def test_no_floating_point_clock_or_hash_order_in_the_core() -> None:
    words = re.compile(
        r"\b(?:float|double|unordered_\w+|rand|srand|chrono|time_t|clock_gettime|thread|getenv"
        r"|fopen|fstream)\b|<(?:cmath|math\.h|random|chrono|ctime|thread|fstream|iostream)>"
    )
    found = []
    for path in sorted((ROOT / "csrc" / "arena" / "core").iterdir()):
        code = re.sub(r"//.*|\"[^\"\n]*\"", "", path.read_text())
        # names of our own that happen to be such words
        code = code.replace("Sim::clock", "").replace("void clock()", "").replace("clock();", "")
        found += [f"{path.name}: {match.group()}" for match in words.finditer(code)]
    assert found == []
