"""System-2 in a game: perceives, proposes, and draws lessons that last as long as the game."""

import math
from functools import cache
from typing import Any, Final

import msgspec

from sysone.arc.memory import Memory
from sysone.arc.observe import Observation
from sysone.arc.system2 import prompts
from sysone.arc.system2.reply import Lesson, PerceptionReport, parse_lesson, parse_report
from sysone.arc.system2.transport import CallError, Chat, OpenAIChat
from sysone.runs.errors import RunError

KEPT_LESSONS: Final = 20
LOCAL: Final = "transformers:"
LINE: Final = 120
"""Characters of a line of advice: System-1 reads every one of them at every step."""


class GameAdviser:
    """One for each game; many share a chat."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat
        self.lessons: list[Lesson] = []
        self.last = PerceptionReport()
        self.left_s = math.inf
        """Seconds of the game's time; a call that would outlast them is cut off."""

    def propose(self, observation: Observation, memory: Memory) -> list[str]:
        """Texts of actions, the likeliest first.

        Raises:
            CallError: no reply, or one in which nothing can be read.
        """
        report = self.perceive(observation, memory)
        return [proposal.action for proposal in report.actions]

    def perceive(self, observation: Observation, memory: Memory) -> PerceptionReport:
        """The report on what is seen now.

        Raises:
            CallError: no reply, or one in which nothing can be read.
        """
        text = self._chat(prompts.perceive(observation, memory, self.lessons), self.left_s)
        report = parse_report(text, observation.available_actions)
        if report.empty:
            raise CallError(f"nothing can be read in the reply {text[:80]!r}")
        self.last = report
        return report

    def reflect(self, reason: str, observation: Observation, memory: Memory) -> None:
        """Draw a lesson; doubles are merged, and the newest are kept.

        Raises:
            CallError: no reply, or one in which nothing can be read.
        """
        messages = prompts.reflect(reason, observation, memory, self.lessons)
        text = self._chat(messages, self.left_s)
        lesson = parse_lesson(text)
        if lesson.empty:
            raise CallError(f"nothing can be read in the reply {text[:80]!r}")
        self.lessons = [*[old for old in self.lessons if old != lesson], lesson][-KEPT_LESSONS:]

    def gained(self, observation: Observation, memory: Memory) -> None:
        """What was seen and proposed was of the level before; lessons stay."""
        self.last = PerceptionReport()

    def lines(self) -> list[str]:
        """For System-1: likeliest hypothesis, proposed actions, newest lesson."""
        lines = []
        if self.last.hypotheses:
            lines.append(f"guess: {self.last.hypotheses[0]}")
        if self.last.actions:
            lines.append(f"proposed: {', '.join(item.action for item in self.last.actions[:4])}")
        if self.lessons:
            newest = self.lessons[-1]
            said = [*newest.avoid, *newest.learned, *newest.next_try]
            lines.append(f"lesson: {said[0]}")
        return [line[:LINE] for line in lines]

    def report(self) -> dict[str, Any]:
        """The last report as plain data."""
        found: dict[str, Any] = msgspec.to_builtins(self.last)
        return found


@cache
def chat_at(address: str, model: str = "", force: bool = False) -> Chat:
    """The chat of an address; one for a process.

    Raises:
        RunError: no address, no such model, or it cannot fit and ``force`` is not given.
    """
    if address.startswith(LOCAL):
        from sysone.arc.system2.local import TransformersChat

        name = address.removeprefix(LOCAL)
        if not name:
            raise RunError(
                "--system2 is transformers: without a model, expected transformers:MODEL"
            )
        return TransformersChat(name, force=force)
    return OpenAIChat(address, model)


def make_adviser(address: str, model: str = "", force: bool = False) -> GameAdviser:
    """An adviser for one game.

    Raises:
        RunError: as `chat_at`.
    """
    return GameAdviser(chat_at(address, model, force))
