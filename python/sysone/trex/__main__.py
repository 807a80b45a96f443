"""``python -m sysone.trex``: the same as ``sysone trex``."""

from sysone.trex.cli import main

if __name__ == "__main__":
    main()
