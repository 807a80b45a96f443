"""Write tests/data/arena/golden.json: the digests of the scripted matches.

    PYTHONPATH=tests python tools/arena/make_golden.py

Run it only when the engine is meant to play differently, and change its version with it.
"""

import json
from pathlib import Path

from arena import scripts
from arena.test_core_golden import GOLDEN, play
from sysone_core import arena as core


def main() -> None:
    """Play every scripted match and keep its ticks and digest."""
    matches = scripts.golden_matches()
    digests = {name: play(lines, name.rsplit("_", 1)[1], False) for name, lines in matches.items()}
    Path(GOLDEN).parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"engine": f"arena-core {core.VERSION}", "digests": digests}, indent=1)
    Path(GOLDEN).write_text(text + "\n")


if __name__ == "__main__":
    main()
