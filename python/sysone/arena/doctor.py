"""``rmuc-arena doctor``: what is here, what is missing, and what to do about it."""

import json
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import msgspec

from sysone.arena import lineup
from sysone.arena.engine import TEAMS, Game, Setup
from sysone.arena.isolation import bubblewrap, docker, pids
from sysone.arena.rules.settings import Season, data
from sysone.executors import processors

OLDEST_PYTHON: Final = (3, 11)
LEAST_MEMORY_MB: Final = 2048
SELF_TEST: Final = "self_test.json"
"""Digests of the matches of `digest_of`, kept with the rules."""


class Check(msgspec.Struct, frozen=True):
    """A row of the report."""

    name: str
    ok: bool
    required: bool
    detail: str
    hint: str = ""


def digest_of(season: Season) -> str:
    """Plays ten seconds in which everybody walks, turns and fires; the match's digest."""
    lines = dict.fromkeys(TEAMS, lineup.default(season))
    game = Game(Setup(season, 7, lines, duration_s=10.0))
    for decision in range(100):
        for side, forward in zip(TEAMS, (1, -1), strict=True):
            orders = {
                str(slot): {"move": [forward, (decision + slot) % 3 - 1], "spin": 0.3, "fire": True}
                for slot in lines[side]
            }
            game.act(side, json.dumps(orders))
        game.advance()
    return game.digest


def checks() -> Iterator[Check]:
    """Every check, in the order in which they matter."""
    version = sys.version_info[:2]
    yield Check(
        "python",
        version >= OLDEST_PYTHON,
        True,
        f"{platform.python_implementation()} {platform.python_version()}",
        "Python 3.11 or newer is needed",
    )
    yield _tried("core", True, _core, "install the package again: its compiled core is missing")
    yield _tried("self-test", True, _self_test, "the core plays other matches than it should")
    yield _walls("bubblewrap", bubblewrap.unavailable(), "apt install bubblewrap")
    image = docker.default_image()
    yield _walls(
        "docker",
        docker.unavailable(image),
        "docker/strategy.Dockerfile makes the image",
    )
    version2 = Path("/sys/fs/cgroup/cgroup.controllers").exists()
    yield Check(
        "cgroup",
        pids.parent() is not None,
        False,
        "v2" if version2 else "v1 or none",
        "no group can be made here: the threads of strategies are not counted",
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    try:
        yield Check("ray", True, False, metadata.version("ray"))
    except metadata.PackageNotFoundError:
        yield Check(
            "ray", False, False, "not installed", "pip install 'sysone-core[cluster]': --engine ray"
        )
    yield Check(
        "memory",
        memory >= LEAST_MEMORY_MB,
        False,
        f"{memory:,} MB",
        "a game takes three processes of 50 MB to 512 MB",
    )
    yield Check("cores", True, False, f"{processors()}")
    yield _tried("write access", True, _writes, "runs without --output need a temporary folder")
    for name, folder in (("strategies", "ARENA_HOME"), ("cache", "ARENA_CACHE")):
        yield Check(name, True, False, os.environ.get(folder, "the user's folder"))


def _tried(name: str, required: bool, attempt: Callable[[], str], hint: str) -> Check:
    try:
        return Check(name, True, required, attempt())
    except Exception as error:
        return Check(name, False, required, f"{type(error).__name__}: {error}", hint)


def _core() -> str:
    from sysone_core import arena

    return f"version {arena.VERSION}, sources {arena.SOURCES_SHA256[:12]}"


def _self_test() -> str:
    wanted: dict[Season, str] = json.loads(data(SELF_TEST))
    for season, digest in wanted.items():
        found = digest_of(season)
        if found != digest:
            raise ValueError(f"season {season} has the digest {found[:16]}, not {digest[:16]}")
    return f"{len(wanted)} matches are as they should be"


def _writes() -> str:
    with tempfile.TemporaryDirectory(prefix="rmuc-arena-") as folder:
        (Path(folder) / "probe").write_text("x")
    return tempfile.gettempdir()


def _walls(name: str, reason: str | None, hint: str) -> Check:
    if reason is None:
        return Check(f"isolation: {name}", True, False, "a sandbox was started, and it holds")
    return Check(f"isolation: {name}", False, False, reason, hint)


def report() -> list[dict[str, Any]]:
    """Every check as a row for JSON."""
    return [msgspec.to_builtins(check) for check in checks()]
