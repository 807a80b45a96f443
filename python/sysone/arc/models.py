"""Which models a command asks for, what stands in for them, and wishes that exclude each other."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from sysone.arc.config import Config
from sysone.runs.errors import RunError

if TYPE_CHECKING:
    from sysone.arc.decide import System1, System2

MODELS: Final = ("hybrid", "system1")
"""Policies that ask a model."""
SHIPPED: Final = "shipped"
"""Stands for the checkpoint that comes with the package."""
FOLDER: Final = Path(__file__).parent / "data" / "qwenjev-s1"
NO_TORCH: Final = (
    "the shipped model needs PyTorch, which sysone-core[arc] brings and which is not here"
)


class Wanted(msgspec.Struct, frozen=True):
    """What the options say about models; empty is not said."""

    policy: str = ""
    agent: str = ""
    backend: str = ""
    checkpoint: str = ""
    no_checkpoint: bool = False
    force: bool = False
    system1: str = ""
    system1_model: str = ""
    system2: str = ""


class Chosen(msgspec.Struct, frozen=True):
    """Who decides. At most one of ``system1``, ``checkpoint`` and ``fresh`` is set."""

    policy: str
    system1: str = ""
    """Address of a System One endpoint, or ``embedded``."""
    system1_model: str = ""
    checkpoint: str = ""
    """``shipped``, a folder, or a place on a hub."""
    fresh: bool = False
    """Seeded weights that nothing has trained."""
    backend: str = "auto"
    base: str = ""
    """Of an hf backend the model below the heads."""
    force: bool = False
    """Load a large model even where it does not fit."""
    leaf_batch: int = 64
    system2: str = ""
    """Address of a chat endpoint, or ``transformers:MODEL``."""
    system2_model: str = ""
    note: str = ""
    """Why the heuristic plays where nobody asked for it."""

    @property
    def asks(self) -> bool:
        """Whether there is a model to ask."""
        return bool(self.system1 or self.checkpoint or self.fresh)


def has_torch() -> bool:
    """Whether PyTorch is installed; it is not loaded."""
    return find_spec("torch") is not None


def choose_models(wanted: Wanted, config: Config) -> Chosen:
    """Who decides: what is asked for, else hybrid with the shipped model, else the heuristic.

    Raises:
        RunError: two wishes that exclude each other.
    """
    given = [
        name
        for name, value in (
            ("--agent", wanted.agent),
            ("--system1", wanted.system1),
            ("--checkpoint", wanted.checkpoint),
            ("--no-checkpoint", wanted.no_checkpoint),
        )
        if value
    ]
    if len(given) > 1:
        raise RunError(f"{' and '.join(given)} are given, expected one of them")
    if wanted.system1_model and not wanted.system1:
        raise RunError("--system1-model is given without --system1")
    own = given and given[0] != "--agent"
    if own and wanted.policy and wanted.policy not in MODELS:
        raise RunError(f"--policy {wanted.policy} asks no model, and {given[0]} is given")
    if wanted.system2 and wanted.policy and wanted.policy not in MODELS:
        raise RunError(f"--policy {wanted.policy} asks no model, and --system2 is given")
    settings = config.system1
    backend = wanted.backend or settings.backend
    if backend == "hf" and wanted.no_checkpoint and not settings.model:
        raise RunError("--no-checkpoint with hf needs system1.model in --config: the base model")
    system2 = wanted.system2 or config.system2.url
    if not system2 and config.system2.mode == "transformers":
        system2 = f"transformers:{config.system2.model}"
    if wanted.agent:
        return Chosen(wanted.policy or "heuristic")
    policy = wanted.policy or "hybrid"
    if policy not in MODELS:
        return Chosen(policy)
    note = checkpoint = ""
    if wanted.system1:
        pass
    elif wanted.checkpoint and not _is_there(wanted.checkpoint):
        note = f"checkpoint {wanted.checkpoint} is missing"
    elif (wanted.checkpoint or wanted.no_checkpoint) and not has_torch():
        note = "a checkpoint needs PyTorch, which sysone-core[arc] brings and which is not here"
    elif wanted.checkpoint:
        checkpoint = wanted.checkpoint
    elif not wanted.no_checkpoint:
        if has_torch() and FOLDER.is_dir() and backend != "hf":
            checkpoint = SHIPPED
        else:
            note = NO_TORCH if not has_torch() else "no checkpoint is given for backend hf"
            if not wanted.policy and not system2:
                policy = "heuristic"
    return Chosen(
        policy,
        system1=wanted.system1,
        system1_model=wanted.system1_model,
        checkpoint=checkpoint,
        fresh=wanted.no_checkpoint and has_torch(),
        backend=backend,
        base=settings.model,
        force=wanted.force,
        leaf_batch=settings.eval_leaf_batch,
        system2=system2,
        system2_model=config.system2.model,
        note=note,
    )


def _is_there(checkpoint: str) -> bool:
    """Whether a place is a folder of this machine, or on a hub, which nobody has asked yet."""
    return checkpoint.startswith("hf:") or Path(checkpoint).is_dir()


def make_system1(chosen: Chosen) -> "System1 | None":
    """The model that decides; all games of a process share it. None where there is none.

    Raises:
        RunError: it is missing or refused.
    """
    if chosen.policy not in MODELS or not chosen.asks:
        return None
    if chosen.system1:
        from sysone.arc.endpoint import system1_at

        return system1_at(chosen.system1, chosen.system1_model)
    from sysone.arc.system1.player import ModelSystem1, shared_model

    if chosen.fresh:
        options = {"model": chosen.base} if chosen.backend == "hf" else {}
        return ModelSystem1(shared_model("", chosen.backend, 0, chosen.force, **options))
    return ModelSystem1(shared_model(chosen.checkpoint, chosen.backend, 0, chosen.force))


def make_system2(chosen: Chosen) -> "System2 | None":
    """The model that is asked rarely, with a memory for one game; None where there is none.

    Raises:
        RunError: no address, or no such model.
    """
    if not chosen.system2 or chosen.policy not in MODELS:
        return None
    from sysone.arc.system2.adviser import make_adviser

    return make_adviser(chosen.system2, chosen.system2_model, chosen.force)


def checkpoint_digest(chosen: Chosen) -> str:
    """SHA-256 of the weights that decide; ``none`` for fresh ones and other people's."""
    if not chosen.checkpoint:
        return "none"
    import json

    from sysone.arc.weights.source import resolve

    try:
        folder = FOLDER if chosen.checkpoint == SHIPPED else resolve(chosen.checkpoint)
        found = json.loads((folder / "qwenjev_s1.json").read_bytes())
        return str(found["sha256"])
    except (RunError, OSError, ValueError, KeyError):
        return "none"


def trouble(chosen: Chosen) -> str | None:
    """One line on why the model will not decide; None if it will."""
    if chosen.policy not in MODELS:
        return None
    if not chosen.asks:
        return chosen.note or "no System-1 is given"
    if chosen.system1:
        from sysone.arc.endpoint import trouble as endpoint_trouble

        reason = endpoint_trouble(chosen.system1, chosen.system1_model)
        return f"System-1 does not answer ({reason})" if reason else None
    try:
        make_system1(chosen)
    except RunError as error:
        return str(error)
    return None
