"""Which models a server has: from settings to an engine."""

import dataclasses
import os
import pkgutil
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import msgspec

from sysone.systemone.checkpoint import read_checkpoint
from sysone.systemone.embedding_endpoint import (
    DEFAULT_MAX_TOKENS,
    DEFAULT_MODEL,
    DEFAULT_URL,
    EndpointEncoder,
)
from sysone.systemone.embeddings import Embeddings
from sysone.systemone.encoder import EmbeddedEncoder, Encoder
from sysone.systemone.engine import CACHE_BYTES, Engine, embedded_models
from sysone.systemone.general import GeneralModel
from sysone.systemone.heads import HeadError, HeadPair, load_heads
from sysone.systemone.models import CosineModel, DecisionModel, clm_candidates
from sysone.systemone.questions import MAX_OPTIONS
from sysone.systemone.reloading import ReloadingModel, Watcher

# CLM's bound for raw vectors, and the name it serves them under.
RAW_NAME = "clm-raw"
RAW_SCALE = 100.0

# The nominal memory that a fraction of the cache budget is of, as CLM has it on a CPU.
NOMINAL_BYTES = 8 << 30

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?b?)\s*", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


FOLDER_LOADERS: dict[str, str] = {}
"""Models that are folders: the name of a file in them, and ``module:function`` that loads one from
its name and folder. Who knows such a model puts it here."""


class SettingsError(ValueError):
    """A setting has no meaning; the text names it."""


class EngineSettings(msgspec.Struct, frozen=True):
    """What decides which models answer. Picklable: each worker makes its own engine of it."""

    checkpoints: dict[str, str] = {}
    """Name to file; the first is the default model."""
    encoder: str = "embedded"
    """``embedded``, ``vllm:URL``, ``endpoint:URL`` or ``hf:FOLDER``."""
    emb_model: str = DEFAULT_MODEL
    emb_key: str | None = None
    max_tokens: int = DEFAULT_MAX_TOKENS
    pooling: str = "last"
    """Of an ``hf`` encoder: ``last``, as CLM's heads are trained, or ``mean``."""
    device: str = "cpu"
    """Of an ``hf`` encoder."""
    upstreams: dict[str, str] = {}
    """Name to base URL of another System One endpoint, ``URL#MODEL`` for a model there."""
    upstream_key: str | None = None
    embedded: bool = True
    """Whether the models of the package are listed, too."""
    cache_bytes: int = CACHE_BYTES
    max_options: int = MAX_OPTIONS
    strict_length: bool = False
    reload: bool = True
    loaders: dict[str, str] = {}
    """As `FOLDER_LOADERS`; settings travel to processes that know none."""

    def __call__(self) -> Engine:
        """The engine; raises `SettingsError`, `HeadError` and `TorchFileError`."""
        return make_engine(self)


def parse_budget(text: str) -> int:
    """Bytes of a cache budget: a size such as ``64MiB``, a fraction of 8 GiB below 1, or 0."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise SettingsError(
            f"action-cache {text!r}: expected a size such as 64MiB, a fraction below 1, or 0"
        )
    number, unit = float(match[1]), match[2].lower().removesuffix("b")
    if not match[2] and 0 < number < 1:
        return int(number * NOMINAL_BYTES)
    factor = _BINARY_UNITS[unit[0]] if unit.endswith("i") and unit != "i" else _UNITS.get(unit)
    if factor is None:
        raise SettingsError(f"action-cache {text!r}: unknown unit")
    return int(number * factor)


def embeddings_url(address: str) -> str:
    """The embeddings route of an address that may name only the server."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL as error:
        raise SettingsError(f"encoder URL {address!r}: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise SettingsError(f"encoder URL {address!r}: expected http://HOST:PORT")
    return address.rstrip("/") + "/v1/embeddings" if url.path in ("", "/") else address


def make_encoder(settings: EngineSettings, width: int) -> Encoder:
    """The encoder of the settings; ``width`` is what the heads need, 0 if there are none."""
    kind, _, where = settings.encoder.partition(":")
    if kind == "embedded" and not where:
        return EmbeddedEncoder()
    if kind in ("vllm", "endpoint"):
        return EndpointEncoder(
            embeddings_url(where or DEFAULT_URL),
            settings.emb_model,
            max_tokens=settings.max_tokens,
            api_key=settings.emb_key,
            width=width,
        )
    if kind == "hf" and where:
        from sysone.systemone.hf_encoder import HfEncoder

        return HfEncoder(
            Path(where),
            pooling=settings.pooling,
            max_tokens=settings.max_tokens,
            device=settings.device,
        )
    raise SettingsError(
        f"encoder {settings.encoder!r}: expected embedded, vllm:URL, endpoint:URL or hf:FOLDER"
    )


def make_engine(settings: EngineSettings) -> Engine:
    """Load every model; hot reload runs as long as the engine does."""
    models: list[DecisionModel] = []
    reloading = []
    closers: list[Callable[[], None]] = []
    folders = {n: f for n, f in settings.checkpoints.items() if Path(f).is_dir()}
    for name, folder in folders.items():
        models.append(_folder_model(name, Path(folder), settings.loaders or FOLDER_LOADERS))
    files = {name: f for name, f in settings.checkpoints.items() if name not in folders}
    if files or settings.encoder != "embedded":
        width = _common_width(files)
        encoder = make_encoder(settings, width)
        if width and encoder.width and width != encoder.width:
            raise SettingsError(
                f"the heads are made for vectors of width {width}, and "
                f"{encoder.identity} makes vectors of width {encoder.width}"
            )
        if isinstance(encoder, EndpointEncoder):
            closers.append(encoder.close)
        embeddings = Embeddings(encoder, settings.cache_bytes)
        for name, file in files.items():
            model = _checkpoint_model(name, Path(file), embeddings, settings.cache_bytes)
            models.append(model)
            reloading.append(model)
        if settings.encoder != "embedded":
            models.append(CosineModel(_raw_heads(), embeddings, 0, clm_candidates))
    for name, url in settings.upstreams.items():
        from sysone.systemone.upstream import UpstreamModel

        upstream = UpstreamModel(name, url, api_key=settings.upstream_key)
        closers.append(upstream.close)
        models.append(upstream)
    if settings.embedded:
        models += embedded_models(cache_bytes=settings.cache_bytes)
    names = [model.entry.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise SettingsError(f"two models have the name {name!r}")
    if not models:
        raise SettingsError("no model to serve")
    if reloading and settings.reload:
        closers.append(Watcher(reloading).close)
    return Engine(
        models,
        max_options=settings.max_options,
        strict_length=settings.strict_length,
        closers=closers,
    )


def _folder_model(name: str, folder: Path, loaders: dict[str, str]) -> DecisionModel:
    for marker, loader in loaders.items():
        if (folder / marker).is_file():
            found: DecisionModel = pkgutil.resolve_name(loader)(name, folder)
            return found
    known = ", ".join(loaders) or "none"
    raise SettingsError(f"model {name}: {folder} is a folder without any known record ({known})")


def _is_residual(path: Path) -> bool:
    """Whether a record is of the embedded encoder's own kinds of head."""
    if path.suffix != ".json":
        return False
    try:
        record = msgspec.json.decode(path.read_bytes())
        return record.get("cfg", {}).get("kind", "residual") in ("residual", "logistic")
    except (OSError, msgspec.MsgspecError, AttributeError) as error:
        raise HeadError(f"{path.name}: cannot be read: {error}") from None


def _common_width(checkpoints: dict[str, str]) -> int:
    """The encoder width that all heads need; 0 where none says."""
    widths = {
        name: read_checkpoint(Path(file)).config.hidden_size
        for name, file in checkpoints.items()
        if not _is_residual(Path(file))
    }
    if len(set(widths.values())) > 1:
        listed = ", ".join(f"{name} {width}" for name, width in widths.items())
        raise SettingsError(f"the heads need encoders of different widths: {listed}")
    return next(iter(widths.values()), 0)


def _checkpoint_model(
    name: str, path: Path, embeddings: Embeddings, cache_bytes: int
) -> ReloadingModel:
    def load() -> DecisionModel:
        encoder = embeddings.encoder
        if _is_residual(path):
            pair = _residual_pair(path, encoder)
            version = f"{name}@{pair.version.partition('@')[2]}"
            pair = dataclasses.replace(pair, name=name, version=version)
            if pair.reader is not None and isinstance(encoder, EmbeddedEncoder):
                return GeneralModel(pair, embeddings, encoder, cache_bytes)
            return CosineModel(pair, embeddings, cache_bytes)
        checkpoint = read_checkpoint(path)
        wanted = checkpoint.config.hidden_size
        if encoder.width and wanted != encoder.width:
            raise HeadError(
                f"{path.name}: cfg.hidden_size is {wanted}, and {encoder.identity} makes "
                f"vectors of width {encoder.width}"
            )
        named = checkpoint.notes.get("encoder")
        if named is not None and named != encoder.identity:
            raise HeadError(f"{path.name}: encoder {named!r}, expected {encoder.identity!r}")
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()
        pair = checkpoint.pair(name, f"Projection heads of {path.name}", changed)
        return CosineModel(pair, embeddings, cache_bytes, clm_candidates)

    return ReloadingModel(path, load)


def _residual_pair(path: Path, encoder: Encoder) -> HeadPair:
    from safetensors import SafetensorError

    try:
        return load_heads(path, encoder=encoder.identity, width=encoder.width)
    except HeadError:
        raise
    except (OSError, LookupError, TypeError, ValueError, SafetensorError) as error:
        raise HeadError(f"{path.name}: cannot be read: {type(error).__name__}: {error}") from None


def _raw_heads() -> HeadPair:
    return HeadPair(
        name=RAW_NAME,
        version=RAW_NAME,
        description="The encoder's own vectors, without heads",
        release_date="2026-11-30",
        scale=RAW_SCALE,
    )


def checkpoint_folder(folder: Path) -> dict[str, str]:
    """Name to file of every ``*.pt`` of a folder, by their stems."""
    if not folder.is_dir():
        raise SettingsError(f"ckpt-dir {os.fspath(folder)!r}: no such folder")
    return {path.stem: os.fspath(path) for path in sorted(folder.glob("*.pt"))}
