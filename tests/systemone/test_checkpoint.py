"""CLM's checkpoints: read without running them, written so that PyTorch reads them."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sysone.systemone import Choice, Noul, Score
from sysone.systemone.checkpoint import read_checkpoint, write_clm, write_ours
from sysone.systemone.cli import app
from sysone.systemone.heads import HeadError
from sysone.systemone.torch_file import TorchFileError, read_torch, write_torch

DATA = Path(__file__).parents[1] / "data" / "systemone"
FIXTURE = DATA / "clm_checkpoint.pt"
RECORDED = json.loads((DATA / "clm_vectors.json").read_text())


def test_a_checkpoint_of_pytorch_gives_pytorchs_numbers() -> None:
    checkpoint = read_checkpoint(FIXTURE)
    assert checkpoint.scale == pytest.approx(RECORDED["scale"], rel=1e-6)
    assert checkpoint.notes["task"] == "fixture"
    assert checkpoint.notes["epoch"] == 3
    for side, head in (("state", checkpoint.state), ("action", checkpoint.action)):
        for vector, expected in zip(RECORDED["vectors"], RECORDED[side], strict=True):
            found = head.project(np.array(vector, np.float32))
            assert found == pytest.approx(np.array(expected), abs=1e-6)


def test_both_formats_keep_every_number(tmp_path: Path) -> None:
    checkpoint = read_checkpoint(FIXTURE)
    write_clm(checkpoint, tmp_path / "again.pt")
    write_ours(checkpoint, tmp_path / "ours.json", encoder="qwen3-8b", pooling="last")
    for path in (tmp_path / "again.pt", tmp_path / "ours.json"):
        found = read_checkpoint(path)
        assert found.config == checkpoint.config
        assert found.scale == checkpoint.scale
        for key, tensor in checkpoint.action.tensors.items():
            assert found.action.tensors[key].tobytes() == tensor.tobytes()
    assert read_checkpoint(tmp_path / "ours.json").notes["encoder"] == "qwen3-8b"
    assert read_checkpoint(tmp_path / "again.pt").notes["metrics"] == {"accuracy": 0.5}


def test_our_format_carries_temperatures(tmp_path: Path) -> None:
    path = tmp_path / "heads.json"
    write_ours(read_checkpoint(FIXTURE), path, encoder="e", pooling="last")
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "temperatures": {"choice": 2, "noul": 0.5}}))
    pair = read_checkpoint(path).pair("heads", "For tests", "2026-01-01")
    assert pair.temperature(Choice(dict.fromkeys("abc"))) == 2
    assert pair.temperature(Noul("?")) == 0.5
    assert pair.temperature(Score(["low", "high"])) == 1
    for wrong in ({"choice": 0}, {"choice": "2"}, {"choice": True}, [2]):
        path.write_text(json.dumps({**record, "temperatures": wrong}))
        with pytest.raises(HeadError, match=r"heads\.json: temperatures"):
            read_checkpoint(path)


@pytest.mark.learn
def test_pytorch_reads_what_we_write(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="needs the train extra")
    checkpoint = read_checkpoint(FIXTURE)
    write_clm(checkpoint, tmp_path / "ours.pt")
    found = torch.load(tmp_path / "ours.pt", weights_only=True)
    assert found["cfg"]["task"] == "fixture"
    assert found["logit_scale"].shape == ()
    for key, tensor in checkpoint.state.tensors.items():
        assert (found["state_head"][key].numpy() == tensor).all()


def test_convert_command_goes_both_ways(tmp_path: Path) -> None:
    runner = CliRunner()
    ours, theirs = tmp_path / "heads.json", tmp_path / "heads.pt"
    for source, target in ((FIXTURE, ours), (ours, theirs)):
        done = runner.invoke(app, ["convert-heads", str(source), str(target)])
        assert done.exit_code == 0, done.output
    expected, found = read_checkpoint(FIXTURE), read_checkpoint(theirs)
    assert found.state.tensors["inp.weight"].tobytes() == (
        expected.state.tensors["inp.weight"].tobytes()
    )
    done = runner.invoke(app, ["convert-heads", str(FIXTURE), str(tmp_path / "x.bin")])
    assert done.exit_code == 1
    assert ".json or .pt" in done.output


# Malicious and broken files


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def torch_zip(path: Path, program: bytes, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", program)
        for name, raw in entries.items():
            archive.writestr(f"archive/data/{name.removeprefix('s')}", raw)
    return path


PROGRAMS = {
    "import": b"cos\nmkdir\n(V{}\ntR.",
    "builtin": b"cbuiltins\neval\n(V__import__('os').mkdir('{}')\ntR.",
    "instance": b"(V{}\nios\nmkdir\n.",
    "stack global": b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93\x8c\x04{}\x85R.",
    "new object": b"\x80\x02csubprocess\nPopen\n(V{}\nt\x81.",
    "a module of torch": b"ctorch.hub\nload\n(V{}\ntR.",
    "a dotted name": b"\x80\x04\x8c\x0bcollections\x8c\x1bOrderedDict.__init__.__globals__\x93.",
    "a persistent id": b"(V{}\nt\x51.",
    "an extension": b"\x80\x02\x82\x01.",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_malicious_checkpoint_runs_nothing(tmp_path: Path, name: str) -> None:
    made = tmp_path / "made"
    program = PROGRAMS[name].replace(b"{}", str(made).encode())
    with pytest.raises((TorchFileError, HeadError)) as caught:
        read_checkpoint(torch_zip(tmp_path / "evil.pt", program))
    assert "evil.pt" in str(caught.value)
    assert not made.exists()


def test_a_reduced_object_among_the_weights_runs_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    program = pickle.dumps({"cfg": {"width": 1, "depth": 2}, "state_head": Evil(made)})
    path = torch_zip(tmp_path / "evil.pt", program)
    with pytest.raises(TorchFileError, match=r"holds \w+\.mkdir"):
        read_checkpoint(path)
    assert not made.exists()
    # The same file does run for a reader that is not restricted.
    pickle.loads(program)
    assert made.exists()


def test_a_pickle_cannot_reach_the_readers_own_functions(tmp_path: Path) -> None:
    """Setting attributes on what the reader hands out must not change the reader."""
    program = (
        b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nN}V__defaults__\n(K\x01ts\x86b"
        b"ctorch._utils\n_rebuild_tensor_v2\n."
    )
    torch_zip(tmp_path / "set.pt", program)
    read_torch(tmp_path / "set.pt")
    assert read_checkpoint(FIXTURE).config.width == 24


def tensor_program(size: str, stride: str, offset: int = 0, count: int = 4) -> bytes:
    return (
        f"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n((Vstorage\nctorch\nFloatStorage\nV0\nVcpu\n"
        f"I{count}\ntQI{offset}\n({size}t({stride}tI00\nccollections\nOrderedDict\n)RtR."
    ).encode("latin-1")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (tensor_program("I5\n", "I1\n"), "reaches to number 4 of 4"),
        (tensor_program("I2\n", "I1\n", offset=3), "reaches to number 4 of 4"),
        (tensor_program("I2\n", "I-1\n", offset=1), "strides"),
        (tensor_program("I2\n", "I1\n", offset=-1), "shape"),
        (tensor_program("I1000000\nI1000000\n", "I0\nI0\n"), "repeats"),
        (tensor_program("I4\n", "I1\n", count=5), "has 4 numbers, expected 5"),
        (tensor_program("I4\n", "I1\nI1\n"), "broken"),
    ],
)
def test_a_tensor_stays_inside_its_storage(tmp_path: Path, program: bytes, reason: str) -> None:
    path = torch_zip(tmp_path / "t.pt", program, s0=np.arange(4, dtype="<f4").tobytes())
    with pytest.raises(TorchFileError, match=reason):
        read_torch(path)


def test_a_tensor_is_read_through_its_strides(tmp_path: Path) -> None:
    raw = np.arange(6, dtype="<f4").tobytes()
    path = torch_zip(tmp_path / "t.pt", tensor_program("I3\nI2\n", "I1\nI3\n", count=6), s0=raw)
    assert read_torch(path).tolist() == [[0, 3], [1, 4], [2, 5]]


def test_broken_files_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pt"
    raw = FIXTURE.read_bytes()
    for content in (b"", b"not a zip", raw[: len(raw) // 2], pickle.dumps({"cfg": {}})):
        broken.write_bytes(content)
        with pytest.raises(TorchFileError, match=r"broken\.pt"):
            read_checkpoint(broken)
    with pytest.raises(TorchFileError, match=r"none\.pt: cannot be read"):
        read_checkpoint(tmp_path / "none.pt")
    empty = io.BytesIO()
    zipfile.ZipFile(empty, "w").close()
    broken.write_bytes(empty.getvalue())
    with pytest.raises(TorchFileError, match=r"one data\.pkl"):
        read_checkpoint(broken)


def changed(tmp_path: Path, change: Any) -> Path:
    saved = read_torch(FIXTURE)
    change(saved)
    path = tmp_path / "changed.pt"
    path.write_bytes(write_torch(saved))
    return path


CHANGES = {
    "cfg is missing": lambda c: c.pop("cfg"),
    "logit_scale is missing": lambda c: c.pop("logit_scale"),
    "logit_scale is no finite number": lambda c: c.update(logit_scale=np.zeros(2, np.float32)),
    r"state_head\.inp\.weight has shape \(24, 32\), expected \(24, 4096\)": lambda c: c["cfg"].pop(
        "hidden_size"
    ),
    r"state_head\.hidden\.2\.weight is missing": lambda c: c["cfg"].update(depth=5),
    r"state_head\.hidden\.1\.bias has no place": lambda c: c["cfg"].update(depth=3),
    r"state_head\.norms\.0\.bias has no place": lambda c: c["cfg"].update(layernorm=False),
    r"out\.weight has shape \(16, 24\), expected \(17, 24\)": lambda c: c.update(projection_dim=17),
    r"cfg\.activation 'tanh'": lambda c: c["cfg"].update(activation="tanh"),
    r"cfg\.depth: expected 2 or more": lambda c: c["cfg"].update(depth=1),
    r"cfg: .*width": lambda c: c["cfg"].pop("width"),
    r"action_head\.out\.bias has numbers that are not finite": lambda c: c["action_head"].update(
        {"out.bias": np.full(16, np.inf, np.float32)}
    ),
    "action_head is no dict": lambda c: c.update(action_head=[1]),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_a_checkpoint_that_disagrees_with_itself_names_the_key(tmp_path, reason: str) -> None:
    with pytest.raises(HeadError, match=reason):
        read_checkpoint(changed(tmp_path, CHANGES[reason]))
