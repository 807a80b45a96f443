"""``sysone``: one command, with every world's own commands under it.

A world's module is loaded when it is used and not before, so that ``sysone --help`` is quick and a
world whose extra is not installed does not stand in the way of the others.
"""

import importlib
import importlib.util
import sys
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup


@dataclass(frozen=True, slots=True)
class World:
    """Where a sub-command is."""

    module: str
    help: str
    extra: str | None = None
    """The optional dependencies it needs."""


WORLDS = {
    "trex": World("sysone.trex.cli", "A model plays Chrome's dinosaur game in real time."),
    "arc": World("sysone.arc.cli", "An offline, honest test track for ARC-AGI-3 agents.", "arc"),
    "drive": World("sysone.drive.cli", "Driving models, scored as Bench2Drive does."),
    "arena": World("sysone.arena.cli", "Robot matches, replays, rules and strategies."),
    "view": World("sysone.viewer.cli", "Look at what any of them left behind, in a local page."),
    "doctor": World("sysone.doctor", "What is here, what is missing, and the next step."),
    "serve": World("sysone.systemone.cli", "Serve decisions over HTTP."),
    "train-heads": World("sysone.systemone.cli", "Train heads on labelled questions.", "train"),
    "train-general": World(
        "sysone.systemone.training.commands", "Train the model for any question.", "train"
    ),
    "calibrate": World("sysone.systemone.training.commands", "Fit a model's temperatures."),
    "evaluate-heads": World("sysone.systemone.training.commands", "Measure a model's answers."),
    "lint": World("sysone.systemone.cli", "Look for weaknesses in questions."),
    "convert-heads": World("sysone.systemone.cli", "Convert heads between CLM's format and ours."),
}


FOLDER_MODELS = {"qwenjev_s1.json": "sysone.arc.system1.service:load_model"}
"""Models of worlds that can be served: the file that tells such a folder, and what loads it."""


class LazyGroup(TyperGroup):
    """A group whose sub-commands are the worlds; listing them loads none.

    Contexts and commands are of click's types, which typer has moved between its versions.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """The worlds' names."""
        return list(WORLDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A world's own command, which this loads; None for an unknown name."""
        world = WORLDS.get(cmd_name)
        return None if world is None else _load(cmd_name, world)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the worlds without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, world.help) for name, world in WORLDS.items()])


app = typer.Typer(
    cls=LazyGroup,
    help="Fast cores and an honest test track for System One decision models.",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from sysone.doctor import version

        typer.echo(f"sysone {version()}")
        raise typer.Exit


@app.callback()
def _sysone(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Version and build, and end."
        ),
    ] = False,
) -> None:
    """Fast cores and an honest test track for System One decision models."""


def main() -> NoReturn:
    """The command as a program; does not return."""
    if sys.argv[1:2] == ["arena"]:
        # A command with exit codes and errors of its own, JSON on stderr: the same by both names.
        importlib.import_module(WORLDS["arena"].module).main(sys.argv[2:])
    try:
        sys.exit(app(prog_name="sysone"))
    except KeyboardInterrupt:
        sys.exit(130)


def _load(name: str, world: World) -> Any:
    try:
        module = importlib.import_module(world.module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in ("sysone", "sysone_core"):
            raise
        remedy = f": pip install 'sysone-core[{world.extra}]'" if world.extra else ""
        typer.echo(f"sysone {name} needs the package {error.name}{remedy}", err=True)
        raise typer.Exit(1) from None
    if name == "serve":
        # The service knows no world; a world's models are named to it here.
        module.sources.FOLDER_LOADERS.update(FOLDER_MODELS)
    from sysone.runs.options import accept_other_names  # here, as nothing is loaded before a world

    command = typer.main.get_command(module.app)
    # An app that holds its command under the same name is that command.
    return accept_other_names(getattr(command, "commands", {}).get(name, command))
