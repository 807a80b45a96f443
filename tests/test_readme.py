"""What README.md prints is what the kept result file says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_readme_tables_are_those_of_the_kept_result():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "docs" / "readme_tables.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run python tools/docs/readme_tables.py\n{done.stderr}"
