"""What the page is given: a header that every world has, and the world's own data.

A `Document` is one screen. What is opened may hold several (the games of a run); the page fetches
each when it is looked at, and a self-contained file carries them all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import msgspec

FORMAT: Final = "sysone-view-v1"

Kind = Literal["trex", "arena", "arc", "drive", "report"]
Tone = Literal["good", "bad", "plain"]


class Verdict(msgspec.Struct, frozen=True):
    """How it ended, as a text of the page's dictionary and what goes into it."""

    text: str
    values: dict[str, Any] = {}
    tone: Tone = "plain"


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown, when it was made and by which versions."""

    world: str
    title: str
    about: list[tuple[str, str]] = []
    """Settings worth a word, as name and value."""
    when: str | None = None
    versions: dict[str, str] = {}
    verdict: Verdict | None = None


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Another document that can be opened from this one."""

    name: str
    label: str
    detail: str = ""
    tone: Tone = "plain"


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One screen of the page."""

    kind: Kind
    header: Header
    data: dict[str, Any]
    items: list[Item] = []
    format: str = FORMAT
    can_verify: bool = False
    live: bool = False
    """Whether more is to come while the run goes on."""
    more: bool = False
    """Whether there is more that takes longer, and is asked for once this is shown."""


class Live(Protocol):
    """Something that is still being written."""

    def poll(self) -> dict[str, Any] | None:
        """What came since the last call, for the page to add; None when nothing did."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What a path holds. Documents are made when they are asked for.

    ``picture`` maps a picture's name to its file, ``pictures`` are the names of all, in an order in
    which any of them may be left out; ``more``, ``live`` and ``verify`` are by document.
    """

    title: str
    documents: Mapping[str, Callable[[], Document]]
    first: str = ""
    picture: Callable[[str], Path | None] = lambda name: None
    pictures: Callable[[], Sequence[str]] = tuple
    more: Mapping[str, Callable[[], dict[str, Any]]] = field(default_factory=dict)
    live: Mapping[str, Callable[[], Live]] = field(default_factory=dict)
    verify: Mapping[str, Callable[[], Verdict]] = field(default_factory=dict)


def encode(told: Document | Mapping[str, Any]) -> bytes:
    """A document, or more of it, as JSON text."""
    return msgspec.json.encode(told)
