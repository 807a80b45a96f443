"""Who chooses among the candidates when there is no model: at random, or by exploring."""

import random
from collections import Counter
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sysone.arc.actions import CLICK_ID, RESET, RESET_ID, UNDO_ID, Action, click, simple
from sysone.arc.candidates import objects
from sysone.arc.clicker import Clicker
from sysone.arc.frame import GAME_OVER
from sysone.arc.memory import DIED, GAINED, NO_OP, Memory, Node, Noted
from sysone.arc.observe import Observation, repair_grid
from sysone.arc.places import TriedAt
from sysone.arc.pusher import push_plan
from sysone.arc.walker import Walker
from sysone_core import grids

RESET_EVERY: Final = 100
"""Actions between two level resets of the explorer's own wish."""
PLANS: Final = 6
"""Plans a decision may throw away before it looks elsewhere."""
STALE: Final = 24
"""Actions in a row without a new state after which the walker's plans are not trusted."""
PUSH_PLANS: Final = 6
"""Searches for a way to push that may fail in a level; each can cost a third of a second."""
BLOCKED_TRIES: Final = 6
"""The same for the four directions, which a wall may have stopped."""
IDLE_TRIES: Final = 3
"""Tries without effect after which an action, or a kind of object, is left for last."""

Kind = tuple[int, int]
"""Value and size of an object."""


class Policy(Protocol):
    """Chooses one of the candidates, and learns from what comes of it."""

    name: str

    def choose(
        self, observation: Observation, candidates: list[Action], memory: Memory, may_reset: bool
    ) -> Action:
        """One of the candidates, or RESET where that is allowed."""

    def learn(self, before: Observation, action: Action, after: Observation, noted: Noted) -> None:
        """Take note of what an action did."""


class RandomPolicy:
    """The framework's random agent: an action on offer, and for a click any of the 4,096 cells."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(seed)

    def choose(
        self, observation: Observation, candidates: list[Action], memory: Memory, may_reset: bool
    ) -> Action:
        """A uniformly drawn id; for a click a uniformly drawn cell."""
        id_ = self._rng.choice(observation.available_actions)
        if id_ == CLICK_ID:
            return click(self._rng.randrange(64), self._rng.randrange(64))
        return simple(id_)

    def learn(self, before: Observation, action: Action, after: Observation, noted: Noted) -> None:
        """Nothing is learnt."""


class Explorer:
    """Explores with as few actions as it can; deterministic for a seed.

    In this order: every action once; the walker's plan, where something walks; clicks on objects
    that promise something; the nearest state with an untried action; the rest of the anchors;
    undo, and at a dead end a level reset. What is known to do nothing in a masked state is not
    done again there.
    """

    name = "heuristic"

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self.walker = Walker()
        self.clicker = Clicker()
        self._tried_at = TriedAt()
        self._route: list[Action] = []
        self._entering: frozenset[int] = frozenset()
        self._clicked: dict[Kind, list[int]] = {}
        """Tries and effects."""
        self._clicks: Counter[Action] = Counter()
        """Clicks on objects in this level."""
        self._since_reset = RESET_EVERY
        self._unpushable: set[int] = set()
        """States from which no plan for the boxes was found."""
        self._stale = 0
        self._last_click_kind: Kind | None = None
        self._order = list(range(1, 8))

    def choose(
        self, observation: Observation, candidates: list[Action], memory: Memory, may_reset: bool
    ) -> Action:
        """The next action of the exploration."""
        self._since_reset += 1
        plain = [action for action in candidates if not action.is_click]
        clicks = len(plain) < len(candidates)
        node = memory.node(observation.masked_hash)
        # Each kind of action once: nothing can be planned before.
        for action in plain:
            effect = memory.effects.get(action.text)
            if action.id == UNDO_ID or action in node.edges:
                continue
            # One that did nothing so far may have been blocked: it gets some more places.
            if effect is None or (not effect.changed and not self._idle(action, memory)):
                return self._take(action)
        planned = self._walk(observation, plain, node, may_reset)
        if planned is not None:
            return planned
        if clicks:
            promising = self._promising(observation, node)
            clicked = self.clicker.propose(observation, node)
            if clicked is not None:
                self._last_click_kind = None
                return self._take(clicked)
            clicked = self._click(promising, node)
            if clicked is not None:
                return clicked
        return self._explore(observation, candidates, memory, may_reset, clicks)

    def learn(self, before: Observation, action: Action, after: Observation, noted: Noted) -> None:
        """Feed the walker and the kinds of objects."""
        walker = self.walker
        if action.is_click:
            self.clicker.learn(before.grid, action, after.grid, noted.kind)
        if action.id == RESET_ID or after.new_level:
            self.clicker.start_level(again=noted.kind != GAINED)
            if noted.kind == GAINED:
                walker.learn_goal(before.grid, action, _last_of_level(before, after))
                self._clicks.clear()
            self._route = []
            self._unpushable.clear()
            self._stale = 0
            self._tried_at.clear()
            walker.start_level(after.grid, again=noted.kind != GAINED)
            return
        if action.is_click:
            if self._last_click_kind is not None:
                counts = self._clicked.setdefault(self._last_click_kind, [0, 0])
                counts[0] += 1
                counts[1] += noted.kind != NO_OP
            return
        if action.id == UNDO_ID:
            walker.undone(after.grid)
            self._route = []
            return
        self._stale = 0 if noted.novel else self._stale + 1
        events, box = walker.events, walker.box
        walker.learn(
            before.grid,
            action,
            after.grid,
            noted.moves,
            noted.kind != NO_OP,
            after.state == GAME_OVER,
            after.mask,
        )
        if walker.events != events:
            self._tried_at.clear()
            self._route = []
        if box is not None and self._entering and not self._route:
            # The end of a plan: made from there it brought what it brought.
            self._tried_at.add(box[:2], action.id)
        if box is not None and walker.box == box:
            self._tried_at.add(box[:2], action.id)
            walker.forget_reopened(self._entering if not self._route else frozenset())
            self._route = []

    def _take(self, action: Action) -> Action:
        self._route = []
        self._entering = frozenset()
        return action

    def _walk(
        self, observation: Observation, plain: list[Action], node: Node, may_reset: bool
    ) -> Action | None:
        walker = self.walker
        if not walker.ready or walker.box is None or self._stale > STALE:
            return None
        failed = self._unpushable
        if not self._route and observation.masked_hash not in failed and len(failed) < PUSH_PLANS:
            pushes = push_plan(walker, observation.grid, observation.mask)
            if pushes is None:
                if walker.pushed:
                    failed.add(observation.masked_hash)
                if walker.pushed and may_reset and self._since_reset > RESET_EVERY:
                    self._since_reset = 0
                    return self._take(RESET)
            else:
                self._route, self._entering = pushes, frozenset()
        for _ in range(PLANS):
            if not self._route:
                plan = walker.plan(observation.grid, observation.mask, self._tried_at)
                if plan is None:
                    return None
                self._route = plan.actions
                self._entering = plan.values
            action = self._route.pop(0)
            edge = node.edges.get(action)
            if edge is None or edge.kind not in (NO_OP, DIED):
                return action if action in plain else None
            # The graph knows better: in this very state that step leads nowhere.
            self._tried_at.add(walker.box[:2], action.id)
            self._route = []
        return None

    def _promising(self, observation: Observation, node: Node) -> list[tuple[Action, Kind]]:
        """Objects to click by salience, without the kinds that never did anything."""
        found = []
        for x, y, value, size in objects(observation):
            tries, effects = self._clicked.get((value, size), (0, 0))
            if effects or tries < IDLE_TRIES:
                found.append((click(x, y), (value, size)))
        node.promising = tuple(action for action, _ in found)
        return found

    def _click(self, promising: list[tuple[Action, Kind]], node: Node) -> Action | None:
        """An object that was not clicked in this state, of the most promising kind."""
        best: tuple[tuple[int, int, int], Action, Kind] | None = None
        for rank, (action, kind) in enumerate(promising):
            if action in node.edges:
                continue
            tier = 0 if self._clicked.get(kind, (0, 0))[1] else 1
            # The same click over and over teaches nothing where something else counts steps.
            key = (self._clicks[action] // IDLE_TRIES, tier, rank)
            if best is None or key < best[0]:
                best = (key, action, kind)
        if best is None:
            return None
        self._clicks[best[1]] += 1
        self._last_click_kind = best[2]
        return self._take(best[1])

    def _explore(
        self,
        observation: Observation,
        candidates: list[Action],
        memory: Memory,
        may_reset: bool,
        clicks: bool,
    ) -> Action:
        useful = [
            simple(id_)
            for id_ in observation.available_actions
            if id_ not in (CLICK_ID, UNDO_ID) and not self._idle(simple(id_), memory)
        ]

        def has_untried(place: int, node: Node) -> bool:
            return any(action not in node.edges for action in useful) or any(
                action not in node.edges for action in node.promising
            )

        node = memory.node(observation.masked_hash)
        for action in useful:
            if action not in node.edges:
                return self._take(action)
        path = memory.path(observation.masked_hash, has_untried)
        if path:
            return self._take(path[0])
        untried = _once_an_area(observation, candidates, node)
        rest = [action for action in untried if action.id != UNDO_ID]
        if rest and (clicks or not may_reset):
            self._last_click_kind = None
            return self._take(rest[0])
        undo = simple(UNDO_ID)
        if undo in untried:
            return self._take(undo)
        if may_reset and self._since_reset > RESET_EVERY:
            self._since_reset = 0
            return self._take(RESET)
        if rest:
            self._last_click_kind = None
            return self._take(rest[0])
        # Nothing is left to try: wander where something still moves.
        moving = [a for a, edge in node.edges.items() if edge.kind not in (NO_OP, DIED)]
        legal = set(candidates)
        return self._take(self._rng.choice([a for a in moving if a in legal] or candidates))

    @staticmethod
    def _idle(action: Action, memory: Memory) -> bool:
        effect = memory.effects.get(action.text)
        tries = BLOCKED_TRIES if action.id <= 4 else IDLE_TRIES
        return effect is not None and effect.tried >= tries and not effect.changed


def _last_of_level(before: Observation, after: Observation) -> NDArray[np.uint8] | None:
    """The picture that a level was gained with: games show it before the new level's."""
    if after.n_frames < 2:
        return None
    try:
        grid, repaired = repair_grid(after.frames[-2])
    except ValueError:
        return None
    return None if repaired or grid.shape != before.grid.shape else grid


def _once_an_area(observation: Observation, candidates: list[Action], node: Node) -> list[Action]:
    """Candidates that were not tried here; of clicks those on areas that nobody clicked here."""
    labels = grids.components(observation.grid).labels
    height, width = labels.shape
    clicked = {
        int(labels[action.y, action.x])
        for action in node.edges
        if action.is_click and action.y < height and action.x < width
    }
    fresh: list[Action] = []
    for action in candidates:
        if action in node.edges:
            continue
        if action.is_click:
            label = int(labels[min(action.y, height - 1), min(action.x, width - 1)])
            if label in clicked:
                continue
            clicked.add(label)
        fresh.append(action)
    # Every area was clicked once: any cell may still be another thing than its neighbours.
    return fresh or [action for action in candidates if action not in node.edges]


def make_policy(name: str, seed: int) -> Policy:
    """A policy by its name.

    Raises:
        ValueError: an unknown name.
    """
    if name == "random":
        return RandomPolicy(seed)
    if name == "heuristic":
        return Explorer(seed)
    raise ValueError(f"policy is {name!r}, expected heuristic or random")


def uniform(n: int) -> list[float]:
    """Equal probabilities of ``n`` candidates."""
    return np.full(n, 1 / n).tolist() if n else []
