"""Pairs of projection heads in CLM's format and in ours, and the numbers they make.

Both sides have the same shape and weights of their own: a linear layer and an activation, then
blocks of linear, optional LayerNorm, activation and optional residual, then a linear layer.
"""

import hashlib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sysone.runs.atomic import write_bytes, write_json
from sysone.systemone.heads import HeadError, HeadPair, Matrix
from sysone.systemone.torch_file import read_torch, write_torch

# The norm's epsilon, and the bound of the learnt scale, of CLM's training.
LAYERNORM_EPSILON = 1e-5
MAX_SCALE = 100.0

# CLM's defaults for what a checkpoint's cfg leaves out.
HIDDEN_SIZE = 4096
PROJECTION_DIM = 512

SIDES = ("state_head", "action_head")

# Of our format: how texts are laid out (see models.clm_candidates).
RENDERING = "clm-1"


def gelu(x: Matrix) -> Matrix:
    """The exact form, x times the normal distribution's share below it."""
    shares = np.fromiter((math.erf(v) for v in (x * math.sqrt(0.5)).tolist()), np.float64, len(x))
    y: Matrix = (x * (0.5 * (1.0 + shares))).astype(np.float32)
    return y


def relu(x: Matrix) -> Matrix:
    """Nothing below zero."""
    return np.maximum(x, 0)


def silu(x: Matrix) -> Matrix:
    """x times its logistic; without overflow on either side."""
    y: Matrix = (x * (0.5 * (1.0 + np.tanh(0.5 * x)))).astype(np.float32)
    return y


ACTIVATIONS = {"gelu": gelu, "relu": relu, "silu": silu}


MAX_SIZE = 1 << 16
"""Of each of a head's sizes: what a file says of itself is believed no further."""


class Config(msgspec.Struct, frozen=True):
    """The shape of both heads; what trainers add beside it is kept apart."""

    width: int
    depth: int
    projection_dim: int = PROJECTION_DIM
    activation: str = "gelu"
    layernorm: bool = False
    residual: bool = False
    hidden_size: int = HIDDEN_SIZE

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Every tensor of one side with its shape."""
        shapes: dict[str, tuple[int, ...]] = {
            "inp.weight": (self.width, self.hidden_size),
            "inp.bias": (self.width,),
        }
        for index in range(self.depth - 2):
            shapes[f"hidden.{index}.weight"] = (self.width, self.width)
            shapes[f"hidden.{index}.bias"] = (self.width,)
            if self.layernorm:
                shapes[f"norms.{index}.weight"] = (self.width,)
                shapes[f"norms.{index}.bias"] = (self.width,)
        shapes["out.weight"] = (self.projection_dim, self.width)
        shapes["out.bias"] = (self.projection_dim,)
        return shapes


@dataclass(frozen=True)
class MlpHead:
    """One side; tensors by the names of `Config.shapes`."""

    config: Config
    tensors: dict[str, Matrix]

    @property
    def width(self) -> int:
        """Components of what it makes."""
        return self.config.projection_dim

    def project(self, vector: Matrix) -> Matrix:
        """The projected, normalised vector, float32 [projection_dim].

        One vector at a time: a product of matrices would change bits with their number.
        """
        weights = self.tensors
        activate = ACTIVATIONS[self.config.activation]
        x = activate(weights["inp.weight"] @ vector + weights["inp.bias"])
        for index in range(self.config.depth - 2):
            h = weights[f"hidden.{index}.weight"] @ x + weights[f"hidden.{index}.bias"]
            if self.config.layernorm:
                h = _layernorm(h, weights[f"norms.{index}.weight"], weights[f"norms.{index}.bias"])
            h = activate(h)
            x = x + h if self.config.residual else h
        z = weights["out.weight"] @ x + weights["out.bias"]
        projected: Matrix = (z / max(float(np.sqrt(np.sum(z * z))), 1e-12)).astype(np.float32)
        return projected


def _layernorm(x: Matrix, weight: Matrix, bias: Matrix) -> Matrix:
    centred = x - x.mean()
    deviation = np.sqrt((centred * centred).mean() + LAYERNORM_EPSILON)
    y: Matrix = centred / deviation * weight + bias
    return y


@dataclass(frozen=True)
class Checkpoint:
    """A pair of heads and what is known of them."""

    config: Config
    state: MlpHead
    action: MlpHead
    logit_scale: float
    """Natural logarithm of the scale."""
    digest: str
    """SHA-256 of the file or files."""
    notes: dict[str, Any] = field(default_factory=dict)
    """Free fields: of ``cfg``, ``epoch``, ``metrics``; in our format encoder and pooling."""
    temperatures: dict[str, float] = field(default_factory=dict)
    """As `HeadPair` has them; our format alone carries them."""

    @property
    def scale(self) -> float:
        """What multiplies the cosine."""
        return min(math.exp(min(self.logit_scale, 700.0)), MAX_SCALE)

    def pair(self, name: str, description: str, release_date: str) -> HeadPair:
        """The heads under a name of the model list."""
        return HeadPair(
            name=name,
            version=f"{name}@{self.digest[:8]}",
            description=description,
            release_date=release_date,
            scale=self.scale,
            state=self.state,
            action=self.action,
            temperatures=self.temperatures,
        )


def read_checkpoint(path: Path) -> Checkpoint:
    """Read CLM's format, or ours from its ``.json``.

    Raises `HeadError`, naming the key, where something is missing or has another shape than
    ``cfg`` says, and `TorchFileError` for a file that is not one of tensors.
    """
    return _read_ours(path) if path.suffix == ".json" else _read_clm(path)


def _read_clm(path: Path) -> Checkpoint:
    saved = read_torch(path)
    if not isinstance(saved, dict):
        raise HeadError(f"{path.name}: expected a dict, found {type(saved).__name__}")
    for key in ("cfg", "logit_scale", *SIDES):
        if key not in saved:
            raise HeadError(f"{path.name}: {key} is missing")
    cfg = saved["cfg"]
    if not isinstance(cfg, dict):
        raise HeadError(f"{path.name}: cfg is no dict")
    # The entry beside cfg wins, as in CLM.
    if saved.get("projection_dim") is not None:
        cfg = {**cfg, "projection_dim": saved["projection_dim"]}
    config, notes = _config(cfg, path.name)
    state, action = (_side(saved[side], config, f"{path.name}: {side}") for side in SIDES)
    notes |= {key: saved[key] for key in ("epoch", "metrics") if key in saved}
    return Checkpoint(
        config, state, action, _number(saved["logit_scale"], path.name), _digest(path), notes
    )


def _config(cfg: dict[str, Any], where: str) -> tuple[Config, dict[str, Any]]:
    known = {
        key: value
        for key, value in cfg.items()
        if isinstance(key, str) and key in Config.__struct_fields__
    }
    try:
        config = msgspec.convert(known, Config)
    except msgspec.ValidationError as error:
        raise HeadError(f"{where}: cfg: {error}") from None
    for key, least in (("width", 1), ("depth", 2), ("projection_dim", 1), ("hidden_size", 1)):
        if getattr(config, key) < least:
            raise HeadError(f"{where}: cfg.{key}: expected {least} or more")
        if getattr(config, key) > MAX_SIZE:
            raise HeadError(f"{where}: cfg.{key}: expected at most {MAX_SIZE}")
    if config.activation not in ACTIVATIONS:
        raise HeadError(
            f"{where}: cfg.activation {config.activation!r}: expected {', '.join(ACTIVATIONS)}"
        )
    return config, {key: value for key, value in cfg.items() if key not in known}


def _side(tensors: Any, config: Config, where: str) -> MlpHead:
    if not isinstance(tensors, dict):
        raise HeadError(f"{where} is no dict of tensors")
    found = {}
    for key, shape in config.shapes().items():
        tensor = tensors.get(key)
        if not isinstance(tensor, np.ndarray):
            raise HeadError(f"{where}.{key} is missing")
        if tensor.shape != shape:
            raise HeadError(f"{where}.{key} has shape {tensor.shape}, expected {shape}")
        found[key] = np.ascontiguousarray(tensor, np.float32)
        if not np.isfinite(found[key]).all():
            raise HeadError(f"{where}.{key} has numbers that are not finite")
    unknown = sorted(set(map(str, tensors)) - set(found))
    if unknown:
        raise HeadError(f"{where}.{unknown[0]} has no place in a head of this cfg")
    return MlpHead(config, found)


def _number(value: Any, where: str) -> float:
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise HeadError(f"{where}: logit_scale is no finite number")
    return float(array.reshape(()))


def _digest(*paths: Path) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read_ours(path: Path) -> Checkpoint:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        record = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        weights = path.with_name(record["weights"])
        tensors = load_file(weights)
    except (
        *(OSError, msgspec.MsgspecError, SafetensorError, KeyError, TypeError),
        *(ValueError, RecursionError, MemoryError, OverflowError),
    ) as error:
        raise HeadError(f"{path.name}: cannot be read: {error}") from None
    given = record.get("cfg", {})
    if not isinstance(given, dict):
        raise HeadError(f"{path.name}: cfg: expected an object")
    cfg = {key: value for key, value in given.items() if key != "kind"}
    config, notes = _config(cfg, path.name)

    def side(name: str) -> MlpHead:
        mine = {
            key.removeprefix(f"{name}."): tensor
            for key, tensor in tensors.items()
            if key.startswith(f"{name}.")
        }
        return _side(mine, config, f"{weights.name}: {name}")

    if "logit_scale" not in tensors:
        raise HeadError(f"{weights.name}: logit_scale is missing")
    notes |= {key: record[key] for key in ("encoder", "pooling") if key in record}
    scale = _number(tensors["logit_scale"], weights.name)
    digest = _digest(path, weights)
    temperatures = _temperatures(record.get("temperatures", {}), path.name)
    return Checkpoint(config, side(SIDES[0]), side(SIDES[1]), scale, digest, notes, temperatures)


def _temperatures(given: Any, where: str) -> dict[str, float]:
    if not isinstance(given, dict):
        raise HeadError(f"{where}: temperatures: expected an object")
    for name, value in given.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value < math.inf:
            raise HeadError(f"{where}: temperatures.{name}: expected a number above 0")
    return {name: float(value) for name, value in given.items()}


def write_clm(checkpoint: Checkpoint, path: Path) -> None:
    """Write CLM's format, without torch; ``clm.Engine`` loads it."""
    known = msgspec.structs.asdict(checkpoint.config)
    extra = {k: v for k, v in checkpoint.notes.items() if k not in ("epoch", "metrics")}
    value: dict[str, Any] = {
        "state_head": dict(checkpoint.state.tensors),
        "action_head": dict(checkpoint.action.tensors),
        "logit_scale": np.array(checkpoint.logit_scale, np.float32),
        "cfg": {**known, **extra},
        "projection_dim": checkpoint.config.projection_dim,
    }
    value |= {key: checkpoint.notes[key] for key in ("epoch", "metrics") if key in checkpoint.notes}
    write_bytes(path, write_torch(value))


def write_ours(checkpoint: Checkpoint, path: Path, *, encoder: str, pooling: str) -> None:
    """Write ``path`` (.json) and the safetensors file beside it."""
    from safetensors.numpy import save

    weights = path.with_suffix(".safetensors")
    tensors = {
        f"{side}.{key}": tensor
        for side, head in zip(SIDES, (checkpoint.state, checkpoint.action), strict=True)
        for key, tensor in head.tensors.items()
    }
    tensors["logit_scale"] = np.array(checkpoint.logit_scale, np.float32)
    write_bytes(weights, save(tensors))
    record = {
        "cfg": {"kind": "mlp", **msgspec.structs.asdict(checkpoint.config)},
        "weights": weights.name,
        "encoder": encoder,
        "pooling": pooling,
        "rendering": RENDERING,
        "temperatures": checkpoint.temperatures,
        "notes": checkpoint.notes,
    }
    write_json(path, record, indent=1)
