"""``python -m sysone.drive``: the same as ``sysone drive``."""

from sysone.drive.cli import main

if __name__ == "__main__":
    main()
