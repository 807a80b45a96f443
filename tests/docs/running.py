"""Runs a page: its blocks one after the other in one shell and one empty folder.

The folder has what a clone has under the names that the pages use (`LINKED`), and ``.venv/bin``.
Where bubblewrap can, the shell has a network of its own with nothing but loopback in it: ports are
free, and a command that went online would fail. A block that needs what is not here is left out;
``SYSONE_DOCS_NEEDS`` (words with commas) says that more is here.
"""

import contextlib
import importlib.util
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from docs.command_lines import HEREDOC, commands
from docs.pages import ROOT, Block, blocks, read

LINKED = ("bench", "csrc", "data", "examples", "python", "tests", "tools", "Makefile")
SERVER = re.compile(r"^[^#\n]*\bsysone serve\b")
PATIENCE = 1800
"""Seconds after which a page is given up; a busy machine is no fault."""

PRELUDE = r"""
set -euo pipefail
block() { echo "$1" >"$STATE/at"; echo "$1 $(date +%s.%N)" >>"$STATE/times"; }
# Until a server that was begun answers, as long as a reader takes to look at the other window.
answers() {
  for _ in $(seq 1200); do
    python -c "import socket; socket.create_connection(('127.0.0.1', $1), 1)" 2>/dev/null && return
    sleep 0.1
  done
  echo "nothing answers on port $1" >&2; return 1
}
# A command that is to go on until somebody interrupts it.
until_ready() {
  local status=0
  timeout --preserve-status -s INT -k 60 15 bash -c "$1" || status=$?
  case $status in 0|130) ;; *) echo "ended with $status: $1" >&2; return 1;; esac
}
"""


@dataclass(frozen=True)
class Outcome:
    """What came of a page."""

    status: int
    at: str
    """The block that was run last."""
    seconds: dict[str, float]
    """By block, in their order."""
    skipped: dict[str, str]
    """Blocks that were left out, and what they need."""
    output: str


@cache
def here() -> frozenset[str]:
    """The words of `NEEDS` that this machine has."""
    found = {word for word in os.environ.get("SYSONE_DOCS_NEEDS", "").split(",") if word}
    found.add("endpoint")  # which is begun where a block needs it
    if importlib.util.find_spec("torch") is not None:
        found.add("torch")
    return frozenset(found)


def lacks(block: Block) -> str:
    """What a block needs that is not here; empty where it can be run."""
    return ", ".join(word for word in block.needs if word not in here())


def is_run(block: Block) -> bool:
    """Whether a block is something to run or to write."""
    return block.title is not None or block.language in ("sh", "python")


def script(steps: list[Block], stage: Path) -> str:
    """The shell text that runs blocks; their files are kept in ``stage``."""
    parts = [PRELUDE]
    for number, block in enumerate(steps):
        parts.append(f"block {shlex.quote(block.place)}\n")
        if "endpoint" in block.needs:
            parts.append("sysone serve >/dev/null 2>&1 & endpoint=$!\nanswers 8700\n")
        kept = stage / f"{number}"
        kept.write_text(block.text, encoding="utf-8")
        if block.title is not None:
            title = shlex.quote(block.title)
            parts.append(f'mkdir -p "$(dirname {title})"; cp {kept} {title}\n')
        elif block.language == "python":
            parts.append(f"cp {kept} example_{number}.py; python example_{number}.py\n")
        elif block.run == "terminals":
            parts.append(_terminals(_lines(block.text)))
        elif block.run == "until ready":
            parts += [f"until_ready {shlex.quote(line)}\n" for line in _lines(block.text)]
        else:
            parts.append(block.text)
            parts += [f"answers {port}\n" for port in _background(block.text)]
        if "endpoint" in block.needs:
            parts.append('kill -INT "$endpoint"\n')
    return "".join([*parts, "block done\n"])


def _lines(text: str) -> list[str]:
    """A block's commands, each with its continuation; a here-document keeps them together."""
    if HEREDOC.search(text):
        return [text]
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _port(line: str) -> str:
    named = re.search(r"(?:--port[ =]|#.* port )(\d+)", line)
    return named[1] if named else "8700"


def _background(text: str) -> list[str]:
    """Ports of servers that a script leaves running: ``sysone serve &``, ``… &  # on port N``."""
    lines = [line for line in text.splitlines() if re.search(r"&\s*(#.*)?$", line)]
    return [_port(line) for line in lines if SERVER.match(line) or " port " in line]


def _terminals(lines: list[str]) -> str:
    """All lines at once; those that are no servers have to end well."""
    parts = ["servers=(); others=()\n"]
    for line in lines:
        server = bool(SERVER.match(line))
        parts.append(f"bash -c {shlex.quote(line)} &\n")
        parts.append(f"{'servers' if server else 'others'}+=($!)\n")
        parts.append(f"answers {_port(line)}\n" if server else "sleep 1\n")
    parts.append('for other in "${others[@]}"; do wait "$other"; done\n')
    parts.append('for server in "${servers[@]}"; do kill -INT "$server"; done\n')
    return "".join(parts)


@cache
def _alone() -> tuple[str, ...]:
    """How a command gets a network of its own; empty where that cannot be had."""
    how = ("bwrap", "--dev-bind", "/", "/", "--unshare-net")
    if shutil.which("bwrap") is None:
        return ()
    works = subprocess.run([*how, "true"], capture_output=True, check=False).returncode == 0
    return how if works else ()


def run_page(page: str, folder: Path) -> Outcome:
    """Runs a page in a folder that holds nothing yet.

    Raises:
        subprocess.TimeoutExpired: it took half an hour.
    """
    work, stage, state, home = (folder / name for name in ("work", "stage", "state", "home"))
    for path in (work, stage, state, home):
        path.mkdir(parents=True)
    for name in LINKED:
        (work / name).symlink_to(ROOT / name)
    (work / "docs").mkdir()
    (work / ".venv").symlink_to(sys.prefix)
    found = [block for block in blocks(read(page), page) if is_run(block)]
    steps = [block for block in found if not lacks(block)]
    (stage / "page.sh").write_text(script(steps, stage), encoding="utf-8")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("PYTEST")},
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "STATE": str(state),
        "SYSONE_BROWSER": "none",
    }
    with (state / "output").open("wb") as output:
        process = subprocess.Popen(
            [*_alone(), "bash", str(stage / "page.sh")],
            cwd=work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(PATIENCE)
        finally:
            # Servers that the page began and did not end.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    times = [line.split() for line in (state / "times").read_text().splitlines()]
    seconds = {
        place: float(end) - float(begin)
        for (place, begin), (_, end) in zip(
            times, [*times[1:], ["", str(time.time())]], strict=True
        )
        if place != "done"
    }
    return Outcome(
        status=status,
        at=(state / "at").read_text().strip(),
        seconds=seconds,
        skipped={block.place: lacks(block) for block in found if lacks(block)},
        output=(state / "output").read_text(errors="replace"),
    )


def has_commands(page: str) -> bool:
    """Whether a page prints something to run."""
    found = [block for block in blocks(read(page), page) if is_run(block)]
    return any(block.language == "python" or list(commands(block.text)) for block in found)
