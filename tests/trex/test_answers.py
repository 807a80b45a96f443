"""A model's answers by question: asked once, kept, and found again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sysone.runs.errors import RunError
from sysone.systemone.engine import Engine
from sysone.trex.answers import Answers, answers_of, embedded_version, learn_recording
from sysone.trex.ask import Questions
from sysone.trex.baselines import play_seed
from sysone.trex.decide import Reply
from sysone.trex.keys import ACTIONS
from sysone.trex.latency import Fixed
from sysone.trex.recording import RecordingFile
from sysone.trex.simulate import Conditions, Identity, simulate
from sysone_core.trex import Game, Plan, Planner, snapshot
from trex.fake_endpoint import FakeEndpoint, good


class Scripted:
    """Answers from a list, and counts."""

    name = "Scripted"
    inflight = 1
    usd_per_token = 0.0
    model = "scripted-1"
    detail = "here"

    def __init__(self, probabilities: object = None) -> None:
        self.asked: list[str] = []
        self.closed = False
        self.probabilities = probabilities or {"jump": 0.1, "duck": 0.2, "run": 0.7}

    def ask(self, state: str, questions: Questions) -> Reply:
        self.asked.append(state)
        return Reply({"action": {"probabilities": self.probabilities}}, self.model, 9, 1.0)

    def close(self) -> None:
        self.closed = True


def plans() -> list[Plan]:
    """Two moments that are worded differently."""
    game = Game(0)
    game.press_jump()
    planner = Planner()
    found = [planner.plan(snapshot(game), (1, 2), (1, 2))]
    game.step(260)
    return [*found, planner.plan(snapshot(game), (1, 2), (1, 2))]


def never() -> Any:
    raise AssertionError("nobody is to be asked")


def test_every_question_is_asked_once() -> None:
    backend = Scripted()
    answers = Answers("here", "m", lambda: backend)
    first, second = plans()
    for plan in (first, second, first, second):
        assert answers.choose(plan, "labeled")["run"] == 0.7
    assert len(backend.asked) == answers.asked == len(answers) == 2
    answers.choose(first, "guided")
    assert len(backend.asked) == 3
    assert answers.model == "scripted-1"
    answers.close()
    assert backend.closed


def test_nobody_is_asked_what_the_file_knows(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "answers.jsonl"
    answers = Answers("here", "m", Scripted, path)
    expected = [dict(answers.choose(plan, "labeled")) for plan in plans()]
    answers.close()
    again = Answers("here", "m", never, path)
    assert [again.choose(plan, "labeled") for plan in plans()] == expected
    assert again.model == "scripted-1"
    before = path.read_bytes()
    again.close()
    assert path.read_bytes() == before


def test_answers_of_another_source_are_kept_and_not_used(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    first, second = plans()
    one = Answers("one", "m", Scripted, path)
    one.choose(first, "labeled")
    one.close()
    backend = Scripted({"jump": 1.0})
    other = Answers("other", "m", lambda: backend, path)
    assert other.choose(first, "labeled")["jump"] == 1.0
    other.choose(second, "labeled")
    other.close()
    assert Answers("one", "m", never, path).choose(first, "labeled")["run"] == 0.7
    assert len(Answers("other", "m", never, path)) == 2


@pytest.mark.parametrize("content", ["scores\n", '{"source": 1}\n', '{"source": "x"}\n'])
def test_another_file_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(content)
    with pytest.raises(RunError, match="is no file of answers"):
        Answers("here", "m", never, path)


def refusing() -> Any:
    raise RuntimeError("Jev needs a key")


def nonsense() -> Any:
    return Scripted({"jump": 2})


@pytest.mark.parametrize(
    ("connect", "message"), [(refusing, "Jev needs a key"), (nonsense, "invalid probability")]
)
def test_who_cannot_be_asked_ends_the_match(connect: Callable[[], Any], message: str) -> None:
    with pytest.raises(RunError, match=message):
        Answers("here", "m", connect).choose(plans()[0], "labeled")


def test_the_embedded_model_answers_as_its_server_does() -> None:
    answers = answers_of("local")
    engine = Engine()
    assert embedded_version("trex") == engine.model("trex").version == answers.model
    for plan in plans():
        found = answers.choose(plan, "labeled")
        assert sum(found.values()) == pytest.approx(1)
        assert max(found, key=lambda action: found[action]) == plan.best
    answers.close()


def test_an_endpoint_is_asked_by_its_wire() -> None:
    with FakeEndpoint(good) as endpoint:
        answers = answers_of("clm", base_url=endpoint.url)
        assert answers.choose(plans()[0], "labeled") == {"jump": 0.2, "duck": 0.1, "run": 0.7}
        answers.close()
    assert answers.source == f"{endpoint.url} · clm-latest"
    assert answers.model == "fake-1"
    assert len(endpoint.requests) == 1


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match="kind must be one of clm, jev, local, got 'gpt'"):
        answers_of("gpt")


def test_a_recorded_run_answers_for_its_model(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    conditions = Conditions(
        latency=Fixed(30.0), inflight=3, guarded=True, course="original", frames=900
    )

    def choose(plan: Plan) -> dict[Any, float]:
        return {plan.best: 0.5, "jump": 0.25}

    with RecordingFile(path) as file:
        played = simulate(Identity("Any", 3), 4, conditions, choose, "labeled", file)[1]
    answers = Answers("here", "m", never)
    learn_recording(answers, path)
    # The same conditions ask the same questions, and nothing else is known.
    again = simulate(
        Identity("Any", 3), 4, conditions, lambda plan: answers.choose(plan, "labeled")
    )[1]
    assert again.game.packed_record() == played.game.packed_record()
    assert again.stats == played.stats
    assert [len(answers), answers.asked] == [len(answers), 0]


def test_the_file_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    answers = Answers("here", "m", Scripted, path)
    answers.choose(plans()[1], "guided")
    answers.close()
    (line,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(line) == ["source", "model", "state", "instructions", "criteria", "probabilities"]
    assert list(line["criteria"]) == list(line["probabilities"]) == list(ACTIONS)
    assert line["state"].startswith("Dino runner game.")


def test_baselines_need_no_answers() -> None:
    conditions = Conditions(
        latency=Fixed(30.0), inflight=3, guarded=True, course="original", frames=90
    )
    assert play_seed("planner_best", 0, conditions)[1].player.model == "planner_best"
