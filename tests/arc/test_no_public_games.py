"""No public evaluation game in the repository: no layout, no source, no id."""

import json
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = (
    "python/sysone/arc/practice/environment_files/",
    "tests/data/arc/environment_files/zz01/",
)
PUBLIC_LIST = "public_games.json"
# A public id is two letters and two digits, often with eight hex digits of a version behind them.
ID = re.compile(r"(?<![A-Za-z0-9])(?:[a-z]{2}|[A-Z][a-z]|[A-Z]{2})\d{2}(?![A-Za-z0-9])")
VERSIONED = re.compile(r"\b[a-z0-9]{4}-[0-9a-f]{8}\b")
ABOUT_ARC = re.compile(r"ARC-AGI|arc_agi|arcengine|sysone\.arc|environment_files|public_games")
# Every word of that form that files about ARC have, and what it is.
NO_IDS = {
    "zz01": "the golden game, written for this project",
    "xx00": "stands for an id in a test",
    "yy11": "stands for an id in a test",
    "fp32": "a number format",
}
# What a game of the engine cannot be written without.
ENGINE_WORDS = ("ARCBaseGame", "practice_game(")
MAY_USE_ENGINE = (
    *OURS,
    "python/sysone/arc/practice/",
    "tests/arc/",
)


def git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode or not done.stdout:
        pytest.skip("not a checkout")
    return done.stdout


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every tracked text file and what is in it."""
    found = {}
    for name in git("ls-files").splitlines():
        try:
            found[name] = (ROOT / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue
    return found


def speaks_of_arc(name: str, text: str) -> bool:
    """Whether a file has to do with ARC: elsewhere such a word is a variable's name."""
    return "arc" in re.split(r"[/._-]", name) or bool(ABOUT_ARC.search(text))


def ids_in(text: str) -> set[str]:
    """Words that could be a public id."""
    return {word for word in ID.findall(text) if word.lower() not in NO_IDS}


def test_the_search_finds_an_id() -> None:
    # Put together here, so that this file does not hold what it looks for.
    one = "q" + "q42"
    for text in (f"play {one}.", f'"{one}-' + 'deadbeef"', f"environment_files/{one}/v1", one):
        assert ids_in(text) == {one}
    assert ids_in("zz01 and fp32, 0xab12, abc12, ab123") == set()
    assert VERSIONED.findall(f"{one}-" + "deadbeef")


def test_no_text_names_a_public_game(texts: dict[str, str]) -> None:
    found = {}
    for name, text in texts.items():
        words = set(VERSIONED.findall(text))
        words |= ids_in(text) if speaks_of_arc(name, text) else set()
        if words and Path(name).name != PUBLIC_LIST:
            found[name] = sorted(words)
    assert found == {}, "words that could be a public id; where they are none, NO_IDS says what"


def test_the_search_covers_what_speaks_of_arc(texts: dict[str, str]) -> None:
    covered = {name for name, text in texts.items() if speaks_of_arc(name, text)}
    assert {"docs/arc.md", "README.md", "python/sysone/arc/games.py", "bench/arc.py"} <= covered
    assert "tests/data/arc/zz01_transcript.json" in covered


def test_no_path_names_a_public_game(texts: dict[str, str]) -> None:
    assert [name for name in git("ls-files").splitlines() if ids_in(name)] == []


def test_folders_of_games_hold_ours_alone(texts: dict[str, str]) -> None:
    games = [name for name in git("ls-files").splitlines() if "environment_files/" in name]
    assert games
    assert [name for name in games if not name.startswith(OURS)] == []
    # The list of the public ids is made by a fetch, on the machine that fetched.
    assert [name for name in texts if Path(name).name == PUBLIC_LIST] == []
    for name in games:
        if Path(name).name == "metadata.json":
            tags = json.loads(texts[name])["tags"]
            assert "practice" in tags or name.startswith(OURS[1])


def test_every_practice_game_is_a_call_of_our_generator(texts: dict[str, str]) -> None:
    """No layout can hide in one: a file is its mechanics, a seed and numbers."""
    sources = [name for name in texts if name.startswith(OURS[0]) and name.endswith(".py")]
    assert len(sources) == 28
    for name in sources:
        assert "practice_game(" in texts[name]
        assert "class " not in texts[name]
        assert len(texts[name]) < 1500


def test_games_are_written_nowhere_else(texts: dict[str, str]) -> None:
    found = [
        name
        for name, text in texts.items()
        if name.endswith(".py")
        and any(word in text for word in ENGINE_WORDS)
        and not name.startswith(MAY_USE_ENGINE)
    ]
    assert found == []


def test_what_a_fetch_brings_is_never_committed_by_mistake() -> None:
    for path in (f"environment_files/{PUBLIC_LIST}", "environment_files/any/v1/metadata.json"):
        done = subprocess.run(["git", "check-ignore", "-q", path], cwd=ROOT)
        if done.returncode == 128:
            pytest.skip("not a checkout")
        assert done.returncode == 0
