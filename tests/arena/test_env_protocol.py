"""``rmuc-arena env``: conversations, errors, and that no process is left behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sysone.arena.envs.jsonl import MOST_LINE
from sysone.arena.vector_env import ArenaEnv

ENV = [sys.executable, "-m", "rmuc_arena", "env", "--season", "2027", "--compact"]
OPPONENT = ["--opponent", "std_2027_hold", "--trusted-local", "--startup-timeout", "120"]
PATIENCE_S = 240


class Conversation:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.ready = self.hear()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def say(self, line: bytes) -> Any:
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return self.hear()

    def ask(self, op: str, **fields: Any) -> Any:
        return self.say(json.dumps({"id": 1, "op": op, **fields}).encode())


@contextmanager
def conversation(*options: str) -> Iterator[Conversation]:
    process = subprocess.Popen(
        [*ENV, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield Conversation(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def below(pid: int) -> list[int]:
    """All processes that a process began, and those that they did."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            children = [int(child) for child in task.read_text().split()]
            found += children
            waiting += children
    return found


def gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        left = []
        for pid in pids:
            try:
                stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if stat[0] != "Z":
                left.append(pid)
        if not left:
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(scope="module")
def two() -> Iterator[Conversation]:
    with conversation("--num-envs", "2", "--duration", "3", "--record") as talk:
        yield talk


def test_the_first_line_says_what_there_is(two: Conversation) -> None:
    ready = two.ready
    assert (ready["type"], ready["protocol"]) == ("ready", "arena-env-v1")
    assert (ready["num_envs"], ready["season"], ready["action_repeat"]) == (2, "2027", 2)
    assert ready["compact"] is True
    assert ready["pid"] == two.process.pid
    assert ready["lineups"]["red"][0] == {"slot": 1, "model": 2711}
    assert two.ask("info")["info"] == ready


def test_an_episode_is_the_one_that_python_plays(two: Conversation, tmp_path: Path) -> None:
    actions = {"red": {"3": {"move": [1, 0.25], "fire": True}}, "blue": {"4": {"move": [-1, 0]}}}
    with ArenaEnv(season="2027", duration=3, compact=True) as env:
        env.reset(11)
        for _ in range(30):
            mine = env.step(actions)
    first = two.ask("reset", seeds=[10, 11])
    assert first["ok"]
    assert [row["result"]["info"]["seed"] for row in first["results"]] == [10, 11]
    for _ in range(30):
        response = two.ask("step", actions=[{}, actions])
    theirs = response["results"][1]["result"]
    for state in (mine, theirs):
        state["env_id"] = 0
        for key in ("episode", "worker_pid", "sim_pid"):
            del state["info"][key]
    assert theirs == mine
    assert two.ask("observe", env_ids=[0])["results"][0]["result"]["terminated"]
    saved = two.ask("save_replay", paths=[str(tmp_path / "a.json")], env_ids=[1])
    assert saved["results"][0]["result"]["digest"] == mine["info"]["digest"]
    over = two.ask("step", actions=[{}, {}])
    assert (over["ok"], over["type"]) == (False, "step")
    assert {row["error"]["code"] for row in over["results"]} == {"episode_over"}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"garbage", "bad_json"),
        (b'{"op":"reset"', "bad_json"),
        (b'{"op":"reset","seeds":[NaN,1]}', "bad_json"),
        (b"\xff\xfe", "bad_json"),
        (b"[" * 5000, "bad_json"),
        (b'["reset"]', "bad_type"),
        (b'{"id":[1],"op":"reset"}', "bad_type"),
        (b'{"id":3}', "unknown_op"),
        (b'{"id":3,"op":"jump"}', "unknown_op"),
        (b'{"id":3,"op":"reset","now":true}', "unknown_field"),
        (b'{"id":3,"op":"step","actions":{}}', "bad_type"),
        (b'{"id":3,"op":"step","actions":[{}]}', "bad_length"),
        (b'{"id":3,"op":"reset","env_ids":[1,1]}', "duplicate_env_id"),
        (b'{"id":3,"op":"reset","env_ids":[2]}', "env_id_out_of_range"),
        (b'{"id":3,"op":"reset","env_ids":["0"]}', "bad_type"),
        (b'{"id":3,"op":"save_replay","paths":[1,2]}', "bad_type"),
        (b'{"id":3,"x":"' + b"y" * MOST_LINE + b'"}', "line_too_long"),
    ],
)
def test_a_malformed_line_is_answered_and_the_process_goes_on(
    two: Conversation, line: bytes, code: str
) -> None:
    response = two.say(line)
    assert (response["ok"], response["type"]) == (False, "error")
    assert response["error"]["code"] == code
    assert response["error"]["message"]
    assert response["id"] == (3 if b'"id":3' in line and code != "line_too_long" else None)
    assert two.ask("info")["ok"]


@pytest.mark.parametrize("number", [7, "seven", 1.5, None, True])
def test_the_id_comes_back(two: Conversation, number: Any) -> None:
    assert two.say(json.dumps({"id": number, "op": "info"}).encode())["id"] == number


def test_actions_of_one_environment_are_refused_for_it_alone(two: Conversation) -> None:
    two.ask("reset", seeds=[1, 2])
    for actions, code, path in (
        ([1, 2], "not_object", ""),
        ({"green": {}}, "unknown_field", ""),
        ({"red": []}, "not_object", "red"),
        ({"red": {"3": {"move": [2, 0]}}}, "out_of_range", "red.3.move"),
        ({"blue": {"red-3": {}}}, "not_own_robot", "blue.red-3"),
    ):
        response = two.ask("step", actions=[actions], env_ids=[1])
        error = response["results"][0]["error"]
        assert (response["ok"], error["code"], error["path"]) == (False, code, path)
    before = two.ask("observe", env_ids=[1])["results"][0]["result"]["info"]["tick"]
    assert before == 0
    blocked = two.ask("reset", env_ids=[0], scenarios=[{"robots": {"red-3": {"x": -1, "y": 0}}}])
    assert blocked["results"][0]["error"]["code"] in ("position_blocked", "out_of_range")
    assert blocked["results"][0]["error"]["path"].startswith("robots.red-3")


def test_close_ends_it_and_so_does_the_end_of_the_input() -> None:
    for last in (b'{"id":9,"op":"close"}\n', b""):
        with conversation("--num-envs", "2", *OPPONENT) as talk:
            talk.ask("reset")
            began = below(talk.process.pid)
            assert len(began) >= 4, "two environments, two opponents"
            out, err = talk.process.communicate(last, timeout=PATIENCE_S)
            assert talk.process.returncode == 0, err
            if last:
                assert json.loads(out) == {
                    "id": 9, "ok": True, "type": "close", "results": [], "closed": True,
                }  # fmt: skip
            assert gone(began)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_signals_end_everything_that_was_begun(number: signal.Signals, code: int) -> None:
    with conversation("--num-envs", "2", *OPPONENT) as talk:
        talk.ask("reset")
        began = below(talk.process.pid)
        assert len(began) >= 4
        if number is signal.SIGINT:
            os.killpg(talk.process.pid, number)  # as a terminal does it
        else:
            talk.process.send_signal(number)
        talk.process.communicate(timeout=PATIENCE_S)
        assert talk.process.returncode == code
        assert gone(began)


def test_an_environment_that_dies_is_named_and_begun_anew() -> None:
    with conversation("--num-envs", "2") as talk:
        states = talk.ask("reset")["results"]
        os.kill(states[0]["result"]["info"]["sim_pid"], signal.SIGKILL)
        response = talk.ask("step", actions=[{}, {}])
        assert [row["ok"] for row in response["results"]] == [False, True]
        assert response["results"][0]["error"]["code"] == "env_failed"
        assert talk.ask("reset", env_ids=[0])["ok"]


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        (["--lineup", '[{"slot":1,"model":2731}]'], "usage", "slot 1"),
        (["--lineups", '{"red":[]}'], "usage", "lineups"),
        (["--num-envs", "0"], "usage", "num-envs"),
        (["--opponent", "nobody"], "strategy", "nobody"),
        (["--action-repeat", "1"], "usage", "action_repeat"),
        (["--settings", "{"], "usage", "settings"),
    ],
)
def test_bad_options_end_it_at_once(options: list[str], code: str, named: str) -> None:
    done = subprocess.run([*ENV, *options], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (2, "")
    error = json.loads(done.stderr)
    assert error["code"] == code
    assert named in error["message"]


def test_free_lineups_are_repeated_in_the_first_line() -> None:
    free = {"red": [{"slot": 1, "model": 2731}], "blue": [{"slot": 1, "model": 2771}]}
    with conversation("--lineups", json.dumps(free)) as talk:
        assert talk.ready["lineups"] == free
        state = talk.ask("reset")["results"][0]["result"]
        assert list(state["observations"]["red"]["robots"]) == ["1"]
