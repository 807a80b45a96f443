"""What System-2 is asked: the picture, the texts, what is known, and the form of the answer."""

import base64
from collections.abc import Sequence
from typing import Any, Final

from sysone.arc.memory import Memory
from sysone.arc.observe import Observation
from sysone.arc.system2.reply import Lesson
from sysone.arc.vision import COLOUR_NAMES, to_png
from sysone_core import grids

SCALE: Final = 8
"""512x512: what a large model sees well."""
LESSONS: Final = 5

SYSTEM: Final = (
    "You watch an unknown grid game and advise a player. The picture shows the present 64x64 "
    "grid, x to the right and y down, both from 0. In the texts each cell is one hex digit; in "
    "the diff a * is a cell that the last action changed. Colours: "
    + ", ".join(f"{index:x} {name}" for index, name in enumerate(COLOUR_NAMES))
    + "."
)
PERCEIVE: Final = (
    "Describe the scene and propose what to try next. Answer with one JSON object: "
    '{"summary": "at most 600 characters", "entities": [{"name", "colour", "x", "y", "role"}], '
    '"hypotheses": ["at most 3, the likeliest first"], '
    '"actions": [{"action": "ACTION1", "x": 0, "y": 0, "why": ""}, 3 to 8 of them]}. '
    "x and y are for ACTION6 alone. Actions on offer: "
)
REFLECT: Final = (
    "Say what is to be learnt from this. Answer with one JSON object: "
    '{"learned": [], "avoid": [], "next_try": []}, each a list of short strings.'
)


def picture(grid: Any) -> dict[str, Any]:
    """A grid as a part of a chat message."""
    data = base64.b64encode(to_png(grid, SCALE)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def perceive(
    seen: Observation, memory: Memory, lessons: Sequence[Lesson], goals: bool = True
) -> list[dict[str, Any]]:
    """Messages that ask for a report."""
    parts: list[dict[str, Any]] = []
    first = _first_frame(seen)
    if first is not None:
        parts += [{"type": "text", "text": "First frame of the last action:"}, picture(first)]
    if goals and memory.goals:
        goal = memory.goals[-1]
        parts += [
            {"type": "text", "text": f"A level was gained by {goal.action.text} from this:"},
            picture(goal.before),
        ]
    offered = ", ".join(f"ACTION{id_}" for id_ in seen.available_actions)
    text = "\n".join(
        [
            "State:",
            seen.state_text,
            "Diff to the frame before:",
            seen.diff_text if seen.n_changed and not seen.new_level else "none",
            "What actions did so far:",
            *(memory.lines() or ["nothing is known"]),
            *_lessons(lessons),
            PERCEIVE + offered + ".",
        ]
    )
    parts += [
        {"type": "text", "text": "Present frame:"},
        picture(seen.grid),
        {"type": "text", "text": text},
    ]
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": parts}]


def reflect(
    reason: str, seen: Observation, memory: Memory, lessons: Sequence[Lesson]
) -> list[dict[str, Any]]:
    """Messages that ask for a lesson."""
    text = "\n".join(
        [
            f"What happened: {reason}.",
            "State before it:",
            seen.state_text,
            "What actions did so far:",
            *(memory.lines() or ["nothing is known"]),
            *_lessons(lessons),
            REFLECT,
        ]
    )
    parts = [picture(seen.grid), {"type": "text", "text": text}]
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": parts}]


def _lessons(lessons: Sequence[Lesson]) -> list[str]:
    lines = []
    for lesson in lessons[-LESSONS:]:
        lines += [f"learned: {item}" for item in lesson.learned]
        lines += [f"avoid: {item}" for item in lesson.avoid]
    return ["Lessons:", *lines] if lines else []


def _first_frame(seen: Observation) -> Any:
    """The first picture of an animated action."""
    if seen.n_frames < 2:
        return None
    try:
        return grids.as_grid(seen.frames[0])
    except ValueError:
        return None
