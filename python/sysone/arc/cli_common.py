"""What the commands of ``sysone arc`` share: options, exit codes, one-line errors."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

if TYPE_CHECKING:
    from sysone.arc.decide import System1

USAGE, DEGRADED, NOTHING_PLAYED, INTERRUPTED = 2, 3, 4, 130
"""Exit codes beside 0."""


class PolicyName(StrEnum):
    """Who decides."""

    hybrid = "hybrid"
    system1 = "system1"
    heuristic = "heuristic"
    random = "random"


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
    typer.Option(help="Who decides  [default: hybrid where a model is given, else heuristic]"),
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


def needed_model(policy: str, system1: str, system1_model: str) -> "System1 | None":
    """The model that a policy asks, for commands that have no heuristic to fall back to.

    Raises:
        RunError: the policy needs one and none is given, or it cannot be used.
    """
    from sysone.arc.endpoint import system1_at, trouble

    if system1:
        found = system1_at(system1, system1_model)
        reason = trouble(system1, system1_model)
        if reason is not None:
            raise RunError(f"--system1: {reason}")
        return found
    if policy in (PolicyName.hybrid, PolicyName.system1):
        raise RunError(f"--policy {policy} needs a model; --system1 URL names one")
    return None
