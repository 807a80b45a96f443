"""``sysone trex``: a model plays Chrome's dinosaur game in real time."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from sysone.executors.options import EngineChoice, EngineOption, RayAddressOption, check
from sysone.runs.atomic import dumps
from sysone.runs.options import accept_other_names
from sysone.runs.progress import Progress
from sysone.systemone.endpoints import load_env
from sysone.trex import subcommands
from sysone.trex.cli_options import (
    Clock,
    CourseStyle,
    Model,
    Place,
    Premise,
    Prompt,
    check_writable,
    count,
    inflight_count,
    latency_source,
    one_line_errors,
    seconds,
    whole,
)

if TYPE_CHECKING:
    from sysone.trex.options import Options


app = typer.Typer(
    help="A model plays Chrome's dinosaur game in real time.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def play(
    context: typer.Context,
    model: Annotated[
        Model | None,
        typer.Option(help="Who plays: our embedded model or an endpoint  [default: local]"),
    ] = None,
    seeds: Annotated[
        int, typer.Option(parser=count, metavar="N", help="Runs; run i uses seed + i.")
    ] = 5,
    seed: Annotated[int, typer.Option(parser=whole, metavar="N", help="First seed.")] = 0,
    duration: Annotated[
        float, typer.Option(parser=seconds, metavar="S", help="Seconds a run.")
    ] = 60.0,
    no_shield: Annotated[
        bool,
        typer.Option("--no-shield", help="Execute answers as given; all three shields are off."),
    ] = False,
    lockstep: Annotated[
        int | None,
        typer.Option(
            parser=count,
            metavar="FRAMES",
            help="Freeze the game while the model answers, then play so many frames.",
        ),
    ] = None,
    inflight: Annotated[
        int, typer.Option(parser=inflight_count, metavar="N", help="Requests at a time, 1 to 8.")
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
    premise: Annotated[
        Premise,
        typer.Option(
            help="Which answers questions reckon with: any that has come (the original "
            "harness's rule), or none that is sure to be discarded."
        ),
    ] = Premise.reference,
    no_baselines: Annotated[
        bool,
        typer.Option("--no-baselines", help="Leave out the same seeds without a model."),
    ] = False,
    record: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Record every frame and decision, for replay."),
    ] = None,
    clock: Annotated[
        Clock, typer.Option(help="Real time, or a simulated clock with its own latencies.")
    ] = Clock.real,
    latency: Annotated[
        str | None,
        typer.Option(
            metavar="SOURCE",
            help="Virtual time: fixed:MS, normal:MS,SD, recorded:RESULT.json, or a file of "
            "milliseconds or a recording.",
        ),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Virtual time: known answers, kept there, or a recording "
            "[default: results/answers/<model>.jsonl].",
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option(parser=count, metavar="N", help="Virtual time: seeds at a time.")
    ] = 1,
    engine: EngineOption = EngineChoice.local,
    ray_address: RayAddressOption = None,
) -> None:
    """A model plays Chrome's dinosaur game in real time, or on a simulated clock.

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
    shared = jobs > 1 or engine is not EngineChoice.local
    for name, given in (
        ("--latency", latency is not None),
        ("--answers", answers is not None),
        ("--jobs", jobs > 1),
        ("--engine", engine is not EngineChoice.local),
    ):
        if given and clock is Clock.real:
            raise typer.BadParameter("is for --clock virtual.", param_hint=name)
    check(engine, ray_address)
    if record is not None and shared:
        raise typer.BadParameter(
            "holds one seed after the other: without --jobs and --engine.", param_hint="--record"
        )
    if clock is Clock.virtual and latency is None:
        raise typer.BadParameter("--clock virtual needs one.", param_hint="--latency")
    with one_line_errors():
        # Only now: --help and usage errors need no compiled module.
        from sysone.trex.options import Options

        known = place.results / "answers" / f"{model or Model.local}.jsonl"
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
            premise_rule=premise.value,
            baselines=not no_baselines,
            record=record,
            latency=None if latency is None else latency_source(latency),
            answers=answers or known,
            new_answers=known,
            jobs=jobs,
            engine=engine.value,
            ray_address=ray_address,
        )
        if out is None:
            out = place.results / f"{options.tag}.json"
        check_writable(out, "--out")
        if record is not None:
            check_writable(record, "--record")
        load_env(place.env)
        _play(options, out)


def _play(options: "Options", out: Path) -> None:
    from sysone.trex.match import play as play_seeds
    from sysone.trex.player import SWITCH_INTERVAL_S

    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with Progress() as progress:
        results = play_seeds(options, out, progress)
        progress.note(f"results in {out}")
    typer.echo(dumps(results.summary, indent=1))


subcommands.add_to(app)


def main(place: Place | None = None) -> NoReturn:
    """The command as a program; does not return."""
    sys.exit(accept_other_names(typer.main.get_command(app))(obj=place))
