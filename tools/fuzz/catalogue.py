"""What there is to fuzz, and where it lies."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "data" / "fuzz"
BUILD = ROOT / "build" / "fuzz"
RULES = BUILD / "rules"
"""The seasons' rules as the native arena targets read them."""


@dataclass(frozen=True)
class Target:
    """One fuzz target. Its seeds are in ``corpus``, which may hold a dictionary beside them."""

    name: str
    native: bool

    @property
    def corpus(self) -> Path:
        """Seeds and minimised finds that are kept."""
        return CORPUS / self.name

    @property
    def dictionary(self) -> Path:
        """Words for libFuzzer; there need not be one."""
        return CORPUS / f"{self.name}.dict"

    def command(self, build: str = "clang") -> list[str]:
        """What runs it, before libFuzzer's own options."""
        if self.native:
            return [str(BUILD / build / f"fuzz_{self.name}")]
        return [sys.executable, "-m", "tools.fuzz.python_target", self.name]


def targets() -> list[Target]:
    """All targets, by name; the native ones first."""
    native = sorted(path.stem for path in (ROOT / "csrc" / "fuzz").glob("fuzz_*.cpp"))
    python = sorted(path.stem for path in (ROOT / "tools" / "fuzz" / "targets").glob("*.py"))
    return [
        *(Target(name.removeprefix("fuzz_"), True) for name in native),
        *(Target(name, False) for name in python),
    ]


def build(folder: str, *options: str) -> None:
    """Build the native targets into ``build/fuzz/<folder>`` and write the rules they read.

    Raises:
        RuntimeError: the build failed; the text is the compiler's.
    """
    write_rules()
    place = BUILD / folder
    configure = [
        *("cmake", "-S", str(ROOT), "-B", str(place), "-G", "Ninja"),
        *("-DSYSONE_PYTHON=OFF", "-DSYSONE_FUZZ=ON", *options),
    ]
    for command in (configure, ["cmake", "--build", str(place), "--target", "fuzz"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stdout[-8000:] + done.stderr[-8000:])


def write_rules() -> None:
    """The seasons' rules as files, where they are not there or are others."""
    from sysone.arena.rules.book import Book
    from sysone.arena.rules.settings import SEASONS

    RULES.mkdir(parents=True, exist_ok=True)
    for season in SEASONS:
        text, path = Book.of(season).text, RULES / f"{season}.json"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
