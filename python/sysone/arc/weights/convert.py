"""Checkpoints of the earlier format: one ``qwenjev_s1.pt``, read without running what it holds."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from sysone.runs.errors import RunError
from sysone.systemone.torch_file import TorchFileError, read_torch

OLD: Final = "qwenjev_s1.pt"


def convert(source: Path, out: Path) -> dict[str, Any]:
    """Write a checkpoint of this format from an earlier one.

    The file holds ``backbone`` and ``heads`` (or their tensors under dotted names); every tensor
    has its place, and every place its tensor.

    Raises:
        RunError: the file cannot be read or holds code, or a tensor is missing, of another shape
            or without a place; the text names it and both shapes.
    """
    try:
        import torch
    except ImportError:
        raise RunError("converting needs PyTorch: pip install 'sysone-core[arc]'") from None
    from sysone.arc.system1 import checkpoint
    from sysone.arc.system1.model import fresh

    path = source / OLD if source.is_dir() else source
    try:
        saved = read_torch(path)
    except TorchFileError as error:
        raise RunError(f"{path} is refused: {error}") from None
    tensors: dict[str, Any] = {}
    _collect(saved, "", tensors)
    if not tensors:
        raise RunError(f"{path} is refused: it holds no tensors")
    model = fresh("tiny")
    placed = {name: torch.from_numpy(np.ascontiguousarray(v)) for name, v in tensors.items()}
    checkpoint.place(model, placed, str(path))
    model.record = {"converted_from": path.name}
    digest = checkpoint.save(model, out)
    return {"checkpoint": str(out), "tensors": len(tensors), "sha256": digest}


def _collect(value: Any, name: str, out: dict[str, Any]) -> None:
    if isinstance(value, np.ndarray):
        out[name] = value.astype(np.float32)
    elif isinstance(value, dict):
        for key, item in value.items():
            _collect(item, f"{name}.{key}" if name else str(key), out)
