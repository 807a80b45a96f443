"""Actions and their frozen text forms."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

RESET_ID: Final = 0
CLICK_ID: Final = 6
UNDO_ID: Final = 7
ALL_IDS: Final = (1, 2, 3, 4, 5, 6, 7)
SIDE: Final = 64


@dataclass(frozen=True, slots=True)
class Action:
    """One action: an id, and for a click its cell. Equal actions are the same object."""

    id: int
    x: int = -1
    y: int = -1
    text: str = field(compare=False, default="")
    """``ACTION3`` or ``ACTION6 x=<x> y=<y>``: frozen with the state version."""

    @property
    def is_click(self) -> bool:
        """Whether the action has a cell."""
        return self.id == CLICK_ID

    @property
    def data(self) -> dict[str, int]:
        """What the toolkit's step takes."""
        return {"x": self.x, "y": self.y} if self.is_click else {}

    @property
    def name(self) -> str:
        """The toolkit's name of the action."""
        return "RESET" if self.id == RESET_ID else f"ACTION{self.id}"

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies and pickles are the same object again.
        return (click, (self.x, self.y)) if self.is_click else (simple, (self.id,))


_CELLS: Final = frozenset(map(str, range(SIDE)))
RESET: Final = Action(RESET_ID, text="RESET")
_SIMPLE: Final = {id_: Action(id_, text=f"ACTION{id_}") for id_ in ALL_IDS if id_ != CLICK_ID}
_CLICKS: Final = [
    Action(CLICK_ID, x, y, f"ACTION6 x={x} y={y}") for y in range(SIDE) for x in range(SIDE)
]


def simple(action_id: int) -> Action:
    """An action without a cell.

    Raises:
        ValueError: the id is none of 0 to 5 and 7.
    """
    if action_id == RESET_ID:
        return RESET
    try:
        return _SIMPLE[action_id]
    except KeyError:
        raise ValueError(f"action id is {action_id}, expected 0 to 5 or 7") from None


def click(x: int, y: int) -> Action:
    """A click, its cell clipped to 0..63: the engine does not check it."""
    return _CLICKS[SIDE * min(max(y, 0), SIDE - 1) + min(max(x, 0), SIDE - 1)]


def make(action_id: int, x: int | None = None, y: int | None = None) -> Action:
    """The action of an id, with a cell for a click (0, 0 where none is given)."""
    return click(x or 0, y or 0) if action_id == CLICK_ID else simple(action_id)


def clicks(cells: Sequence[tuple[int, int]]) -> list[Action]:
    """A click for each (x, y) within 0..63."""
    return [_CLICKS[SIDE * y + x] for x, y in cells]


def clicks_at(indices: Sequence[int]) -> list[Action]:
    """A click for each index ``64 * y + x``."""
    if len(indices) < 2:
        return [_CLICKS[index] for index in indices]
    return list(itemgetter(*indices)(_CLICKS))


def parse(text: str) -> Action:
    """The action of a text form.

    Raises:
        ValueError: the text is not one of the forms.
    """
    words = text.split(" ")
    if words == ["RESET"]:
        return RESET
    if len(words) == 1 and words[0][:6] == "ACTION" and words[0][6:] in tuple("123457"):
        return simple(int(words[0][6:]))
    if len(words) == 3 and words[0] == "ACTION6" and words[1][:2] == "x=" and words[2][:2] == "y=":
        x, y = words[1][2:], words[2][2:]
        # No other digits than ASCII's, and none that an action would not be written with.
        if x in _CELLS and y in _CELLS:
            return click(int(x), int(y))
    raise ValueError(f"action is {text!r}, expected ACTION1 to ACTION7 or ACTION6 x=<x> y=<y>")


def allowed(available: Sequence[int]) -> tuple[int, ...]:
    """The ids on offer, ascending, without RESET; none given means all."""
    ids = tuple(sorted({int(id_) for id_ in available if int(id_) in ALL_IDS}))
    return ids or ALL_IDS
