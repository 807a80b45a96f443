"""The shared library of the chaos tests, compiled once."""

import shutil
import subprocess
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def disturbing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library to preload: jumping clocks, slow files."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler for the preloaded library")
    target = tmp_path_factory.mktemp("disturb") / "disturb.so"
    source = Path(__file__).parent / "disturb.c"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", str(target), str(source), "-ldl"], check=True)
    return target
