"""One game's agent: observes, guards, builds candidates, decides, learns.

With a System-1 its probabilities decide; without, or while it fails, the explorer does. A failure
of any layer costs at most the quality of one decision, and is counted.
"""

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from sysone.arc.actions import Action, parse
from sysone.arc.candidates import MAX_CANDIDATES, build_candidates
from sysone.arc.config import Hybrid
from sysone.arc.frame import GAME_OVER, WIN, Frame
from sysone.arc.lifecycle import Guard
from sysone.arc.memory import DIED, GAINED, NO_OP, Memory, Noted
from sysone.arc.observe import Observation, Watcher
from sysone.arc.policy import Explorer, Policy
from sysone.arc.wake import TIME_SHARE, Waker

MODEL, HEURISTIC, FORCED, FALLBACK = "model", "heuristic", "forced", "fallback"
SOURCES: Final = (MODEL, HEURISTIC, FORCED, FALLBACK)
FAILURES_IN_A_ROW: Final = 3
"""Failures of System-1 after which the explorer plays the rest of the game."""
NO_OP_PRIOR, DEADLY_PRIOR = 0.02, 0.01
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


@dataclass(slots=True)
class StepRecord:
    """How a decision came about."""

    source: str
    n_candidates: int = 0
    probability: float | None = None
    top: list[tuple[str, float]] = field(default_factory=list)
    reason: str = ""
    latency_ms: float = 0.0


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
    ) -> None:
        self.watcher = Watcher()
        self.guard = Guard()
        self.memory = Memory()
        self.explorer = policy if policy is not None else Explorer(seed)
        self.system1, self.system2 = system1, system2
        self.raw_policy = raw_policy
        self.max_candidates = max_candidates
        self.decisions: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.waker = Waker(hybrid)
        self._proposed: list[Action] = []
        """What System-2 proposed last in this level."""
        self._begun_s: float | None = None
        self._chunk = 64
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
        self._advise(seen)
        if self._proposed:
            front = [action for action in self._proposed if action in set(candidates)]
            candidates = [*front, *[action for action in candidates if action not in set(front)]]
        if self.system1 is not None and self._failures < FAILURES_IN_A_ROW:
            probabilities = self._ask(self.system1, seen, candidates)
            if probabilities is not None:
                if not self.raw_policy:
                    probabilities = self._with_prior(seen, candidates, probabilities)
                ranked = sorted(range(len(candidates)), key=lambda i: (-probabilities[i], i))
                top = [(candidates[i].text, probabilities[i]) for i in ranked[:3]]
                best = ranked[0]
                record = StepRecord(MODEL, len(candidates), probabilities[best], top)
                return candidates[best], record
        return self._explore(seen, candidates)

    def _explore(self, seen: Observation, candidates: list[Action]) -> tuple[Action, StepRecord]:
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
        instruction = "\n".join(self.memory.lines())
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
            total = sum(found) if good else 0.0
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
            edge = edges.get(action)
            if edge is not None and edge.kind in (NO_OP, DIED):
                weighted[index] *= NO_OP_PRIOR if edge.kind == NO_OP else DEADLY_PRIOR
            elif edge is None and action in proposed:
                weighted[index] *= self.waker.rules.system2_weight
        total = sum(weighted)
        return [value / total for value in weighted] if total > 0 else probabilities

    def _advise(self, seen: Observation) -> None:
        """Wake System-2 where that is due, and keep what it proposes in its text form."""
        if self.system2 is None:
            return
        now_s = time.monotonic()
        self._begun_s = now_s if self._begun_s is None else self._begun_s
        limit_s = TIME_SHARE * self.waker.rules.game_time_limit_s
        reason = self.waker.reason(seen, now_s, limit_s - (now_s - self._begun_s))
        if reason is None:
            return
        texts: list[str] = []
        failed = False
        try:
            texts = list(self.system2.propose(seen, self.memory))
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
