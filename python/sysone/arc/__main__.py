"""``python -m sysone.arc``: the same as ``sysone arc``."""

import sys

import typer

from sysone.arc.cli import app
from sysone.runs.options import accept_other_names

if __name__ == "__main__":
    command = accept_other_names(typer.main.get_command(app))
    sys.exit(command(prog_name="python -m sysone.arc"))
