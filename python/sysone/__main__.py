"""``python -m sysone``: the same as ``sysone``."""

from sysone.cli import main

if __name__ == "__main__":
    main()
