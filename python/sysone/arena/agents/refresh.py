"""``refresh-agent``: what ``new-agent`` wrote once, as it would write it today.

Two things of a strategy's directory are not its author's: the manifest's ``sdk``, and the smoke
test. Everything else is kept; a file that is changed leaves its old content in ``NAME.bak``.
"""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from sysone.arena import manifest as manifests
from sysone.arena.agents.scaffold import TEST
from sysone.arena.errors import ArenaError
from sysone.runs.atomic import write_text

SDK: Final = 1
"""The SDK that is installed."""
_SDK_LINE: Final = re.compile(r"^(\s*sdk\s*=\s*)[^#\n]*?(\s*(?:#.*)?)$", re.MULTILINE)
_HEAD_LINE: Final = re.compile(r"^\[strategy\][^\n]*\n", re.MULTILINE)


def refresh(folder: Path) -> list[dict[str, Any]]:
    """Bring a strategy's directory up to the installed SDK; a row for each file.

    Raises:
        ArenaError: it is no strategy's directory, or its manifest is still refused afterwards.
    """
    path = folder / manifests.MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
        tomllib.loads(text)
    except OSError as error:
        raise ArenaError("manifest", f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArenaError("manifest", f"{path}: {error}") from error
    wanted = {manifests.MANIFEST: _with_sdk(text), "tests/test_smoke.py": TEST.substitute()}
    rows = [_write(folder, name, content) for name, content in wanted.items()]
    manifests.read(folder)
    return rows


def _with_sdk(text: str) -> str:
    head = _HEAD_LINE.search(text)
    if head is None:
        return text  # reading it tells what is wrong
    after = text[head.end() :]
    table = re.split(r"^\[", after, maxsplit=1, flags=re.MULTILINE)[0]
    if _SDK_LINE.search(table):
        new = _SDK_LINE.sub(rf"\g<1>{SDK}\g<2>", table, count=1)
    else:
        new = f"sdk = {SDK}\n{table}"
    return text[: head.end()] + new + after[len(table) :]


def _write(folder: Path, name: str, content: str) -> dict[str, Any]:
    path = folder / name
    before = path.read_text(encoding="utf-8") if path.is_file() else None
    if before == content:
        return {"path": name, "changed": False, "diff": ""}
    if before is not None:
        write_text(path.with_name(path.name + ".bak"), before)
    write_text(path, content)
    diff = difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        content.splitlines(keepends=True),
        f"{name} (before)",
        name,
    )
    return {"path": name, "changed": True, "diff": "".join(diff)}
