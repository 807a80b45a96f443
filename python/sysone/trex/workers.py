"""The threads that carry a pilot's questions to its player: one for each request in flight."""

import threading
from typing import Protocol

from sysone.trex.decide import Answer, Timing
from sysone.trex.pilot import Pilot
from sysone.trex.question import Decision
from sysone_core.trex import Snapshot

LOOK_AGAIN_S = 0.05
PAUSE_AFTER_FAILURE_S = 0.25
"""An endpoint that refuses at once must not be asked thousands of times a second."""


class Brain(Protocol):
    """Who is asked."""

    def think(self, snap: Snapshot, timing: Timing, prompt: str, guarded: bool) -> Answer:
        """Answer one question; may block and may raise."""


class Workers:
    """Asks ``brain`` on behalf of ``pilot`` until `close`.

    While they live, everything that touches the pilot holds its lock, as `Arena.tick` does.
    """

    def __init__(self, pilot: Pilot, brain: Brain) -> None:
        self._pilot = pilot
        self._brain = brain
        self._changed = threading.Condition()
        self._closed = threading.Event()
        pilot.lock = self._changed
        # One question at most becomes due by a change, so one worker is enough.
        pilot.wake = self._changed.notify
        self._threads = [
            threading.Thread(target=self._work, name=f"trex-ask-{number}", daemon=True)
            for number in range(pilot.inflight)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Ask no more. Does not wait for answers under way: closing the brain ends those."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()

    def join(self, timeout_s: float) -> None:
        """Wait for the threads to end, at most so long each."""
        for thread in self._threads:
            thread.join(timeout_s)

    def _work(self) -> None:
        while (decision := self._next()) is not None:
            self._carry(decision)
            with self._changed:
                self._pilot.deliver(decision)

    def _next(self) -> Decision | None:
        with self._changed:
            while not self._closed.is_set():
                decision = self._pilot.next_question()
                if decision is not None:
                    return decision
                self._changed.wait(LOOK_AGAIN_S)
        return None

    def _carry(self, decision: Decision) -> None:
        pilot = self._pilot
        try:
            decision.answer = self._brain.think(
                decision.snapshot, decision.timing, pilot.prompt, pilot.guarded
            )
        except Exception as error:  # whatever went wrong, the game goes on without this answer
            decision.error = (str(error) or type(error).__name__)[:200]
            self._closed.wait(PAUSE_AFTER_FAILURE_S)
