"""The commands that make and measure the embedded model's heads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Make and measure heads.", no_args_is_help=True)

Files = Annotated[list[Path], typer.Argument(help="Labelled questions: sheets (.txt) or JSONL.")]


@contextmanager
def _one_line_for_mistakes(command: str) -> Iterator[None]:
    from sysone.runs import RunError
    from sysone.systemone.heads import HeadError
    from sysone.systemone.training.examples import ExampleError

    try:
        yield
    except ModuleNotFoundError as missing:
        typer.echo(
            f"sysone {command} needs {missing.name}: pip install 'sysone-core[train]'", err=True
        )
        raise typer.Exit(1) from None
    except (ExampleError, HeadError, RunError) as error:
        typer.echo(f"sysone {command}: {error}", err=True)
        raise typer.Exit(1) from None


@app.command()
def train_general(
    sheets: Files,
    words: Annotated[Path, typer.Option(help="Word list that fills the templates.")],
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and NAME.safetensors.")],
    name: Annotated[str, typer.Option(help="The model's name.")] = "default",
    description: Annotated[str, typer.Option(help="One line for the model list.")] = "",
    seed: Annotated[int, typer.Option(help="Of weights, order and templates.")] = 0,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(help="Pairs of state and statement (.tsv, .tsv.gz) for yes/no; repeatable."),
    ] = None,
) -> None:
    """Train a model for questions of any kind on the embedded encoder (needs the train extra)."""
    with _one_line_for_mistakes("train-general"):
        from sysone.systemone.training.recipe import train_general as train

        typer.echo(train(sheets, words, name, description, out, seed, pairs or ()))


@app.command()
def calibrate(
    questions: Files,
    model: Annotated[Path, typer.Option(help="The model's record, NAME.json.")],
    training: Annotated[
        list[Path],
        typer.Option(help="A file that it was trained on; repeat for all. Overlap is refused."),
    ],
) -> None:
    """Fit a model's temperatures on questions that its training never saw."""
    with _one_line_for_mistakes("calibrate"):
        from sysone.systemone.training.calibration import calibrate as fit

        typer.echo(fit(model, questions, training))


@app.command()
def evaluate_heads(
    questions: Files,
    model: Annotated[str, typer.Option(help="A model of the package, or a record's path.")] = (
        "default"
    ),
    plain: Annotated[
        bool, typer.Option("--plain", help="The encoder's plain cosine instead, as a baseline.")
    ] = False,
    against_plain: Annotated[
        bool, typer.Option("--against-plain", help="The gain over plain cosine, with intervals.")
    ] = False,
    without: Annotated[
        str | None, typer.Option(help="A word to take out of every option before asking.")
    ] = None,
) -> None:
    """Measure a model on labelled questions; a table by type."""
    with _one_line_for_mistakes("evaluate-heads"):
        from sysone.systemone.training.report import gain_table, table

        if against_plain:
            typer.echo(gain_table(model, questions))
        else:
            typer.echo(table(model, questions, plain=plain, without=without))
