"""The manual and ``--help`` tell of the same options."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from sysone.arena import cli

MANUAL = (Path(__file__).parents[2] / "docs" / "arena.md").read_text(encoding="utf-8")
NOT_OURS = {"--help", "--seed-hint"}


def commands(group: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}", command


def options() -> dict[str, set[str]]:
    """The long options of every command."""
    group = typer.main.get_command(cli.app)
    return {
        name: {
            option
            for parameter in command.params
            for option in getattr(parameter, "opts", [])
            if option.startswith("--")
        }
        - NOT_OURS
        for name, command in commands(group)
    }


def test_every_command_is_in_the_manual() -> None:
    missing = [name for name in options() if not re.search(rf"`(?:rmuc-arena )?{name}\b", MANUAL)]
    assert missing == []


def test_every_option_is_in_the_manual() -> None:
    told = set(re.findall(r"--[a-z][a-z-]*", MANUAL))
    missing = {name: sorted(found - told) for name, found in options().items() if found - told}
    assert missing == {}


def test_the_manual_tells_of_no_option_that_is_not_there() -> None:
    known = set().union(*options().values())
    lines = [line for line in MANUAL.splitlines() if "rmuc-arena" in line or line.startswith("|")]
    told = {word for line in lines for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", line)}
    assert told - known - {"--help"} == set()
