"""The committed stubs of the compiled modules say what the modules have."""

import subprocess
import sys
from pathlib import Path


def test_stubs_match_the_modules() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest"),
            *("sysone_core._frames", "sysone_core._driving_score"),
            *("--allowlist", str(Path(__file__).with_name("stubtest_allow.txt"))),
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
