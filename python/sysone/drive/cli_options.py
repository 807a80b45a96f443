"""What the drive commands share: choices, how a mistake is told."""

from enum import StrEnum
from typing import NoReturn

import typer

from sysone.drive.exits import USAGE


class ProfileChoice(StrEnum):
    """How drives are scored."""

    bench2drive = "bench2drive"
    per_tick = "per_tick"
    leaderboard2 = "leaderboard2"


def fail(message: object, code: int) -> NoReturn:
    """One line on stderr, and out."""
    typer.echo(f"sysone drive: {message}", err=True)
    raise typer.Exit(code) from None


def address(text: str) -> tuple[str, int]:
    """HOST:PORT in two; anything else is a usage error."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        fail(f"--agent-bind is {text!r}, expected HOST:PORT", USAGE)
    return host.strip("[]"), int(port)
