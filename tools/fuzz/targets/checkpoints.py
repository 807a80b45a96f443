"""Checkpoints of System One heads: files of ``torch.save`` and our own JSON with safetensors.

Input: a byte for the kind, then a whole torch file, or the pickle in one whose storages are given,
or our JSON, a line end and a safetensors file.

Properties: a file is read or refused with `HeadError` or `TorchFileError`, whatever is in it;
nothing in it is run and no module is imported by its word; a pickle of some kilobytes takes no
gigabytes; a checkpoint that is read is the same when it is written in either format and read again.
"""

import io
import sys
import zipfile
from pathlib import Path

import numpy as np

from sysone.systemone.checkpoint import Checkpoint, read_checkpoint, write_clm, write_ours
from sysone.systemone.heads import HeadError
from sysone.systemone.torch_file import TorchFileError, read_torch
from tools.fuzz.files import folder, written

INSTRUMENT = ("sysone.systemone.checkpoint", "sysone.systemone.torch_file", "zipfile")
STORAGES = {"0": 64, "1": 512, "2": 4}
"""Key to number of float32 of the storages beside a pickle."""


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    kind = data[0] % 3 if data else 0
    modules = set(sys.modules)
    path = (_raw, _around, _ours)[kind](data[1:])
    try:
        if kind < 2:
            read_torch(path)
        checkpoint = read_checkpoint(path)
    except (HeadError, TorchFileError):
        return
    finally:
        new = {name.partition(".")[0] for name in set(sys.modules) - modules}
        assert new <= {"safetensors", "ml_dtypes", "encodings"}, new
    for suffix in (".pt", ".json"):
        again = folder() / f"again{suffix}"
        if suffix == ".pt":
            write_clm(checkpoint, again)
        else:
            write_ours(checkpoint, again, encoder="e", pooling="mean")
        assert same(read_checkpoint(again), checkpoint)


def _raw(data: bytes) -> Path:
    return written("raw.pt", data)


def _around(pickle: bytes) -> Path:
    """A torch file with this pickle; its storages hold small numbers."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("a/data.pkl", pickle)
        archive.writestr("a/byteorder", b"little")
        for key, count in STORAGES.items():
            archive.writestr(f"a/data/{key}", (np.arange(count) / count).astype("<f4").tobytes())
    return written("around.pt", out.getvalue())


def _ours(data: bytes) -> Path:
    record, _, tensors = data.partition(b"\n")
    written("ours.safetensors", tensors)
    return written("ours.json", record)


def same(one: Checkpoint, other: Checkpoint) -> bool:
    """Equal configurations and numbers."""
    return (
        one.config == other.config
        and one.logit_scale == np.float32(other.logit_scale)
        and all(
            np.array_equal(mine.tensors[key], theirs.tensors[key])
            for mine, theirs in ((one.state, other.state), (one.action, other.action))
            for key in mine.tensors
        )
    )
