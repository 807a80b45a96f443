"""What the commands of ``sysone arc`` share: options, exit codes, one-line errors."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

if TYPE_CHECKING:
    from sysone.arc.decide import System1
    from sysone.arc.models import Chosen

USAGE, DEGRADED, NOTHING_PLAYED, INTERRUPTED = 2, 3, 4, 130
"""Exit codes beside 0."""


class PolicyName(StrEnum):
    """Who decides."""

    hybrid = "hybrid"
    system1 = "system1"
    heuristic = "heuristic"
    random = "random"


class CollectPolicy(StrEnum):
    """Who decides in a collection."""

    hybrid = "hybrid"
    system1 = "system1"
    heuristic = "heuristic"
    random = "random"
    solver = "solver"


class Rules(StrEnum):
    """How resets count."""

    competition = "competition"
    normal = "normal"


class Backend(StrEnum):
    """What runs a checkpoint."""

    auto = "auto"
    tiny = "tiny"
    hf = "hf"


GAMES_DIR = Path("environment_files")
Environments = Annotated[
    Path, typer.Option("--environments-dir", metavar="DIR", help="Folder of games.")
]
Policy = Annotated[
    PolicyName | None,
    typer.Option(help="Who decides  [default: hybrid; heuristic where PyTorch is missing]"),
]
System1Address = Annotated[
    str,
    typer.Option(
        "--system1",
        metavar="URL",
        help="A System One endpoint decides over the candidates; embedded: the package's model.",
    ),
]
System1Model = Annotated[
    str, typer.Option("--system1-model", metavar="NAME", help="The model's name there.")
]
Checkpoint = Annotated[
    str,
    typer.Option(
        metavar="DIR|hf:REPO",
        help="A trained System-1: a folder, or hf:owner/name[@folder][#revision]  "
        "[default: the shipped one]",
    ),
]
System2Address = Annotated[
    str,
    typer.Option(
        "--system2",
        metavar="URL|transformers:MODEL",
        help="A large model that is woken rarely: an OpenAI-compatible endpoint, or in process.",
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Load a large model even where it does not fit.")
]
Seed = Annotated[int, typer.Option(min=0)]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings in YAML or TOML; flags win over it."),
]


def fail(error: object, code: int = 1) -> NoReturn:
    """End the command with one line on stderr."""
    typer.echo(f"sysone arc: {error}", err=True)
    raise typer.Exit(code)


def words(values: list[str]) -> list[str]:
    """Words that are separated by spaces or commas."""
    return [word for value in values for word in value.replace(",", " ").split()]


def warm(progress: Progress) -> None:
    """Compile what is not compiled, before anything is timed."""
    from sysone_core import grids

    seconds = grids.warm()
    if seconds > 3 and grids.backend() == "numba":
        progress.note(f"grid kernels compiled once, {seconds:.0f} s; later runs load them")


def make_game(game: str, folder: Path, seed: int) -> Any:
    """A game of the practice suite, a mock, or one of the folder.

    Raises:
        RunError: no such game.
    """
    from sysone.arc.env import make_env
    from sysone.arc.practice.build import SUITE

    return make_env(game, SUITE if (SUITE / game).is_dir() else folder, seed=seed)


def needed_model(chosen: "Chosen") -> "System1 | None":
    """The model that decides, for commands in which nothing may stand in for it.

    Raises:
        RunError: the policy needs one and none is given, or it cannot be used.
    """
    from sysone.arc.models import MODELS, make_system1, trouble

    if chosen.policy not in MODELS:
        return None
    reason = trouble(chosen)
    if reason is not None:
        raise RunError(f"--policy {chosen.policy} needs a model: {reason}")
    return make_system1(chosen)
