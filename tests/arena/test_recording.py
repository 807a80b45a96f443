"""Recording: a spool while a match runs, a replay of it afterwards, of a killed match too."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import pytest

from arena import scripts
from sysone.arena import lineup, record, replay
from sysone.arena.engine import TEAMS, Game, Setup
from sysone.arena.errors import ArenaError
from sysone.arena.record import Recorder, assemble, spool_of

ABOUT = {"swapped": False, "control": dict.fromkeys(TEAMS, "team"), "strategies": {}}
MEGABYTE = 1 << 20


def fight(spool: IO[bytes] | None, seconds: float, watch: Any = None, stop_at: int = 8400) -> Game:
    """Everybody shoots at random for a while, recorded or not."""
    line = lineup.default("2026")
    armed = {f"{t}-{s}": {"ammo": 3000} for t in TEAMS for s in (1, 3, 4, 7)}
    game = Game(
        Setup("2026", 5, {"red": line, "blue": line}, duration_s=seconds,
              scenario={"robots": armed}, changes={"base_hp": 100000}),
    )  # fmt: skip
    recorder = None if spool is None else Recorder(game, ABOUT, spool)
    by_number = {model["model"]: model for model in game.book.models}
    own = {slot: by_number[model] for slot, model in line.items()}
    dice = random.Random(5)
    plans: dict[str, Any] = {side: {} for side in TEAMS}
    while not game.ended and game.tick < stop_at:
        for side in TEAMS:
            if game.tick % 10 == 0:
                enemy = "blue" if side == "red" else "red"
                plans[side] = scripts.random_side(dice, own, enemy, sorted(line))
            text = json.dumps(plans[side], separators=(",", ":")).encode()
            # orders are given once, commands until the next plan
            plans[side] = {
                slot: {k: v for k, v in robot.items() if k in record.CONTINUOUS}
                for slot, robot in plans[side].items()
                if slot != "team"
            }
            refused = game.act(side, text)
            if recorder is not None:
                recorder.acted(side, b"{}" if refused else text)
                if refused is not None:
                    recorder.refused(side, refused.code)
        digests = game.advance()
        if recorder is not None:
            recorder.advanced(digests)
        if watch is not None:
            watch(game)
    if recorder is not None:
        recorder.finish()
    return game


def test_recording_changes_no_digest_and_verifies(tmp_path: Path) -> None:
    spool = BytesIO()
    game = fight(spool, 20)
    assert game.digest == fight(None, 20).digest
    path = tmp_path / "match.json.gz"
    record.write(path, assemble(spool))
    report = replay.verify(path)
    assert report["ok"], report
    assert report["ticks"] == 400
    kept = replay.read(path)
    assert not kept.truncated
    assert len(kept.events) > 50
    assert {"engine", "rules", "sdk", "field"} == set(kept.fingerprints)
    assert kept.result["final"]["tick"] == 400


def test_memory_is_flat_over_a_recorded_match(tmp_path: Path) -> None:
    """Over a whole match of 420 s the process grows by less than ten megabytes."""
    page = os.sysconf("SC_PAGE_SIZE")
    resident: dict[int, int] = {}

    def watch(game: Game) -> None:
        if game.tick in (840, 8400):
            resident[game.tick] = int(Path("/proc/self/statm").read_text().split()[1]) * page

    path = tmp_path / "long.json"
    with spool_of(path).open("wb") as spool:
        game = fight(spool, 420, watch)
    assert game.tick == 8400
    assert resident[8400] - resident[840] < 10 * MEGABYTE
    assert record.close(path)
    # the specification's size: at most 4 MB, and 1 MB compressed
    assert path.stat().st_size <= 4_000_000, path.stat().st_size
    record.write(tmp_path / "long.json.gz", path.read_bytes())
    assert (tmp_path / "long.json.gz").stat().st_size <= 1_000_000
    assert not spool_of(path).exists()


@pytest.mark.parametrize("keep", [0.3, 0.701])
def test_a_spool_cut_anywhere_makes_a_replay_of_what_is_there(tmp_path: Path, keep: float) -> None:
    whole = BytesIO()
    game = fight(whole, 20)
    path = tmp_path / "cut.json"
    text = whole.getvalue()
    spool_of(path).write_bytes(text[: round(len(text) * keep)])
    with pytest.raises(ArenaError, match="repair"), spool_of(path).open("rb") as spool:
        assemble(spool)
    assert record.close(path)
    assert not spool_of(path).exists()
    cut = replay.read(path)
    assert cut.truncated
    assert cut.result["winner"] is None
    report = replay.verify(path)
    assert report["ok"], report
    assert 0 < report["ticks"] < 400
    assert replay.show(path, report["ticks"] / 20)["tick"] == report["ticks"]
    assert cut.digest != game.digest


def test_a_spool_that_lacks_its_end_alone_is_the_whole_match(tmp_path: Path) -> None:
    spool = BytesIO()
    game = fight(spool, 2)
    path = tmp_path / "whole.json"
    spool_of(path).write_bytes(b"".join(spool.getvalue().splitlines(keepends=True)[:-1]))
    assert record.close(path)
    whole = replay.read(path)
    assert not whole.truncated
    assert (whole.digest, whole.result["ticks"]) == (game.digest, 40)
    assert replay.verify(path)["ok"]


def test_a_match_that_is_stopped_leaves_a_replay_of_what_was_played(tmp_path: Path) -> None:
    spool = BytesIO()
    fight(spool, 20, stop_at=100)
    path = tmp_path / "stopped.json"
    record.write(path, assemble(spool))
    assert replay.read(path).truncated
    report = replay.verify(path)
    assert (report["ok"], report["ticks"]) == (True, 100)


def test_a_spool_without_a_decision_is_no_replay(tmp_path: Path) -> None:
    whole = BytesIO()
    fight(whole, 1)
    path = tmp_path / "cut.json"
    spool_of(path).write_bytes(b"".join(whole.getvalue().splitlines(keepends=True)[:2]))
    assert not record.close(path)
    spool_of(path).write_bytes(b"no spool\n")
    with pytest.raises(ArenaError, match="spool"):
        record.close(path)


def rmuc(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rmuc_arena", *arguments], capture_output=True, text=True
    )


def test_a_killed_match_leaves_a_spool_that_repair_closes(tmp_path: Path) -> None:
    path = tmp_path / "killed.json"
    running = subprocess.Popen(
        [sys.executable, "-m", "rmuc_arena", "match", "--trusted-local", "--timeout", "5",
         "--startup-timeout", "60", "--output", str(path)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0,
    )  # fmt: skip
    spool = spool_of(path)
    while not spool.exists() or spool.stat().st_size < 30_000:
        assert running.poll() is None, "the match should be running"
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    size = -1
    while spool.stat().st_size != size:  # its simulator dies with it
        size = spool.stat().st_size
        time.sleep(0.3)
    assert not path.exists()
    again = rmuc("match", "--trusted-local", "--output", str(path))
    assert (again.returncode, json.loads(again.stderr.splitlines()[-1])["code"]) == (
        3,
        "output_exists",
    )
    repaired = rmuc("replay", "info", "--repair", str(spool))
    assert repaired.returncode == 0, repaired.stderr
    report = json.loads(repaired.stdout)
    assert report["truncated"]
    assert report["ticks"] > 20
    assert not spool.exists()
    verified = rmuc("replay", "verify", str(path))
    assert verified.returncode == 0, verified.stdout
    assert json.loads(verified.stdout)["ticks"] == report["ticks"]
    assert rmuc("replay", "info", "--repair", str(path)).returncode == 0, "nothing to repair"


def test_another_sdks_replay_verifies(tmp_path: Path) -> None:
    """Applied actions are recorded, so that only engine, rules and field decide the ticks."""
    spool = BytesIO()
    fight(spool, 2)
    data = json.loads(assemble(spool))
    data["fingerprints"]["sdk"] = "0" * 64
    path = tmp_path / "other.json"
    path.write_text(json.dumps(data))
    report = replay.verify(path)
    assert report["ok"]
    assert report["fingerprint_match"]
