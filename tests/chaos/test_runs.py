"""Every long-running command under kills, full, slow and read-only disks, jumping clocks and few
descriptors: what is finished stays and can be read, the reason is one clear line, and going on
ends with the results of an undisturbed run.

SYSONE_CHAOS=full (``make chaos``) takes every command through everything.
"""

import json
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chaos.commands import COMMANDS, Command, differing
from chaos.disturbances import (
    PATIENCE_S,
    Done,
    on_read_only_disk,
    on_small_disk,
    plain_environment,
    run,
    with_descriptors,
)

FULL = os.environ.get("SYSONE_CHAOS") == "full"
KILLS = 5 if FULL else 1
pytestmark = pytest.mark.timeout(PATIENCE_S * 4)


class Undisturbed(NamedTuple):
    """A run that nothing was done to."""

    wanted: Any
    folder: Path
    took_s: float


Calm = Callable[[Command], Undisturbed]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where programs run: T-Rex's known answers are kept there."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="session")
def calm(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Calm:
    """The results and the folder of an undisturbed run of a command, made once."""
    made: dict[str, Undisturbed] = {}

    def results(command: Command) -> Undisturbed:
        if command.name not in made:
            folder = tmp_path_factory.mktemp("calm")
            begun_s = time.monotonic()
            done = run(command.line(folder), home)
            assert done.code == 0, done.err
            took_s = time.monotonic() - begun_s
            made[command.name] = Undisturbed(command.read(folder), folder, took_s)
        return made[command.name]

    return results


def chosen(*quick: str) -> Any:
    """The commands of a test: some every day, all with SYSONE_CHAOS=full."""
    names = list(COMMANDS) if FULL else list(quick)
    return pytest.mark.parametrize("command", [COMMANDS[n] for n in names], ids=names)


def refused_clearly(command: Command, done: Done, *words: str) -> None:
    """A documented exit code, and one line with path and cause; an arena's game has its own."""
    assert done.code in command.refused, (done.code, done.err)
    assert "Traceback" not in done.err, done.err
    told = done.err.strip().splitlines()[-1:]
    if command.name == "arena run":
        told += [str(json.loads(line).get("error")) for line in done.out.splitlines()]
    assert any(all(re.search(word, line) for word in words) for line in told), told


def nothing_lost(command: Command, folder: Path, calm_folder: Path) -> None:
    """What is final is what an undisturbed run has there."""
    whole = command.finished(calm_folder)
    for name, found in command.finished(folder).items():
        assert name in whole, name
        assert differing(found, whole[name]) == [], name


def goes_on(command: Command, folder: Path, home: Path, wanted: Any) -> None:
    done = run(command.again(folder), home)
    assert done.code == 0, done.err
    assert differing(command.read(folder), wanted) == []
    left = list(folder.rglob(".*.tmp"))
    assert len(left) <= KILLS, left


@chosen("arc eval")
def test_killed(command: Command, calm: Calm, home: Path, tmp_path: Path) -> None:
    wanted, calm_folder, whole_s = calm(command)
    pick = random.Random(command.name)
    for kill in range(KILLS):
        folder = tmp_path / str(kill)
        for _ in range(2 if FULL else 1):
            process = subprocess.Popen(
                command.again(folder),
                cwd=home,
                env=plain_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(pick.uniform(0.2, 1.0) * whole_s)
            process.send_signal(signal.SIGKILL)
            process.wait()
            nothing_lost(command, folder, calm_folder)
        goes_on(command, folder, home, wanted)


@chosen("arc collect")
def test_full_disk(command: Command, calm: Calm, home: Path, tmp_path: Path) -> None:
    wanted, calm_folder, _ = calm(command)
    files = [path for path in (calm_folder / command.output).rglob("*") if path.is_file()]
    blocks = sum(-(-path.stat().st_size // 4096) + 1 for path in files)
    for share in (0.1, 0.35, 0.6, 0.85) if FULL else (0.6,):
        folder = tmp_path / str(share)
        size = max(8, int(4 * blocks * share))
        done = on_small_disk(command.line(folder), folder / command.output, size, home)
        if done.code != 0:
            refused_clearly(
                command, done, re.escape(str(folder)), r"No space left|the disk is full"
            )
        else:
            assert command.name.startswith("arc eval"), "a smaller disk cannot hold all of it"
        nothing_lost(command, folder, calm_folder)
        goes_on(command, folder, home, wanted)


@chosen("arena run")
def test_read_only_folder(command: Command, home: Path, tmp_path: Path) -> None:
    done = on_read_only_disk(command.line(tmp_path / "new"), tmp_path / "new", home)
    refused_clearly(command, done, re.escape(str(tmp_path / "new")), "Read-only file system")
    kept = tmp_path / "kept"
    assert run(command.line(kept), home).code == 0
    before = {p: p.read_bytes() for p in kept.rglob("*") if p.is_file()}
    done = on_read_only_disk(command.again(kept), kept, home)
    if done.code != 0:
        refused_clearly(command, done, re.escape(str(kept)), "Read-only file system|cannot write")
    after = {p: p.read_bytes() for p in kept.rglob("*") if p.is_file()}
    assert [p for p in {*before, *after} if before.get(p) != after.get(p)] == []


@chosen("arc eval")
def test_jumping_clock(
    command: Command, calm: Calm, home: Path, tmp_path: Path, disturbing: Path
) -> None:
    wanted, _, _ = calm(command)
    for jump_s in (86400, -86400) if FULL else (-86400,):
        folder = tmp_path / str(jump_s)
        log = tmp_path / "jumps"
        environment = {"LD_PRELOAD": str(disturbing), "CHAOS_CLOCK_S": str(jump_s)}
        done = run(command.line(folder), home, {**environment, "CHAOS_LOG": str(log)})
        assert done.code == 0, done.err
        # One that looks at the wall clock once or twice may meet it between two jumps.
        assert log.stat().st_size > 0 or command.name == "arc collect", "the clock never jumped"
        assert differing(command.read(folder), wanted) == []
        for text in folder.rglob("*.json"):
            assert not re.search(r'"[a-z_]*(seconds|_s|_ms)": -\d', text.read_text()), text
            assert not re.search(r'"[a-z_]*(seconds|_s)": 86\d\d\d', text.read_text()), text


@chosen("arc collect")
def test_slow_disk(
    command: Command, calm: Calm, home: Path, tmp_path: Path, disturbing: Path
) -> None:
    wanted, _, _ = calm(command)
    log = tmp_path / "pauses"
    environment = {"LD_PRELOAD": str(disturbing), "CHAOS_SLOW_MS": "30", "CHAOS_LOG": str(log)}
    done = run(command.line(tmp_path), home, environment)
    assert done.code == 0, done.err
    assert log.stat().st_size > 3, "nothing was written slowly"
    assert differing(command.read(tmp_path), wanted) == []


@chosen("drive run")
def test_few_descriptors(command: Command, calm: Calm, home: Path, tmp_path: Path) -> None:
    wanted, calm_folder, _ = calm(command)
    for count in (5, 6, 7, 8, 10, 12, 16) if FULL else (5,):
        folder = tmp_path / str(count)
        done = with_descriptors(command.line(folder), count, home)
        if done.code == 0:
            assert differing(command.read(folder), wanted) == []
            continue
        refused_clearly(command, done, "Too many open files")
        nothing_lost(command, folder, calm_folder)
        goes_on(command, folder, home, wanted)
