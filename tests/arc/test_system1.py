"""The small model: leaves, shared prefix, heads, checkpoints, the queue of many games."""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sysone.arc import wording  # noqa: E402
from sysone.arc.candidates import build_candidates  # noqa: E402
from sysone.arc.decide import Agent  # noqa: E402
from sysone.arc.env import MockEnv  # noqa: E402
from sysone.arc.learn.decide import loss_of  # noqa: E402
from sysone.arc.observe import Watcher  # noqa: E402
from sysone.arc.system1 import checkpoint, leaf  # noqa: E402
from sysone.arc.system1.backend import TinyBackend, TooLongError, common  # noqa: E402
from sysone.arc.system1.heads import DecisionHeads  # noqa: E402
from sysone.arc.system1.model import System1Model, fresh  # noqa: E402
from sysone.arc.system1.player import ModelSystem1, SharedModel  # noqa: E402
from sysone.arc.system1.tiny import NEAR, OUT, RANKS, TinyVLM  # noqa: E402
from sysone.arc.system1.tokens import Text, tokenise  # noqa: E402
from sysone.arc.vision import to_array  # noqa: E402
from sysone.runs.errors import RunError  # noqa: E402

pytestmark = pytest.mark.learn


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model() -> System1Model:
    found = fresh("tiny", 3)
    with torch.no_grad():  # an untrained set head says nothing
        torch.nn.init.normal_(found.heads.set_output.weight, std=0.5)
    return found


def grid(seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 16, (64, 64)).astype(np.uint8)


def question(count: int = 7, seed: int = 0, state: str = "header\n12:*0*1*2") -> leaf.Question:
    texts = ["ACTION1", "ACTION3", *[f"ACTION6 x={i % 64} y={i // 3}" for i in range(2, count)]]
    return leaf.choice(grid(seed), state, texts[:count], "Which?\nACTION1: changed 2 of 3")


def test_the_size_is_as_promised() -> None:
    assert 1_000_000 <= sum(w.numel() for w in TinyVLM().parameters()) <= 1_200_000
    assert TinyVLM().see(torch.zeros(2, 3, 64, 64))[0].shape == (2, 64, 128)


def test_a_cell_knows_how_far_the_rarest_colours_are() -> None:
    shown = np.full((64, 64), 5, np.uint8)
    shown[::9, 3::7] = 4
    shown[40:43, 10] = 9
    shown[2, 60] = 14
    found = TinyVLM().distances(torch.from_numpy(to_array(shown))[None])[0].numpy()
    y, x = np.mgrid[:64, :64]
    for rank, colour in enumerate((14, 9, 4, 5)):
        cells = np.argwhere(shown == colour)
        steps = np.abs(y[..., None] - cells[:, 0]) + np.abs(x[..., None] - cells[:, 1])
        nearest = steps.min(-1)
        np.testing.assert_allclose(found[rank], nearest / 64, atol=1e-6)
        np.testing.assert_allclose(found[RANKS + rank], np.exp(-nearest / NEAR), atol=1e-6)
    assert (found[4:RANKS] == 2).all()  # colours that are not there


@pytest.mark.parametrize("count", [2, 7, 255])
def test_a_shared_prefix_changes_no_number(model: System1Model, count: int) -> None:
    asked = question(count)
    with torch.inference_mode():
        shared = model.logits([asked], 64, shared=True)[0]
        chunked = model.logits([asked], 5, shared=True)[0]
        plain = model.logits([asked], 64, shared=False)[0]
    assert float((shared - plain).abs().max()) <= 1e-5
    assert float((shared - chunked).abs().max()) <= 1e-5


def test_a_shared_prefix_has_the_plain_forms_gradients(model: System1Model) -> None:
    found = []
    for shared in (True, False):
        model.backend.module.zero_grad()
        loss_of(model.logits([question()], 64, shared)[0], "choice", 3).backward()
        found.append([w.grad.clone() for w in model.backend.module.parameters()])
    assert max(float((a - b).abs().max()) for a, b in zip(*found, strict=True)) <= 1e-5


def test_questions_together_are_as_they_are_alone(model: System1Model) -> None:
    asked = [question(7), question(3, 1, "h"), question(12, 2, "h" * 90)]
    assert isinstance(model.backend, TinyBackend)
    with torch.inference_mode():
        vectors = model.backend.together(asked)
        together = model.read(vectors, ["choice"] * 3)
        alone = [model.logits([one])[0] for one in asked]
    for a, b in zip(together, alone, strict=True):
        assert float((a - b).abs().max()) <= 1e-5


def test_the_path_is_chosen_by_cost_and_reported() -> None:
    backend = TinyBackend()
    with torch.inference_mode():
        backend.vectors([leaf.boolean(grid(), "h", "ACTION1")])
        backend.vectors([question(9)])
    assert backend.paths == {"plain": 1, "shared": 1}


def test_the_prefix_of_a_frame_is_kept_from_question_to_question(model: System1Model) -> None:
    backend = TinyBackend(5)
    looked = []
    see = backend.module.see
    backend.module.see = lambda images: looked.append(1) or see(images)
    with torch.inference_mode():
        first = backend.vectors([question(7)])[0]
        backend.vectors([question(5)])
        again = backend.vectors([question(7)])[0]
    assert len(looked) == 1
    assert torch.equal(first, again)


@pytest.mark.parametrize("rows", [1, 3])
def test_padding_makes_no_nan(rows: int) -> None:
    net, heads = TinyVLM(1), DecisionHeads(128)
    images = torch.rand(rows, 3, 64, 64)
    cache, _ = net.start(images)
    cache, _ = net.extend(cache, [tokenise("a" * (40 * index)) for index in range(rows)])
    empty = Text([], [])
    tails = [[tokenise("b" * 30, end=True), *[empty] * 5] for _ in range(rows)]
    vectors = net.branch(cache, tails)
    mask = torch.tensor([[0.0] + [OUT] * 5] * rows)
    mask[-1] = OUT  # a row of padding alone
    for family in ("choice", "boolean", "score"):
        logits = heads(vectors, family, mask)
        assert torch.isfinite(logits).all()
        net.zero_grad()
        logits.clamp_min(-100).sum().backward(retain_graph=True)
        grads = [w.grad for w in [*net.parameters(), *heads.parameters()] if w.grad is not None]
        assert all(torch.isfinite(g).all() for g in grads)


def test_the_order_of_candidates_changes_nothing(model: System1Model) -> None:
    asked = question(30)
    order = np.random.default_rng(1).permutation(30)
    texts = [asked.candidates[index] for index in order]
    moved = leaf.choice(asked.grid, asked.state, texts, asked.instruction)
    straight, turned = (model.forward_choice([q])[0] for q in (asked, moved))
    assert np.allclose(np.array(straight)[order], turned, atol=1e-5)


@pytest.mark.parametrize("family", ["choice", "boolean", "score"])
def test_a_step_of_each_family_moves_heads_and_backbone(family: str) -> None:
    trained = fresh("tiny", 2).train_mode()
    with torch.no_grad():  # the last layer is zero at the start, and lets nothing through
        torch.nn.init.normal_(trained.heads.set_output.weight, std=0.1)
    asked = {
        "choice": question(),
        "boolean": leaf.boolean(grid(), "h", "ACTION1"),
        "score": leaf.score(grid(), "h"),
    }[family]
    old = {k: v.detach().clone() for k, v in trained.heads.named_parameters()}
    body = [w.detach().clone() for w in trained.backend.module.parameters()]
    weights = [*trained.backend.module.parameters(), *trained.heads.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=1e-2, weight_decay=0)
    loss_of(trained.logits([asked])[0], family, 1).backward()
    optimizer.step()
    own = [k for k in old if k.startswith(("norm", f"scalar.{family}"))]
    if family == "choice":
        own += [k for k in old if k.startswith("set_")]
        # Shifts of all candidates alike, which a softmax does not see.
        own.remove("scalar.choice.bias")
        own.remove("set_output.bias")
        own = [k for k in own if "in_proj_bias" not in k]
    if family == "score":
        own.remove("scalar.score.bias")
    now = dict(trained.heads.named_parameters())
    assert [k for k in own if torch.equal(old[k], now[k])] == []
    pairs = zip(body, trained.backend.module.parameters(), strict=True)
    assert any(not torch.equal(a, b) for a, b in pairs)


def test_the_picture_is_seen(model: System1Model) -> None:
    one, other = model.forward_choice([question(5, 0), question(5, 9)])
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 1e-4


def test_numbers_for_the_three_kinds(model: System1Model) -> None:
    shares = model.forward_choice([question(9)])[0]
    assert abs(sum(shares) - 1) < 1e-6
    assert model.forward_choice([question(9)])[0] == shares
    assert 0 < model.forward_boolean([leaf.boolean(grid(), "h", "ACTION2")])[0] < 1
    levels, expected, level = model.forward_score([leaf.score(grid(), "h")])[0]
    assert len(levels) == 5
    assert expected == pytest.approx(sum(i * p for i, p in enumerate(levels)))
    assert levels[level] == max(levels)
    chosen = model.choose("h", question(9).candidates, "Which?", grid())
    assert chosen.probs[chosen.index] == max(chosen.probs)
    assert chosen.chosen == question(9).candidates[chosen.index]


def test_a_text_that_is_too_long_is_an_error(model: System1Model) -> None:
    with pytest.raises(TooLongError, match="leaf of 5"):
        model.forward_choice([question(3, state="x" * 5000)])


@pytest.mark.parametrize(
    ("family", "texts", "words"),
    [
        ("choice", ["a"], "1 candidates, expected 2 to 255"),
        ("choice", ["a", "a"], "there twice"),
        ("score", ["a"] * 11, "expected 2 to 10"),
    ],
)
def test_questions_that_are_none(family: Any, texts: list[str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        leaf.encode_question("h", texts, "?", grid(), family)


def test_common_beginnings() -> None:
    assert common(["abcd", "abx", "abcz"]) == 2
    assert common(["ab", "ab"]) == 1
    assert common(["a", "b"]) == 0


# Checkpoints


@pytest.fixture
def saved(model: System1Model, tmp_path: Path) -> Path:
    model.temperatures, model.escalation = {"choice": 1.5}, 0.25
    checkpoint.save(model, tmp_path / "s1")
    return tmp_path / "s1"


def test_a_checkpoint_is_the_same_model(model: System1Model, saved: Path) -> None:
    loaded = checkpoint.load(saved)
    assert loaded.forward_choice([question(9)]) == model.forward_choice([question(9)])
    assert (loaded.temperatures, loaded.escalation) == ({"choice": 1.5}, 0.25)
    assert (saved / checkpoint.WEIGHTS).stat().st_size < 6 << 20


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("state_version", "qwenjev-state-v0", "its state_version is 'qwenjev-state-v0'"),
        ("wording", "other", f"this version's is '{wording.version()}'"),
        ("palette", "other", "its palette is 'other'"),
        ("hidden", 64, "its hidden size is 64, the backbone's is 128"),
        ("backend", "huge", "its backend is 'huge', expected tiny or hf"),
        ("sha256", "0", "the record says 0"),
        ("format", 9, "its format is 9, this version's is 1"),
    ],
)
def test_refusals_state_both_values(saved: Path, key: str, value: Any, words: str) -> None:
    path = saved / checkpoint.RECORD
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(RunError, match=words):
        checkpoint.load(saved)


def test_another_backend_and_an_old_file_are_refused(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="its backend is tiny, and hf is asked for"):
        checkpoint.load(saved, backend="hf")
    (saved / checkpoint.RECORD).unlink()
    (saved / checkpoint.OLD).write_bytes(b"")
    with pytest.raises(RunError, match="sysone arc weights convert"):
        checkpoint.load(saved)
    with pytest.raises(RunError, match="is missing"):
        checkpoint.load(tmp_path / "nosuch")


def test_tensors_without_a_place_are_named(model: System1Model) -> None:
    tensors = checkpoint.tensors_of(model)
    with pytest.raises(RunError, match=r"heads\.norm\.weight is missing"):
        checkpoint.place(model, {k: v for k, v in tensors.items() if k != "heads.norm.weight"}, "x")
    with pytest.raises(RunError, match=r"holds heads\.more, which has no place"):
        checkpoint.place(model, {**tensors, "heads.more": torch.zeros(1)}, "x")
    wrong = {**tensors, "heads.norm.weight": torch.full((128,), float("nan"))}
    with pytest.raises(RunError, match="not finite"):
        checkpoint.place(model, wrong, "x")


# In a game


def test_eight_games_share_one_model(model: System1Model) -> None:
    shared = SharedModel(model)
    seen = Watcher().observe(MockEnv(0, "competition").first())
    assert seen is not None
    candidates = build_candidates(seen, 12)
    alone = list(ModelSystem1(shared).probabilities(seen, candidates, "", 64))
    found: list[Any] = []

    def play() -> None:
        mine = ModelSystem1(shared)
        found.extend(list(mine.probabilities(seen, candidates, "", 64)) for _ in range(4))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=play) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == [alone] * 32
    assert shared.largest > 1, "no call ever took several games' questions"


def test_a_state_that_is_too_long_is_shortened_and_counted(model: System1Model) -> None:
    env, watcher = MockEnv(0, "competition"), Watcher()
    seen = watcher.observe(env.first())
    assert seen is not None
    backend = TinyBackend(1, max_tokens=120)
    small = ModelSystem1(SharedModel(System1Model(backend, model.heads)))
    seen.new_level = False
    seen.seen.diff[seen.seen.diff != ord("\n")] = ord("*")  # every row tells of a change
    asked = small.question(seen, build_candidates(seen, 8), "")
    assert small.shortened_states == 1
    assert asked.state.count("\n") == 0


def test_nan_is_a_failure_of_system1(model: System1Model) -> None:
    broken = fresh("tiny", 4)
    with torch.no_grad():
        broken.heads.norm.weight.fill_(float("nan"))
    env = MockEnv(1, "competition")
    agent = Agent(system1=ModelSystem1(SharedModel(broken)), max_candidates=8)
    agent.begin(env.first())
    for _ in range(5):
        action, record = agent.decide()
        assert record.source == "heuristic"
        agent.note(action, env.step(action))
    assert agent.errors["system1"] == 3
    assert agent.degraded
