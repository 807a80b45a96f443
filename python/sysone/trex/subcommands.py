"""The commands beside playing: ``sysone trex replay`` and the like."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sysone.runs.atomic import write_json
from sysone.runs.progress import Progress
from sysone.systemone.endpoints import load_env
from sysone.trex.cli_options import (
    CourseStyle,
    Place,
    Premise,
    check_writable,
    count,
    inflight_counts,
    one_line_errors,
    seconds,
    steps_ms,
    whole,
)


class SweptPrompt(StrEnum):
    """Which styles are swept."""

    labeled = "labeled"
    guided = "guided"
    both = "both"


class SweptModel(StrEnum):
    """Who plays beside the planner's best."""

    local = "local"
    clm = "clm"
    jev = "jev"
    none = "none"


def add_to(app: typer.Typer) -> None:
    """Put the commands under ``sysone trex``."""
    app.command()(sweep)
    app.command()(compare)
    app.command()(replay)


def sweep(
    context: typer.Context,
    latency: Annotated[
        str,
        typer.Option(metavar="MS", help="FIRST:LAST:STEP, or numbers with commas, in ms."),
    ] = "0:600:20",
    jitter: Annotated[
        str,
        typer.Option(metavar="MS", help="Standard deviations, in the same form."),
    ] = "0",
    inflight: Annotated[
        str, typer.Option(metavar="N", help="Requests at a time: 1-8, or numbers with commas.")
    ] = "1,6",
    prompt: Annotated[
        SweptPrompt, typer.Option(help="How the planner's proof is worded.")
    ] = SweptPrompt.both,
    model: Annotated[
        SweptModel, typer.Option(help="Who plays beside the planner's best; none: the harness.")
    ] = SweptModel.local,
    seeds: Annotated[
        int, typer.Option(parser=count, metavar="N", help="Runs a place; run i uses seed + i.")
    ] = 5,
    seed: Annotated[int, typer.Option(parser=whole, metavar="N", help="First seed.")] = 0,
    duration: Annotated[
        float, typer.Option(parser=seconds, metavar="S", help="Seconds a run.")
    ] = 60.0,
    no_shield: Annotated[
        bool, typer.Option("--no-shield", help="Execute answers as given.")
    ] = False,
    course_style: Annotated[
        CourseStyle, typer.Option(help="Which obstacles come.")
    ] = CourseStyle.original,
    premise: Annotated[
        Premise, typer.Option(help="Which answers questions reckon with.")
    ] = Premise.reference,
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Known answers [default: results/answers/<model>.jsonl]"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(parser=count, metavar="N", help="Processes [default: one a processor]."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The points as JSON [default: results/sweep.json]."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A picture: .png, .svg or .pdf (extra: plot)."),
    ] = None,
) -> None:
    """What latency does to survival, score and agreement, in virtual time.

    The planner's best action is played as late as the model's answers and drawn beside them.
    """
    latencies_ms = steps_ms(latency, "--latency")
    jitters_ms = steps_ms(jitter, "--jitter")
    inflights = inflight_counts(inflight)
    with one_line_errors():
        from sysone.trex.ask import PROMPTS
        from sysone.trex.sweep import Grid, table
        from sysone.trex.sweep import sweep as play

        results = context.ensure_object(Place).results
        out = out or results / "sweep.json"
        known = answers or results / "answers" / f"{model}.jsonl"
        check_writable(out, "--out")
        if plot is not None:
            check_writable(plot, "--plot")
            from sysone.trex.plot import check_plot

            check_plot(plot)
        load_env(context.ensure_object(Place).env)
        grid = Grid(
            model=None if model is SweptModel.none else model.value,
            latencies_ms=latencies_ms,
            jitters_ms=jitters_ms,
            inflights=inflights,
            prompts=[style for style in PROMPTS if prompt in (style, SweptPrompt.both)],
            seeds=seeds,
            seed=seed,
            duration_s=duration,
            shield=not no_shield,
            course_style=course_style.value,
            premise_rule=premise.value,
        )
        with Progress() as progress:
            task = progress.task("sweep", total=len(list(grid.places())))
            found = play(grid, known, jobs, on_point=task.advance)
            task.finish()
            write_json(out, found, indent=1)
            progress.note(f"points in {out}")
            if plot is not None:
                from sysone.trex.plot import draw

                draw(found, plot)
                progress.note(f"plot in {plot}")
        typer.echo(table(found))


def compare(
    a: Annotated[Path, typer.Argument(metavar="A.json", help="A results file.")],
    b: Annotated[Path, typer.Argument(metavar="B.json", help="Another with the same settings.")],
    across: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY", help="A setting that may differ; repeat for several."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the comparison as JSON.")
    ] = None,
) -> None:
    """Whether two runs of the same seeds differ, how much, and how surely."""
    with one_line_errors():
        if out is not None:
            check_writable(out, "--out")
        from sysone.trex.compare import compare as pair
        from sysone.trex.compare import table
        from sysone.trex.report import read_results

        found = pair(read_results(a), read_results(b), (str(a), str(b)), across or ())
        if out is not None:
            write_json(out, found, indent=1)
        typer.echo(table(found))


def replay(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Made with --record.")],
    frames: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write every frame for a viewer, one JSON a line."),
    ] = None,
) -> None:
    """Play a recording again and verify every frame and every plan."""
    with one_line_errors():
        if frames is not None:
            check_writable(frames, "--frames")
        from sysone.trex.replay import Replay, write_frames

        with Progress() as progress:
            player = Replay(file)
            if frames is None:
                found = player.run()
            else:
                found = write_frames(player, frames)
                progress.note(f"frames in {frames}")
        cut = f", {found.cut} of them cut short" if found.cut else ""
        typer.echo(
            f"{file}: {found.matches} matches{cut}; {found.frames} frames and the plans of "
            f"{found.answers} answers are what engine and planner say"
        )
