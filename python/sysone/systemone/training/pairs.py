"""Pairs of a state and a statement in a file of their own: a sign and two texts a line."""

import gzip
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from sysone.systemone.render import render
from sysone.systemone.training.examples import Example, ExampleError

SIGNS = {"+": True, "-": False}
SUFFIXES = (".tsv", ".gz")


class Pair(NamedTuple):
    """A state, a statement, and whether the state supports it."""

    state: str
    statement: str
    holds: bool


def read_pairs(path: Path) -> list[Pair]:
    """Read tab-separated lines, gzipped or plain: ``+`` or ``-``, the state, the statement.

    Raises `ExampleError` that names the file and the line.
    """
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ExampleError(f"{path}: cannot be read: {error}") from None
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        parts = line.split("\t")
        if len(parts) != 3 or parts[0] not in SIGNS or not all(parts):
            raise ExampleError(f"{path}, line {number}: expected + or -, a state and a statement")
        found.append(Pair(parts[1], parts[2], SIGNS[parts[0]]))
    if not found:
        raise ExampleError(f"{path}: no pair")
    return found


def refuse_shared(pairs: Iterable[Pair], examples: Sequence[Example], what: str) -> None:
    """Raise `ExampleError` if a state of the pairs is one of the examples'."""
    states = {render(example.state).strip() for example in examples}
    shared = {pair.state for pair in pairs} & states
    if shared:
        raise ExampleError(f"{what} share {len(shared)} states, {min(shared)!r} among them")
