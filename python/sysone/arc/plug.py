"""Somebody else's agent as a player: called as the official framework calls its agents."""

import importlib
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, Final

from sysone.arc.actions import ALL_IDS, CLICK_ID, RESET, Action, allowed, click, simple
from sysone.arc.decide import FALLBACK, StepRecord
from sysone.arc.frame import WIN, Frame
from sysone.arc.toolkit import available
from sysone.runs.errors import RunError

KEPT_FRAMES: Final = 16
"""The framework's list grows without limit; an agent is given the newest of it."""
AGENT: Final = "agent"
"""Source of a decision that a plugged-in agent made."""


def load_agent_class(name: str) -> type[Any]:
    """The class ``module:Class``; modules are looked for in the current directory too.

    Raises:
        RunError: the text is not of that form, or there is no such module or class.
    """
    module_name, _, class_name = name.partition(":")
    if not module_name or not class_name:
        raise RunError(f"--agent is {name!r}, expected module:Class")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise RunError(f"--agent {name}: {error}") from error
    found = getattr(module, class_name, None)
    if not isinstance(found, type):
        raise RunError(f"--agent {name}: {module_name} has no class {class_name}")
    missing = [part for part in ("is_done", "choose_action") if not hasattr(found, part)]
    if missing:
        raise RunError(f"--agent {name}: {class_name} has no {' and no '.join(missing)}")
    return found


def make_agent(agent_class: type[Any], game_id: str, env: Any) -> Any:
    """An instance, with the framework's arguments or, where it takes none, without.

    Raises:
        RunError: it raises either way; the text is its error's.
    """
    try:
        return agent_class(
            card_id="local",
            game_id=game_id,
            agent_name=agent_class.__name__.lower(),
            ROOT_URL="",
            record=False,
            arc_env=getattr(env, "wrapper", None),
            tags=[],
        )
    except TypeError:
        pass
    except Exception as error:
        raise RunError(f"{agent_class.__name__} cannot be made: {error}") from error
    try:
        return agent_class()
    except Exception as error:
        raise RunError(f"{agent_class.__name__} cannot be made: {error}") from error


class PluggedPlayer:
    """Plays through ``is_done`` and ``choose_action``. An agent that raises ends its game."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent
        self.errors: Counter[str] = Counter()
        self.failure = ""
        self._frames: list[Any] = [_official(Frame())]
        self._latest: Any = self._frames[0]
        self._available: tuple[int, ...] = ALL_IDS
        self._state = ""

    @property
    def done(self) -> bool:
        """Whether the agent says so, or broke."""
        if self.failure or self._state == WIN:
            return True
        try:
            return bool(self.agent.is_done(self._frames, self._frames[-1]))
        except Exception as error:
            return self._broke("is_done", error)

    def begin(self, frame: Frame | None) -> None:
        """The frame that the game begins with."""
        if frame is not None:
            self._latest = _official(frame)
            self._available = allowed(frame.available_actions)

    def decide(self) -> tuple[Action, StepRecord]:
        """What the agent chooses; RESET where it raises, as the game ends there."""
        start_ns = time.perf_counter_ns()
        try:
            chosen = self.agent.choose_action(self._frames, self._latest)
            action = as_action(chosen)
        except Exception as error:
            self._broke("choose_action", error)
            return RESET, StepRecord(FALLBACK, reason=self.failure)
        source = AGENT
        if action.id != RESET.id and action.id not in self._available:
            self.errors["illegal"] += 1
            action, source = _repaired(self._available), FALLBACK
        latency_ms = (time.perf_counter_ns() - start_ns) / 1e6
        return action, StepRecord(source, latency_ms=latency_ms)

    def note(self, action: Action, frame: Frame | None) -> None:
        """What the game answered."""
        if frame is None:
            self.errors["no_answer"] += 1
            return
        self._state = frame.state
        self._latest = _official(frame)
        self._frames.append(self._latest)
        del self._frames[:-KEPT_FRAMES]
        if len(frame.frame):
            self._available = allowed(frame.available_actions)

    def _broke(self, where: str, error: Exception) -> bool:
        self.errors["agent"] += 1
        self.failure = f"{where} raised {type(error).__name__}: {error}"
        return True


def as_action(chosen: Any) -> Action:
    """The action in whatever an agent returns: the toolkit's enum member, ours, or a tuple.

    Raises:
        ValueError: it is none of these.
    """
    if isinstance(chosen, Action):
        return chosen
    if isinstance(chosen, tuple) and chosen and isinstance(chosen[0], int):
        return click(chosen[1], chosen[2]) if chosen[0] == CLICK_ID else simple(chosen[0])
    value = getattr(chosen, "value", None)
    if not isinstance(value, int):
        raise ValueError(f"the agent chose {chosen!r}, expected a GameAction")
    if value != CLICK_ID:
        return simple(value)
    data = getattr(chosen, "action_data", None)
    return click(int(getattr(data, "x", 0)), int(getattr(data, "y", 0)))


def _repaired(ids: tuple[int, ...]) -> Action:
    return click(32, 32) if ids[0] == CLICK_ID else simple(ids[0])


def _official(frame: Frame) -> Any:
    """The toolkit's own frame data where it is installed, else ours with the same fields."""
    pictures = [getattr(picture, "tolist", lambda p=picture: p)() for picture in frame.frame]
    if not available():
        return Frame(
            frame.game_id,
            pictures,
            frame.state,
            frame.levels_completed,
            frame.win_levels,
            frame.available_actions,
            frame.full_reset,
            frame.guid,
        )
    from arcengine import FrameData, GameState

    return FrameData(
        game_id=frame.game_id,
        frame=pictures,
        state=GameState(frame.state),
        levels_completed=frame.levels_completed,
        win_levels=frame.win_levels,
        guid=frame.guid,
        full_reset=frame.full_reset,
        available_actions=list(frame.available_actions),
    )
