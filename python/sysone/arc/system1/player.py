"""One model for all games of a process, and the agent's side of it.

Threads of several games may ask at once: whoever holds the model answers all questions that wait,
in one call.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import Any, Final

from sysone.arc import wording
from sysone.arc.actions import Action
from sysone.arc.observe import Observation
from sysone.arc.system1 import checkpoint, leaf
from sysone.arc.system1.leaf import Question
from sysone.arc.system1.model import System1Model, fresh
from sysone.arc.system1.room import place_for

TOGETHER: Final = 16
"""Questions in one call at most."""


class SharedModel:
    """A model behind a lock and a queue."""

    def __init__(self, model: System1Model) -> None:
        self.model = model.eval()
        self.calls = 0
        self.largest = 0
        self._turn = threading.Lock()
        self._mutex = threading.Lock()
        self._waiting: list[tuple[Question, int, Future[list[float]]]] = []

    def ask(self, question: Question, chunk: int) -> list[float]:
        """Probabilities of the question's candidates; waits for its turn.

        Raises:
            MemoryError: the device has no memory left; fewer leaves at a time may fit.
            ArithmeticError: a logit is not finite.
            TooLongError: a leaf is longer than the model reads.
        """
        mine: Future[list[float]] = Future()
        with self._mutex:
            self._waiting.append((question, chunk, mine))
        while not mine.done():
            with self._turn:
                if not mine.done():
                    self._answer()
        return mine.result()

    def logits(self, question: Question, chunk: int) -> list[float]:
        """Logits of one question, temperature applied; of a boolean those of false and true.

        Raises:
            ArithmeticError: one is not finite.
            TooLongError: a leaf is longer than the model reads.
        """
        with self._turn:
            return self.model.scaled_logits([question], chunk)[0]

    def _answer(self) -> None:
        with self._mutex:
            batch, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
        self.calls += 1
        self.largest = max(self.largest, len(batch))
        chunk = min(size for _, size, _ in batch)
        try:
            found = self._probabilities([question for question, _, _ in batch], chunk)
        except Exception as error:
            if len(batch) == 1:
                batch[0][2].set_exception(error)
                return
            # Whose fault it was shows one by one.
            for question, size, future in batch:
                try:
                    future.set_result(self._probabilities([question], size)[0])
                except Exception as own:
                    future.set_exception(own)
            return
        for (_, _, future), shares in zip(batch, found, strict=True):
            future.set_result(shares)

    def _probabilities(self, questions: Sequence[Question], chunk: int) -> list[list[float]]:
        try:
            return self.model.probabilities(questions, chunk)
        except RuntimeError as error:
            if "out of memory" in str(error).lower() or "can't allocate" in str(error).lower():
                raise MemoryError(str(error)) from None
            raise


class ModelSystem1:
    """What an agent asks: one of these for each game, all on one model."""

    def __init__(self, shared: SharedModel) -> None:
        self.shared = shared
        self.escalation = shared.model.escalation
        self.shortened_states = 0

    def probabilities(
        self, observation: Observation, candidates: Sequence[Action], instruction: str, chunk: int
    ) -> Sequence[float]:
        """One probability a candidate, from the picture; ``chunk`` leaves at a time."""
        question = self.question(observation, candidates, instruction)
        return self.shared.ask(question, chunk)

    def question(
        self, seen: Observation, candidates: Sequence[Action], instruction: str
    ) -> Question:
        """The question; where its state is too long, about a shorter one, which is counted."""
        backend = self.shared.model.backend
        asked = f"{wording.CHOICE}\n{instruction}" if instruction else wording.CHOICE
        texts = [action.text for action in candidates]
        compact = leaf.compact_state(seen)
        states = [compact, compact.split("\n", 1)[0]]
        if not backend.compact:
            states.insert(0, seen.state_text)
        for state in states:
            question = leaf.choice(seen.grid, state, texts, asked)
            if backend.length(question) <= backend.max_tokens:
                break
            self.shortened_states += 1
        return question


@cache
def shared_model(
    place: str, backend: str = "auto", seed: int = 0, force: bool = False, **options: Any
) -> SharedModel:
    """The one instance of this process.

    Args:
        place: a checkpoint as ``--checkpoint`` has it; empty for fresh seeded weights.
        backend: auto, tiny or hf.
        seed: of fresh weights.
        force: load a large backbone even where it does not fit.
        **options: what the backend takes, such as ``device`` and ``model``.

    Raises:
        RunError: there is no such checkpoint, it is refused, or its backbone has no room.
    """
    if not place:
        if backend == "hf" and "device" not in options:
            base = str(options.get("model", ""))
            options["device"] = place_for(base, base, backend, force)
        return SharedModel(fresh("hf" if backend == "hf" else "tiny", seed, **options))
    from sysone.arc.weights.source import resolve

    folder = Path(checkpoint.SHIPPED if place == SHIPPED else resolve(place))
    record = checkpoint.read_record(folder)
    if record["backend"] == "hf" and backend != "tiny" and "device" not in options:
        base = str(options.get("model") or record.get("base", ""))
        options["device"] = place_for(f"checkpoint {place}", base, backend, force)
    return SharedModel(checkpoint.load(folder, backend=backend, **options))


SHIPPED: Final = "shipped"
"""Stands for the checkpoint that comes with the package."""
