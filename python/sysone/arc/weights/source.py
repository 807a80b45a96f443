"""What ``--checkpoint`` means: a folder, or a place on a Hugging Face hub."""

from pathlib import Path
from typing import NamedTuple

from sysone.runs.errors import RunError


class HubPlace(NamedTuple):
    """``hf:<owner>/<name>[@<folder>][#<revision>]``."""

    repository: str
    folder: str
    revision: str

    def __str__(self) -> str:
        folder = f"@{self.folder}" if self.folder else ""
        return f"hf:{self.repository}{folder}" + (f"#{self.revision}" if self.revision else "")


def hub_place(text: str) -> HubPlace:
    """The parts of ``hf:owner/name@folder#revision``.

    Raises:
        RunError: the text is not of that form.
    """
    rest, _, revision = text.removeprefix("hf:").partition("#")
    repository, _, folder = rest.partition("@")
    owner, slash, name = repository.partition("/")
    wrong = not text.startswith("hf:") or not owner or not slash or not name or "/" in name
    if wrong or ".." in folder.split("/") or folder.startswith("/"):
        raise RunError(f"{text!r} is no place, expected hf:<owner>/<name>[@<folder>][#<revision>]")
    return HubPlace(repository, folder.strip("/"), revision)


def resolve(text: str) -> Path:
    """The folder of a checkpoint; one on a hub is fetched first, or taken from what was fetched.

    Raises:
        RunError: the place is none, or cannot be fetched.
    """
    if not text.startswith("hf:"):
        return Path(text)
    from sysone.arc.weights.hub import pull

    return pull(hub_place(text))
