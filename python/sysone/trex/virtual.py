"""A match on a simulated clock: answers land on a schedule instead of when threads finish."""

import heapq
from collections.abc import Callable

from sysone.trex.arena import Arena
from sysone.trex.pilot import Pilot
from sysone.trex.question import Decision
from sysone_core.trex import FRAME_MS

Answerer = Callable[[Decision, int], float]
"""Fills a decision's answer or error and returns when it comes, in ticks; a fraction is a time
between two ticks, and an answer that comes at a tick or just before it lands with that tick.

It is called with the tick that the question is asked before. The match's clock tells the time of
the question more finely.
"""


class VirtualClock:
    """Seconds that pass by whole frames; give it to a `Pilot` as its clock."""

    def __init__(self) -> None:
        self.ticks: float = 0

    def __call__(self) -> float:
        """The time of what goes on: a tick, or an answer's coming between two of them."""
        return self.ticks * FRAME_MS / 1000


class VirtualMatch:
    """Drives the one pilot of ``arena``; ``clock`` is the pilot's, if it has a virtual one."""

    def __init__(
        self,
        arena: Arena,
        answer: Answerer,
        clock: VirtualClock | None = None,
    ) -> None:
        (self.pilot,) = arena.pilots
        self.arena = arena
        self._answer = answer
        self._clock = clock if clock is not None else VirtualClock()
        self._under_way: list[tuple[float, int, Decision]] = []
        self._waiting_for = 0

    def start(self) -> None:
        """Start the game and ask about its first moment."""
        self.arena.start()
        self._ask()

    def tick(self) -> None:
        """Deliver what has come, in the order of arrival, and run one frame."""
        coming = self.arena.frame + 1
        while self._under_way and self._under_way[0][0] <= coming:
            time, _, decision = heapq.heappop(self._under_way)
            self._waiting_for -= 1
            self._clock.ticks = max(self._clock.ticks, time)
            self.pilot.deliver(decision)
            self._ask()
        self._clock.ticks = coming
        self.arena.tick()
        self._ask()

    def _ask(self) -> None:
        # One question at most becomes due by a change.
        if self._waiting_for >= self.pilot.inflight:
            return
        decision = self.pilot.next_question()
        if decision is None:
            return
        self._waiting_for += 1
        tick = self.arena.frame + 1
        time = self._answer(decision, tick)
        if time <= self._clock.ticks:
            # No answer comes the instant it is asked for: this one has the next tick.
            time = tick + 1
        heapq.heappush(self._under_way, (time, decision.seq, decision))


def play(pilot: Pilot, answer: Answerer, ticks: int, clock: VirtualClock | None = None) -> Arena:
    """Play ``pilot``'s game for so many ticks; returns the arena for its report."""
    arena = Arena([pilot], clock or VirtualClock())
    match = VirtualMatch(arena, answer, clock)
    match.start()
    for _ in range(ticks):
        match.tick()
    return arena
