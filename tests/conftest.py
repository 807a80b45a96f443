"""Options and fixtures shared by every test."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# How long an example takes is the machine's affair: a busy one must not fail a test.
settings.register_profile("sysone", deadline=None)
settings.load_profile("sysone")

DATA = Path(__file__).parent / "data"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--golden-dir",
        metavar="DIR",
        help="read golden data from DIR (with or without a folder for each world) instead of "
        "tests/data; files that DIR lacks are skipped by name",
    )


@pytest.fixture(scope="session")
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], Any]:
    """``golden(world, name)``: the parsed JSON of one golden file, cached for the session."""
    chosen: str | None = request.config.getoption("--golden-dir")
    cache: dict[Path, Any] = {}

    def find(world: str, name: str) -> Path:
        if chosen is None:
            return DATA / world / name
        for path in (Path(chosen) / world / name, Path(chosen) / name):
            if path.is_file():
                return path
        pytest.skip(f"{chosen} has no {world}/{name}")

    def load(world: str, name: str) -> Any:
        path = find(world, name)
        if path not in cache:
            raw = path.read_bytes()
            cache[path] = json.loads(gzip.decompress(raw) if name.endswith(".gz") else raw)
        return cache[path]

    return load
