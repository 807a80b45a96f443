"""A System-1 checkpoint as a model of the System One service.

The state carries the grid, as hex text or rows; the picture is drawn from it here, so that the
model sees it as it does in a game.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sysone.arc.frame import NOT_FINISHED, STATES
from sysone.arc.observe import compact_text, parse_state_text, state_text
from sysone.arc.system1 import checkpoint, leaf
from sysone.arc.system1.backend import TooLongError
from sysone.arc.system1.leaf import Question as Asked
from sysone.arc.system1.model import System1Model
from sysone.arc.system1.player import SharedModel
from sysone.arc.wording import BOOLEAN_CANDIDATE, SCORE
from sysone.runs.errors import RunError
from sysone.systemone.encoder import DeadlineError, EncoderError
from sysone.systemone.heads import HeadError
from sysone.systemone.models import ModelEntry, Scored
from sysone.systemone.questions import Choice, Fault, Noul, Question, RequestError
from sysone.systemone.render import render
from sysone_core import grids

RELEASED: Final = "2026-12-01"
DESCRIPTION: Final = "Decisions about grids of ARC games, from a picture"
LEAVES: Final = 64


class ArcModel:
    """Answers questions about a grid; thread-safe."""

    def __init__(self, name: str, model: System1Model) -> None:
        self._shared = SharedModel(model)
        self._entry = ModelEntry(
            name, "Decisions about grids of ARC games, from a picture", RELEASED
        )
        self._version = f"{name}@{model.digest[:8]}"

    @property
    def entry(self) -> ModelEntry:
        """Name and description."""
        return self._entry

    @property
    def version(self) -> str:
        """The name with the digest of its weights."""
        return self._version

    @property
    def embeddings(self) -> None:
        """It has no encoder to share."""
        return

    @property
    def waits(self) -> bool:
        """It computes here."""
        return False

    def healthy(self) -> bool:
        """It is here."""
        return True

    def statistics(self) -> dict[str, dict[str, float]]:
        """It keeps no vectors."""
        return {}

    def score(self, state: object, question: Question, *, cached: bool = False) -> Scored | None:
        """Logits of one question's candidates."""
        found = self.score_all(state, [question], cached=cached)
        return None if found is None else found[0]

    def score_all(
        self,
        state: object,
        questions: Sequence[Question],
        *,
        cached: bool = False,
        deadline: float | None = None,
    ) -> list[Scored] | None:
        """Logits of every question's candidates; of a noul false and true.

        Raises:
            RequestError: no readable grid, or a question that the model does not take.
            EncoderError: the model made a number that is not finite.
            DeadlineError: the time is over.
        """
        if cached:
            return None
        grid, text = read_state(state, self._shared.model.backend.compact)
        found = []
        for question in questions:
            if deadline is not None and time.monotonic() > deadline:
                raise DeadlineError
            asked = self._asked(grid, text, question)
            try:
                logits = self._shared.logits(asked, LEAVES)
            except TooLongError as error:
                raise _fault(("state",), str(error)) from None
            except ArithmeticError as error:
                raise EncoderError(str(error)) from None
            found.append(Scored(logits, self._shared.model.backend.length(asked), False))
        return found

    @staticmethod
    def _asked(grid: Any, text: str, question: Question) -> Asked:
        instruction = render(question.instructions).strip()
        try:
            if isinstance(question, Choice):
                return leaf.encode_question(text, list(question.criteria), instruction, grid)
            if isinstance(question, Noul):
                told = [BOOLEAN_CANDIDATE]
                return leaf.encode_question(text, told, instruction, grid, "boolean")
            levels = [render(item) for item in question.criteria]
            return leaf.encode_question(text, levels, instruction or SCORE, grid, "score")
        except ValueError as error:
            raise _fault(("questions",), str(error)) from None


def read_state(state: object, compact: bool) -> tuple[Any, str]:
    """The grid of a request's state and the text that the model reads of it.

    Raises:
        RequestError: there is no grid that can be read; the text names ``state.grid``.
    """
    if isinstance(state, str):
        try:
            grid, levels, name = parse_state_text(state)
        except ValueError as error:
            raise _fault(("state", "grid"), f"state.grid: {error}") from None
        before: Any = None
    elif isinstance(state, dict):
        grid = _grid(state.get("grid"), "grid")
        given = state.get("previous_grid")
        before = None if given is None else _grid(given, "previous_grid")
        levels, name = state.get("levels_completed", 0), state.get("state", NOT_FINISHED)
        if not isinstance(levels, int) or isinstance(levels, bool) or levels < 0:
            where = ("state", "levels_completed")
            raise _fault(where, f"state.levels_completed is {levels!r}, expected 0 or more")
        if name not in STATES:
            listed = ", ".join(STATES)
            raise _fault(("state", "state"), f"state.state is {name!r:.60}, expected {listed}")
    else:
        raise _fault(("state", "grid"), "state.grid is missing: expected an object with a grid")
    if not compact:
        return grid, state_text(grid, levels, name)
    return grid, compact_text(grids.diff_text(before, grid)[0], levels, name)


def _grid(value: Any, key: str) -> Any:
    try:
        if value is None:
            raise ValueError("is missing")
        return grids.text_to_grid(value) if isinstance(value, str) else grids.as_grid(value)
    except (ValueError, TypeError) as error:
        message = f"state.{key} cannot be read: {error}; expected hex text or rows of 0 to 15"
        raise _fault(("state", key), message) from None


def _fault(loc: tuple[str, ...], text: str) -> RequestError:
    return RequestError([Fault(("body", *loc), text, "value_error")])


def load_model(name: str, folder: Path) -> ArcModel:
    """The served model of a checkpoint folder.

    Raises:
        HeadError: it is missing or refused.
    """
    try:
        return ArcModel(name, checkpoint.load(folder))
    except RunError as error:
        raise HeadError(str(error)) from None
