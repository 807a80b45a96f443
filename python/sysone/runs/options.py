"""One thing has one name in every world: what a command calls otherwise is understood there, too.

Specifications fix some options under different names. Whoever learnt ``--out`` in one world may
write it in another one, whose help shows ``--output`` alone.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

SYNONYMS: Final = (
    ("--out", "--output", "--dir"),
    ("--jobs", "--workers"),
    ("--checkpoint", "--ckpt"),
    ("--no-colour", "--no-color"),
)
"""Names of the same thing. A command that has exactly one of them takes the others for it."""
OWN: Final = {
    "collect": {"--deadline": "--time-limit"},
    "submit": {"--out": "--to", "--output": "--to"},
    "assemble": {"--out": "--team-out", "--output": "--team-out"},
}
"""Single commands whose option has a longer or an older name for what all others call so."""


def other_names(name: str, options: set[str]) -> dict[str, str]:
    """What a command understands besides its own options, as the option that is meant.

    Args:
        name: of the command, without those above it.
        options: of it, with their dashes.
    """
    found: dict[str, str] = {}
    for group in SYNONYMS:
        own = [option for option in group if option in options]
        if len(own) == 1:
            found |= {other: own[0] for other in group if other not in options}
    own_names = OWN.get(name, {})
    found |= {k: v for k, v in own_names.items() if k not in options and v in options}
    return found


def accept_other_names(command: Any) -> Any:
    """Let a command and those under it understand the names of `other_names`; the command.

    Commands are of click's types, which typer has moved between its versions.
    """
    options = {option for param in command.params for option in param.opts}
    names = other_names(str(command.name), options)
    if names and not hasattr(command, "other_names"):
        command.other_names = names
        command.parse_args = _renaming(command.parse_args, names)
    for below in getattr(command, "commands", {}).values():
        accept_other_names(below)
    return command


def _renaming(
    parse: Callable[[Any, list[str]], list[str]], names: dict[str, str]
) -> Callable[[Any, list[str]], list[str]]:
    return lambda context, words: parse(context, list(_renamed(words, names)))


def _renamed(words: list[str], names: dict[str, str]) -> Iterator[str]:
    """Words of a command line; what follows ``--`` is nobody's option."""
    for index, word in enumerate(words):
        if word == "--":
            yield from words[index:]
            return
        option, equals, value = word.partition("=")
        yield names.get(option, option) + equals + value
