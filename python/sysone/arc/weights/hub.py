"""Checkpoints on a Hugging Face hub: pulled, put together and checked; pushed in parts.

The address is ``HF_ENDPOINT``'s where that is set, the token ``HF_TOKEN``'s alone; it is in no
log and no report.
"""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from sysone.arc.weights import parts
from sysone.arc.weights.source import HubPlace
from sysone.runs.errors import RunError

NAMES: Final = {"student": "Qwen/Qwen3-VL-2B-Instruct", "teacher": "Qwen/Qwen3.5-9B"}
SIZES_GB: Final = {"student": 4.3, "teacher": 19.0}
"""Planning figures: two bytes a parameter."""


def _api() -> Any:
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise RunError("a hub needs huggingface_hub: pip install 'sysone-core[hf]'") from None
    endpoint = os.environ.get("HF_ENDPOINT") or None
    return HfApi(endpoint=endpoint, token=os.environ.get("HF_TOKEN") or False)


def cache_folder() -> Path:
    """Where pulled checkpoints lie: ``SYSONE_CACHE``, else the user's cache."""
    named = os.environ.get("SYSONE_CACHE")
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(base) if base else Path.home() / ".cache") / "sysone"


def pull(place: HubPlace, out: Path | None = None) -> Path:
    """Fetch a folder of a repository, put its parts together, check it; the local folder.

    A download that was cut goes on where it stopped; what is there is not fetched again.

    Raises:
        RunError: it cannot be fetched, or a digest is wrong.
    """
    api = _api()
    revision = place.revision or "main"
    target = out or cache_folder() / "hub" / place.repository.replace("/", "--") / revision
    try:
        api.snapshot_download(
            place.repository,
            revision=revision,
            local_dir=target,
            allow_patterns=[f"{place.folder}/*"] if place.folder else None,
        )
    except Exception as error:
        raise RunError(f"{place} cannot be fetched: {_short(error)}") from None
    folder = target / place.folder if place.folder else target
    parts.assemble(folder)
    if (folder / "qwenjev_s1.json").is_file():
        parts.verify(folder)
    return folder


def push(folder: Path, place: HubPlace, part_bytes: int = parts.PART_BYTES) -> dict[str, Any]:
    """Upload a checkpoint folder; files above ``part_bytes`` travel in parts.

    Raises:
        RunError: the folder is not whole, there is no token, or the hub refuses it.
    """
    report = parts.verify(folder)
    if not os.environ.get("HF_TOKEN"):
        raise RunError("a push needs a token in HF_TOKEN")
    api = _api()
    with tempfile.TemporaryDirectory(prefix="sysone-push-") as scratch:
        staged = Path(scratch)
        heavy = set(parts.large(folder, part_bytes))
        manifest = {}
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or parts.FOLDER in path.relative_to(folder).parts:
                continue
            if path in heavy:
                manifest[path.name] = parts.split(path, staged / parts.FOLDER, part_bytes)
            else:
                copy = staged / path.relative_to(folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
        if manifest:
            parts.write_manifest(staged / parts.FOLDER, manifest)
        try:
            api.create_repo(place.repository, exist_ok=True)
            api.upload_folder(
                repo_id=place.repository,
                folder_path=str(staged),
                path_in_repo=place.folder or None,
                revision=place.revision or None,
                commit_message="Checkpoint",
            )
        except Exception as error:
            raise RunError(f"{place} refuses the push: {_short(error)}") from None
    return {"place": str(place), "files": report["files"], "in_parts": sorted(manifest)}


def _short(error: Exception) -> str:
    """One line of an error, without what may be secret."""
    token = os.environ.get("HF_TOKEN")
    text = " ".join(str(error).split())[:300] or type(error).__name__
    return text.replace(token, "***") if token else text
