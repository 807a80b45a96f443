"""``sysone trex``: a model plays Chrome's dinosaur game in real time."""

import math
import sys
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from sysone.runs.atomic import dumps
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress
from sysone.systemone.endpoints import EndpointError, load_env
from sysone.systemone.local import LocalServerError
from sysone.trex.interrupt import RunInterrupted

if TYPE_CHECKING:
    from sysone.trex.match import Options

INTERRUPTED = 130
"""Exit code of a process that was interrupted from the keyboard (128 + SIGINT)."""


class Model(StrEnum):
    """Who plays."""

    local = "local"
    clm = "clm"
    jev = "jev"


class CourseStyle(StrEnum):
    """Which obstacles come."""

    original = "original"
    staged = "staged"


class Prompt(StrEnum):
    """How the planner's proof is worded."""

    labeled = "labeled"
    guided = "guided"


@dataclass(frozen=True, slots=True)
class Place:
    """What differs between the installed command and the script in the examples."""

    results: Path = Path("results")
    """Folder of the results file unless ``--out`` names one."""
    env: Path = Path(".env")
    """Its KEY=VALUE lines are exported unless already set."""
    model_required: bool = False


app = typer.Typer(
    help="A model plays Chrome's dinosaur game in real time.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _seed(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number.") from None


def _count(text: str) -> int:
    value = _seed(text)
    if value < 1:
        raise typer.BadParameter(f"{value} is not a whole number of at least 1.")
    return value


def _inflight(text: str) -> int:
    value = _seed(text)
    if not 1 <= value <= 8:
        raise typer.BadParameter(f"--inflight takes 1 to 8, got {value}.")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # A frame is the least that can be played.
    if not math.isfinite(value) or value * 60 < 1:
        raise typer.BadParameter(f"{text!r} is not a number of seconds of at least 1/60.")
    return value


@app.callback(invoke_without_command=True)
def play(
    context: typer.Context,
    model: Annotated[
        Model | None,
        typer.Option(help="Who plays: our embedded model or an endpoint  [default: local]"),
    ] = None,
    seeds: Annotated[
        int, typer.Option(parser=_count, metavar="N", help="Runs; run i uses seed + i.")
    ] = 5,
    seed: Annotated[int, typer.Option(parser=_seed, metavar="N", help="First seed.")] = 0,
    duration: Annotated[
        float, typer.Option(parser=_seconds, metavar="S", help="Seconds a run.")
    ] = 60.0,
    no_shield: Annotated[
        bool,
        typer.Option("--no-shield", help="Execute answers as given; all three shields are off."),
    ] = False,
    lockstep: Annotated[
        int | None,
        typer.Option(
            parser=_count,
            metavar="FRAMES",
            help="Freeze the game while the model answers, then play so many frames.",
        ),
    ] = None,
    inflight: Annotated[
        int, typer.Option(parser=_inflight, metavar="N", help="Requests at a time, 1 to 8.")
    ] = 6,
    course_style: Annotated[
        CourseStyle, typer.Option(help="Which obstacles come.")
    ] = CourseStyle.original,
    prompt: Annotated[
        Prompt, typer.Option(help="How the planner's proof is worded.")
    ] = Prompt.labeled,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Results file [default: results/<tag>.json]."),
    ] = None,
) -> None:
    """A model plays Chrome's dinosaur game in real time.

    One line a seed and then the summary go to stdout, everything else to stderr. The results
    file is rewritten after every seed.
    """
    if context.invoked_subcommand is not None:
        return
    place = context.ensure_object(Place)
    if model is None and place.model_required:
        raise typer.BadParameter(
            f"nothing given, expected one of {', '.join(Model)}.", param_hint="--model"
        )
    try:
        # Only now: --help and usage errors need no compiled module.
        from sysone.trex.match import Options

        options = Options(
            model=(model or Model.local).value,
            seeds=seeds,
            seed=seed,
            duration_s=duration,
            shield=not no_shield,
            lockstep=lockstep,
            inflight=inflight,
            course_style=course_style.value,
            prompt=prompt.value,
        )
        if out is None:
            out = place.results / f"{options.tag}.json"
        _check_writable(out)
        load_env(place.env)
        _play(options, out)
    except (KeyboardInterrupt, RunInterrupted) as error:
        typer.echo(f"sysone trex: {str(error) or 'interrupted'}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except (EndpointError, LocalServerError, RunError) as error:
        typer.echo(f"sysone trex: {error}", err=True)
        raise typer.Exit(1) from None


def _check_writable(out: Path) -> None:
    """A file that cannot be written is found before the first seed is played, not after it."""
    if out.is_dir():
        raise typer.BadParameter(f"{out} is a folder, expected a file.", param_hint="--out")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    except OSError as error:
        raise typer.BadParameter(
            f"{out} cannot be written: {error.strerror}.", param_hint="--out"
        ) from None


def _play(options: "Options", out: Path) -> None:
    from sysone.trex.match import play as play_seeds
    from sysone.trex.player import SWITCH_INTERVAL_S

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with Progress() as progress:
        results = play_seeds(options, out, progress)
        progress.note(f"results in {out}")
    typer.echo(dumps(results.summary, indent=1))


def main(place: Place | None = None) -> NoReturn:
    """The command as a program; does not return."""
    sys.exit(app(obj=place))
