"""``rmuc-arena run`` as a program: stdout, exit codes, signals, kills, and going on.

SYSONE_ARENA_KILLS is how often a run is killed at a random moment: 2 for every day.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sysone.runs import jsonl

KILLS = int(os.environ.get("SYSONE_ARENA_KILLS", "2"))
GAMES = 4
RUN = [
    *(sys.executable, "-m", "rmuc_arena", "run", "--trusted-local", "--duration", "2"),
    *("--games", str(GAMES), "--seed", "11", "--red", "std_2027_random", "--blue", "std_2027_rush"),
    *("--timeout", "30", "--startup-timeout", "120", "--workers", "2"),
]
PATIENCE_S = 600


def begin(*arguments: str, cwd: Path | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, list[Any], str]:
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, [json.loads(line) for line in out.splitlines()], err


def digests(results: Path) -> dict[int, str]:
    """Of the games that are ``ok``; none of them may be there twice."""
    lines = [line for line in jsonl.iterate(results) if line["status"] == "ok"]
    assert len({line["index"] for line in lines}) == len(lines), "a game was counted twice"
    return {line["index"]: line["digest"] for line in lines}


def children(session: int) -> list[int]:
    """Processes of a session that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, IndexError):
            continue
        if entry.name.isdigit() and int(fields[3]) == session and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def all_gone(session: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while children(session):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "undisturbed"
    code, lines, err = finish(begin("--output", str(folder), "--replays", "all"))
    assert code == 0, err
    assert [line["type"] for line in lines] == ["result"] * GAMES + ["summary"]
    assert lines[-1]["state"] == "finished"
    assert lines[:-1] == jsonl.read(folder / "results.jsonl")
    assert "without isolation" in err
    return folder


def test_the_run_is_all_there(undisturbed: Path) -> None:
    run = json.loads((undisturbed / "run.json").read_text())
    assert run["format"] == "arena-run-v1"
    assert run["strategies"]["A"]["key"] == "std_2027_random"
    assert [job["seed"] for job in run["jobs"]] == [11, 12, 13, 14]
    assert str(undisturbed.parent) not in (undisturbed / "run.json").read_text()
    lines = jsonl.read(undisturbed / "results.jsonl")
    assert sorted(line["index"] for line in lines) == list(range(GAMES))
    assert {line["replay"] for line in lines} == {f"replays/{n:06d}.json" for n in range(GAMES)}
    assert len({line["worker_pid"] for line in lines}) == 2, "two workers, each kept"
    assert not (undisturbed / "logs").exists(), "every game was ok"
    for line in lines:
        replay = json.loads((undisturbed / line["replay"]).read_text())
        assert replay["seed"] == line["seed"]


def test_one_worker_and_no_recording_play_the_same(undisturbed: Path, tmp_path: Path) -> None:
    code, lines, _ = finish(begin("--workers", "1", "--pin-cpus", "--games", "2", cwd=tmp_path))
    assert code == 0
    assert [line["index"] for line in lines[:-1]] == [0, 1]
    assert list(tmp_path.iterdir()) == [], "without --output nothing is left"
    wanted = digests(undisturbed / "results.jsonl")
    assert [line["digest"] for line in lines[:-1]] == [wanted[0], wanted[1]]


def test_an_output_that_is_there(undisturbed: Path) -> None:
    code, lines, err = finish(begin("--output", str(undisturbed)))
    assert (code, lines) == (3, [])
    assert json.loads(err.splitlines()[-1])["code"] == "output_exists"
    code, lines, err = finish(begin("--output", str(undisturbed), "--resume"))
    assert code == 0, "nothing is left to play"
    assert [line["type"] for line in lines] == ["summary"]
    code, _, err = finish(begin("--output", str(undisturbed), "--resume", "--seed", "12"))
    assert code == 3
    error = json.loads(err.splitlines()[-1])
    assert error["code"] == "resume_mismatch"
    assert "seed was 11, now 12" in error["message"]


def test_one_game_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    code, _, err = finish(begin("--output", str(path)))
    assert code == 2, "four games are not one"
    assert "one.json" in json.loads(err.splitlines()[-1])["message"]
    code, lines, _ = finish(begin("--output", str(path), "--games", "1"))
    assert code == 0
    assert len(lines) == 1
    assert lines[0]["replay"] == "one.json"
    assert json.loads(path.read_text())["format"] == "arena-replay-v1"
    assert (tmp_path / "one.run" / "results.jsonl").is_file()


def test_faulty_strategies_end_in_their_results(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "arena.toml").write_text(
        '[strategy]\nkey = "mine"\nname = "Mine"\nversion = "1"\nseason = "2027"\n'
        'mode = "team"\nentry = "main:act"\nsdk = 1\n'
    )
    (mine / "main.py").write_text(
        "print('hello')\n\n\ndef act(observation, state):\n    raise ValueError('broken')\n"
    )
    code, lines, _ = finish(
        begin("--red", "./mine", "--games", "3", "--workers", "1", "--fail-fast",
              "--replays", "errors", "--output", "out", cwd=tmp_path)
    )  # fmt: skip
    assert code == 1
    result, summary = lines
    assert (result["status"], summary["state"], summary["pending"]) == (
        "strategy_error", "failed_fast", 2,
    )  # fmt: skip
    assert result["strategies"]["red"]["errors"]["exception"] == 20
    assert (tmp_path / "out" / result["replay"]).is_file()
    log = (tmp_path / "out" / "logs" / "000000-1-red.log").read_text()
    assert "hello" in log
    (mine / "main.py").write_text("def act(observation, state):\n    return {}\n")
    code, lines, err = finish(
        begin("--resume", "--output", "out", "--red", "./mine", "--games", "3", cwd=tmp_path)
    )
    assert code == 3, "the strategy is another one"
    assert "version_hash" in json.loads(err.splitlines()[-1])["message"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_run_that_can_go_on(
    undisturbed: Path, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    folder = tmp_path / "run"
    process = begin("--output", str(folder), "--duration", "400", "--replays", "all")
    wait_for(process, folder / "run.json")
    time.sleep(1)
    process.send_signal(number)
    returned, lines, err = finish(process)
    assert returned == code, err
    assert all_gone(process.pid)
    assert lines[-1]["state"] == "interrupted"
    assert {line["status"] for line in lines[:-1]} <= {"interrupted"}
    assert json.loads((folder / "summary.json").read_text())["state"] == "interrupted"


def wait_for(process: subprocess.Popen[str], path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def moments() -> Iterator[tuple[int, float]]:
    dice = random.Random(4)
    for kill in range(KILLS):
        yield kill, dice.uniform(0.0, 6.0)


def test_killed_runs_go_on_and_end_like_an_undisturbed_one(
    undisturbed: Path, tmp_path: Path
) -> None:
    """kill -9 of the program, or of one of its processes, again and again until it is through."""
    wanted = digests(undisturbed / "results.jsonl")
    for kill, seconds in moments():
        folder = tmp_path / f"run{kill}"
        process = begin("--output", str(folder))
        time.sleep(seconds)
        victims = children(process.pid)
        # The program itself, or in every other run one of its processes.
        victim = victims[kill // 2 % len(victims)] if kill % 2 == 1 and victims else process.pid
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        process.communicate(timeout=PATIENCE_S)
        assert all_gone(process.pid), "a killed run leaves no process"
        more = ["--resume"] if (folder / "run.json").exists() else []
        code, lines, err = finish(begin("--output", str(folder), *more))
        assert code == 0, err
        assert lines[-1]["wins"] + lines[-1]["losses"] + lines[-1]["draws"] == GAMES
        assert digests(folder / "results.jsonl") == wanted
