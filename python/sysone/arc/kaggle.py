"""Packaging for the contest: a kernel folder with a notebook, a budget, and no secret in it."""

import json
import re
from pathlib import Path
from typing import Any, Final

from sysone.runs.atomic import write_json, write_text
from sysone.runs.errors import RunError

CONTEST: Final = "arc-prize-2026-arc-agi-3"
GAMES: Final = 110
"""Hidden games: 55 public and 55 private."""
LIMIT_H: Final = 9.0
PLANNED_H: Final = 8.5
STARTUP_S: Final = 300.0
ACTIONS: Final = 400
"""Actions a game that the budget is planned with."""

# Milliseconds a decision and seconds a call; System-2's until it is measured there.
ACCELERATORS: Final[dict[str, dict[str, float]]] = {
    "cpu": {"decision_ms": 150.0, "system2_s": 0.0},
    "t4": {"decision_ms": 870.0, "system2_s": 5.0},
    "rtx6000": {"decision_ms": 200.0, "system2_s": 4.0},
}
SHAPES: Final = {"cpu": "", "t4": "NvidiaTeslaT4", "rtx6000": "NvidiaRtxPro6000"}
TOKENS: Final = re.compile(
    r"hf_[A-Za-z0-9]{20,}|KGAT_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|\"key\"\s*:\s*\"[0-9a-f]{32}\"|AKIA[0-9A-Z]{16}"
)

_INSTALL: Final = """
import os, subprocess, sys
from pathlib import Path

INPUT = Path(os.environ.get("SYSONE_KAGGLE_INPUT", "/kaggle/input"))
WORKING = Path(os.environ.get("SYSONE_KAGGLE_WORKING", "/kaggle/working"))
AGENT = Path(os.environ.get("SYSONE_KAGGLE_AGENT", "/kaggle/agent"))
CONTEST, WEIGHTS = INPUT / "@CONTEST@", INPUT / "@WEIGHTS@"
RERUN = bool(os.environ.get("KAGGLE_IS_COMPETITION_RERUN"))
folders = [CONTEST / "arc_agi_3_wheels", WEIGHTS / "wheels"]
links = [f"--find-links={folder}" for folder in folders if folder.is_dir()]
target = os.environ.get("SYSONE_KAGGLE_SITE")
where = ["--target", target, "--no-deps"] if target else []
subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-index", *where, *links,
                "arc-agi", "arcengine", "sysone-core"], check=True)
""".strip()
_VERIFY: Final = """
from sysone.arc.weights.parts import verify

MODEL = WEIGHTS / "qwenjev-s1"
if MODEL.is_dir():
    print(verify(MODEL))
else:
    MODEL = None
    print("no weights are mounted: the shipped checkpoint plays")
""".strip()
_PLAY: Final = '''
import shutil, time, urllib.error, urllib.request

HOST = os.environ.get("SYSONE_KAGGLE_GATEWAY_HOST", "gateway")
PORT = os.environ.get("SYSONE_KAGGLE_GATEWAY_PORT", "8001")
GAMES = os.environ.get("SYSONE_KAGGLE_GAMES", "")
SHIM = """from agents.agent import Agent
from sysone.arc.framework import adapter

QwenJevAgent = adapter(
    Agent, policy="hybrid", checkpoint=@CHECKPOINT@, time_limit_s=@TIME@, max_actions=@ACTIONS@)
"""


def wait_for_gateway(seconds=600):
    ends = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(f"http://{HOST}:{PORT}/api/games", timeout=10)
            return
        except urllib.error.HTTPError:
            return  # it answers, if only to say that it wants a key
        except OSError:
            if time.monotonic() > ends:
                raise
            time.sleep(1)


if RERUN:
    wait_for_gateway()
    shutil.copytree(CONTEST / "ARC-AGI-3-Agents", AGENT, dirs_exist_ok=True)
    shim = SHIM.replace("@CHECKPOINT@", repr(str(MODEL or "")))
    (AGENT / "agents" / "qwenjev_agent.py").write_text(shim)
    registry = AGENT / "agents" / "__init__.py"
    text = registry.read_text()
    if "qwenjev_agent" not in text:
        text += (
            "\\nfrom .qwenjev_agent import QwenJevAgent\\n"
            'AVAILABLE_AGENTS["qwenjevagent"] = QwenJevAgent\\n')
        registry.write_text(text)
    address = f"http://{HOST}:{PORT}"
    (AGENT / ".env").write_text(
        f"SCHEME=http\\nHOST={HOST}\\nPORT={PORT}\\nARC_BASE_URL={address}\\n"
        "OPERATION_MODE=online\\nARC_API_KEY=offline\\n")
    command = [sys.executable, "main.py", "--agent=qwenjevagent"]
    subprocess.run([*command, *([f"--game={GAMES}"] if GAMES else [])], cwd=AGENT, check=True)
else:
    WORKING.mkdir(parents=True, exist_ok=True)
    (WORKING / "submission.parquet").write_bytes(bytes.fromhex("@PARQUET@"))
print("played" if RERUN else "placeholder written")
'''.strip()


def budget(accelerator: str, config: Any, actions: int = ACTIONS) -> dict[str, float]:
    """Hours of a whole run, by part.

    Args:
        accelerator: cpu, t4 or rtx6000.
        config: a `Config`: its System-2 calls count where a mode or a URL is set.
        actions: a game.
    """
    figures = ACCELERATORS[accelerator]
    asked = bool(config.system2.mode or config.system2.url)
    calls = config.hybrid.system2_max_calls_per_game if asked else 0
    decisions_h = GAMES * actions * figures["decision_ms"] / 3.6e6
    calls_h = GAMES * calls * (figures["system2_s"] or 5.0) / 3600
    total = decisions_h + calls_h + STARTUP_S / 3600
    return {"decisions_h": decisions_h, "system2_h": calls_h, "total_h": total}


def budget_table(accelerator: str, config: Any, actions: int = ACTIONS) -> list[str]:
    """The budget as lines, with what to lower first."""
    figures, found = ACCELERATORS[accelerator], budget(accelerator, config, actions)
    return [
        f"{GAMES} games x {actions} actions x {figures['decision_ms']:g} ms: "
        f"{found['decisions_h']:.2f} h",
        f"System-2: {found['system2_h']:.2f} h",
        f"total with {STARTUP_S:g} s to start: {found['total_h']:.2f} h of {LIMIT_H:g} h",
        "lower first: hybrid.system2_max_calls_per_game, then hybrid.stall_patience",
    ]


def empty_parquet(column: str = "row_id") -> bytes:
    """A Parquet file of one text column without rows, which is all that the first pass asks for.

    Metadata in Thrift's compact protocol, after the format's specification: version 1, a root
    with one optional byte-array column, no rows, no row groups.
    """
    name = column.encode()
    root = b"\x48\x06schema\x15\x02\x00"
    leaf = b"\x15\x0c\x25\x02\x18" + bytes([len(name)]) + name + b"\x00"
    footer = b"\x15\x02\x19\x2c" + root + leaf + b"\x16\x00\x19\x0c\x00"
    return b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def package(
    out: Path,
    username: str,
    accelerator: str,
    config: Any,
    *,
    weights: str = "",
    actions: int = ACTIONS,
    force: bool = False,
) -> list[str]:
    """Write ``kernel-metadata.json`` and the notebook; the budget's lines.

    Raises:
        RunError: a name is none, the plan takes too long, or the package holds what looks like a
            token.
    """
    if accelerator not in ACCELERATORS:
        listed = ", ".join(ACCELERATORS)
        raise RunError(f"--accelerator is {accelerator!r}, expected one of {listed}")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{1,49}", username):
        raise RunError(f"--username is {username!r}, expected a name of letters, digits and dashes")
    dataset = weights or f"{username}/qwenjev-weights"
    if dataset.count("/") != 1:
        raise RunError(f"--weights-dataset is {dataset!r}, expected owner/name")
    table = budget_table(accelerator, config, actions)
    hours = budget(accelerator, config, actions)["total_h"]
    if hours > PLANNED_H and not force:
        raise RunError(
            f"the plan takes {hours:.1f} h, more than {PLANNED_H:g} h: {'; '.join(table)}"
        )
    values = {
        "@CONTEST@": CONTEST,
        "@WEIGHTS@": dataset.partition("/")[2],
        "@TIME@": f"{(PLANNED_H * 3600 - STARTUP_S) / GAMES:.0f}",
        "@ACTIONS@": str(actions),
        "@PARQUET@": empty_parquet().hex(),
    }
    cells: list[str] = []
    for source in (_INSTALL, _VERIFY, _PLAY):
        for mark, value in values.items():
            source = source.replace(mark, value)
        cells.append(source)
    metadata = {
        "id": f"{username}/qwenjev-arc",
        "title": "qwenjev-arc",
        "code_file": "qwenjev_arc.ipynb",
        "language": "python",
        "kernel_type": "notebook",
        "is_private": True,
        "enable_internet": False,
        "enable_gpu": accelerator != "cpu",
        "machine_shape": SHAPES[accelerator],
        "competition_sources": [CONTEST],
        "dataset_sources": [dataset],
        "kernel_sources": [],
        "model_sources": [],
    }
    write_json(out / "kernel-metadata.json", metadata, indent=1)
    write_text(out / "qwenjev_arc.ipynb", json.dumps(notebook(cells), indent=1) + "\n")
    scan(out)
    return table


def notebook(sources: list[str]) -> dict[str, Any]:
    """Code cells as a notebook of nbformat 4.5."""
    cells: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"cell-{index}",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": source.splitlines(keepends=True),
        }
        for index, source in enumerate(sources)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def scan(folder: Path) -> None:
    """Look for tokens in every file of a package.

    Raises:
        RunError: something looks like one; the text names the file, not the token.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_file() and TOKENS.search(path.read_bytes().decode("utf-8", "replace")):
            raise RunError(f"{path} holds what looks like a token; nothing may be uploaded")
