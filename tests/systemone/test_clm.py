"""A CLM checkpoint over an embeddings endpoint: both over real HTTP, against the formula."""

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import sysone.systemone
from sysone.systemone import CLMClient, Engine
from sysone.systemone.checkpoint import Checkpoint, MlpHead, read_checkpoint, write_clm, write_ours
from sysone.systemone.embedding_endpoint import EndpointEncoder
from sysone.systemone.encoder import DeadlineError, EncoderError
from sysone.systemone.heads import HeadError
from sysone.systemone.sources import EngineSettings, SettingsError, make_engine, parse_budget
from systemone.embedding_server import EmbeddingServer, embed, embedding_server
from systemone.served import Served, serve_command

FIXTURE = Path(__file__).parents[1] / "data" / "systemone" / "clm_checkpoint.pt"


@pytest.fixture
def endpoint() -> Iterator[EmbeddingServer]:
    with embedding_server() as server:
        yield server


Make = Callable[[EngineSettings], Engine]


@pytest.fixture
def make() -> Iterator[Make]:
    with ExitStack() as stack:
        yield lambda settings: stack.enter_context(make_engine(settings))


def settings(endpoint: EmbeddingServer, *, path: Path = FIXTURE, **more: Any) -> EngineSettings:
    return EngineSettings(
        **{
            "checkpoints": {"clm": str(path)},
            "encoder": f"endpoint:{endpoint.url}",
            "embedded": False,
            "cache_bytes": 1 << 20,
            "reload": False,
            **more,
        }
    )


# The specification's formula, written out in double precision and apart from the package.


def formula_head(tensors: dict[str, np.ndarray], e: np.ndarray, depth: int) -> np.ndarray:
    def gelu(x: np.ndarray) -> np.ndarray:
        return x * np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])

    t = {key: tensor.astype(np.float64) for key, tensor in tensors.items()}
    x = gelu(t["inp.weight"] @ e + t["inp.bias"])
    for i in range(depth - 2):
        h = t[f"hidden.{i}.weight"] @ x + t[f"hidden.{i}.bias"]
        h = (h - h.mean()) / np.sqrt(h.var() + 1e-5)
        h = h * t[f"norms.{i}.weight"] + t[f"norms.{i}.bias"]
        x = x + gelu(h)
    z = t["out.weight"] @ x + t["out.bias"]
    return z / np.linalg.norm(z)


def formula(state: str, candidates: list[str], temperature: float = 1.0) -> list[float]:
    checkpoint = read_checkpoint(FIXTURE)

    def unit(text: str) -> np.ndarray:
        vector = embed(text).astype(np.float64)
        return vector / np.linalg.norm(vector)

    z = formula_head(checkpoint.state.tensors, unit(state), 4)
    scale = min(math.exp(2.5), 100)
    logits = [
        scale * float(z @ formula_head(checkpoint.action.tensors, unit(text), 4)) / temperature
        for text in candidates
    ]
    weights = [math.exp(logit - max(logits)) for logit in logits]
    return [weight / sum(weights) for weight in weights]


QUESTIONS = {
    "team": {
        "type": "choice",
        "instructions": "Which team?",
        "criteria": {"billing": {"handles": "money"}, "other": None, "parcels": ""},
    },
    "late": {"type": "noul", "instructions": "Is it late?", "criteria": {"true": "It is late"}},
    "hurry": {"type": "score", "criteria": ["none at all", "some", "very much"]},
}
STATE = {"ticket": "charged twice", "tags": ["a", "b"]}
TEXT = "ticket: charged twice\n\ntags:\n  - a\n  - b"


@pytest.mark.parametrize("temperature", [1.0, 2.5])
@pytest.mark.parametrize("as_lists", [False, True])
def test_served_answers_are_the_formulas(make, serve, endpoint, temperature, as_lists) -> None:
    endpoint.as_lists = as_lists
    url = serve(make(settings(endpoint)))
    with CLMClient(url) as client:
        answers = client.system_one(STATE, QUESTIONS, temperature=temperature).answers
    team = formula(f"{TEXT}\n\nWhich team?", ["handles: money", "other", "parcels"], temperature)
    late = formula(
        f"{TEXT}\n\nIs it late?",
        ["false: No. This is false: Is it late?", "true: It is late"],
        temperature,
    )
    hurry = formula(TEXT, ["none at all", "some", "very much"], temperature)
    assert list(answers["team"].probabilities.values()) == pytest.approx(team, abs=1e-5)
    assert answers["late"].noul == pytest.approx(late[1], abs=1e-5)
    assert list(answers["hurry"].probabilities.values()) == pytest.approx(hurry, abs=1e-5)
    assert answers["hurry"].score == pytest.approx(hurry[1] + 2 * hurry[2], abs=1e-5)


def test_raw_is_the_cosine_times_100_clamped_by_nothing_else(make, endpoint) -> None:
    engine = make(settings(endpoint))
    reply = engine.answer(
        "s", {"q": {"type": "choice", "criteria": {"a": None, "b": None}}}, "clm-raw"
    )
    e, a, b = (embed(text) / np.linalg.norm(embed(text)) for text in ("s", "a", "b"))
    odds = math.exp(100 * float(e @ a) - 100 * float(e @ b))
    assert reply["answers"]["q"]["probabilities"]["a"] == pytest.approx(odds / (1 + odds), abs=1e-5)


def test_names_aliases_and_versions(make, endpoint) -> None:
    engine = make(settings(endpoint))
    assert [entry.name for entry in engine.models] == ["clm", "clm-raw"]
    question = {"q": {"type": "noul", "instructions": "?"}}
    for name in ("clm", "clm-latest", "jev-latest", None):
        assert engine.answer("s", question, name)["model"].startswith("clm@")
    assert engine.answer("s", question, "clm-raw")["model"] == "clm-raw"


def test_each_text_is_embedded_once_and_a_hit_spends_nothing(make, endpoint) -> None:
    engine = make(settings(endpoint))
    first = engine.answer(STATE, QUESTIONS)
    assert len(endpoint.texts) == len(set(endpoint.texts)) == 3 + 3 + 2 + 3
    assert first["usage"]["input_tokens"] == sum(len(text.split()) for text in endpoint.texts)
    count = len(endpoint.requests)
    again = engine.answer(STATE, QUESTIONS)
    assert again["answers"] == first["answers"]
    assert again["usage"]["input_tokens"] == 0
    assert len(endpoint.requests) == count


def test_batches_of_32(make, endpoint) -> None:
    criteria = dict.fromkeys(map(str, range(100)))
    make(settings(endpoint)).answer("s", {"q": {"type": "choice", "criteria": criteria}})
    assert sorted(len(request["input"]) for request in endpoint.requests) == [1, 4, 32, 32, 32]


def test_a_state_keeps_its_tail_and_a_candidate_its_head(make, endpoint) -> None:
    engine = make(settings(endpoint, max_tokens=16))
    state = " ".join(f"s{i}" for i in range(100))
    option = " ".join(f"o{i}" for i in range(100))
    question = {"q": {"type": "choice", "criteria": {"a": option, "b": None}}}
    reply = engine.answer(state, question, "clm-raw")
    assert reply["answers"]["q"]["x_truncated"] is True
    sides = {request["input"][0][0]: request["truncation_side"] for request in endpoint.requests}
    assert sides == {"s": "left", "o": "right", "b": "right"}
    tail = engine.answer(" ".join(f"s{i}" for i in range(84, 100)), question, "clm-raw")
    assert reply["answers"]["q"]["probabilities"] == tail["answers"]["q"]["probabilities"]
    short = engine.answer("s", {"q": {"type": "noul", "instructions": "?"}}, "clm-raw")
    assert "x_truncated" not in short["answers"]["q"]


# An endpoint that fails


@pytest.mark.parametrize(
    "fault", ["status", "json", "count", "index", "nan", "zero", "base64", "ragged"]
)
def test_a_faulty_endpoint_is_502_and_is_forgotten(make, serve, endpoint, fault: str) -> None:
    url = serve(make(settings(endpoint)), log_level="critical")
    endpoint.fault = fault
    body = {"state": "s", "questions": QUESTIONS}
    reply = httpx.post(f"{url}/v1/systemone", json=body)
    assert reply.status_code == 502
    assert reply.json()["detail"]["error_type"] == "upstream_error"
    endpoint.fault = None
    assert httpx.post(f"{url}/v1/systemone", json=body).status_code == 200


def test_an_endpoint_that_is_not_there_is_502_and_unhealthy(make, serve) -> None:
    with embedding_server() as gone:
        pass
    url = serve(make(settings(gone)), log_level="critical")
    reply = httpx.post(f"{url}/v1/systemone", json={"state": "s", "questions": QUESTIONS})
    assert reply.status_code == 502
    assert gone.url in reply.json()["detail"]["message"]
    health = httpx.get(f"{url}/health").json()
    assert (health["ok"], health["embedder"]) == (True, False)


def test_health_asks_the_endpoint(make, serve, endpoint) -> None:
    assert httpx.get(f"{serve(make(settings(endpoint)))}/health").json()["embedder"] is True


def test_a_width_that_changes_or_does_not_fit_is_an_error(make, endpoint) -> None:
    engine = make(settings(endpoint))
    engine.answer("s", QUESTIONS)
    endpoint.width = 48
    with pytest.raises(EncoderError, match="width 48, expected 32"):
        engine.answer("another state", QUESTIONS)
    fresh = make(settings(endpoint))
    with pytest.raises(EncoderError, match="width 48, expected 32"):
        fresh.answer("s", QUESTIONS)


def test_the_key_is_sent_and_the_deadline_kept(endpoint) -> None:
    encoder = EndpointEncoder(endpoint.url, api_key="secret")
    encoder.encode("text", "head")
    assert endpoint.keys == ["Bearer secret"]
    with pytest.raises(DeadlineError):
        list(encoder.encode_many([("text", "head")], time.monotonic() - 1))
    encoder.close()


def test_one_text_asked_for_by_many_is_embedded_once(make, endpoint) -> None:
    engine = make(settings(endpoint))
    replies = []
    threads = [
        threading.Thread(target=lambda: replies.append(engine.answer(STATE, QUESTIONS)["answers"]))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == 8
    assert all(reply == replies[0] for reply in replies)


# Heads and encoders that do not fit, and files that change


def test_heads_for_another_width_are_refused_with_both_named() -> None:
    wrong = EngineSettings(checkpoints={"clm": str(FIXTURE)}, encoder="embedded")
    with pytest.raises(SettingsError, match=r"width 32, and .* width 384"):
        make_engine(wrong)


def test_our_format_names_its_encoder(make, endpoint, tmp_path: Path) -> None:
    checkpoint = read_checkpoint(FIXTURE)
    write_ours(checkpoint, tmp_path / "right.json", encoder="qwen3-8b", pooling="last")
    write_ours(checkpoint, tmp_path / "wrong.json", encoder="another", pooling="last")
    right = make(settings(endpoint, path=tmp_path / "right.json"))
    expected = make(settings(endpoint)).answer(STATE, QUESTIONS)["answers"]
    assert right.answer(STATE, QUESTIONS)["answers"] == expected
    with pytest.raises(HeadError, match="'another', expected 'qwen3-8b'"):
        make(settings(endpoint, path=tmp_path / "wrong.json"))


def scaled(checkpoint: Checkpoint, logit_scale: float) -> Checkpoint:
    parts = (checkpoint.config, checkpoint.state, checkpoint.action)
    return Checkpoint(*parts, logit_scale, "", checkpoint.notes)


def test_a_changed_file_is_swapped_in_and_a_broken_one_is_not(
    make, serve, endpoint, tmp_path
) -> None:
    path = tmp_path / "heads.pt"
    checkpoint = read_checkpoint(FIXTURE)
    write_clm(checkpoint, path)
    engine = make(settings(endpoint, path=path))
    url = serve(engine)
    model = engine._models["clm"]

    def ask() -> tuple[str, float, int]:
        body = {"state": "s", "questions": {"q": {"type": "noul", "instructions": "?"}}}
        reply = httpx.post(f"{url}/v1/systemone", json=body).json()
        return reply["model"], reply["answers"]["q"]["noul"], reply["usage"]["input_tokens"]

    first = ask()
    assert not model.refresh()
    swapped = MlpHead(checkpoint.config, checkpoint.action.tensors)
    write_clm(
        Checkpoint(checkpoint.config, swapped, checkpoint.state, 2.5, "", checkpoint.notes), path
    )
    assert model.refresh()
    second = ask()
    assert second[0] != first[0]
    assert second[1] != first[1]
    assert second[2] == 0, "the encoder's vectors are still good"
    status = httpx.get(f"{url}/health").json()["reload"]["clm"]
    assert (status["generation"], status["error"]) == (2, None)

    path.write_bytes(b"half a fi")
    assert not model.refresh()
    assert ask()[:2] == second[:2]
    status = httpx.get(f"{url}/health").json()["reload"]["clm"]
    assert status["generation"] == 2
    assert "heads.pt" in status["error"]

    write_clm(checkpoint, path)
    assert model.refresh()
    assert ask()[:2] == first[:2]
    assert httpx.get(f"{url}/health").json()["reload"]["clm"]["error"] is None


def test_a_touched_file_is_not_loaded_again(make, endpoint, tmp_path: Path) -> None:
    path = tmp_path / "heads.pt"
    path.write_bytes(FIXTURE.read_bytes())
    model = make(settings(endpoint, path=path))._models["clm"]
    os.utime(path, ns=(1, 1))
    assert not model.refresh()
    assert model.generation == 1


def test_the_watcher_finds_the_change_itself(make, endpoint, tmp_path: Path) -> None:
    path = tmp_path / "heads.pt"
    checkpoint = read_checkpoint(FIXTURE)
    write_clm(checkpoint, path)
    engine = make(settings(endpoint, path=path, reload=True))
    before = engine.model("clm").version
    write_clm(scaled(checkpoint, 1.0), path)
    end = time.monotonic() + 60
    while engine.model("clm").version == before and time.monotonic() < end:
        time.sleep(0.05)
    assert engine.model("clm").version != before


def test_heads_of_our_own_are_served_and_broken_ones_named(tmp_path: Path) -> None:
    heads = Path(sysone.systemone.__file__).parent / "data" / "heads"
    for name in ("trex.json", "trex.safetensors"):
        (tmp_path / name).write_bytes((heads / name).read_bytes())
    mine = EngineSettings(
        checkpoints={"mine": str(tmp_path / "trex.json")}, encoder="embedded", reload=False
    )
    question: dict[str, Any] = {"q": {"type": "choice", "criteria": {"a": None, "b": None}}}
    with make_engine(mine) as engine:
        assert [entry.name for entry in engine.models] == ["mine", "default", "trex"]
        found, expected = engine.answer("s", question), engine.answer("s", question, "trex")
        assert found["model"].startswith("mine@")
        assert found["answers"] == expected["answers"]
        (tmp_path / "trex.safetensors").write_bytes(b"no weights")
        assert not engine._models["mine"].refresh()
        assert "trex.json" in engine.reload_status()["mine"]["error"]
        assert engine.answer("s", question)["answers"] == expected["answers"]
    with pytest.raises(HeadError, match=r"trex\.json"):
        make_engine(mine)


# The command


def test_cache_budgets_are_read() -> None:
    assert parse_budget("64MiB") == 64 << 20
    assert parse_budget("0.02") == int(0.02 * (8 << 30))
    assert parse_budget("1 GB") == 10**9
    assert parse_budget("512KiB") == 512 << 10
    assert parse_budget("0") == 0
    for text in ("", "much", "1 parsec", "-1", "1e9"):
        with pytest.raises(SettingsError, match="action-cache"):
            parse_budget(text)


def test_the_command_serves_clm_with_clms_own_settings(endpoint) -> None:
    served = Served(
        "--no-download", "--no-ui", CLM_CKPT=str(FIXTURE), CLM_EMB_URL=endpoint.url, CLM_API_KEY="k"
    )
    url = served.url
    try:
        assert httpx.get(f"{url}/v1/models").status_code == 401
        with CLMClient(url, "k") as client:
            assert [entry["name"] for entry in client.models()] == ["clm_checkpoint", "clm-raw"]
            ranked = client.rank(TEXT, "Which team?", ["handles: money", "other", "parcels"])
    finally:
        served.stop()
    team = formula(f"{TEXT}\n\nWhich team?", ["handles: money", "other", "parcels"])
    assert [item["prob"] for item in ranked] == pytest.approx(sorted(team, reverse=True), abs=1e-5)


FAKE_VLLM = """#!{python}
import json, os, pathlib, sys
pathlib.Path(__file__).with_suffix(".pid").write_text(str(os.getpid()))
sys.path.insert(0, {tests!r})
from systemone.embedding_server import EmbeddingServer, _Handler
from http.server import ThreadingHTTPServer
arguments = sys.argv[1:]
assert arguments[:2] == ["serve", "some/model"], arguments
assert "--runner" in arguments and "pooling" in arguments
port = int(arguments[arguments.index("--port") + 1])
server = EmbeddingServer()
server.server_close()
ThreadingHTTPServer.__init__(server, ("127.0.0.1", port), _Handler)
print("a log line of vllm's", flush=True)
server.serve_forever()
"""


def test_the_command_starts_vllm_and_ends_it(tmp_path: Path) -> None:
    program = tmp_path / "vllm"
    tests = str(Path(__file__).parents[1])
    program.write_text(FAKE_VLLM.format(python=sys.executable, tests=tests))
    program.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    # Its vLLM says a word before it listens.
    served = Served("--spawn-vllm", "some/model", "--ckpt", str(FIXTURE), PATH=path)
    try:
        with CLMClient(served.url) as client:
            reply = client.system_one(STATE, QUESTIONS)
    finally:
        served.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int(program.with_suffix(".pid").read_text()), 0)
    team = formula(f"{TEXT}\n\nWhich team?", ["handles: money", "other", "parcels"])
    found = list(reply.answers["team"].probabilities.values())
    assert found == pytest.approx(team, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--ckpt", "none.pt"], "no such file: none.pt"),
        (["--ckpt-dir", "no-such-folder"], "no-such-folder"),
        (["--model", "alone"], "NAME=VALUE"),
        (["--encoder", "magic"], "'magic': expected embedded"),
        (["--encoder", "vllm:nowhere"], "http://HOST:PORT"),
        (["--action-cache", "much"], "action-cache"),
        (["--encoder", "hf:no-such-folder"], "no config.json"),
        (["--upstream", "x=http://"], "http"),
        (["--spawn-vllm", "m"], "no vllm on the path"),
        (["--encoder", "embedded", "--ckpt", str(FIXTURE)], "width 384"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_1(arguments: list[str], words: str) -> None:
    process = serve_command(*arguments, PATH="")
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 1, errors
    assert errors.count("\n") == 1
    assert words in errors
