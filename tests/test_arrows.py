"""Imports point one way: the core knows nobody, services the core, worlds both, the face all."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / "python"
OURS = ("sysone_core", "sysone", "bench", "tests", "twin", "tools", "examples")

CORE = "sysone_core"
# Other people's harnesses come in here: it may look everywhere, and nothing of ours looks at it.
DOORWAYS = "sysone_core.compat"
SERVICES = {"sysone.runs", "sysone.systemone", "sysone.executors"}
FACES = {"sysone.cli", "sysone.doctor", "sysone.viewer", "sysone.__main__", "rmuc_arena"}
# A world's own command for the viewer leads to it when it is given, and not before.
LAZY_DOORS = {("sysone.arena.cli", "sysone.viewer.cli")}
# What an extra brings; the default install works without.
EXTRAS = (
    "torch",
    "transformers",
    "onnx",
    "numba",
    "ray",
    "carla",
    "gymnasium",
    "pettingzoo",
    "plotly",
    "matplotlib",
    "playwright",
    "imageio",
    "imageio_ffmpeg",
)


def area(module: str) -> str:
    """The part of the architecture that a module belongs to: ``sysone.trex.pilot`` is in trex."""
    parts = module.split(".")
    if parts[:2] == DOORWAYS.split("."):
        return DOORWAYS
    return parts[0] if parts[0] != "sysone" else ".".join(parts[:2])


def may_know(source: str, target: str) -> bool:
    """Whether code of one area may import another; an area that is not named is a world."""
    if target in (source, "sysone"):  # the top package is empty
        return True
    if DOORWAYS in (source, target):
        return source == DOORWAYS
    if source in (CORE, "sysone") or target.split(".")[0] not in (CORE, "sysone"):
        return False
    if target == CORE:
        return True
    if source == "sysone.runs":
        return False
    if source in SERVICES:
        return target == "sysone.runs"
    if source in FACES:
        return target != "sysone.__main__"
    return target in SERVICES


def imports(tree: ast.Module, module: str, package: bool) -> Iterator[tuple[int, str]]:
    """Line and full name of everything of ours that a module imports, wherever it does so."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: None if package else -1]
                parents = parents[: len(parents) - node.level + 1]
                base = ".".join([*parents, *([base] if base else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call):
            # importlib.import_module("sysone.trex") and the like.
            called = ast.unparse(node.func)
            texts = [a.value for a in node.args if isinstance(a, ast.Constant)]
            if called.endswith(("import_module", "__import__")) and isinstance(texts[:1], list):
                names = [text for text in texts[:1] if isinstance(text, str)]
        for name in names:
            if name.split(".")[0] in OURS:
                yield node.lineno, name


def is_door(module: str, name: str) -> bool:
    """Whether a module may import a name, or something of it, inside a function."""
    return any(module == source and name.startswith(target) for source, target in LAZY_DOORS)


def lazy_lines(tree: ast.Module) -> set[int]:
    """Lines of the imports that are run when a function is called."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.lineno
        for function in ast.walk(tree)
        if isinstance(function, functions)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }


def wrong_arrows(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*.py*")):
        if path.suffix not in (".py", ".pyi"):
            continue
        relative = path.relative_to(folder).with_suffix("")
        package = relative.name == "__init__"
        module = ".".join(relative.parent.parts if package else relative.parts)
        tree = ast.parse(path.read_text(), str(path))
        for line, name in imports(tree, module, package):
            wrong = not may_know(area(module), area(name))
            if wrong and not (is_door(module, name) and line in lazy_lines(tree)):
                found.append(f"{path.relative_to(folder)}:{line} imports {name}")
    return found


def test_imports_point_one_way() -> None:
    assert wrong_arrows(PYTHON) == []


@pytest.mark.parametrize(
    ("module", "line", "wrong"),
    [
        ("sysone_core/trex.py", "from sysone import trex", True),
        ("sysone_core/trex.py", "import sysone_core.compat.trex", True),
        ("sysone/trex/pilot.py", "from sysone_core.compat import trex", True),
        ("sysone_core/compat/trex.py", "from sysone.trex.ask import build_question", False),
        ("sysone_core/trex.py", "from sysone_core._trex import Game", False),
        ("sysone/__init__.py", "import sysone_core.trex", True),
        ("sysone/runs/atomic.py", "from sysone.systemone import client", True),
        ("sysone/runs/atomic.py", "import sysone_core", False),
        ("sysone/systemone/server.py", "from sysone.runs import RunError", False),
        ("sysone/systemone/server.py", "def f():\n    from sysone.trex import ask", True),
        ("sysone/systemone/server.py", "from ..trex import ask", True),
        ("sysone/systemone/server.py", "from . import client", False),
        ("sysone/systemone/__init__.py", "from .client import Client", False),
        ("sysone/systemone/training/heads.py", "from ...trex import ask", True),
        ("sysone/trex/pilot.py", "from sysone_core.trex import Game", False),
        ("sysone/trex/pilot.py", "from sysone.systemone import client", False),
        ("sysone/trex/pilot.py", "from sysone.drive import lane", True),
        ("sysone/trex/pilot.py", "from sysone.cli import app", True),
        ("sysone/trex/pilot.py", "import twin.engine", True),
        ("sysone/trex/pilot.py", "import importlib\nimportlib.import_module('sysone.arc')", True),
        ("sysone/cli.py", "from sysone.trex import cli", False),
        ("sysone/cli.py", "import bench.measure", True),
        ("sysone/__main__.py", "from sysone.cli import app", False),
        ("sysone/viewer/arena.py", "from sysone.arena import replay", False),
        ("sysone/arena/cli.py", "def f():\n    from sysone.viewer.cli import show", False),
        ("sysone/arena/cli.py", "from sysone.viewer.cli import show", True),
        ("sysone/arena/cli.py", "def f():\n    from sysone.viewer import server", True),
        ("sysone/arena/replay.py", "def f():\n    from sysone.viewer.cli import show", True),
    ],
)
def test_a_wrong_arrow_is_seen(tmp_path: Path, module: str, line: str, wrong: bool) -> None:
    path = tmp_path / module
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    assert bool(wrong_arrows(tmp_path)) == wrong


def test_the_default_install_needs_no_extra() -> None:
    blocked = "".join(f"sys.modules[{name!r}] = None\n" for name in EXTRAS)
    code = f"import sys\n{blocked}import sysone.cli, sysone.trex.cli, sysone.viewer.cli\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
