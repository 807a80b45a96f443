"""``--config``: one file of settings for every command, YAML or TOML; flags win over it."""

import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import msgspec

from sysone.runs.errors import RunError, unreadable


class System1(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model that scores candidates."""

    backend: Literal["auto", "tiny", "hf"] = "auto"
    model: str = ""
    freeze_vision_tower: bool = False
    lora: bool = False
    lora_r: int = 32
    lora_alpha: int = 64
    eval_leaf_batch: int = 64
    max_candidates: int = 255
    sample: bool = False
    """Draw a candidate by its probability in place of the likeliest."""


class System2(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The model that is asked rarely."""

    mode: str = ""
    url: str = ""
    model: str = ""


class StageA(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Training: alignment with a teacher."""

    teacher_model: str = ""
    """Of hf a folder or name (empty: the default teacher); of tiny a checkpoint folder, and
    where it is empty facts that are counted in the picture."""
    teacher_4bit: bool = True
    layers: int = 2
    steps: int = 200
    batch: int = 4
    lr: float = 3e-4
    augment: bool = True
    max_candidates: int = 8
    """Of a choice as many as its leaves are aligned of; 0: all."""


class StageB(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Training: heads."""

    epochs: int = 4
    backbone_lr: float = 1e-5
    head_lr: float = 1e-4
    weight_decay: float = 0.01
    clip: float = 1.0
    batch: int = 4
    """Questions a step."""
    warmup_steps: int = 20
    """Steps that only the heads learn in."""
    rise_steps: int = 10
    """Steps over which the rates rise."""
    max_tokens: int = 0
    """Rows with a longer leaf are left out and counted; 0: a row that does not fit is an error."""
    augment: bool = True
    max_candidates: int = 0
    """Of a choice the right candidates and as many others as are learnt from; 0: all."""


class StageC(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Training: calibration."""

    steps: int = 300
    lr: float = 1e-2
    batch: int = 64
    max_rows: int = 400
    """Rows of each part and family that are read."""
    ablation_rows: int = 100
    """Rows of a family that are asked once more with parts of the question blanked; 0: none."""


class Hybrid(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How both models play a game, and its budgets."""

    system2_max_calls_per_game: int = 40
    stall_patience: int = 12
    game_time_limit_s: float = 900.0
    max_actions: int = 2000
    novelty: Literal["masked", "raw"] = "masked"
    system2_weight: float = 2.0
    explorer_weight: float = 10_000.0
    """Factor on what the explorer would do; 1: the model is not told."""


class Collect(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Traces for training."""

    epsilon: float = 0.25
    episodes: int = 8
    max_actions: int = 400
    seed: int = 0


class Data(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Rows from traces."""

    max_candidates: int = 40
    choices: float = 0.5
    """Share of the steps that a choice is made of; the first in a state always is one."""
    booleans: float = 0.25
    scores: float = 0.12
    seed: int = 0
    exclude: list[str] = []


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every setting with its default."""

    system1: System1 = System1()
    system2: System2 = System2()
    stage_a_distill: StageA = StageA()
    stage_b: StageB = StageB()
    stage_c: StageC = StageC()
    hybrid: Hybrid = Hybrid()
    collect: Collect = Collect()
    data: Data = Data()


def load_config(path: Path | None) -> Config:
    """The settings of a file; the defaults where there is none.

    Raises:
        RunError: the file cannot be read, or has a key or value that is not known; the text
            names it and the nearest key that is.
    """
    if path is None:
        return Config()
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError:
        raise RunError(f"{path} is no text in UTF-8") from None
    found = _parsed(path, text)
    _known(path, found)
    try:
        return msgspec.convert(found, Config)
    except msgspec.ValidationError as error:
        raise RunError(f"{path}: {error}") from None


def _parsed(path: Path, text: str) -> dict[str, Any]:
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise RunError(f"{path} is no TOML: {error}") from None
    if path.suffix not in (".yaml", ".yml"):
        raise RunError(f"--config is {path}, expected a file in .yaml, .yml or .toml")
    try:
        import yaml
    except ImportError:
        raise RunError(
            f"{path}: YAML needs pyyaml, which sysone-core[arc] brings; TOML is read without"
        ) from None
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RunError(f"{path} is no YAML: {' '.join(str(error).split())}") from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise RunError(f"{path} holds {type(found).__name__}, expected sections with keys")
    return found


def _known(path: Path, found: dict[str, Any]) -> None:
    sections = msgspec.to_builtins(Config())
    for section, values in found.items():
        if section not in sections:
            raise RunError(f"{path}: {_unknown(str(section), list(sections))}")
        if not isinstance(values, dict):
            raise RunError(f"{path}: {section} is {values!r}, expected keys with values")
        for key in values:
            if key not in sections[section]:
                every = [f"{name}.{known}" for name in sections for known in sections[name]]
                raise RunError(f"{path}: {_unknown(f'{section}.{key}', every)}")


def _unknown(key: str, known: list[str]) -> str:
    nearest = get_close_matches(key, known, 1, 0.0)[0]
    return f"unknown key {key}; the nearest known one is {nearest}"
