"""docs/claims.md: what a page claims is still said there, and what backs it is still there."""

import ast
import re
import tomllib
from functools import cache

import pytest

from docs.command_lines import make_targets
from docs.pages import ROOT

CLAIMS = ROOT / "docs" / "claims.md"
SECTION = re.compile(r"^## (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#]+)\)")
FEWEST = 120
"""Rows; so that a table that is not read does not pass."""


def rows() -> list[tuple[str, str, str]]:
    """Page, claim and what backs it, for every row."""
    text = CLAIMS.read_text(encoding="utf-8")
    found = []
    page = ""
    for line in text.splitlines():
        if heading := SECTION.match(line):
            named = LINK.search(heading[1])
            page = f"docs/{named[1]}" if named else f"{heading[1]}.md"
        elif line.startswith("| ") and not line.startswith(("| claim ", "| --- ")):
            claim, _, backing = line.strip("| ").partition(" | ")
            of_its_own = LINK.search(claim)
            where = f"docs/{of_its_own[1]}" if of_its_own else page
            found.append((where, re.sub(r" \(\[[^)]*\)\)$", "", claim), backing))
    return found


def plain(text: str) -> str:
    """A text without Markdown's signs, in one line."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\s+", " ", re.sub(r"[*`_]", "", text))


@cache
def names_in(file: str) -> frozenset[str]:
    """Names of the tests in a file, methods of classes too."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


@cache
def benches() -> frozenset[str]:
    text = (ROOT / "bench" / "promises.toml").read_text(encoding="utf-8")
    return frozenset(promise["name"] for promise in tomllib.loads(text)["promise"])


def missing(backing: str) -> list[str]:
    """What a row names and what is not there."""
    named = re.findall(r"`([^`]+)`", backing)
    gone = []
    for name in named:
        if "::" in name:
            file, _, test = name.partition("::")
            there = (ROOT / file).is_file() and test in names_in(file)
        elif name.startswith("bench:"):
            there = name.removeprefix("bench:") in benches()
        elif name.startswith("make "):
            there = name.removeprefix("make ") in make_targets()
        else:
            there = (ROOT / name).exists()
        gone += [] if there else [name]
    return gone


def test_the_table_is_read() -> None:
    assert len(rows()) >= FEWEST


def test_every_claim_is_on_its_page() -> None:
    lost = [
        f"{page}: {claim}"
        for page, claim, _ in rows()
        if plain(claim) not in plain((ROOT / page).read_text(encoding="utf-8"))
    ]
    assert lost == [], "quote what the page says now, or drop the row"


def test_what_backs_a_claim_is_there() -> None:
    gone = [f"{claim}: {', '.join(missing(b))}" for _, claim, b in rows() if missing(b)]
    assert gone == []


def test_every_claim_is_backed() -> None:
    bare = [claim for _, claim, backed in rows() if not re.search("`|by hand", backed)]
    assert bare == []


@pytest.mark.parametrize(
    "name",
    [
        "tests/gone.py::test_x",
        "tests/docs/test_claims.py::test_gone",
        "bench:trex.gone",
        "make gone",
        "gone.json",
    ],
)
def test_what_is_gone_is_named(name: str) -> None:
    assert missing(f"`make test`, `{name}`") == [name]
