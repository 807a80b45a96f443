"""What System-2 says, and how it is read: no reply raises, and nothing illegal gets through."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from sysone.arc.actions import CLICK_ID, RESET_ID, Action, click, simple

MAX_SUMMARY: Final = 600
MAX_HYPOTHESES: Final = 3
MAX_ACTIONS: Final = 8
MAX_ENTITIES: Final = 32
MAX_STRINGS: Final = 8
MAX_STRING: Final = 200
MAX_TEXT: Final = 256 << 10

_FENCED: Final = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL | re.IGNORECASE)
_NAMED: Final = re.compile(
    r"ACTION\s*([1-7])(?:\W{0,6}x\W{0,4}(\d{1,4})\W{1,6}y\W{0,4}(\d{1,4})"
    r"|\W{0,3}\(?\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)?)?",
    re.IGNORECASE,
)

_CLICK: Final = re.compile(r"\s*ACTION\s*6\b", re.IGNORECASE)


class Entity(msgspec.Struct, frozen=True):
    """A thing on the picture."""

    name: str
    colour: str = ""
    x: int = -1
    y: int = -1
    role: str = ""


class Proposal(msgspec.Struct, frozen=True):
    """An action that System-2 would try."""

    action: str
    """In its frozen text form, always legal."""
    why: str = ""


class PerceptionReport(msgspec.Struct, frozen=True):
    """What System-2 sees and would do."""

    summary: str = ""
    entities: tuple[Entity, ...] = ()
    hypotheses: tuple[str, ...] = ()
    actions: tuple[Proposal, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing could be read."""
        return self == PerceptionReport()


class Lesson(msgspec.Struct, frozen=True):
    """What System-2 learnt from a failure."""

    learned: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    next_try: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing could be read."""
        return self == Lesson()


def parse_report(text: str, available: Sequence[int]) -> PerceptionReport:
    """The report in a reply: JSON, else JSON within it, else the actions that it names."""
    found = find_object(text)
    if found is not None:
        report = _report(found, available)
        if not report.empty:
            return report
    named = [action for action in _named(text) if _legal(action, available)]
    texts = list(dict.fromkeys(action.text for action in named))[:MAX_ACTIONS]
    return PerceptionReport(actions=tuple(Proposal(item) for item in texts))


def parse_lesson(text: str) -> Lesson:
    """The lesson in a reply; an empty one where there is none."""
    found = find_object(text) or {}
    return Lesson(*(_strings(found.get(key)) for key in ("learned", "avoid", "next_try")))


def find_object(text: str) -> dict[str, Any] | None:
    """The whole reply as a JSON object, else the last fenced or braced one; None without."""
    text = text[:MAX_TEXT]
    for candidate in _candidates(text):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found
    return None


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    yield from reversed(_FENCED.findall(text))
    # Braces from the back: the last closing one with each opening one, outermost first.
    end = text.rfind("}")
    tries = 0
    start = text.find("{")
    while 0 <= start < end and tries < 16:
        yield text[start : end + 1]
        start = text.find("{", start + 1)
        tries += 1


def _report(found: dict[str, Any], available: Sequence[int]) -> PerceptionReport:
    actions = []
    listed = found.get("actions", found.get("proposed_actions"))
    for item in listed if isinstance(listed, list) else []:
        action = _action(item)
        if action is not None and _legal(action, available):
            why = item.get("why") if isinstance(item, dict) else ""
            actions.append(Proposal(action.text, _string(why, MAX_STRING)))
    unique = list({proposal.action: proposal for proposal in reversed(actions)}.values())[::-1]
    entities = found.get("entities")
    return PerceptionReport(
        summary=_string(found.get("summary"), MAX_SUMMARY),
        entities=tuple(
            entity
            for item in (entities if isinstance(entities, list) else [])[:MAX_ENTITIES]
            if (entity := _entity(item)) is not None
        ),
        hypotheses=_strings(found.get("hypotheses"))[:MAX_HYPOTHESES],
        actions=tuple(unique[:MAX_ACTIONS]),
    )


def _action(item: Any) -> Action | None:
    if isinstance(item, str):
        return next(_named(item), None)
    if not isinstance(item, dict):
        return None
    text = str(item.get("action", item.get("name", "")))[:MAX_STRING]
    x, y = _number(item.get("x")), _number(item.get("y"))
    if _CLICK.match(text) and x is not None and y is not None:
        return click(x, y)
    return next(_named(text), None)


def _named(text: str) -> Iterator[Action]:
    for found in _NAMED.finditer(text):
        id_ = int(found[1])
        if id_ != CLICK_ID:
            yield simple(id_)
            continue
        x, y = (found[2], found[3]) if found[2] else (found[4], found[5])
        if x and y:
            yield click(int(x), int(y))


def _legal(action: Action, available: Sequence[int]) -> bool:
    return action.id != RESET_ID and action.id in available


def _entity(item: Any) -> Entity | None:
    if not isinstance(item, dict) or not isinstance(item.get("name"), str):
        return None
    x, y = _number(item.get("x")), _number(item.get("y"))
    return Entity(
        item["name"][:MAX_STRING],
        _string(item.get("colour", item.get("color")), MAX_STRING),
        -1 if x is None else min(max(x, 0), 63),
        -1 if y is None else min(max(y, 0), 63),
        _string(item.get("role"), MAX_STRING),
    )


def _number(value: Any) -> int | None:
    """A whole number out of what JSON may hold, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return int(float(value))
    except (ValueError, OverflowError):
        return None


def _string(value: Any, limit: int) -> str:
    return " ".join(value.split())[:limit] if isinstance(value, str) else ""


def _strings(value: Any) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    found = (_string(item, MAX_STRING) for item in listed)
    return tuple(item for item in found if item)[:MAX_STRINGS]
