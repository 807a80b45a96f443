"""The commands of System One: serve, train, convert and lint."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from sysone.runs import RunError
from sysone.systemone import serving, sources
from sysone.systemone.server import Limits

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8700

app = typer.Typer(help="System One decision service.", no_args_is_help=True)


@app.callback()
def _main() -> None:
    """System One decision service."""


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = DEFAULT_HOST,
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, envvar="CLM_PORT", help="Port; 0 takes a free one."),
    ] = DEFAULT_PORT,
    key: Annotated[
        list[str] | None,
        typer.Option(help="A key that opens /v1/*; repeat for several. Also CLM_API_KEY."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that serve.")] = 1,
    ckpt: Annotated[
        Path | None,
        typer.Option(envvar="CLM_CKPT", help="Heads to serve as the default model: .pt or .json."),
    ] = None,
    ckpt_dir: Annotated[
        Path | None,
        typer.Option(envvar="CLM_CKPT_DIR", help="Also serve every *.pt here under its stem."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PATH", help="Also serve these heads.")
    ] = None,
    upstream: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=URL[#MODEL]", help="Also serve another System One endpoint's answers."
        ),
    ] = None,
    upstream_key: Annotated[
        str | None, typer.Option(envvar="SYSONE_UPSTREAM_KEY", help="Key for the upstreams.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="embedded, vllm:URL, endpoint:URL or hf:FOLDER. If absent: the endpoint of "
            "--emb-url where CLM heads are served, else embedded."
        ),
    ] = None,
    emb_url: Annotated[
        str | None,
        typer.Option(envvar="CLM_EMB_URL", help="Embeddings endpoint, as endpoint:URL."),
    ] = None,
    emb_model: Annotated[
        str, typer.Option(envvar="CLM_EMB_MODEL", help="The encoder's name there.")
    ] = "qwen3-8b",
    emb_key: Annotated[
        str | None, typer.Option(envvar="CLM_EMB_KEY", help="Key for the embeddings endpoint.")
    ] = None,
    max_tokens: Annotated[
        int, typer.Option(min=16, envvar="CLM_EMB_MAX_TOKENS", help="Where texts are cut.")
    ] = 2048,
    spawn_vllm: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Start `vllm serve MODEL` and use it.")
    ] = None,
    pooling: Annotated[str, typer.Option(help="Of an hf encoder: last or mean.")] = "last",
    device: Annotated[
        str, typer.Option(envvar="CLM_DEVICE", help="Of an hf encoder: cpu, cuda, …")
    ] = "cpu",
    embedded: Annotated[
        bool | None,
        typer.Option(
            "--embedded/--no-embedded",
            help="Whether to list the package's own models, too; by default if there is no other.",
        ),
    ] = None,
    action_cache: Annotated[
        str,
        typer.Option(
            envvar="CLM_ACTION_CACHE",
            help="Vector cache budget: a size (64MiB), a fraction of 8 GiB, or 0.",
        ),
    ] = "64MiB",
    max_options: Annotated[int, typer.Option(min=2, help="Options one choice may have.")] = 4096,
    strict_length: Annotated[
        bool, typer.Option(help="Refuse texts that are too long instead of cutting them.")
    ] = False,
    max_body: Annotated[int, typer.Option(min=1024, help="Largest body in bytes.")] = 32 << 20,
    body_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds for a body to arrive.")
    ] = 30.0,
    time_limit: Annotated[
        float, typer.Option(min=0.1, help="Seconds for an answer, waiting included.")
    ] = 60.0,
    max_waiting: Annotated[
        int, typer.Option(min=1, help="Requests that may wait; one more is answered 529.")
    ] = 1024,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Texts encoded at once; one a processor if absent.")
    ] = None,
    cors: Annotated[bool, typer.Option(help="Let browsers ask from any page.")] = False,
    no_ui: Annotated[bool, typer.Option("--no-ui", help="No page at /.")] = False,
    no_download: Annotated[
        bool, typer.Option("--no-download", hidden=True, help="For CLM's scripts: it never does.")
    ] = False,
) -> None:
    """Serve POST /v1/systemone until interrupted."""
    del no_download
    with _one_line_for_mistakes("serve"), ExitStack() as stack:
        checkpoints = _checkpoints(ckpt, ckpt_dir, model or [])
        if spawn_vllm is not None:
            from sysone.systemone.spawn_vllm import spawned_vllm

            emb_url = stack.enter_context(spawned_vllm(spawn_vllm, emb_model, max_tokens))
            encoder = None
        settings = sources.EngineSettings(
            checkpoints=checkpoints,
            encoder=_encoder(encoder, emb_url, checkpoints),
            emb_model=emb_model,
            emb_key=emb_key,
            max_tokens=max_tokens,
            pooling=pooling,
            device=device,
            upstreams=dict(_named(text, "upstream") for text in upstream or []),
            upstream_key=upstream_key,
            cache_bytes=sources.parse_budget(action_cache),
            max_options=max_options,
            strict_length=strict_length,
            loaders=dict(sources.FOLDER_LOADERS),
        )
        only_ours = settings.encoder == "embedded" and not checkpoints and not settings.upstreams
        if embedded is None:
            embedded = only_ours
        settings = msgspec.structs.replace(settings, embedded=embedded)
        keys = key or [word for word in [os.environ.get("CLM_API_KEY", "")] if word]
        service = serving.ServiceSettings(
            limits=Limits(
                body_bytes=max_body,
                body_timeout_s=body_timeout,
                time_limit_s=time_limit,
                max_waiting=max_waiting,
            ),
            keys=tuple(keys),
            cors=cors,
            ui=not no_ui,
            threads=threads,
        )
        _serve(settings, service, host, port, workers)


def _serve(
    settings: "sources.EngineSettings",
    service: "serving.ServiceSettings",
    host: str,
    port: int,
    workers: int,
) -> None:
    try:
        listener = serving.bind(host, port)
    except OSError as error:
        reason = error.strerror or str(error)
        raise MistakeError(f"cannot listen on {host}:{port}: {reason}") from None
    # Also where workers serve: a mistake is told once, and before any of them starts.
    engine = msgspec.structs.replace(settings, reload=workers == 1)()
    bound = listener.getsockname()[1]
    names = ", ".join(entry.name for entry in engine.models)
    locked = "with a key" if service.keys else "open to all"
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"sysone serve: listening on http://{shown}:{bound}, {locked}: {names}", err=True)
    if workers == 1:
        serving.make_server(engine, service).run(sockets=[listener])
    else:
        serving.run_workers(listener, settings, service, workers)


class MistakeError(ValueError):
    """What the user has to put right."""


@contextmanager
def _one_line_for_mistakes(command: str) -> Iterator[None]:
    """Word a mistake in one line and end with code 1."""
    from sysone.systemone.client import SystemOneError
    from sysone.systemone.encoder import EncoderError
    from sysone.systemone.heads import HeadError
    from sysone.systemone.torch_file import TorchFileError

    try:
        yield
    except (
        *(MistakeError, sources.SettingsError, HeadError, TorchFileError),
        *(EncoderError, SystemOneError, RunError),
    ) as error:
        typer.echo(f"sysone {command}: {error}", err=True)
        raise typer.Exit(1) from None


def _named(text: str, what: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise MistakeError(f"{what} {text!r}: expected NAME=VALUE")
    return name, value


def _checkpoints(ckpt: Path | None, folder: Path | None, models: list[str]) -> dict[str, str]:
    found = {ckpt.stem: str(ckpt)} if ckpt is not None else {}
    if folder is not None:
        for name, path in sources.checkpoint_folder(folder).items():
            found.setdefault(name, path)
    for text in models:
        name, path = _named(text, "model")
        found[name] = path
    for name, path in found.items():
        if not Path(path).exists():
            raise MistakeError(f"model {name}: no such file: {path}")
    return found


def _encoder(chosen: str | None, emb_url: str | None, checkpoints: dict[str, str]) -> str:
    if chosen is not None:
        return chosen
    # CLM's heads need CLM's encoder; ours say themselves that they are for the embedded one.
    if emb_url or any(
        not path.endswith(".json") and not Path(path).is_dir() for path in checkpoints.values()
    ):
        return f"endpoint:{emb_url or ''}"
    return "embedded"


@app.command()
def convert_heads(
    source: Annotated[Path, typer.Argument(help="CLM's .pt or our .json.")],
    target: Annotated[Path, typer.Argument(help="The other: .json or .pt.")],
    encoder: Annotated[
        str, typer.Option(help="For our format: the encoder the heads were trained on.")
    ] = "qwen3-8b",
    pooling: Annotated[str, typer.Option(help="For our format: the encoder's pooling.")] = "last",
) -> None:
    """Convert projection heads between CLM's format and ours; runs nothing that a file holds."""
    from sysone.systemone.checkpoint import read_checkpoint, write_clm, write_ours

    with _one_line_for_mistakes("convert-heads"):
        checkpoint = read_checkpoint(source)
        if target.suffix == ".json":
            write_ours(checkpoint, target, encoder=encoder, pooling=pooling)
        elif target.suffix == ".pt":
            write_clm(checkpoint, target)
        else:
            raise MistakeError(f"target {target}: expected a name ending in .json or .pt")
    typer.echo(f"{target}: {checkpoint.config.width} wide, depth {checkpoint.config.depth}")


@app.command("lint")
def lint_questions(
    files: Annotated[
        list[Path],
        typer.Argument(help="JSON of a request, of questions by id, or of one question; - reads."),
    ],
    near: Annotated[
        bool, typer.Option("--near/--no-near", help="Find near-duplicates with the encoder.")
    ] = True,
) -> None:
    """Look for what makes answers worse; exit code 1 if anything is found, 2 for a bad file."""
    from sysone.systemone.lint import embedded_similarity, lint, questions_of
    from sysone.systemone.questions import RequestError
    from sysone.systemone.wire import parse_body

    similarity = embedded_similarity() if near else None
    count = 0
    for file in files:
        try:
            raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
            findings = lint(questions_of(parse_body(raw)), similarity)
        except (OSError, RequestError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            typer.echo(f"sysone lint: {file}: {reason}", err=True)
            raise typer.Exit(2) from None
        for finding in findings:
            typer.echo(f"{file}: {finding.question}: {finding.message} [{finding.rule}]")
        count += len(findings)
    if count:
        raise typer.Exit(1)


def _seed_range(text: str) -> range:
    first, colon, end = text.partition(":")
    if not (colon and first.isdigit() and end.isdigit() and int(first) < int(end)):
        raise typer.BadParameter(f"expected FIRST:END with FIRST < END, got {text!r}")
    return range(int(first), int(end))


@app.command()
def train_heads(
    questions: Annotated[Path, typer.Option(help="Labelled questions to train on, JSONL.")],
    calibration: Annotated[
        Path, typer.Option(help="Labelled questions to fit the scale on; none from --questions.")
    ],
    name: Annotated[str, typer.Option(help="The model's name.")],
    out: Annotated[Path, typer.Option(help="Folder for NAME.json and NAME.safetensors.")],
    description: Annotated[str, typer.Option(help="One line for the model list.")] = "",
    held_out_seeds: Annotated[
        str,
        typer.Option(help="Evaluation seeds, FIRST:END; an example of them is refused."),
    ] = "0:1000",
    kind: Annotated[
        str, typer.Option(help="residual, or logistic: a regression on the vectors' products.")
    ] = "residual",
    rank: Annotated[int, typer.Option(min=1, help="Residual: hidden units a side.")] = 32,
    epochs: Annotated[int, typer.Option(min=1, help="Residual.")] = 30,
    seed: Annotated[int, typer.Option(help="Residual: of the weights and the order.")] = 0,
) -> None:
    """Train heads on the embedded encoder (needs the train extra)."""
    if kind not in ("residual", "logistic"):
        raise typer.BadParameter(f"--kind {kind!r}: expected residual or logistic")
    try:
        from sysone.systemone.training import logistic, residual
    except ModuleNotFoundError as missing:
        typer.echo(
            f"sysone train-heads needs {missing.name}: pip install 'sysone-core[train]'", err=True
        )
        raise typer.Exit(1) from None
    from sysone.systemone.training.examples import ExampleError
    from sysone.systemone.training.recipe import train_files

    config = (
        logistic.LogisticConfig()
        if kind == "logistic"
        else residual.Config(rank=rank, epochs=epochs, seed=seed)
    )
    try:
        report = train_files(
            questions, calibration, _seed_range(held_out_seeds), config, name, description, out
        )
    except (ExampleError, RunError) as error:
        typer.echo(f"sysone train-heads: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(report)


if __name__ == "__main__":
    app()
