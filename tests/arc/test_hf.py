"""The hf path end to end, on a tiny Qwen3-VL of random weights made here."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")

from arc.tiny_qwen import make_tiny_qwen  # noqa: E402
from sysone.arc.config import Config  # noqa: E402
from sysone.arc.learn.decide import loss_of  # noqa: E402
from sysone.arc.learn.pipeline import Settings, Training  # noqa: E402
from sysone.arc.learn.rows import Row  # noqa: E402
from sysone.arc.models import Chosen, Wanted, choose_models, trouble  # noqa: E402
from sysone.arc.system1 import checkpoint, leaf, player, room  # noqa: E402
from sysone.arc.system1.hf import HfBackend, torchao_trouble  # noqa: E402
from sysone.arc.system1.model import System1Model, fresh  # noqa: E402
from sysone.runs.errors import RunError  # noqa: E402
from sysone.runs.progress import Progress  # noqa: E402

pytestmark = [
    pytest.mark.learn,
    # peft asks transformers by a name that is on its way out.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return make_tiny_qwen(tmp_path_factory.mktemp("qwen"))


def grid(seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 16, (64, 64)).astype(np.uint8)


def question(count: int = 7, seed: int = 0) -> leaf.Question:
    texts = ["ACTION1", *[f"ACTION6 x={i} y={(7 * i) % 64}" for i in range(1, count)]]
    return leaf.choice(grid(seed), "header\n12:*0*1*2", texts, "Which?")


@pytest.mark.parametrize("count", [2, 7, 70])
def test_a_shared_prefix_changes_no_number(base: Path, count: int) -> None:
    model = fresh("hf", model=base)
    with torch.inference_mode():
        plain = model.logits([question(count)], 8, shared=False)[0]
        shared = model.logits([question(count)], 8, shared=True)[0]
    assert float((plain - shared).abs().max()) <= 1e-5
    assert model.backend.paths == {"plain": 1, "shared": 1}


def test_the_picture_is_seen(base: Path) -> None:
    model = fresh("hf", model=base)
    with torch.inference_mode():
        one, other = model.backend.vectors([question(3, 0), question(3, 1)], 8)
    assert float((one - other).abs().max()) > 1e-4


def step(model: System1Model) -> None:
    optimizer = torch.optim.AdamW(
        [*model.backend.trainable_parameters(), *model.heads.parameters()], lr=1e-2
    )
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(model.train_mode().logits([question()])[0], "choice", 2).backward()
        optimizer.step()
    model.eval()


def test_lora_trains_merges_saves_and_loads(base: Path, tmp_path: Path) -> None:
    model = fresh("hf", model=base, lora=(4, 8))
    adapters = [w.detach().clone() for w in model.backend.trainable_parameters()]
    assert sum(w.numel() for w in adapters) < 60_000
    step(model)
    moved = zip(adapters, model.backend.trainable_parameters(), strict=True)
    assert any(not torch.equal(old, new) for old, new in moved)
    trained = model.probabilities([question()])[0]
    checkpoint.save(model, tmp_path / "s1")
    assert (tmp_path / "s1" / "hf_lora" / "adapter_config.json").is_file()
    assert isinstance(model.backend, HfBackend)
    model.backend.merge()
    assert np.allclose(model.probabilities([question()])[0], trained, atol=1e-5)
    loaded = checkpoint.load(tmp_path / "s1", backend="hf")
    assert np.allclose(loaded.probabilities([question()])[0], trained, atol=1e-5)


def test_a_base_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"backend hf: .* cannot be loaded"):
        HfBackend(tmp_path)


@pytest.mark.parametrize(
    ("version", "fine"), [("0.10.0", False), ("0.16.0", False), ("0.18.0", True)]
)
def test_an_old_torchao_is_named_with_its_remedy(version: str, fine: bool) -> None:
    found = torchao_trouble(version)
    assert found is None if fine else found is not None and "0.18.0" in found


# Where it runs


@pytest.fixture
def saved(base: Path, tmp_path: Path) -> Path:
    checkpoint.save(fresh("hf", model=base), tmp_path / "s1")
    return tmp_path / "s1"


def chosen(folder: Path, backend: str, force: bool = False) -> Chosen:
    return choose_models(
        Wanted(policy="system1", checkpoint=str(folder), backend=backend, force=force), Config()
    )


def without_cuda(monkeypatch: pytest.MonkeyPatch, main_gb: float | None) -> None:
    monkeypatch.setattr(room, "free_gb", {"cuda": None, "cpu": main_gb}.__getitem__)
    player.shared_model.cache_clear()


def test_auto_takes_an_hf_checkpoint_to_no_cpu(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_cuda(monkeypatch, 64.0)
    found = trouble(chosen(saved, "auto"))
    assert found is not None
    assert "--backend auto finds no CUDA device with 1.0 GB free (found: none)" in found
    assert "--backend hf allows a CPU" in found
    assert "the tiny model that ships decides" in found


def test_the_estimate_is_said_before_a_load(
    saved: Path, base: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_cuda(monkeypatch, 64.0)
    assert trouble(chosen(saved, "hf")) is None
    said = capsys.readouterr().err
    line = f"sysone arc: {base} needs about 0.5 GB of memory on cpu, 64.0 GB are free\n"
    assert said.startswith(line)  # and then transformers' own progress


def test_what_cannot_fit_is_refused_unless_forced(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_cuda(monkeypatch, 0.1)
    found = trouble(chosen(saved, "hf"))
    assert found is not None
    assert "needs about 0.5 GB of memory on cpu, and 0.1 GB are free; --force loads it" in found
    assert trouble(chosen(saved, "hf", force=True)) is None
    player.shared_model.cache_clear()


def test_a_device_with_the_memory_is_taken(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free = {"cuda": 24.0, "cpu": 64.0}
    monkeypatch.setattr(room, "free_gb", free.__getitem__)
    said: list[str] = []
    assert room.place_for("x", str(base), "auto", note=said.append) == "cuda"
    assert room.place_for("x", "Qwen/Qwen3-VL-2B-Instruct", "auto", note=said.append) == "cuda"
    assert "needs about 6.0 GB of memory on cuda, 24.0 GB are free" in said[1]
    free["cuda"] = 4.0
    with pytest.raises(RunError, match=r"no CUDA device with 6\.0 GB free \(found: one with 4\.0"):
        room.place_for("x", "Qwen/Qwen3-VL-2B-Instruct", "auto")
    assert room.place_for("x", "Qwen/Qwen3-VL-2B-Instruct", "hf", note=said.append) == "cpu"


def prepare(folder: Path, base: Path, stages: list[str], force: bool = False) -> None:
    config = msgspec.convert(
        {
            "system1": {"model": str(base)},
            "stage_a_distill": {"teacher_model": str(base), "teacher_4bit": False},
        },
        Config,
    )
    row = Row("k", "g", "choice", "5" * 64, "", 0, "NOT_FINISHED", 0, ["ACTION1", "ACTION2"])
    folder.mkdir(exist_ok=True)
    for part in ("train", "valid", "calibration"):
        (folder / f"{part}.jsonl").write_bytes(msgspec.json.encode(row) + b"\n")
    settings = Settings(str(folder), str(folder / "work"), stages, backend="hf", force=force)
    with Progress() as progress:
        Training(settings, config, progress).run()


def test_a_training_that_cannot_fit_is_refused_before_it_begins(
    base: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(room, "weights_gb", lambda _: 2.0)
    without_cuda(monkeypatch, 6.0)
    with pytest.raises(RunError, match=r"training .* needs about 10\.5 GB .* 6\.0 GB are free"):
        prepare(tmp_path, base, ["prep", "b"])  # every weight is trained: 0.5 + 4 * 1.25 * 2
    assert not (tmp_path / "work" / "start").exists()
    prepare(tmp_path, base, ["prep"])
    assert f"{base} needs about 3.0 GB of memory on cpu" in capsys.readouterr().err
    with pytest.raises(RunError, match=r"needs about 13\.0 GB"):
        prepare(tmp_path, base, ["prep", "a"])  # prep is done; a teacher as large is beside it
    assert f"{base} with {base} beside it" in capsys.readouterr().err
    without_cuda(monkeypatch, 1.0)
    prepare(tmp_path, base, ["prep"], force=True)  # done before, so that nothing is loaded
    with pytest.raises(RunError, match="needs about"):
        prepare(tmp_path / "other", base, ["prep"])
    prepare(tmp_path / "other", base, ["prep"], force=True)


def test_what_adapters_and_four_bits_take(monkeypatch: pytest.MonkeyPatch) -> None:
    without_cuda(monkeypatch, 64.0)
    said: list[str] = []
    student, teacher = "Qwen/Qwen3-VL-2B-Instruct", "Qwen/Qwen3-VL-8B-Instruct"
    room.check_room("x", student, "cpu", times=room.TRAINED["lora"], note=said.append)
    room.check_room("x", student, "cpu", beside=(teacher, room.FOUR_BIT), note=said.append)
    room.check_room("x", "owner/name", "cpu", note=said.append)
    assert [line.split(" needs ")[1].split(" of memory")[0] for line in said] == [
        "about 8.0 GB",
        "about 10.5 GB",
        "an unknown amount",
    ]
