"""The kept digests: in this process, and by other compilers, optimisation levels and sanitizers.

The digests are in ``tests/data/arena/golden.json``; a change of the engine that changes one changes
its version too. ``ARENA_PROOF=full`` (``make arena-proof``) runs every compiler and level.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from arena import scripts
from sysone.arena.rules.settings import SEASONS

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "data" / "arena" / "golden.json"
FULL = os.environ.get("ARENA_PROOF") == "full"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g1"]


def golden() -> dict[str, str]:
    kept: dict[str, str] = json.loads(GOLDEN.read_text())["digests"]
    return kept


@pytest.mark.parametrize("name", sorted(scripts.golden_matches()))
def test_golden_digests_in_this_process(name: str) -> None:
    lines = scripts.golden_matches()[name]
    season = name.rsplit("_", 1)[1]
    digest = scripts.play(lines, season, recording=False)
    assert scripts.play(lines, season, recording=True) == digest, "recording changes nothing"
    assert digest == [golden()[name]]


def test_there_are_enough_golden_matches() -> None:
    assert len(golden()) >= 6
    assert len(set(golden().values())) == len(golden())


def build(compiler: str, flags: list[str], folder: Path) -> Path:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    program = folder / "check"
    sources = sorted((ROOT / "csrc" / "arena" / "core").glob("*.cpp"))
    done = subprocess.run(
        [
            compiler,
            "-std=c++20",
            *flags,
            f"-I{ROOT / 'csrc'}",
            *map(str, sources),
            str(ROOT / "csrc" / "common" / "xxh64.cpp"),
            str(ROOT / "csrc" / "arena" / "check_main.cpp"),
            "-o",
            str(program),
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0 and "sanitize" in " ".join(flags) and "cannot find" in done.stderr:
        pytest.skip(f"{compiler} has no sanitizer runtime")
    assert done.returncode == 0, done.stderr
    return program


def run(program: Path, lines: list[str]) -> list[str]:
    done = subprocess.run(
        [program], input="\n".join(lines) + "\n", capture_output=True, text=True,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3"])
def test_golden_digests_of_every_compiler(compiler: str, level: str, tmp_path: Path) -> None:
    if not FULL and (compiler, level) not in {("g++", "-O0"), ("clang++", "-O2")}:
        pytest.skip("make arena-proof runs every compiler and level")
    program = build(compiler, [level], tmp_path)
    for season in SEASONS:
        rules = scripts.rules_file(season, tmp_path)
        matches = {n: m for n, m in scripts.golden_matches().items() if n.endswith(season)}
        for recording in ("V 0", "V 1"):
            lines = [f"R {rules}"]
            for match in matches.values():
                lines += [match[0], recording, *match[1:]]
            assert dict(zip(matches, run(program, lines), strict=True)) == {
                name: golden()[name] for name in matches
            }


def test_fuzz_under_sanitizers(tmp_path: Path) -> None:
    decisions = 10_000 if FULL else 2_000
    program = build("g++", ["-O1" if FULL else "-O0", *SANITIZERS], tmp_path)
    for season in SEASONS:
        rules = scripts.rules_file(season, tmp_path)
        out = run(program, [f"R {rules}", *scripts.fuzz(season, decisions)])
        assert len(out) == len(scripts.DECKS[season])
