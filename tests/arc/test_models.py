"""Settings files, a System One endpoint as the one who decides, and what is refused."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sysone.arc.candidates import build_candidates
from sysone.arc.cli import app
from sysone.arc.config import Config, load_config
from sysone.arc.decide import Agent
from sysone.arc.endpoint import EMBEDDED, QUESTION, EndpointSystem1, state_of, system1_at
from sysone.arc.env import MockEnv
from sysone.arc.observe import Watcher
from sysone.arc.play import Limits, play_game
from sysone.runs.errors import RunError
from sysone.systemone import ChoiceAnswer, NoulAnswer


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("eval_report.json").read_text())
    return found


class Endpoint:
    """A System One endpoint on loopback that prefers the last option, until it is told to fail."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.fail_from = 1 << 30
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                failing = len(outer.requests) > outer.fail_from
                self.send_response(500 if failing else 200)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(json.dumps({} if failing else outer.answer(body)).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @staticmethod
    def answer(body: dict[str, Any]) -> dict[str, Any]:
        answers = {}
        for name, question in body["questions"].items():
            options = list(question["criteria"])
            rest = 0.4 / max(len(options) - 1, 1)
            shares = dict.fromkeys(options, rest) | {options[-1]: 0.6}
            answers[name] = {
                "type": "choice",
                "choice": options[-1],
                "confidence": 0.5,
                "probabilities": shares,
            }
        return {"model": "scripted", "answers": answers, "usage": {"input_tokens": 1}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    yield found
    found.server.shutdown()
    found.thread.join()
    found.server.server_close()


def test_an_endpoint_decides_and_is_counted_as_the_model(endpoint: Endpoint) -> None:
    done = run("eval", "--games", "mock1", "--max-actions", "12", "--system1", endpoint.url)
    assert done.exit_code == 0, done.output
    found = report()
    row = found["games"]["mock1"]
    assert row["decisions"] == {"model": 12, "heuristic": 0, "forced": 0, "fallback": 0}
    assert found["meta"]["config"]["policy"] == "hybrid"
    assert found["meta"]["system1"] == "endpoint"
    assert endpoint.url not in Path("eval_report.json").read_text()
    assert found["meta"]["system1_picture"] is False
    assert found["summary"]["degraded"] is False
    # The first request asks whether anybody is there.
    first, second = endpoint.requests[1], endpoint.requests[2]
    assert set(first["state"]) == {"grid", "levels_completed", "state"}
    assert set(second["state"]) == {"grid", "previous_grid", "levels_completed", "state"}
    assert len(first["state"]["grid"].split("\n")) == 64
    options = first["questions"][QUESTION]["criteria"]
    assert list(options)[:2] == ["ACTION1", "ACTION2"]
    assert set(options.values()) == {None}


def test_no_action_is_asked_about_twice(endpoint: Endpoint) -> None:
    endpoint.fail_from = 5
    done = run("eval", "--games", "mock1", "--max-actions", "12", "--system1", endpoint.url)
    assert done.exit_code == 3
    row = report()["games"]["mock1"]
    # Four answers, three failures, and the explorer for the rest of the game.
    assert row["decisions"]["model"] == 4
    assert row["decisions"]["heuristic"] == 8
    assert row["errors"] == {"system1": 3}
    assert len(endpoint.requests) == 1 + 4 + 3
    assert "DEGRADED" in done.stdout


def test_an_endpoint_that_is_not_there_is_degraded() -> None:
    address = "http://127.0.0.1:9"
    done = run("eval", "--games", "mock1", "--max-actions", "5", "--system1", address)
    assert done.exit_code == 3
    assert "does not answer" in done.stderr
    assert report()["summary"]["degraded"] is True


def test_the_embedded_model_decides() -> None:
    arguments = ["--games", "mock1", "--max-actions", "6", "--system1", EMBEDDED]
    assert run("eval", *arguments).exit_code == 0
    first = report()
    assert first["games"]["mock1"]["decisions"]["model"] == 6
    assert first["meta"]["system1"] == EMBEDDED
    assert run("eval", *arguments).exit_code == 0
    assert report()["games"]["mock1"]["level_actions"] == first["games"]["mock1"]["level_actions"]
    done = run("eval", *arguments, "--system1-model", "nosuch")
    assert done.exit_code == 2
    assert "unknown model 'nosuch'" in done.stderr


def test_an_answer_that_is_none_is_an_error() -> None:
    seen = Watcher().observe(MockEnv(0, "competition").first())
    assert seen is not None
    candidates = build_candidates(seen)
    odd: list[dict[str, Any]] = [
        {},
        {QUESTION: NoulAnswer(0.5)},
        {QUESTION: ChoiceAnswer("ACTION1", 1.0, {"ACTION1": 1.0})},
    ]
    for answers in odd:
        model = EndpointSystem1(lambda state, questions, found=answers: found)
        with pytest.raises(ValueError, match="the answer"):
            model.probabilities(seen, candidates, "", 64)
    assert state_of(seen)["state"] == "NOT_FINISHED"


def test_one_client_serves_every_game(endpoint: Endpoint) -> None:
    assert system1_at(endpoint.url, "a") is system1_at(endpoint.url, "a")
    played = play_game(
        MockEnv(0, "competition"), Agent(system1=system1_at(endpoint.url, "a")), Limits(3)
    )
    assert played.decisions == {"model": 3}
    assert {request["model"] for request in endpoint.requests} == {"a"}
    with pytest.raises(RunError, match="--system1: invalid base URL"):
        system1_at("no address")


def test_watching_and_collecting_ask_the_endpoint_too(endpoint: Endpoint) -> None:
    lines = run("trace", "mock1", "--max-actions", "3", "--system1", endpoint.url).stdout
    assert [line.split()[-1] or line for line in lines.splitlines()]
    assert lines.count(" model ") == 3
    arguments = ["--episodes", "1", "--max-actions", "5", "--epsilon", "0"]
    done = run("collect", "--games", "mock1", *arguments, "--system1", endpoint.url)
    assert done.exit_code == 0, done.output
    assert '"source":"model"' in Path("traces/mock1/ep0.jsonl").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--system2", "ftp://there"], "--system2 is 'ftp://there', expected http://HOST:PORT"),
        (["--system2", "transformers:"], "expected transformers:MODEL"),
        (["--system2", "http://x", "--policy", "random"], "--policy random asks no model"),
        (["--no-checkpoint", "--backend", "hf"], "--no-checkpoint with hf needs system1.model"),
        (["--no-checkpoint", "--checkpoint", "x"], "--checkpoint and --no-checkpoint are given"),
        (["--system1", "embedded", "--checkpoint", "x"], "--system1 and --checkpoint are given"),
        (["--system1", "embedded", "--agent", "a:B"], "--agent and --system1 are given"),
        (["--system1", "embedded", "--policy", "random"], "--policy random asks no model"),
        (["--system1-model", "default"], "--system1-model is given without --system1"),
        (["--system1", "ftp://there"], "--system1: invalid base URL"),
        (["--config", "nosuch.toml"], "nosuch.toml"),
        (["--config", "odd.ini"], "expected a file in .yaml, .yml or .toml"),
        (["--config", "unknown.toml"], "the nearest known one is hybrid.stall_patience"),
        (["--config", "section.yaml"], "the nearest known one is hybrid"),
        (["--config", "value.yaml"], "$.hybrid.novelty"),
        (["--config", "backend.yaml"], "$.system1.backend"),
        (["--config", "system2.yaml"], "--system2 is 'there'"),
        (["--config", "broken.yaml"], "broken.yaml is no YAML"),
    ],
)
def test_what_is_not_there_is_refused_in_one_line(arguments: list[str], words: str) -> None:
    Path("odd.ini").write_text("[hybrid]\n")
    Path("unknown.toml").write_text("[hybrid]\nstall_patiense = 3\n")
    Path("section.yaml").write_text("hybird:\n  novelty: raw\n")
    Path("value.yaml").write_text("hybrid:\n  novelty: sometimes\n")
    Path("backend.yaml").write_text("system1:\n  backend: huge\n")
    Path("system2.yaml").write_text("system2:\n  url: there\n")
    Path("broken.yaml").write_text("hybrid: [\n")
    done = run("eval", "--games", "mock0", "--max-actions", "3", *arguments)
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1
    assert not Path("eval_report.json").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--checkpoint", "nosuch"], "checkpoint nosuch is missing"),
        (["--checkpoint", "hf:owner/name"], "a checkpoint needs PyTorch"),
        (["--no-checkpoint"], "a checkpoint needs PyTorch"),
        (["--policy", "hybrid"], "the shipped model needs PyTorch"),
        (["--backend", "hf", "--policy", "system1"], "the shipped model needs PyTorch"),
    ],
)
def test_a_model_that_cannot_decide_is_degraded(arguments: list[str], words: str) -> None:
    done = run("eval", "--games", "mock0", "--max-actions", "3", *arguments)
    assert done.exit_code == 3
    assert words in done.stderr
    assert report()["summary"]["degraded"] is True
    assert report()["meta"]["checkpoint"] == "none"


def test_a_plain_install_plays_the_heuristic_with_one_line() -> None:
    done = run("eval", "--games", "mock0", "--max-actions", "3")
    assert done.exit_code == 0
    assert done.stderr.count("needs PyTorch") == 1
    assert "the heuristic plays" in done.stderr
    assert report()["meta"]["config"]["policy"] == "heuristic"


def test_flags_win_over_the_file_and_the_report_has_what_was_resolved() -> None:
    Path("a.yaml").write_text(
        "hybrid:\n  max_actions: 7\n  stall_patience: 5\ncollect:\n  epsilon: 1\n"
    )
    Path("b.toml").write_text("[hybrid]\nmax_actions = 7\nstall_patience = 5\n")
    assert run("eval", "--games", "mock0", "--config", "a.yaml").exit_code == 0
    assert report()["games"]["mock0"]["actions"] == 7
    done = run("eval", "--games", "mock0", "--config", "b.toml", "--max-actions", "4")
    assert done.exit_code == 0
    assert report()["games"]["mock0"]["actions"] == 4
    settings = report()["meta"]["config"]["settings"]
    assert settings["hybrid"]["max_actions"] == 4
    assert settings["hybrid"]["stall_patience"] == 5
    assert settings["system1"]["backend"] == "auto"
    arguments = ["--games", "mock0", "--episodes", "1", "--max-actions", "6"]
    assert run("collect", *arguments, "--config", "a.yaml").exit_code == 0
    summary = json.loads(Path("traces/summary.json").read_text())
    assert summary["settings"]["epsilon"] == 1
    assert summary["settings"]["max_actions"] == 6


def test_yaml_without_its_reader_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    Path("a.yaml").write_text("hybrid:\n  max_actions: 7\n")
    with pytest.raises(RunError, match="YAML needs pyyaml"):
        load_config(Path("a.yaml"))


def test_no_file_means_the_defaults() -> None:
    Path("empty.yaml").write_text("")
    assert load_config(None) == load_config(Path("empty.yaml")) == Config()
    assert Config().hybrid.game_time_limit_s == 900
