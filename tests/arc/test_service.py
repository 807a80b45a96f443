"""A checkpoint behind POST /v1/systemone: the same numbers as in process, from a picture."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sysone.arc.candidates import build_candidates  # noqa: E402
from sysone.arc.endpoint import state_of, system1_at  # noqa: E402
from sysone.arc.env import make_env  # noqa: E402
from sysone.arc.observe import Observation, Watcher  # noqa: E402
from sysone.arc.system1 import checkpoint  # noqa: E402
from sysone.arc.system1.leaf import boolean, compact_state, score  # noqa: E402
from sysone.arc.system1.model import System1Model, fresh  # noqa: E402
from sysone.arc.system1.player import ModelSystem1, SharedModel  # noqa: E402
from sysone.arc.wording import BOOLEAN, LEVELS, SCORE  # noqa: E402
from sysone.cli import FOLDER_MODELS  # noqa: E402
from sysone.systemone import Engine, RequestError  # noqa: E402
from sysone.systemone.sources import EngineSettings  # noqa: E402

pytestmark = pytest.mark.learn


@pytest.fixture(scope="module")
def model() -> System1Model:
    torch.set_num_threads(1)
    found = fresh("tiny", 11)
    found.temperatures = {"choice": 0.7, "boolean": 1.3, "score": 2.0}
    return found


@pytest.fixture(scope="module")
def engine(model: System1Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("s1") / "arc"
    checkpoint.save(model, folder)
    settings = EngineSettings({"arc": str(folder)}, embedded=False, loaders=FOLDER_MODELS)
    with settings() as found:
        yield found


def moments(count: int = 6) -> list[Observation]:
    env, watcher = make_env("pmaz"), Watcher()
    found = [watcher.observe(env.first())]
    for index in range(count):
        action = build_candidates(found[-1])[index % 4]  # type: ignore[arg-type]
        found.append(watcher.observe(env.step(action), action))
    return [seen for seen in found if seen is not None]


def test_choices_equal_those_in_process(model: System1Model, engine: Engine) -> None:
    here = ModelSystem1(SharedModel(model))
    for seen in moments():
        candidates = build_candidates(seen, 12)
        own = here.probabilities(seen, candidates, "ACTION1: changed 1 of 2", 64)
        instruction = here.question(seen, candidates, "ACTION1: changed 1 of 2").instruction
        question = {
            "type": "choice",
            "criteria": {action.text: None for action in candidates},
            "instructions": instruction,
        }
        reply = engine.answer(state_of(seen), {"q": question}, "arc")
        shares = reply["answers"]["q"]["probabilities"]
        assert np.allclose([shares[a.text] for a in candidates], own, atol=1e-6)


def test_noul_and_score_equal_those_in_process(model: System1Model, engine: Engine) -> None:
    seen = moments()[3]
    state = compact_state(seen)
    questions = {
        "n": {"type": "noul", "instructions": BOOLEAN.format(action="ACTION2")},
        "s": {"type": "score", "criteria": list(LEVELS), "instructions": SCORE},
    }
    answers = engine.answer(state_of(seen), questions)["answers"]
    own = model.forward_boolean([boolean(seen.grid, state, "ACTION2")])[0]
    assert answers["n"]["noul"] == pytest.approx(own, abs=1e-6)
    levels, expected, _ = model.forward_score([score(seen.grid, state)])[0]
    assert answers["s"]["score"] == pytest.approx(expected, abs=1e-6)
    assert list(answers["s"]["probabilities"].values()) == pytest.approx(levels, abs=1e-6)


def test_every_form_of_a_grid_is_read(engine: Engine) -> None:
    seen = moments()[0]
    question = {"q": {"type": "choice", "criteria": {"ACTION1": None, "ACTION2": None}}}
    forms = [state_of(seen), {"grid": seen.grid.tolist()}, seen.state_text]
    found = [engine.answer(state, question)["answers"]["q"]["probabilities"] for state in forms]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    "state", ["no grid", {}, {"grid": "0g"}, {"grid": [[1, 2], [3]]}, {"grid": [[16]]}, [1]]
)
def test_no_grid_is_named(engine: Engine, state: Any) -> None:
    question = {"q": {"type": "noul", "instructions": "?"}}
    with pytest.raises(RequestError, match=r"state\.grid"):
        engine.answer(state, question)


def test_over_http_the_agent_decides_as_in_process(model: System1Model, engine: Engine) -> None:
    import uvicorn

    from sysone.systemone.server import Service

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    server = uvicorn.Server(uvicorn.Config(Service(engine), port=port, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.05)
        there = system1_at(f"http://127.0.0.1:{port}", "arc")
        here = ModelSystem1(SharedModel(model))
        for seen in moments(2):
            candidates = build_candidates(seen, 10)
            own = here.probabilities(seen, candidates, "", 64)
            assert np.allclose(there.probabilities(seen, candidates, "", 64), own, atol=1e-6)
        body = {"state": "x", "questions": {"q": {"type": "noul", "instructions": "?"}}}
        reply = httpx.post(f"http://127.0.0.1:{port}/v1/systemone", json=body)
        assert reply.status_code == 422
        assert "state.grid" in reply.text
    finally:
        server.should_exit = True
        thread.join()


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    from sysone.systemone.sources import SettingsError

    settings = EngineSettings({"arc": str(tmp_path)}, embedded=False, loaders=FOLDER_MODELS)
    with pytest.raises(SettingsError, match="without any known record"):
        settings()
