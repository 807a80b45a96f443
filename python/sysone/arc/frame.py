"""What a game answers, in the toolkit's field names, whoever answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

NOT_PLAYED: Final = "NOT_PLAYED"
NOT_FINISHED: Final = "NOT_FINISHED"
WIN: Final = "WIN"
GAME_OVER: Final = "GAME_OVER"
STATES: Final = (NOT_PLAYED, NOT_FINISHED, WIN, GAME_OVER)


@dataclass(slots=True)
class Frame:
    """One answer of a game. ``frame`` holds its pictures in time order: the last is the present."""

    game_id: str = ""
    frame: Sequence[Any] = ()
    state: str = NOT_PLAYED
    levels_completed: int = 0
    win_levels: int = 0
    available_actions: Sequence[int] = ()
    full_reset: bool = False
    guid: str | None = None
    action_input: Mapping[str, Any] = field(default_factory=dict)


def frame_of(raw: Any) -> Frame | None:
    """The toolkit's frame data as a `Frame`; None stays None."""
    if raw is None or isinstance(raw, Frame):
        return raw
    state = raw.state
    return Frame(
        game_id=raw.game_id,
        frame=raw.frame,
        state=str(getattr(state, "value", state)),
        levels_completed=raw.levels_completed,
        win_levels=raw.win_levels,
        available_actions=raw.available_actions,
        full_reset=raw.full_reset,
        guid=raw.guid,
    )
