"""No public evaluation game in the repository: no layout, no source, no id."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = (
    "python/sysone/arc/practice/environment_files/",
    "tests/data/arc/environment_files/zz01/",
)
# The public ids are two letters and two digits, often with eight hex digits of a version.
VERSIONED = re.compile(r"\b[a-z]{2}\d{2}-[0-9a-f]{8}\b")


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        pytest.skip("not a checkout")
    return done.stdout.splitlines()


def test_games_are_ours(tracked: list[str]) -> None:
    games = [name for name in tracked if "environment_files/" in name]
    assert games
    assert [name for name in games if not name.startswith(OURS)] == []
    assert [name for name in tracked if Path(name).name == "public_games.json"] == []


def test_no_text_names_a_public_game(tracked: list[str]) -> None:
    found = []
    for name in tracked:
        try:
            text = (ROOT / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        found += [f"{name} has {match}" for match in VERSIONED.findall(text)]
    assert found == []
