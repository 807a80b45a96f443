"""``python -m rmuc_arena``: the same as ``rmuc-arena``."""

from sysone.arena.cli import main

if __name__ == "__main__":
    main()
