"""The small model's vocabulary: bytes, an end, and one token for what would be many bytes.

Phrases of the fixed wording, runs of one colour in a row, a row that is like the one before it,
and a cell ``x=.. y=..`` are a token each, which makes a question a fifth as long. Nothing is lost:
`text_of` gives back the text. Each token may name a cell, so that it can look at the picture.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from sysone.arc import wording
from sysone.arc.observe import COMPACT_VERSION

END: Final = 256
"""The end-of-sequence token, after the 256 bytes."""
CELL: Final = 257
"""``x=12 y=34``; which one, its cell says."""
ROW: Final = 258
"""A line break and the number of a row; which one, its cell says."""
SAME: Final = 259
"""A row of the number after, of the same cells as the row before."""
NOWHERE: Final = (-1, -1)
RUNS: Final = (16, 4)
"""Lengths of runs of one character that are a token."""
_ALPHABET: Final = "0123456789abcdef*"
_FIRST_RUN: Final = 260
_FIRST_PHRASE: Final = _FIRST_RUN + len(RUNS) * len(_ALPHABET)
PHRASES: Final = (
    f"State:\n{COMPACT_VERSION}|h=64 w=64 l=",
    " s=NOT_FINISHED",
    f"Question type: choice\nQuestion:\n{wording.CHOICE}\n",
    "Question type: boolean\nQuestion:\nWill ",
    " change the picture?\n",
    f"Question type: score\nQuestion:\n{wording.SCORE}\n",
    "Candidate:\n",
    "\nDecision:",
    wording.BOOLEAN_CANDIDATE,
    *wording.LEVELS,
    wording.HERE,
    f" {wording.UNTRIED}",
    f" {wording.IDLE}",
    f" {wording.SEEN} ",
    f" {wording.DEADLY}",
    wording.MOVER,
    ", colour ",
    "; ",
    " to ",
    "ACTION6 on ",
    "ACTION",
    ": changed ",
    " of ",
    " cells",
    ", moves by x",
    " deaths",
    " levels",
    ", ",
)
_FIRST_END: Final = _FIRST_PHRASE + len(PHRASES)
STATUSES: Final = (wording.UNTRIED, wording.IDLE, wording.DEADLY, *map(str, range(1, 10)))
"""What may be known of a candidate in this very state; a number counts visits of where it led."""
ENDS: Final = {status.encode(): _FIRST_END + i for i, status in enumerate(STATUSES)}
"""Ends of a leaf whose question says so of its candidate."""
VOCABULARY: Final = _FIRST_END + len(STATUSES)

_TOKEN: Final = re.compile(
    b"|".join(
        [
            rb"(?P<row>\n(?P<number>[0-9]|[1-5][0-9]|6[0-3]):(?P<cells>[0-9a-f*]{1,64})(?=\n|\Z))",
            rb"(?P<cell>x=(?P<x>[0-9]|[1-5][0-9]|6[0-3]) "
            rb"y=(?P<y>[0-9]|[1-5][0-9]|6[0-3])(?![0-9]))",
            b"(?P<phrase>"
            + b"|".join(
                re.escape(phrase.encode()) for phrase in sorted(PHRASES, key=len, reverse=True)
            )
            + b")",
            rb"(?P<run>([0-9a-f*])(?:\6{15}|\6{3}))",
            rb"(?s:.)",
        ]
    )
)
_CANDIDATE: Final = re.compile(
    rb"ACTION(?P<id>[1-7])(?: x=(?P<x>[0-9]|[1-5][0-9]|6[0-3]) y=(?P<y>[0-9]|[1-5][0-9]|6[0-3]))?\n"
)
_TO: Final = re.compile(
    rb"; ([1-7]) to x=([0-9]|[1-5][0-9]|6[0-3]) y=([0-9]|[1-5][0-9]|6[0-3])(?![0-9])"
)
_HERE: Final = re.compile(rb"^" + re.escape(wording.HERE.encode()) + rb"(.*)$", re.MULTILINE)
_STATUS: Final = re.compile(
    b"([1-7]) (?:(%b|%b|%b)|%b ([1-9]))"
    % tuple(word.encode() for word in (wording.UNTRIED, wording.IDLE, wording.DEADLY, wording.SEEN))
)
_RUN: Final = re.compile(rb"([0-9a-f*])(?:\1{15}|\1{3})|(?s:.)")
_RUN_ID: Final = {
    letter.encode() * length: _FIRST_RUN + place * len(_ALPHABET) + index
    for place, length in enumerate(RUNS)
    for index, letter in enumerate(_ALPHABET)
}
_PHRASE_ID: Final = {phrase.encode(): _FIRST_PHRASE + i for i, phrase in enumerate(PHRASES)}
_TEXT: Final = {token: raw for raw, token in [*_RUN_ID.items(), *_PHRASE_ID.items()]}


@dataclass(frozen=True, slots=True)
class Text:
    """Tokens of a text, and the cell that each of them names (-1: none)."""

    ids: list[int]
    cells: list[tuple[int, int]]

    def __len__(self) -> int:
        return len(self.ids)

    def __add__(self, other: "Text") -> "Text":
        return Text(self.ids + other.ids, self.cells + other.cells)

    def __getitem__(self, part: slice) -> "Text":
        return Text(self.ids[part], self.cells[part])


class Known(NamedTuple):
    """What a question says of its actions, by their ids."""

    leads: dict[bytes, tuple[int, int]]
    """Cell that each would bring to what moves."""
    status: dict[bytes, bytes]
    """What it did in this state."""


def known_of(text: str) -> Known:
    """What the lines of a question say."""
    raw = text.encode()
    leads = _TO.findall(raw) if wording.MOVER in text else []
    here = _HERE.search(raw)
    told = _STATUS.findall(here[1]) if here else []
    return Known(
        {id_: (int(x), int(y)) for id_, x, y in leads}, {id_: a or b for id_, a, b in told}
    )


def tokenise(text: str, end: bool = False, known: Known | None = None) -> Text:
    """The tokens of a text; with ``end`` the end-of-sequence token behind them.

    A candidate without a cell of its own has the one that is ``known`` of its action: the last
    token looks at the picture there, and says what the action did here. A whole leaf's own
    question says both.
    """
    ids: list[int] = []
    cells: list[tuple[int, int]] = []

    def put(token: int, cell: tuple[int, int] = NOWHERE) -> None:
        ids.append(token)
        cells.append(cell)

    last_end, last_number, last_cells = -1, -2, b""
    for found in _TOKEN.finditer(text.encode()):
        kind = found.lastgroup
        raw = found.group()
        if found["row"] is not None:
            number, row = int(found["number"]), found["cells"]
            # A row whose line break follows the last row at once, of the same cells.
            if last_end == found.start() and number == last_number + 1 and row == last_cells:
                put(SAME, (max(row.find(b"*"), 0), number))
            else:
                put(ROW, (0, number))
                _runs(row, number, put)
            last_end, last_number, last_cells = found.end(), number, row
        elif found["cell"] is not None:
            put(CELL, (int(found["x"]), int(found["y"])))
        elif kind is None:
            put(raw[0])
        else:
            put(_PHRASE_ID[raw] if found["phrase"] is not None else _RUN_ID[raw])
    if end:
        # The last token carries the candidate's cell: it is what the heads read.
        put(*_end(text, known_of(text) if known is None else known))
    return Text(ids, cells)


def _end(text: str, known: Known) -> tuple[int, tuple[int, int]]:
    found = _CANDIDATE.match(text.rpartition("Candidate:\n")[2].encode())
    if found is None:
        return END, NOWHERE
    if found["x"] is not None:
        return END, (int(found["x"]), int(found["y"]))
    id_ = found["id"]
    return ENDS.get(known.status.get(id_, b""), END), known.leads.get(id_, NOWHERE)


def _runs(row: bytes, number: int, put: Callable[[int, tuple[int, int]], None]) -> None:
    """The cells of a row, each token at the middle of what it stands for."""
    for part in _RUN.finditer(row):
        raw = part.group()
        middle = (part.start() + part.end() - 1) // 2
        put(_RUN_ID.get(raw, raw[0]), (middle, number))


def text_of(tokens: Text) -> str:
    """The text again, without the end."""
    raw = b""
    row: list[bytes] | None = None
    number, kept = -1, b""
    for token, (x, y) in zip(tokens.ids, tokens.cells, strict=True):
        if token == END or token >= _FIRST_END:
            continue
        if row is not None and (y != number or x < 0 or token in (ROW, SAME)):
            kept, row = b"".join(row), None
        if token == ROW:
            number, row = y, []
            raw += b"\n%d:" % y
        elif token == SAME:
            number = y
            raw += b"\n%d:" % y + kept
        elif token == CELL:
            raw += b"x=%d y=%d" % (x, y)
        else:
            piece = _TEXT.get(token, bytes([token]) if token < END else b"")
            raw += piece
            if row is not None:
                row.append(piece)
    return raw.decode()
