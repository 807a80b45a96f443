"""One choice among more options than one question may have."""

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

# What the contract says every server accepts.
COMMON_LIMIT = 255

_STATED_LIMIT = re.compile(r"at most (\d+)")

T = TypeVar("T")

Ask = Callable[[Sequence[str]], dict[str, float]]
"""Probabilities of some options by name; may raise `TooManyError` or `TooLongError`."""


class TooManyError(Exception):
    """More options than the endpoint takes."""

    def __init__(self, limit: int) -> None:
        """``limit`` is what it does take."""
        super().__init__(f"at most {limit} options")
        self.limit = limit


class TooLongError(Exception):
    """The options' text is longer than the endpoint reads."""


class Round(msgspec.Struct, frozen=True):
    """What one round asked: the sizes of its blocks, and how many of each went on."""

    blocks: list[int]
    heads: int


class Chosen(msgspec.Struct, frozen=True):
    """The winner, the final round's probabilities, and what was asked on the way."""

    choice: str
    probabilities: dict[str, float]
    rounds: list[Round]


def stated_limit(message: str) -> int:
    """The limit that an error message names; `COMMON_LIMIT` if it names none of use."""
    match = _STATED_LIMIT.search(message)
    limit = int(match[1]) if match else 0
    return limit if limit >= 2 else COMMON_LIMIT


def blocks_of(items: Sequence[T], count: int) -> list[list[T]]:
    """Split into ``count`` consecutive blocks whose sizes differ by one at most."""
    size, extra = divmod(len(items), count)
    blocks = []
    start = 0
    for index in range(count):
        end = start + size + (index < extra)
        blocks.append(list(items[start:end]))
        start = end
    return blocks


def play(ask: Ask, options: Sequence[str], limit: int | None, heads: int = 1) -> Chosen:
    """Ask for the best option, in rounds of blocks of at most ``limit`` where that is needed.

    Every block sends the same number of its best on, ``heads`` where that leaves fewer than
    there were. A block that is too long is split in halves. Raises what ``ask`` does.
    """
    rest = list(options)
    rounds: list[Round] = []
    while True:
        try:
            if limit is None or len(rest) <= limit:
                probabilities = ask(rest)
                rounds.append(Round([len(rest)], 1))
                best = max(rest, key=probabilities.__getitem__)
                return Chosen(best, probabilities, rounds)
        except TooManyError as error:
            # Never larger than before, or a wrong message would keep us here for ever.
            limit = min(error.limit, len(rest) - 1)
        except TooLongError:
            if len(rest) < 4:
                raise
            limit = -(-len(rest) // 2)
        assert limit is not None
        try:
            rest = _round(ask, rest, max(2, limit), heads, rounds)
        except TooManyError as error:
            if limit <= 2:
                raise
            limit = min(error.limit, limit - 1)


def _round(ask: Ask, options: list[str], limit: int, heads: int, rounds: list[Round]) -> list[str]:
    """The best of every block, in the options' order."""
    waiting = blocks_of(options, -(-len(options) // limit))
    waiting.reverse()
    answered: list[tuple[list[str], dict[str, float]]] = []
    while waiting:
        block = waiting.pop()
        if len(block) == 1:  # with a limit of 2 and an odd number: nothing to ask
            answered.append((block, {block[0]: 1.0}))
            continue
        try:
            answered.append((block, ask(block)))
        except TooLongError:
            if len(block) < 4:
                raise
            waiting += reversed(blocks_of(block, 2))
    # As many of each as the smallest block can send, and fewer than there were altogether.
    kept = max(1, min(heads, *(len(block) for block, _ in answered)))
    if kept * len(answered) >= len(options):
        kept = 1
    rounds.append(Round([len(block) for block, _ in answered], kept))
    survivors = []
    for block, probabilities in answered:
        best = set(sorted(block, key=lambda name: -probabilities[name])[:kept])
        survivors += [name for name in block if name in best]
    return survivors
