"""A trained System-1 on disk: safetensors and a record, no pickle, nothing accepted silently."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from sysone.arc import wording
from sysone.arc.observe import COMPACT_VERSION, STATE_VERSION
from sysone.arc.system1.model import System1Model, fresh
from sysone.arc.vision import palette_hash
from sysone.runs.atomic import write_bytes, write_json
from sysone.runs.errors import RunError, unreadable

FORMAT: Final = 1
WEIGHTS: Final = "qwenjev_s1.safetensors"
RECORD: Final = "qwenjev_s1.json"
OLD: Final = "qwenjev_s1.pt"
LORA: Final = "hf_lora"
SHIPPED: Final = Path(__file__).parents[1] / "data" / "qwenjev-s1"
"""The tiny checkpoint that comes with the package."""


def record_of(model: System1Model) -> dict[str, Any]:
    """What a checkpoint must agree with, and what is known of it."""
    base = getattr(model.backend, "base", None)
    return {
        "format": FORMAT,
        "backend": model.backend.name,
        "hidden": model.backend.hidden,
        **({"base": base} if base else {}),
        "state_version": STATE_VERSION,
        "compact_version": COMPACT_VERSION,
        "palette": palette_hash(),
        "wording": wording.version(),
        "temperatures": model.temperatures,
        "escalation": model.escalation,
        "training": model.record,
    }


def tensors_of(model: System1Model) -> dict[str, Any]:
    """Every weight that is stored: of tiny all, of hf the heads (its LoRA lies beside them)."""
    found = {f"heads.{name}": value for name, value in model.heads.state_dict().items()}
    if model.backend.name == "tiny":
        state = model.backend.module.state_dict()
        found |= {f"backbone.{name}": value for name, value in state.items()}
    return {name: value.detach().cpu().contiguous() for name, value in found.items()}


def save(model: System1Model, folder: Path) -> str:
    """Write a checkpoint; the digest of its weights.

    Raises:
        RunError: the folder cannot be written.
    """
    from safetensors.torch import save as to_bytes

    raw = to_bytes(tensors_of(model))
    digest = hashlib.sha256(raw).hexdigest()
    write_bytes(folder / WEIGHTS, raw)
    save_lora = getattr(model.backend, "save_lora", None)
    if save_lora is not None:
        save_lora(folder / LORA)
    write_json(folder / RECORD, {**record_of(model), "sha256": digest}, indent=1)
    return digest


def read_record(folder: Path) -> dict[str, Any]:
    """The record of a checkpoint, checked against this version.

    Raises:
        RunError: there is none, or it is of another format, state text, palette or wording.
    """
    path = folder / RECORD
    if not folder.is_dir():
        raise RunError(f"checkpoint {folder} is missing")
    if not path.is_file():
        if (folder / OLD).is_file():
            raise RunError(
                f"checkpoint {folder} is refused: {OLD} is of an earlier format; "
                f"sysone arc weights convert {folder} --out DIR reads it"
            )
        raise RunError(f"checkpoint {folder} is refused: it has no {RECORD}")
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise unreadable(path, error) from error
    except ValueError as error:
        raise RunError(f"checkpoint {folder} is refused: {RECORD} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise RunError(f"checkpoint {folder} is refused: {RECORD} is no object")
    wanted = {
        "format": FORMAT,
        "state_version": STATE_VERSION,
        "compact_version": COMPACT_VERSION,
        "palette": palette_hash(),
        "wording": wording.version(),
    }
    for key, value in wanted.items():
        if found.get(key) != value:
            raise RunError(
                f"checkpoint {folder} is refused: its {key} is {found.get(key)!r}, "
                f"this version's is {value!r}"
            )
    if found.get("backend") not in ("tiny", "hf"):
        raise RunError(
            f"checkpoint {folder} is refused: its backend is {found.get('backend')!r}, "
            "expected tiny or hf"
        )
    return found


def load(
    folder: Path, *, backend: str = "auto", device: str = "cpu", **options: Any
) -> System1Model:
    """The model of a checkpoint folder.

    Raises:
        RunError: missing, refused, or of another backend or width; the text states both values.
    """
    record = read_record(folder)
    if backend not in ("auto", record["backend"]):
        raise RunError(
            f"checkpoint {folder} is refused: its backend is {record['backend']}, "
            f"and {backend} is asked for"
        )
    if record["backend"] == "hf":
        options.setdefault("model", record.get("base", ""))
        if (folder / LORA).is_dir():
            options["adapter"] = folder / LORA
    model = fresh(record["backend"], device=device, **options)
    if record.get("hidden") != model.backend.hidden:
        raise RunError(
            f"checkpoint {folder} is refused: its hidden size is {record.get('hidden')}, "
            f"the backbone's is {model.backend.hidden}"
        )
    raw = _weights(folder, record)
    from safetensors import SafetensorError
    from safetensors.torch import load as from_bytes

    try:
        place(model, from_bytes(raw), str(folder))
    except SafetensorError as error:
        raise RunError(f"checkpoint {folder} is refused: {WEIGHTS}: {error}") from None
    model.temperatures = dict(record.get("temperatures") or {})
    model.escalation = record.get("escalation")
    model.record = dict(record.get("training") or {})
    model.digest = record["sha256"]
    return model.eval()


def _weights(folder: Path, record: Mapping[str, Any]) -> bytes:
    path = folder / WEIGHTS
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    digest = hashlib.sha256(raw).hexdigest()
    if digest != record.get("sha256"):
        raise RunError(
            f"checkpoint {folder} is refused: {WEIGHTS} has SHA-256 {digest}, "
            f"the record says {record.get('sha256')}"
        )
    return raw


def place(model: System1Model, tensors: Mapping[str, Any], where: str) -> None:
    """Put stored tensors into a model; every one has its place, and every place its tensor.

    Raises:
        RunError: one is missing, of another shape, not finite, or unknown.
    """
    wanted = tensors_of(model)
    for name, value in wanted.items():
        if name not in tensors:
            raise RunError(f"checkpoint {where} is refused: {name} is missing")
        shape = tuple(tensors[name].shape)
        if shape != tuple(value.shape):
            raise RunError(
                f"checkpoint {where} is refused: {name} has shape {shape}, "
                f"expected {tuple(value.shape)}"
            )
        if not bool(tensors[name].isfinite().all()):
            raise RunError(f"checkpoint {where} is refused: {name} has a number that is not finite")
    unknown = sorted(set(tensors) - set(wanted))
    if unknown:
        raise RunError(f"checkpoint {where} is refused: it holds {unknown[0]}, which has no place")
    for prefix, module in (("heads.", model.heads), ("backbone.", model.backend.module)):
        mine = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        if mine:
            module.load_state_dict(mine, strict=True)
    forget = getattr(model.backend, "forget", None)
    if forget is not None:
        forget()
