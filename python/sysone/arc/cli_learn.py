"""``sysone arc build-data``, ``train``, ``weights``, ``serve-system2`` and ``package-kaggle``."""

from pathlib import Path
from typing import Annotated

import typer

from sysone.arc.cli_common import INTERRUPTED, USAGE, Backend, ConfigFile, Force, fail, words
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
    force: Force = False,
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
            force=force,
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


weights_app = typer.Typer(help="Weights of System-1 and of the large models.", no_args_is_help=True)
Hub = Annotated[str, typer.Argument(metavar="hf:REPO", help="hf:owner/name[@folder][#revision].")]


@weights_app.command("pull")
def weights_pull(
    places: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME|hf:REPO]...", help="student, teacher or places; none: both."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to  [default: the cache]")
    ] = None,
) -> None:
    """Fetch weights; a download that was cut goes on. HF_ENDPOINT and HF_TOKEN are honoured."""
    from sysone.arc.weights.hub import NAMES, SIZES_GB, pull
    from sysone.arc.weights.source import hub_place

    if not places:
        places = list(NAMES)
        sizes = ", ".join(f"{name} {SIZES_GB[name]:g} GB" for name in places)
        typer.echo(f"sysone arc: fetching {sizes}", err=True)
    try:
        for place in places:
            found = pull(hub_place(f"hf:{NAMES[place]}" if place in NAMES else place), out)
            typer.echo(str(found))
    except RunError as error:
        fail(error)


@weights_app.command("push")
def weights_push(
    folder: Annotated[Path, typer.Argument(help="A checkpoint.")],
    place: Hub,
    part_mb: Annotated[int, typer.Option(min=1, help="Larger files travel in parts.")] = 1024,
) -> None:
    """Upload a checkpoint; the token comes from HF_TOKEN alone."""
    from sysone.arc.weights.hub import push
    from sysone.arc.weights.source import hub_place

    try:
        typer.echo(dumps(push(folder, hub_place(place), part_mb << 20), indent=1))
    except RunError as error:
        fail(error)


@weights_app.command("verify")
def weights_verify(folder: Annotated[Path, typer.Argument(help="A checkpoint.")]) -> None:
    """Check every digest; the files and their digests go to stdout."""
    from sysone.arc.weights.parts import verify

    try:
        typer.echo(dumps(verify(folder), indent=1))
    except RunError as error:
        fail(error)


@weights_app.command("convert")
def weights_convert(
    source: Annotated[Path, typer.Argument(help="A folder with qwenjev_s1.pt, or the file.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where to.")],
) -> None:
    """Read a checkpoint of the earlier format without running what it holds."""
    from sysone.arc.weights.convert import convert

    try:
        typer.echo(dumps(convert(source, out), indent=1))
    except RunError as error:
        fail(error)


def serve_system2(
    model: Annotated[str, typer.Option(help="A folder or a name of a hub.")],
    host: Annotated[str, typer.Option()] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535)] = 8000,
    device: Annotated[str, typer.Option(help="cpu, cuda, …  [default: cuda where it is]")] = "",
    force: Force = False,
) -> None:
    """Serve a model of transformers as an OpenAI-compatible endpoint, for those without vLLM."""
    import uvicorn

    from sysone.arc.system2.local import chat_of
    from sysone.arc.system2.serve import make_app
    from sysone.systemone.serving import bind

    try:
        chat = chat_of(model, device, force)
        listener = bind(host, port)
    except RunError as error:
        fail(error)
    except OSError as error:
        fail(f"cannot listen on {host}:{port}: {error.strerror or error}")
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listener.getsockname()[1]}"
    typer.echo(f"sysone arc: {chat.model} listens on {address}, open to all", err=True)
    server = uvicorn.Server(uvicorn.Config(make_app(chat), log_level="warning", lifespan="off"))
    server.run(sockets=[listener])


def package_kaggle(
    username: Annotated[str, typer.Option(help="Of the account that owns kernel and weights.")],
    accelerator: Annotated[str, typer.Option(help="cpu, t4 or rtx6000.")] = "cpu",
    weights_dataset: Annotated[
        str, typer.Option(metavar="OWNER/NAME", help="[default: USERNAME/qwenjev-weights]")
    ] = "",
    out: Annotated[Path, typer.Option(metavar="DIR")] = Path("kaggle_kernel"),
    actions: Annotated[int, typer.Option(min=1, help="Actions a game.")] = 400,
    config: ConfigFile = None,
    force: Annotated[bool, typer.Option("--force", help="Even if it takes too long.")] = False,
) -> None:
    """Write a kernel for the contest; the budget goes to stdout. kaggle kernels push uploads it."""
    from sysone.arc.config import load_config
    from sysone.arc.kaggle import package

    try:
        settings = load_config(config)
        table = package(
            out,
            username,
            accelerator,
            settings,
            weights=weights_dataset,
            actions=actions,
            force=force,
        )
    except RunError as error:
        fail(error)
    typer.echo("\n".join(table))


def add_learning(app: typer.Typer) -> None:
    """Put the commands into the app."""
    app.command("build-data")(build_data)
    app.command()(train)
    app.command("serve-system2")(serve_system2)
    app.add_typer(weights_app, name="weights")
    app.command("package-kaggle")(package_kaggle)
