"""The options of commands whose work may be done elsewhere; the same in every world."""

from enum import StrEnum
from typing import Annotated

import typer


class EngineChoice(StrEnum):
    """Where work is done."""

    local = "local"
    ray = "ray"


EngineOption = Annotated[
    EngineChoice,
    typer.Option("--engine", help="Where work is done: this machine, or a Ray cluster."),
]
RayAddressOption = Annotated[
    str | None,
    typer.Option(
        "--ray-address", metavar="A", help="Head of the Ray cluster: auto or HOST:PORT [auto]."
    ),
]


def check(engine: EngineChoice, ray_address: str | None) -> None:
    """Whether the two go together; a usage error otherwise."""
    if ray_address is not None and engine is not EngineChoice.ray:
        raise typer.BadParameter("is for --engine ray.", param_hint="--ray-address")
