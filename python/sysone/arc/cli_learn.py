"""``sysone arc build-data``, ``train``, ``weights``, ``serve-system2`` and ``package-kaggle``."""

from pathlib import Path
from typing import Annotated

import typer

from sysone.arc.cli_common import INTERRUPTED, USAGE, Backend, ConfigFile, fail, words
from sysone.runs.atomic import dumps
from sysone.runs.errors import RunError
from sysone.runs.progress import Progress

DataFolder = Annotated[Path, typer.Option("--data", metavar="DIR", help="Rows of build-data.")]


def build_data(
    traces: Annotated[Path, typer.Option(metavar="DIR", help="What collect wrote.")] = Path(
        "traces"
    ),
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")] = Path("data"),
    config: ConfigFile = None,
    exclude: Annotated[
        list[str] | None, typer.Option(help="Games to leave out, by the beginning of their ids.")
    ] = None,
) -> None:
    """Make rows for training from traces, split by game; the report goes to stdout."""
    import msgspec

    from sysone.arc.config import load_config
    from sysone.arc.learn.dataset import build

    try:
        data = load_config(config).data
        named = [*data.exclude, *words(exclude or [])]
        with Progress() as progress:
            report = build(traces, out, msgspec.structs.replace(data, exclude=named), progress)
    except RunError as error:
        fail(error)
    typer.echo(dumps(report, indent=1))


def train(
    data: DataFolder = Path("data"),
    work: Annotated[Path, typer.Option(metavar="DIR", help="Stages and their results.")] = Path(
        "work"
    ),
    stages: Annotated[str, typer.Option(help="Some of prep, a, b, c.")] = "prep,a,b,c",
    config: ConfigFile = None,
    init: Annotated[
        str, typer.Option(metavar="CHECKPOINT", help="Begin with it, not with fresh weights.")
    ] = "",
    max_steps: Annotated[
        int, typer.Option(min=0, help="Of stages a and b each at most; 0: as configured.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    backend: Annotated[
        Backend | None, typer.Option(help="tiny or hf  [default: the configuration's]")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    push: Annotated[
        str, typer.Option(metavar="hf:REPO", help="Upload the checkpoint after the last stage.")
    ] = "",
) -> None:
    """Train System-1: prep, alignment (a), heads (b), calibration (c).

    A stage that is done is skipped unless its inputs changed; one that was killed goes on from
    its last checkpoint with the same losses. The result is WORK/checkpoint.
    """
    try:
        import torch
    except ImportError:
        fail("training needs PyTorch: pip install 'sysone-core[arc]'", USAGE)
    from sysone.arc.config import load_config
    from sysone.arc.learn.pipeline import FINAL, STAGES, Settings, Training

    del torch
    try:
        settings = load_config(config)
        wanted = backend.value if backend is not None else settings.system1.backend
        chosen = Settings(
            str(data),
            str(work),
            words([stages]),
            init=init,
            backend="tiny" if wanted == "auto" else wanted,
            seed=seed,
            max_steps=max_steps,
            device=device,
        )
        if push:
            from sysone.arc.weights.source import hub_place

            hub_place(push)
        with Progress() as progress:
            report = Training(chosen, settings, progress).run()
        if push:
            missing = [s for s in STAGES if not (work / "done" / f"{s}.stamp").is_file()]
            if missing:
                raise RunError(f"nothing is pushed: stage {missing[0]} is not done")
            from sysone.arc.weights.hub import push as push_folder
            from sysone.arc.weights.source import hub_place

            report["pushed"] = push_folder(work / FINAL, hub_place(push))
    except RunError as error:
        fail(error)
    except KeyboardInterrupt:
        fail(f"interrupted; the same command goes on in {work}", INTERRUPTED)
    typer.echo(dumps(report, indent=1))


def add_learning(app: typer.Typer) -> None:
    """Put the commands into the app."""
    app.command("build-data")(build_data)
    app.command()(train)
