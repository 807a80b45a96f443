"""One game's agent: observes, guards, builds candidates, decides, learns.

With a System-1 its probabilities decide; without, or while it fails, the explorer does. A failure
of any layer costs at most the quality of one decision, and is counted.
"""

import math
import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

from sysone.arc import wording
from sysone.arc.actions import RESET_ID, Action, parse
from sysone.arc.candidates import MAX_CANDIDATES, build_candidates
from sysone.arc.config import Hybrid
from sysone.arc.frame import GAME_OVER, WIN, Frame
from sysone.arc.lifecycle import Guard
from sysone.arc.memory import DIED, GAINED, MOVED_ON, NO_OP, Memory, Noted
from sysone.arc.observe import Observation, Watcher
from sysone.arc.policy import Explorer, Policy
from sysone.arc.wake import STALL, TIME_SHARE, Waker
from sysone.runs.sums import in_order

MODEL, HEURISTIC, FORCED, FALLBACK = "model", "heuristic", "forced", "fallback"
SOURCES: Final = (MODEL, HEURISTIC, FORCED, FALLBACK)
FAILURES_IN_A_ROW: Final = 3
"""Failures of System-1 after which the explorer plays the rest of the game."""
NO_OP_PRIOR, DEADLY_PRIOR = 0.02, 0.01
"""Factors on what is known to do nothing, or to end the game, in this very state. An action that
led to a state of ``n`` visits has 1 / (1 + n): a model that always takes its likeliest candidate
walks in circles without (node counting, Koenig and Szymanski 1999)."""
MIN_MODEL_SHARE: Final = 0.9
"""Share of decisions, forced ones left out, below which a requested model counts as degraded."""


class System1(Protocol):
    """A model that scores candidates."""

    def probabilities(
        self, observation: Observation, candidates: Sequence[Action], instruction: str, chunk: int
    ) -> Sequence[float]:
        """One probability a candidate; ``chunk`` is how many it may hold in memory at a time."""


class System2(Protocol):
    """A model that proposes actions now and then; its answer is advice."""

    def propose(self, observation: Observation, memory: Memory) -> Sequence[str]:
        """Texts of actions, the likeliest first."""


@runtime_checkable
class Adviser(System2, Protocol):
    """A System-2 that also says what it thinks, and learns from failures."""

    left_s: float
    """Seconds that a call may take at most."""

    def lines(self) -> list[str]:
        """Likeliest hypothesis, proposed actions and newest lesson, each a short line."""

    def report(self) -> dict[str, Any]:
        """What it said last, as plain data."""

    def reflect(self, reason: str, observation: Observation, memory: Memory) -> None:
        """Draw a lesson after GAME_OVER or a stall."""

    def gained(self, observation: Observation, memory: Memory) -> None:
        """A level was gained: what was proposed for the last one is over."""


@dataclass(slots=True)
class StepRecord:
    """How a decision came about."""

    source: str
    n_candidates: int = 0
    probability: float | None = None
    top: list[tuple[str, float]] = field(default_factory=list)
    reason: str = ""
    latency_ms: float = 0.0
    report: Any = None
    """What System-2 said, where it was woken in this step."""
    wake: str = ""
    """Why System-2 was woken in this step; empty where it was not."""
    shares: list[tuple[str, float]] = field(default_factory=list)
    """All candidates with the probabilities that decided, likeliest first."""


class Agent:
    """Plays one game: `decide`, do it, `note` what came of it, and again."""

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        seed: int = 0,
        system1: System1 | None = None,
        system2: System2 | None = None,
        raw_policy: bool = False,
        max_candidates: int = MAX_CANDIDATES,
        hybrid: Hybrid | None = None,
        explorer_weight: float = 1.0,
        sample: bool = False,
    ) -> None:
        """``explorer_weight`` is the factor on what the explorer would do; 1: it is not asked.

        With ``sample`` a candidate is drawn by its probability; else the likeliest is taken.
        """
        self._draws = random.Random(f"decide:{seed}") if sample else None
        self.watcher = Watcher()
        self.guard = Guard()
        self.memory = Memory()
        self.explorer = policy if policy is not None else Explorer(seed)
        self.system1, self.system2 = system1, system2
        self.raw_policy = raw_policy
        self.max_candidates = max_candidates
        self.explorer_weight = 1.0 if raw_policy else explorer_weight
        self.decisions: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.waker = Waker(hybrid)
        self._proposed: list[Action] = []
        """What System-2 proposed last in this level."""
        self._begun_s: float | None = None
        self._chunk = 64
        self._report: Any = None
        self._wake = ""
        self._wish: Action | None = None
        """What the explorer would do in this step, where it was asked."""
        self._failures = 0
        self._observation: Observation | None = None
        self.on_game_over_calls = 0

    @property
    def observation(self) -> Observation | None:
        """What was seen last."""
        return self._observation

    @property
    def done(self) -> bool:
        """Whether the game is won or answers nothing any more."""
        won = self._observation is not None and self._observation.state == WIN
        return won or self.guard.given_up

    @property
    def degraded(self) -> bool:
        """Whether a model was there and decided less than nine in ten."""
        free = sum(count for source, count in self.decisions.items() if source != FORCED)
        return self.system1 is not None and self.decisions[MODEL] < MIN_MODEL_SHARE * free

    def begin(self, frame: Frame | None) -> None:
        """The frame that the game begins with."""
        self._observation = self.watcher.observe(frame)
        if self._observation is not None:
            self.memory.start_level(self._observation)
            self.waker.observe(self._observation)

    def decide(self) -> tuple[Action, StepRecord]:
        """The next action, always a legal one, and how it came about."""
        start_ns = time.perf_counter_ns()
        action, record = self._decide()
        record.latency_ms = (time.perf_counter_ns() - start_ns) / 1e6
        self.decisions[record.source] += 1
        record.report, self._report = self._report, None
        record.wake, self._wake = self._wake, ""
        return action, record

    def note(self, action: Action, frame: Frame | None) -> Noted | None:
        """What the game answered; None stands for no answer."""
        before = self._observation
        after = self.watcher.observe(frame, action)
        self.guard.note(action, after)
        noted = None
        if before is not None and after is not None:
            if after.state == GAME_OVER and before.state != GAME_OVER:
                self.on_game_over_calls += 1
                self._reflect("game over", before)
            noted = self.memory.note(before, action, after)
            try:
                self.explorer.learn(before, action, after, noted)
            except Exception:  # what it cannot learn from is one step's knowledge
                self.errors["policy"] += 1
        elif after is not None:
            self.memory.start_level(after)
        if after is not None and not after.empty:
            self.waker.observe(after)
            if noted is not None and noted.kind == GAINED:
                self._proposed = []
                if isinstance(self.system2, Adviser):
                    self.system2.gained(after, self.memory)
        self._observation = after if after is not None else before
        return noted

    def _decide(self) -> tuple[Action, StepRecord]:
        seen = self._observation
        forced = self.guard.forced(seen)
        if forced is not None:
            return forced, StepRecord(FORCED, reason="lifecycle")
        if seen is None:
            return parse("ACTION1"), StepRecord(FORCED, reason="no picture yet")
        candidates = build_candidates(seen, self.max_candidates)
        if len(candidates) == 1:
            return candidates[0], StepRecord(FORCED, 1, reason="one candidate")
        # The model reads a few; the explorer takes a level for searched when it has tried all.
        offered = build_candidates(seen) if self.max_candidates < MAX_CANDIDATES else candidates
        self._wish = self._wished(seen, candidates, offered)
        if self._wish is not None and self._wish.id == RESET_ID:
            return self._wish, StepRecord(FORCED, len(candidates), reason="dead end")
        # Where a checkpoint says how sure is sure, System-1 is asked before anybody is woken.
        escalation = getattr(self.system1, "escalation", None)
        first: list[float] | None = None
        if self.system2 is not None and self.system1 is not None and escalation is not None:
            first = self._shares(seen, self._with_proposals(candidates))
        surest = max(first) if first else 0.0
        woken = self._advise(seen, novelty=escalation is None or surest < escalation)
        candidates = self._with_proposals(candidates)
        probabilities = first if first and not woken else self._shares(seen, candidates)
        if probabilities is not None:
            if not self.raw_policy:
                probabilities = self._with_prior(seen, candidates, probabilities)
            ranked = sorted(range(len(candidates)), key=lambda i: (-probabilities[i], i))
            shares = [(candidates[i].text, probabilities[i]) for i in ranked]
            best = ranked[0]
            if self._draws is not None:
                best = self._draws.choices(range(len(candidates)), probabilities)[0]
            record = StepRecord(MODEL, len(candidates), probabilities[best], shares[:3])
            record.shares = shares
            return candidates[best], record
        return self._explore(seen, offered)

    def _wished(
        self, seen: Observation, candidates: list[Action], offered: list[Action]
    ) -> Action | None:
        """What the explorer would do of all that is offered; it becomes a candidate."""
        if self.system1 is None or self.explorer_weight == 1 or self._failures >= FAILURES_IN_A_ROW:
            return None
        try:
            wish = self.explorer.choose(seen, offered, self.memory, self.guard.may_reset(seen))
        except Exception:
            self.errors["policy"] += 1
            return None
        if wish.id == RESET_ID:
            return wish if self.guard.may_reset(seen) else None
        if wish.id not in seen.available_actions:
            return None
        if wish.is_click:
            _add(candidates, wish)
        elif wish not in candidates:
            candidates.append(wish)
        return wish

    def _with_proposals(self, candidates: list[Action]) -> list[Action]:
        """System-2's proposals in front, all others in order behind them."""
        if not self._proposed:
            return candidates
        for action in self._proposed:
            _add(candidates, action)
        there = set(candidates)
        front = [action for action in self._proposed if action in there]
        return [*front, *[action for action in candidates if action not in set(front)]]

    def _shares(self, seen: Observation, candidates: list[Action]) -> list[float] | None:
        """System-1's own probabilities; None without one, or where it failed."""
        if self.system1 is None or self._failures >= FAILURES_IN_A_ROW:
            return None
        return self._ask(self.system1, seen, candidates)

    def _reflect(self, reason: str, seen: Observation) -> None:
        """A lesson, where System-2 is not resting from failures."""
        breaker = self.waker.breaker
        if not isinstance(self.system2, Adviser) or not breaker.closed(time.monotonic()):
            return
        try:
            self.system2.reflect(reason, seen, self.memory)
        except Exception:
            self.errors["system2"] += 1
            breaker.note(True, time.monotonic())

    def _explore(self, seen: Observation, candidates: list[Action]) -> tuple[Action, StepRecord]:
        if self._wish is not None:
            return self._wish, StepRecord(HEURISTIC, len(candidates))
        try:
            action = self.explorer.choose(seen, candidates, self.memory, self.guard.may_reset(seen))
        except Exception:
            self.errors["policy"] += 1
            return self._fallback(seen, candidates)
        legal = action.id in seen.available_actions or (
            action.id == 0 and self.guard.may_reset(seen)
        )
        if not legal:
            return self._fallback(seen, candidates)
        return action, StepRecord(HEURISTIC, len(candidates))

    def _fallback(self, seen: Observation, candidates: list[Action]) -> tuple[Action, StepRecord]:
        """The first candidate that was not tried in this state."""
        edges = self.memory.node(seen.masked_hash).edges
        chosen = next((action for action in candidates if action not in edges), candidates[0])
        return chosen, StepRecord(FALLBACK, len(candidates), reason="repaired")

    def _ask(
        self, system1: System1, seen: Observation, candidates: list[Action]
    ) -> list[float] | None:
        """System-1's probabilities; None where it failed, which is counted."""
        advice = self.system2.lines() if isinstance(self.system2, Adviser) else []
        instruction = "\n".join(wording.lines(advice, self.memory.lines(seen)))
        for attempt in range(2):
            try:
                found = list(system1.probabilities(seen, candidates, instruction, self._chunk))
            except MemoryError:
                # Half as many at a time, once; then the explorer.
                self.errors["memory"] += 1
                self._chunk = max(1, self._chunk // 2)
                if attempt == 0:
                    continue
                break
            except Exception:
                self.errors["system1"] += 1
                break
            good = len(found) == len(candidates) and all(
                math.isfinite(value) and value >= 0 for value in found
            )
            total = in_order(found) if good else 0.0
            if total > 0:
                self._failures = 0
                return [value / total for value in found]
            self.errors["system1"] += 1
            break
        self._failures += 1
        return None

    def _with_prior(
        self, seen: Observation, candidates: list[Action], probabilities: list[float]
    ) -> list[float]:
        edges = self.memory.node(seen.masked_hash).edges
        proposed = set(self._proposed)
        weighted = list(probabilities)
        for index, action in enumerate(candidates):
            if action == self._wish:
                # The explorer knows what was tried, and may want it again all the same.
                weighted[index] *= self.explorer_weight
                continue
            edge = edges.get(action)
            if edge is not None and edge.kind in (NO_OP, DIED):
                weighted[index] *= NO_OP_PRIOR if edge.kind == NO_OP else DEADLY_PRIOR
            elif edge is None and action in proposed:
                weighted[index] *= self.waker.rules.system2_weight
            elif edge is not None and edge.kind == MOVED_ON:
                target = self.memory.graph.get(edge.target)
                weighted[index] /= 1 + (1 if target is None else target.visits)
        total = in_order(weighted)
        return [value / total for value in weighted] if total > 0 else probabilities

    def _advise(self, seen: Observation, novelty: bool = True) -> bool:
        """Wake System-2 where that is due, and keep what it proposes; whether it was woken.

        Without ``novelty`` something new alone wakes nobody: System-1 is sure of itself.
        """
        if self.system2 is None:
            return False
        now_s = time.monotonic()
        self._begun_s = now_s if self._begun_s is None else self._begun_s
        limit_s = TIME_SHARE * self.waker.rules.game_time_limit_s
        left_s = limit_s - (now_s - self._begun_s)
        reason = self.waker.reason(seen, now_s, left_s, novelty)
        if reason is None:
            return False
        self._wake = reason
        if isinstance(self.system2, Adviser):
            self.system2.left_s = left_s
        if reason == STALL:
            self._reflect("stall", seen)
        texts: list[str] = []
        failed = False
        try:
            texts = list(self.system2.propose(seen, self.memory))
            if isinstance(self.system2, Adviser):
                self._report = self.system2.report()
        except Exception:
            self.errors["system2"] += 1
            failed = True
        proposed: list[Action] = []
        for text in texts:
            try:
                action = parse(str(text))
            except ValueError:
                self.errors["system2_malformed"] += 1
                continue
            if action.id in seen.available_actions:
                proposed.append(action)
        ended_s = time.monotonic()
        self.waker.woken(reason, seen, ended_s - now_s)
        self.waker.failed(failed or (bool(texts) and not proposed), ended_s)
        if proposed:
            self._proposed = list(dict.fromkeys(proposed))
        return True


def _add(candidates: list[Action], action: Action) -> None:
    """Add a click that is no candidate, or where there is no room take the nearest one's place."""
    if action in candidates or not action.is_click:
        return
    if len(candidates) < MAX_CANDIDATES:
        candidates.append(action)
        return
    clicks = [index for index, other in enumerate(candidates) if other.is_click]
    if clicks:
        nearest = min(
            clicks,
            key=lambda i: abs(candidates[i].x - action.x) + abs(candidates[i].y - action.y),
        )
        candidates[nearest] = action
