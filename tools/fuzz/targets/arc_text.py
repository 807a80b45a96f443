"""ARC's text forms: grids, states, actions, and what a second system replies.

Input: a byte for the form, then the text.

Properties: a grid, state or action is read or refused with `ValueError`; one that is read is
written as the same text; a reply of a language model never raises, and nothing illegal comes out
of it.
"""

from sysone.arc import actions
from sysone.arc.observe import parse_state_text, state_text
from sysone.arc.system2.reply import parse_lesson, parse_report
from sysone_core import grids

INSTRUMENT = ("sysone_core.grids", "sysone.arc.actions", "sysone.arc.observe",
              "sysone.arc.system2.reply")  # fmt: skip


def check(data: bytes) -> None:
    """Hold the properties to one input."""
    kind = data[0] % 4 if data else 0
    text = data[1:].decode("utf-8", "surrogateescape")
    (_grid, _state, _action, _reply)[kind](text)


def _grid(text: str) -> None:
    try:
        grid = grids.text_to_grid(text)
    except ValueError:
        return
    assert grids.grid_text(grid) == text
    difference, changed = grids.diff_text(grid, grid)
    assert changed == 0
    assert difference == text
    grids.frame_hash(grid)
    grids.components(grid)


def _state(text: str) -> None:
    try:
        grid, levels, state = parse_state_text(text)
    except ValueError:
        return
    again = state_text(grid, levels, state)
    second = parse_state_text(again)
    assert (second[0] == grid).all()
    assert second[1:] == (levels, state)
    assert state_text(*second) == again


def _action(text: str) -> None:
    try:
        action = actions.parse(text)
    except ValueError:
        return
    assert actions.parse(action.text) is action
    assert action.text == text


def _reply(text: str) -> None:
    available = (1, 3, 6)
    for proposal in parse_report(text, available).actions:
        assert actions.parse(proposal.action).id in available
    lesson = parse_lesson(text)
    assert all(isinstance(item, str) for item in lesson.learned)
