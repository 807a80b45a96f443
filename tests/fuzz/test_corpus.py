"""Every kept input through its fuzz target: seeds, and what fuzzing found and was repaired.

The native targets are built by the machine's own compiler, without optimisation and sanitizers
because that is the quickest; `make fuzz` runs the same files under AddressSanitizer and UBSan.
"""

import importlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.fuzz.catalogue import BUILD, RULES, Target, build, targets

pytestmark = pytest.mark.timeout(1800)  # compiling the whole core on a busy machine
NATIVE = [target for target in targets() if target.native]
PYTHON = [target for target in targets() if not target.native]


def inputs(target: Target) -> list[Path]:
    return sorted(path for path in target.corpus.iterdir() if path.is_file())


@pytest.fixture(scope="module")
def replayers() -> Path:
    """The folder of the built replayers."""
    if shutil.which("c++") is None:
        pytest.skip("there is no C++ compiler")
    build("replay", "-DCMAKE_BUILD_TYPE=Debug")
    return BUILD / "replay"


@pytest.mark.parametrize("target", NATIVE, ids=lambda target: target.name)
def test_native_corpus(target: Target, replayers: Path) -> None:
    done = subprocess.run(
        [*target.command(replayers.name), str(target.corpus)],
        capture_output=True,
        text=True,
        env={**os.environ, "SYSONE_FUZZ_RULES": str(RULES)},
    )
    assert done.returncode == 0, done.stderr[-8000:]
    assert int(done.stdout) == len(inputs(target)) > 0


@pytest.mark.parametrize("target", PYTHON, ids=lambda target: target.name)
def test_python_corpus(target: Target) -> None:
    module = importlib.import_module(f"tools.fuzz.targets.{target.name}")
    files = inputs(target)
    assert files
    for path in files:
        try:
            module.check(path.read_bytes())
        except Exception as error:
            error.add_note(f"input: {path}")
            raise


def test_every_folder_of_the_corpus_has_a_target() -> None:
    names = {target.name for target in targets()}
    folders = {path.name for path in (NATIVE[0].corpus.parent).iterdir() if path.is_dir()}
    assert folders == names


def test_a_broken_property_ends_the_replayer(replayers: Path, tmp_path: Path) -> None:
    """A replayer that ran nothing would look like one that found nothing."""
    done = subprocess.run(
        [replayers / "fuzz_base64", tmp_path / "lacking"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "cannot read" in done.stderr
