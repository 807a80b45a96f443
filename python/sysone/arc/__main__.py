"""``python -m sysone.arc``: the same as ``sysone arc``."""

import sys

from sysone.arc.cli import app

if __name__ == "__main__":
    sys.exit(app(prog_name="python -m sysone.arc"))
