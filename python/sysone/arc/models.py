"""Which model a command asks, and what this version refuses to pretend it has."""

from pathlib import Path

import msgspec

from sysone.arc.config import Config
from sysone.arc.jobs import MODELS
from sysone.runs.errors import RunError


class Wanted(msgspec.Struct, frozen=True):
    """What the options say about models; empty is not said."""

    policy: str = ""
    agent: str = ""
    backend: str = ""
    checkpoint: str = ""
    no_checkpoint: bool = False
    system1: str = ""
    system1_model: str = ""
    system2: str = ""


def resolve_policy(wanted: Wanted, config: Config) -> str:
    """Who decides: what is asked for, else hybrid where a model is given, else the heuristic.

    Raises:
        RunError: two wishes that exclude each other, or one that needs what this version lacks.
    """
    if wanted.system2 or any(msgspec.structs.astuple(config.system2)):
        raise RunError(
            f"--system2 is {wanted.system2 or config.system2.url or config.system2.model!r}, "
            "and this version has no System-2; leave it out"
        )
    backend = wanted.backend or config.system1.backend
    if backend != "auto" or config.system1.model:
        raise RunError(
            f"--backend is {backend!r}, and this version has no backend of its own; "
            "--system1 URL asks a model elsewhere"
        )
    if wanted.no_checkpoint:
        raise RunError(
            "--no-checkpoint needs a backend with fresh weights, and this version has none"
        )
    given = [
        name
        for name, value in (
            ("--agent", wanted.agent),
            ("--system1", wanted.system1),
            ("--checkpoint", wanted.checkpoint),
        )
        if value
    ]
    if len(given) > 1:
        raise RunError(f"{' and '.join(given)} are given, expected one of them")
    if wanted.system1_model and not wanted.system1:
        raise RunError("--system1-model is given without --system1")
    if not wanted.policy:
        return "hybrid" if wanted.system1 or wanted.checkpoint else "heuristic"
    if given and given[0] != "--agent" and wanted.policy not in MODELS:
        raise RunError(f"--policy {wanted.policy} asks no model, and {given[0]} is given")
    return wanted.policy


def checkpoint_warning(checkpoint: str) -> str:
    """Why a checkpoint is not loaded: the one warning before the heuristic plays in its place."""
    local = not checkpoint.startswith("hf:")
    if local and not Path(checkpoint).exists():
        return f"checkpoint {checkpoint} is missing"
    return f"checkpoint {checkpoint} is refused: this version has no backend that reads one"
